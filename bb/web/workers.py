"""Desks on threads of their own: one renders pages, one performs actions.

An index can be used only by the thread that opened it, and updating it takes a moment. Each desk therefore stays open
while the server runs. An action that waits for a lock does not delay pages.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from bb.coordination.agents import callers
from bb.ops.desk.desk import Desk

T = TypeVar("T")


class Worker:
    """One desk, on one thread."""

    def __init__(self, cwd: str, env: Mapping[str, str]) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="bb-web")
        self._cwd, self._env = cwd, callers.without_session_variables(env)
        self._desk: Desk | None = None

    async def do(self, what: Callable[[Desk], T]) -> T:
        """Run WHAT with the desk on the worker's thread; its result."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, what)

    def _run(self, what: Callable[[Desk], T]) -> T:
        if self._desk is not None and not os.path.isdir(self._desk.place.store):
            self._close()  # the ledger it had open was removed
        if self._desk is None:
            self._desk = Desk(self._cwd, self._env)
        try:
            return what(self._desk)
        except Exception:
            self._close()  # its state is uncertain, so the next call opens a new desk
            raise

    def _close(self) -> None:
        if self._desk is not None:
            self._desk.close()
            self._desk = None

    def close(self) -> None:
        """Close the desk after the calls that are queued."""
        self._thread.submit(self._close)
        self._thread.shutdown()
