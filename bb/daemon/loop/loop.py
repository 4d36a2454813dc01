"""The daemon's event loop: sockets and terminals that are ready, due timers, and calls from other threads.

All callbacks run here, one after the other, so only the queue for other threads needs a lock. A callback must not
block. If a callback raises, the error is reported and the other callbacks still run.
"""

from __future__ import annotations

import heapq
import itertools
import os
import selectors
import threading
import time
from collections.abc import Callable
from functools import partial

Ready = Callable[[int], None]  # its argument: READ, WRITE or both

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE

# Seconds of polling before the loop sleeps. With a single processor, polling would keep the client from running.
EAGER = 0.00015 if (os.cpu_count() or 1) > 1 else 0.0
LAZY = 16  # busy turns without polling after it was in vain


class Timer:
    """A callback at a time, unless it is cancelled."""

    def __init__(self, at: float, do: Callable[[], None]) -> None:
        self.at = at
        self.do: Callable[[], None] | None = do

    def cancel(self) -> None:
        self.do = None


class Loop:
    """Waits for events and runs their callbacks."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, Timer]] = []
        self._count = itertools.count()
        self._soon: list[Callable[[], None]] = []
        self._bell, self._ring = os.pipe()
        os.set_blocking(self._bell, False)
        os.set_blocking(self._ring, False)
        self._selector.register(self._bell, READ, self._rung)
        self._from_outside: list[Callable[[], None]] = []
        self._outside = threading.Lock()
        self._is_closed = False
        self._is_over = False
        self._was_busy = False
        self._lazy_turns = 0  # busy turns until the loop polls again
        # Receives exceptions of callbacks. Without it, an exception ends the loop.
        self.on_error: Callable[[Exception], None] | None = None
        self.at_end_of_turn: list[Callable[[], None]] = []

    # -- what to wait for

    def watch(self, fd: int, events: int, ready: Ready) -> None:
        """Call READY whenever FD is ready for EVENTS."""
        try:
            self._selector.modify(fd, events, ready)
        except KeyError:
            self._selector.register(fd, events, ready)

    def forget(self, fd: int) -> None:
        """Stop watching FD."""
        try:
            self._selector.unregister(fd)
        except (KeyError, ValueError):
            return

    def later(self, seconds: float, do: Callable[[], None]) -> Timer:
        """Run a callback after SECONDS."""
        timer = Timer(time.monotonic() + seconds, do)
        heapq.heappush(self._timers, (timer.at, next(self._count), timer))
        return timer

    def now(self) -> float:
        """The clock of the timers."""
        return time.monotonic()

    def call_soon(self, do: Callable[[], None]) -> None:
        """Run a callback after the callbacks that are ready now."""
        self._soon.append(do)

    def call_from_thread(self, do: Callable[[], None]) -> None:
        """Run a callback in the loop; may be called from another thread. Ignored after `close`."""
        with self._outside:  # after `close`, the pipe's file number may belong to another file
            if self._is_closed:
                return
            self._from_outside.append(do)
            if len(self._from_outside) > 1:
                return  # the loop is being woken already
            try:
                os.write(self._ring, b"!")
            except BlockingIOError:
                return  # the pipe is full, so the loop wakes up anyway

    @property
    def wakeup_fd(self) -> int:
        """The file number for `signal.set_wakeup_fd`."""
        return self._ring

    # -- waiting

    def run(self) -> None:
        """Run until `end` is called."""
        while not self._is_over:
            self.turn()

    def turn(self) -> None:
        """Wait for events and run their callbacks."""
        for key, events in self._ready():
            if not self.attempt(partial(key.data, events)):
                self.forget(key.fd)  # it would fail again in the next turn
        self._ring_through()
        while self._soon:
            doing, self._soon = self._soon, []
            for do in doing:
                self.attempt(do)
        self._due()
        for do in self.at_end_of_turn:
            self.attempt(do)

    def _ready(self) -> list[tuple[selectors.SelectorKey, int]]:
        """The events that are ready. A client that sends one request after the other is soon ready again, and waking up
        takes longer than that, so the loop polls for a moment before it sleeps. If that was in vain, it does not poll
        for some turns: with many clients that wait long for their answers, polling took more time than the work."""
        ready = self._selector.select(0)
        if not ready and self._was_busy:
            ready = self._polled() if self._lazy_turns == 0 else []
            self._lazy_turns = 0 if ready else (self._lazy_turns or LAZY) - 1
        ready = ready or self._selector.select(self._patience())
        self._was_busy = bool(ready)
        return ready

    def _polled(self) -> list[tuple[selectors.SelectorKey, int]]:
        until = time.monotonic() + EAGER
        while not (ready := self._selector.select(0)) and time.monotonic() < until:
            continue
        return ready

    def attempt(self, do: Callable[[], object]) -> bool:
        """Run a callback and report its exception; whether it succeeded."""
        try:
            do()
        except Exception as error:
            if self.on_error is None:
                raise
            self.on_error(error)
            return False
        return True

    def end(self) -> None:
        self._is_over = True

    def close(self) -> None:
        self._selector.close()
        with self._outside:
            self._is_closed = True
            os.close(self._bell)
            os.close(self._ring)

    def _patience(self) -> float | None:
        if self._soon or self._from_outside:
            return 0
        while self._timers and self._timers[0][2].do is None:
            heapq.heappop(self._timers)
        return max(self._timers[0][0] - time.monotonic(), 0) if self._timers else None

    def _due(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            timer = heapq.heappop(self._timers)[2]
            if timer.do:
                self.attempt(timer.do)

    def _rung(self, _: int) -> None:
        try:
            os.read(self._bell, 4096)
        except BlockingIOError:
            return

    def _ring_through(self) -> None:
        with self._outside:
            doing, self._from_outside = self._from_outside, []
        for do in doing:
            self.attempt(do)
