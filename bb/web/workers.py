"""Desks on threads of their own: one where pages are looked up, one where people act.

A ledger's index belongs to the thread that opened it, and folding what is new takes a moment, so each desk stays open
for as long as the server runs. That somebody waits for a lock holds up nobody who only looks.
"""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from bb.coordination.agents import callers
from bb.ops.desk.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")


class Worker:
    """One desk, on one thread."""

    def __init__(self, cwd: str, env: Mapping[str, str]) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="bb-web")
        self._cwd, self._env = cwd, callers.without(env)
        self._desk: Desk | None = None

    async def do(self, what: Callable[[Desk], T]) -> T:
        """What WHAT makes of the desk."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._done, what)

    def _done(self, what: Callable[[Desk], T]) -> T:
        if self._desk is not None and not os.path.isdir(self._desk.place.store):
            self._close()  # what it remembers is there no more
        if self._desk is None:
            self._desk = Desk(self._cwd, self._env)
        try:
            return what(self._desk)
        except Exception:
            self._close()  # whatever state that has left it in, the next one begins afresh
            raise

    def _close(self) -> None:
        if self._desk is not None:
            self._desk.close()
            self._desk = None

    def close(self) -> None:
        """Let go of the desk, once what is under way is done."""
        self._thread.submit(self._close)
        self._thread.shutdown()
