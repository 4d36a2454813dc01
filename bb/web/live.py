"""Telling the pages that are open that something has changed: one look at the ledger for all of them.

A page is told nothing but that it is out of date, and where the ledger stands by then (its cursor). It asks for itself
again, so what it shows is always what the server would answer now, however much it has missed. Whoever comes back
after a lost connection says what it knew last (`Last-Event-ID`), and is told at once if that is not the latest.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING

from bb.kernel.errors import BbError
from bb.ops.overview.changes import GLANCE, Watched

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bb.ops.desk.desk import Desk
    from bb.web.workers import Worker

BEAT = 10.0  # seconds, after which even a page to which nothing happens hears something: so it knows the line is good
RETRY = 1000  # milliseconds, after which a browser comes back


class Live:
    """Where the ledger stands, and everybody who waits to hear of it."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._run = secrets.token_hex(4)  # what another server has told of its ledger means nothing here
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
        """Look at the ledger for as long as the server runs; not while nobody has a page open."""
        while not self._is_over:
            if self._listeners:
                await self.look()
            await asyncio.sleep(GLANCE)

    async def look(self) -> str:
        """Where the ledger stands now. Whoever finds that it has changed tells everybody."""
        if await self._has_changed():
            self._version += 1
            async with self._turn:
                self._turn.notify_all()
        return self.cursor

    async def events(self, known: str) -> AsyncIterator[bytes]:
        """What is sent to a page that KNOWS where the ledger stood: the form of server-sent events."""
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
        """Let everybody go."""
        self._is_over = True
        async with self._turn:
            self._turn.notify_all()

    async def _has_changed(self) -> bool:
        was_well, self._is_well = self._is_well, True
        try:
            return await self._worker.do(self._look) or not was_well
        except BbError:  # the pages will say what is the matter; once
            self._watched, self._is_well = None, False
            return was_well

    def _look(self, desk: Desk) -> bool:
        if self._watched is None or not self._watched.is_at(desk):
            self._watched = Watched(desk)
            return True
        return self._watched.has_changed()
