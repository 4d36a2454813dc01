"""What the two threads of a relay share: the outbox with its lock, and the pipe that wakes the one at the engine."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress

from bb.ledger.fleet.moments import moment
from bb.ledger.fleet.outbox import Outbox
from bb.ledger.fleet.own_lines import OwnLines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bb.kernel.errors import BbError

PIECE = 4096


class Shared:
    """LOG is given lines of text. VERDICT tells what became of an event."""

    def __init__(self, path: str, verdict: Callable[[str], dict[str, Any]], log: Callable[[str], None]) -> None:
        self.outbox = Outbox(verdict)
        self.lines = OwnLines(path)
        self.lock = threading.RLock()
        self.has_news = threading.Condition(self.lock)  # for the thread that answers
        self.is_stopping = False
        self.last_refusal: dict[str, object] | None = None
        self._log = log
        self._pipe_lock = threading.Lock()  # after `close`, the numbers of the pipe may belong to other files
        self._is_closed = False
        self.wake_fd, self._waking_fd = os.pipe()
        for end in (self.wake_fd, self._waking_fd):
            os.set_blocking(end, False)

    def wake(self) -> None:
        """Wake the thread at the engine. Ignored once the relay has ended."""
        with self._pipe_lock, suppress(BlockingIOError):  # the pipe is full, so it wakes anyway
            if not self._is_closed:
                os.write(self._waking_fd, b"!")

    def drain(self) -> None:
        """Forget that anybody woke us. Ignored once the relay has ended."""
        with self._pipe_lock, suppress(BlockingIOError):  # nobody has
            while not self._is_closed and len(os.read(self.wake_fd, PIECE)) == PIECE:
                continue

    def answer_due(self) -> None:
        """Give every answer that can be given now, or must be."""
        with self.lock:
            if not self.outbox.asks:
                return
            found = self.outbox.due(moment())
        for ask, answer in found:
            try:
                ask.answer(answer)
            except Exception as error:  # who asked is gone; the others must get their answers
                self._log(f"an answer could not be given: {error!r}")

    def note_refusal(self, refusal: BbError) -> None:
        """Note what failed last, for the status."""
        now = time.time_ns() // 1_000_000
        self.last_refusal = {"code": refusal.code, "message": refusal.message, "at": now}

    def close(self) -> None:
        """Close the pipe. A background job that outlives the relay, and commands, may still call `wake`."""
        with self._pipe_lock:
            if not self._is_closed:
                self._is_closed = True
                os.close(self.wake_fd)
                os.close(self._waking_fd)
