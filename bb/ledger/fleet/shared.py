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
        self.wake_fd, self._waking_fd = os.pipe()
        for end in (self.wake_fd, self._waking_fd):
            os.set_blocking(end, False)

    def wake(self) -> None:
        """Wake the thread at the engine."""
        with suppress(OSError):  # the pipe is full, so it wakes anyway; or the relay has ended
            os.write(self._waking_fd, b"!")

    def drain(self) -> None:
        """Forget that anybody woke us."""
        with suppress(OSError):
            while len(os.read(self.wake_fd, PIECE)) == PIECE:
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
        for end in (self.wake_fd, self._waking_fd):
            with suppress(OSError):
                os.close(end)
