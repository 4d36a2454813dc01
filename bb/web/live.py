"""Notifies open pages of changes. The ledger is polled once for all pages.

A notification contains only the new cursor of the ledger. The page then requests itself again, so it always shows the
current state, however many notifications it missed. After a lost connection, the browser sends its last cursor
(`Last-Event-ID`) and is notified at once if that is not the current one.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator

from bb.kernel.errors import BbError
from bb.ops.desk.desk import Desk
from bb.ops.overview.changes import GLANCE, Watched
from bb.web.workers import Worker

BEAT = 10.0  # seconds without a change after which a page gets a sign that the connection works
RETRY = 1000  # milliseconds after which a browser reconnects


class ChangeNotifier:
    """The ledger's cursor, and the pages that wait for it to change."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._run = secrets.token_hex(4)  # cursors of another server process are not valid here
        self._version = 0
        self._listeners = 0
        self._turn = asyncio.Condition()
        self._watched: Watched | None = None
        self._is_well = True
        self._is_over = False

    @property
    def cursor(self) -> str:
        return f"{self._run}.{self._version}"

    async def watch(self) -> None:
        """Poll the ledger while the server runs and a page is open."""
        while not self._is_over:
            if self._listeners:
                await self.look()
            await asyncio.sleep(GLANCE)

    async def look(self) -> str:
        """The current cursor. Wakes all listeners if the ledger has changed."""
        if await self._has_changed():
            self._version += 1
            async with self._turn:
                self._turn.notify_all()
        return self.cursor

    async def events(self, known: str) -> AsyncIterator[bytes]:
        """Server-sent events for a page that has seen the cursor KNOWN."""
        yield f"retry: {RETRY}\n\n".encode()
        await self.look()
        self._listeners += 1
        try:
            while not self._is_over:
                if known != self.cursor:
                    known = self.cursor
                    yield f"id: {known}\nevent: changed\ndata: {known}\n\n".encode()
                try:
                    async with self._turn, asyncio.timeout(BEAT):
                        await self._turn.wait_for(lambda: self._is_over or known != self.cursor)  # noqa: B023
                except TimeoutError:
                    yield b"event: beat\ndata:\n\n"
        finally:
            self._listeners -= 1

    async def end(self) -> None:
        """End all streams."""
        self._is_over = True
        async with self._turn:
            self._turn.notify_all()

    async def _has_changed(self) -> bool:
        was_well, self._is_well = self._is_well, True
        try:
            return await self._worker.do(self._look) or not was_well
        except BbError:  # report the change once; the pages then show the refusal
            self._watched, self._is_well = None, False
            return was_well

    def _look(self, desk: Desk) -> bool:
        if self._watched is None or not self._watched.is_at(desk):
            self._watched = Watched(desk)
            return True
        return self._watched.has_changed()
