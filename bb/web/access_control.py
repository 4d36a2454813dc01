"""Access control: only a browser with the token that the terminal printed may use the pages.

Any web page in the browser can send requests to a server on loopback, and any DNS name can point to it. Each request
is therefore checked first:

    Host header    must be 127.0.0.1, localhost or ::1 with this server's port; otherwise DNS rebinding is possible
    Origin         a request that changes something must come from one of this server's pages
    token          is in the first address only, and is exchanged for a cookie that scripts cannot read

The response headers forbid every script, stylesheet, frame and connection except this server's own.
"""

from __future__ import annotations

import hmac
import secrets

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import PlainTextResponse, RedirectResponse, Response
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
    "referrer-policy": "same-origin",  # under `no-referrer`, browsers send `Origin: null` with forms
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
STRANGER = (
    "The access token is missing or wrong. Open the address that `bb web` printed: it contains the token.\n"
    "After a restart, `bb web` prints a new address.\n"
)


class Gate:
    """ASGI middleware: checks each request and adds the security headers to each response."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._hosts = frozenset(f"{name}:{port}" for name in NAMES)
        self._origins = frozenset(f"http://{host}" for host in self._hosts)
        self._cookie = f"bb-{port}"  # browsers share cookies between ports
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
        """The response to a request without access or with the token; None if the request may pass."""
        headers = Headers(scope=scope)
        if [host.lower() in self._hosts for host in headers.getlist("host")] != [True]:
            return _refused(421, "This server answers to 127.0.0.1 and localhost only.\n")
        if not self._is_ours(headers, scope["method"]):
            return _refused(403, "This request was sent by another site's page.\n")
        token = QueryParams(scope["query_string"]).get(TOKEN)
        if token is not None and scope["method"] in SAFE:
            return self._let_in(scope) if _is_same(token, self.token) else _refused(401, STRANGER)
        if not any(_is_same(cookie, self._pass) for cookie in self._shown(headers)):
            return _refused(401, STRANGER)
        return None

    def _is_ours(self, headers: Headers, method: str) -> bool:
        """Whether the request comes from one of our pages; a GET may also come from a typed address or a link."""
        origin = headers.get("origin")
        site = headers.get("sec-fetch-site", "same-origin" if method in SAFE else "")
        if origin is not None and origin not in self._origins:
            return False
        if method in SAFE:
            is_visit = headers.get("sec-fetch-mode", "navigate") == "navigate"
            return site in ("same-origin", "none") or is_visit
        return origin is not None or site == "same-origin"

    def _let_in(self, scope: Scope) -> Response:
        """Redirect to the same page without the token, which must not stay in the history, and set the cookie."""
        rest = [(name, value) for name, value in QueryParams(scope["query_string"]).multi_items() if name != TOKEN]
        path = "/" + scope["path"].lstrip("/")  # two slashes would lead to another host
        answer = RedirectResponse(path + (f"?{QueryParams(rest)}" if rest else ""), 303)
        answer.set_cookie(self._cookie, self._pass, httponly=True, samesite="lax")
        return answer

    def _shown(self, headers: Headers) -> list[str]:
        """The values of our cookie. Other local servers may have set cookies in any form."""
        pairs = [pair.partition("=") for line in headers.getlist("cookie") for pair in line.split(";")]
        return [value.strip() for name, _, value in pairs if name.strip() == self._cookie]


def _is_same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode())


def _refused(status: int, why: str) -> Response:
    return PlainTextResponse(why, status)
