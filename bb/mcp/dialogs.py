"""The requests of this server to its host, which shows a dialog to the person, and their answers.

A dialog is open for a limited time. If the call that needs it is cancelled, or the time is up, the host is told, and an
answer that comes later counts as none.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

PATIENCE = 120.0  # seconds; hosts end a call that takes much longer
GLANCE = 0.1  # seconds between two looks whether the call was cancelled
CANCELLED = "notifications/cancelled"


class Dialogs:
    """The open dialogs of one host. SEND sends a message to it."""

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self._send = send
        self._changed = threading.Condition()
        self._open: set[str] = set()  # the ids of our requests
        self._answers: dict[str, object] = {}
        self._taken: set[str] = set()  # what is being asked
        self._count = 0

    def hear(self, message: Mapping[str, Any]) -> None:
        """Take an answer of the host. An error is an answer without a result."""
        with self._changed:
            if isinstance(name := message.get("id"), str) and name in self._open:
                self._answers[name] = message.get("result")
                self._changed.notify_all()

    def ask(self, method: str, params: Mapping[str, Any], is_unwanted: Callable[[], bool]) -> object:
        """The result of a request to the host; None if there is none in time, or the call IS_UNWANTED meanwhile."""
        with self._changed:
            self._count += 1
            name = f"bb-{self._count}"
            self._open.add(name)
        self._send({"jsonrpc": "2.0", "id": name, "method": method, "params": dict(params)})
        is_answered = self._wait(lambda: name in self._answers, is_unwanted)
        with self._changed:
            self._open.discard(name)
            answer = self._answers.pop(name, None)
        if not is_answered:
            about = {"requestId": name, "reason": "nobody waits for the answer any more"}
            self._send({"jsonrpc": "2.0", "method": CANCELLED, "params": about})
        return answer

    @contextmanager
    def turn(self, subject: str, is_unwanted: Callable[[], bool]) -> Iterator[bool]:
        """Ask about SUBJECT alone: two calls at once do not show one dialog twice. Gives whether it had to wait."""
        with self._changed:
            has_waited = subject in self._taken
            if has_waited:
                self._wait(lambda: subject not in self._taken, is_unwanted)
            self._taken.add(subject)
        try:
            yield has_waited
        finally:
            with self._changed:
                self._taken.discard(subject)
                self._changed.notify_all()

    def _wait(self, is_so: Callable[[], bool], is_unwanted: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + PATIENCE
        with self._changed:
            while not is_so() and not is_unwanted() and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(min(left, GLANCE))
            return is_so()
