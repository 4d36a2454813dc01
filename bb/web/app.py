"""The web application: routes for pages, actions and live updates. All HTML is rendered on the server."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from bb.kernel import secret_patterns
from bb.kernel.digest import digest
from bb.kernel.errors import BbError, Usage
from bb.kernel.escaping import harmless
from bb.web import forms, pages, rendering
from bb.web.live import ChangeNotifier
from bb.web.workers import Worker
from bb.wire import envelope

ASSETS = {"bb.css": "text/css", "bb.js": "text/javascript", "bb.svg": "image/svg+xml"}
STATUS = {2: 400, 3: 404, 4: 409, 5: 403, 6: 503, 7: 409}  # exit status of a refusal -> HTTP status
LARGEST = 1 << 20  # bytes of a form: the size limit of a line of the ledger
MOST_KEPT = 32  # pages, each some ten or hundred kilobytes
FOR_SCRIPTS = "x-bb-script"  # a header that a form on another site cannot send

TooLarge = Usage.declare(
    "FORM_TOO_LARGE",
    "The form is larger than a message may be",
    hint="put the text into a file of the repository and send its path",
)


class PageCache:
    """The pages rendered for one CURSOR of the ledger, so that several windows on a page are rendered once.

    The browser computes ages, so a page does not change with time alone. Changes that time causes (liveness, expired
    reservations) move the cursor.
    """

    def __init__(self) -> None:
        self._cursor = ""
        self._pages: dict[Hashable, tuple[str, str]] = {}

    async def page(self, cursor: str, name: Hashable, make: Callable[[], Awaitable[str]]) -> tuple[str, str]:
        """The page NAME at CURSOR and its ETag; MAKE renders it if it is not cached."""
        if cursor != self._cursor:
            self._cursor, self._pages = cursor, {}
        pages = self._pages
        if name not in pages:
            html = await make()  # other requests and ledger changes may happen meanwhile
            if len(pages) >= MOST_KEPT:
                pages.pop(next(iter(pages)))
            pages[name] = html, f'"{digest(html.encode())}"'
        return pages[name]


class Pages:
    """One repository's pages."""

    def __init__(self, cwd: str, env: Mapping[str, str]) -> None:
        self._reader = Worker(cwd, env)
        self._actor = Worker(cwd, env)
        self._kept = PageCache()
        self.live = ChangeNotifier(self._reader)

    def application(self) -> Starlette:
        routes = [
            Route("/", self._home),
            Route("/live", self._live),
            Route("/live/now", self._cursor),
            Route("/static/{name}", self._asset),
            Route("/act/{name}", self._act, methods=["POST"]),
            *(Route(f"/{name}", self._page, name=name) for name in pages.TITLES),
        ]
        return Starlette(routes=routes, lifespan=self._lifespan, exception_handlers={404: self._not_found})

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(self.live.watch())
        yield
        await self.live.end()
        await watching
        self._reader.close()
        self._actor.close()

    # -- pages

    async def _home(self, _: Request) -> Response:
        return RedirectResponse("/sessions", 303)

    async def _page(self, request: Request) -> Response:
        name = request.url.path.strip("/")
        arguments = dict(request.query_params)
        try:
            html, mark = await self._kept.page(
                await self.live.look(),
                (name, *sorted(arguments.items())),
                lambda: self._reader.do(lambda desk: rendering.page(name, pages.page(desk, name, arguments))),
            )
        except BbError as refusal:
            return self._refused(request, refusal)
        except Exception as error:
            return self._bug(request, error)
        if request.headers.get("if-none-match") == mark:
            return Response(status_code=304, headers={"etag": mark})
        return HTMLResponse(html, headers={"etag": mark})

    async def _asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in ASSETS:
            return await self._not_found(request, None)
        kept = {"cache-control": "private, max-age=31536000, immutable"}  # the address changes with the content
        return Response(rendering.asset(name), media_type=ASSETS[name], headers=kept)

    async def _not_found(self, request: Request, _: Exception | None) -> Response:
        return self._error(request, 404, "NOT_FOUND", "there is no such page", "choose one of the pages linked below")

    # -- live updates

    async def _live(self, request: Request) -> Response:
        cursor = request.headers.get("last-event-id") or request.query_params.get("after", "")
        return StreamingResponse(self.live.events(cursor), media_type="text/event-stream")

    async def _cursor(self, _: Request) -> Response:
        """The current cursor, for browsers that have lost the event stream."""
        return JSONResponse({"cursor": await self.live.look()})

    # -- actions

    async def _act(self, request: Request) -> Response:
        name = request.path_params["name"]
        try:
            fields = forms.form(await _body(request))
            back = _local_path(fields.pop("back", "/"))
            done = await self._actor.do(lambda desk: forms.do(desk, name, fields))
        except BbError as refusal:
            return self._refused(request, refusal)
        except ClientDisconnect:  # the client left or was too slow to send its request
            return Response(status_code=408)
        except Exception as error:
            return self._bug(request, error)
        if FOR_SCRIPTS in request.headers:
            return JSONResponse(envelope.success(f"act {name}", done))
        return RedirectResponse(back, 303)

    # -- errors

    def _refused(self, request: Request, refusal: BbError) -> Response:
        status = 413 if isinstance(refusal, TooLarge.error) else STATUS.get(refusal.exit_status, 500)
        if FOR_SCRIPTS in request.headers:
            return JSONResponse(envelope.failure(request.url.path, refusal), status)
        return self._error(request, status, refusal.code, refusal.message, refusal.hint)

    def _bug(self, request: Request, error: Exception) -> Response:
        """Report a bug: the traceback on stderr, a short message on the page."""
        text = "".join(traceback.format_exception(error))
        sys.stderr.write("\n".join(map(harmless, secret_patterns.masked(text).splitlines())) + "\n")
        code, hint = "INTERNAL_ERROR", "report it with the output in the terminal; everything recorded is safe"
        return self._error(request, 500, code, f"bb ran into a bug: {type(error).__name__}", hint)

    def _error(self, request: Request, status: int, code: str, message: str, hint: str | None) -> Response:
        about: dict[str, Any] = {"code": code, "message": message, "hint": hint}
        if FOR_SCRIPTS in request.headers:
            return JSONResponse({"ok": False, "command": request.url.path, "data": None, "error": about}, status)
        return HTMLResponse(rendering.page("refused", about | {"titles": pages.TITLES}), status)


async def _body(request: Request) -> bytes:
    """The request's body. Refused if it is larger than LARGEST."""
    octets = bytearray()
    async for piece in request.stream():
        octets += piece
        if len(octets) > LARGEST:
            raise TooLarge()
    return bytes(octets)


def _local_path(address: str) -> str:
    """ADDRESS if it is a local path, else `/`: a redirect must not lead to another site."""
    is_ours = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if is_ours and address.isascii() else "/"
