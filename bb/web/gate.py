"""Who may come in: this machine's own browser, which was given the token that the terminal printed.

Any page that the browser has open may send requests to a server on loopback, and any name may be made to point at it.
So each request is looked at before anything else is done:

    the name it was sent to     is 127.0.0.1, localhost or ::1 with our port, or DNS was rebound: refused
    where it comes from         is one of our own pages, whenever something is to be changed: else refused
    the token                   comes once, in the first address, and is exchanged for a cookie that no script can read

And nothing that is answered may run, frame or load anything but our own script and stylesheet.
"""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import PlainTextResponse, RedirectResponse

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

NAMES = ("127.0.0.1", "localhost", "[::1]")
SAFE = ("GET", "HEAD")
TOKEN = "token"  # noqa: S105  (the name of a parameter)
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",  # the address that a form was sent from is how we know our own
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
STRANGER = (
    "This page is for whoever started `bb web`: open the address that it printed, with the token in it.\n"
    "If `bb web` was started anew, it has printed a new one.\n"
)


class Gate:
    """Before the application: lets in who may, and sees that every answer says what the browser must not do."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._hosts = frozenset(f"{name}:{port}" for name in NAMES)
        self._origins = frozenset(f"http://{host}" for host in self._hosts)
        self._cookie = f"bb-{port}"  # browsers do not keep the cookies of two ports apart
        self.token = secrets.token_urlsafe(24)
        self._pass = secrets.token_urlsafe(24)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        answer = self._answer(scope)
        await (answer or self._app)(scope, receive, guarded)

    def _answer(self, scope: Scope) -> Response | None:
        """What is answered to who may not come in, or is not in yet; None to who is."""
        headers = Headers(scope=scope)
        if [host.lower() in self._hosts for host in headers.getlist("host")] != [True]:
            return _refused(421, "This server answers to 127.0.0.1 and localhost only.\n")
        if not self._is_ours(headers, scope["method"]):
            return _refused(403, "This request was sent by another site's page.\n")
        given = QueryParams(scope["query_string"]).get(TOKEN)
        if given is not None and scope["method"] in SAFE:
            return self._let_in(scope) if _is_same(given, self.token) else _refused(401, STRANGER)
        if not any(_is_same(shown, self._pass) for shown in self._shown(headers)):
            return _refused(401, STRANGER)
        return None

    def _is_ours(self, headers: Headers, method: str) -> bool:
        """Whether a request was sent by our own page; one that only looks may also be typed, or come from a link."""
        origin = headers.get("origin")
        site = headers.get("sec-fetch-site", "same-origin" if method in SAFE else "")
        if origin is not None and origin not in self._origins:
            return False
        if method in SAFE:
            is_visit = headers.get("sec-fetch-mode", "navigate") == "navigate"
            return site in ("same-origin", "none") or is_visit
        return origin is not None or site == "same-origin"

    def _let_in(self, scope: Scope) -> Response:
        """The same page without the token in its address, where it would be seen and kept; and the cookie instead."""
        rest = [(name, value) for name, value in QueryParams(scope["query_string"]).multi_items() if name != TOKEN]
        path = "/" + scope["path"].lstrip("/")  # two slashes would lead to another host
        answer = RedirectResponse(path + (f"?{QueryParams(rest)}" if rest else ""), 303)
        answer.set_cookie(self._cookie, self._pass, httponly=True, samesite="lax")
        return answer

    def _shown(self, headers: Headers) -> list[str]:
        """The cookies of our name. What other servers of this machine have set comes along, in whatever form."""
        pairs = [pair.partition("=") for line in headers.getlist("cookie") for pair in line.split(";")]
        return [value.strip() for name, _, value in pairs if name.strip() == self._cookie]


def _is_same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode())


def _refused(status: int, why: str) -> Response:
    return PlainTextResponse(why, status)
