"""Runs the web server, on loopback only, until it is interrupted."""

from __future__ import annotations

import socket
import threading
import webbrowser
from collections.abc import Callable, Mapping

import uvicorn

from bb.ops.desk.desk import Desk
from bb.web.access_control import Gate
from bb.web.app import Pages
from bb.wire import loopback
from bb.wire.http_limits import Limited

USUAL = 4780
LAST_WORDS = 1  # seconds for open connections at shutdown


def serve(
    cwd: str, env: Mapping[str, str], port: int | None, begun: Callable[[str, int], None], *, opens: bool
) -> None:
    """Serve the pages of the repository at CWD until interrupted. BEGUN gets the address and port at start."""
    _must_have_a_ledger(cwd, env)
    door = loopback.listening(port, USUAL)
    bound_port = int(door.getsockname()[1])
    pages = Pages(cwd, env)
    gate = Gate(pages.application(), bound_port)
    address = f"http://{loopback.LOOPBACK}:{bound_port}/?token={gate.token}"
    server = _Server(
        uvicorn.Config(
            gate,
            http=Limited,
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            lifespan="on",
            timeout_graceful_shutdown=LAST_WORDS,
        ),
        pages,
    )
    begun(address, bound_port)
    if opens:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    server.run(sockets=[door])


class _Server(uvicorn.Server):
    """Ends the event streams at shutdown before it waits for connections to close."""

    def __init__(self, config: uvicorn.Config, pages: Pages) -> None:
        super().__init__(config)
        self._pages = pages

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._pages.live.end()
        await super().shutdown(sockets)


def _must_have_a_ledger(cwd: str, env: Mapping[str, str]) -> None:
    """Refuse at start-up if every page would be refused."""
    desk = Desk(cwd, env)
    try:
        desk.store.require_ledger()
        desk.now()
        _ = desk.stale_after
    finally:
        desk.close()
