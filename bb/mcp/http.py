"""Streamable HTTP, for hosts that connect instead of starting a server. Serves on loopback only, with a token.

Other users of the machine can reach the port, and so can any web page in a local browser. Every request must therefore
carry a token that only this user can read, and the server's own address in the Host header. A web page has neither.
"""

from __future__ import annotations

import contextlib
import hmac
import logging
import os
import secrets
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from bb.kernel.errors import NotFound
from bb.ledger.files import disk
from bb.ledger.git import place as places
from bb.mcp.log import print_json, write_lines
from bb.mcp.server import server
from bb.wire import envelope
from bb.wire.http_limits import Limited
from bb.wire.loopback import LOOPBACK, listening

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, MutableMapping

    from bb.mcp.tool_calls import Toolbox

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

PATH = "/mcp"
TOKEN = "mcp-token"  # noqa: S105  (the name of a file)
OWNER_ONLY = 0o600
LAST_WORDS = 2  # seconds for open connections at shutdown
MOST_SESSIONS = 256


def serve(toolbox: Toolbox, env: Mapping[str, str], port: int, *, as_json: bool) -> int:
    """Serve at PORT until interrupted; the exit status."""
    logging.getLogger("mcp").setLevel(logging.ERROR)  # its warnings quote the requests
    path = token_file(toolbox, env)
    token = ensure_token(path)
    with listening(port) as listener:
        at = listener.getsockname()[1]
        url = f"http://{LOOPBACK}:{at}{PATH}"
        if as_json:
            print_json(envelope.success("mcp", {"url": url, "token_file": path, "pid": os.getpid()}))
        write_lines(f"serving MCP at {url}", f"the bearer token is in {path}")
        config = uvicorn.Config(
            app(toolbox, at, token),
            http=Limited,
            log_level="error",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=LAST_WORDS,
        )
        uvicorn.Server(config).run(sockets=[listener])
    return 0


def app(toolbox: Toolbox, port: int, token: str) -> App:
    """The application. It accepts only requests addressed to this PORT that carry the TOKEN."""
    names = [f"{host}:{port}" for host in (LOOPBACK, "localhost")]
    checks = TransportSecuritySettings(allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names])
    inner = server(toolbox).streamable_http_app(
        streamable_http_path=PATH, transport_security=checks, max_sessions=MOST_SESSIONS
    )
    return Guarded(inner, token)


class Guarded:
    """Lets through requests that carry the token."""

    def __init__(self, inner: App, token: str) -> None:
        self._inner, self._wanted = inner, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or self._shows_token(scope):
            await self._inner(scope, receive, send)
        elif scope["type"] == "http":
            headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"a bearer token is required\n"})
        else:
            await send({"type": "websocket.close"})

    def _shows_token(self, scope: Scope) -> bool:
        tokens = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(tokens) == 1 and hmac.compare_digest(tokens[0], self._wanted)


def token_file(toolbox: Toolbox, env: Mapping[str, str]) -> str:
    """The path of the token file: beside the ledger, outside the work tree; without a repository, in bb's home."""
    try:
        place = toolbox.desk().place
    except NotFound:
        place = places.home_place(env)
    return os.path.join(place.store, TOKEN)


def ensure_token(path: str) -> str:
    """The token in the file at PATH, created if missing. Only the owner can read the file."""
    disk.make_private_folder(os.path.dirname(path))
    if not disk.read_small(path) or not _is_own(path):  # another user would know the token
        disk.replace(path, f"{secrets.token_urlsafe(32)}\n".encode(), mode=OWNER_ONLY)
    with contextlib.suppress(OSError):  # the file system has no owners
        os.chmod(path, OWNER_ONLY)
    return (disk.read_small(path) or b"").decode("ascii", "replace").strip()


def _is_own(path: str) -> bool:
    """Whether this user owns the file."""
    return not hasattr(os, "geteuid") or os.lstat(path).st_uid == os.geteuid()
