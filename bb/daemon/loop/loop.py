"""The one loop of the daemon: sockets and terminals that are ready, timers that are due, and what others have finished.

Everything happens here, one thing after the other, so nothing needs a lock but the bell that other threads ring.
Whoever is called must not block. Should one of them run into a bug of ours, it is told, and the others are called all
the same.
"""

from __future__ import annotations

import heapq
import itertools
import os
import selectors
import threading
import time
from functools import partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Ready = Callable[[int], None]  # told whether it can be read, written, or both

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE

# Seconds to look out before one sleeps. Where there is one processor only, that would keep the client from running.
EAGER = 0.00015 if (os.cpu_count() or 1) > 1 else 0.0


class Timer:
    """Something that is to be done at a time, unless it is cancelled."""

    def __init__(self, at: float, do: Callable[[], None]) -> None:
        self.at = at
        self.do: Callable[[], None] | None = do

    def cancel(self) -> None:
        self.do = None


class Loop:
    """Waits, and calls whoever something has happened to."""

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
        self.complain: Callable[[Exception], None] | None = (
            None  # whom bugs are told; without anybody they end the loop
        )
        self.at_end_of_turn: list[Callable[[], None]] = []

    # -- what to wait for

    def watch(self, fd: int, events: int, ready: Ready) -> None:
        """Call READY whenever FD can be read, or written, as EVENTS says."""
        try:
            self._selector.modify(fd, events, ready)
        except KeyError:
            self._selector.register(fd, events, ready)

    def forget(self, fd: int) -> None:
        """Wait for FD no longer."""
        try:
            self._selector.unregister(fd)
        except (KeyError, ValueError):
            return

    def later(self, seconds: float, do: Callable[[], None]) -> Timer:
        """Do something in so many SECONDS."""
        timer = Timer(time.monotonic() + seconds, do)
        heapq.heappush(self._timers, (timer.at, next(self._count), timer))
        return timer

    def now(self) -> float:
        """The time that timers go by."""
        return time.monotonic()

    def soon(self, do: Callable[[], None]) -> None:
        """Do something once everybody who is ready has been called."""
        self._soon.append(do)

    def call(self, do: Callable[[], None]) -> None:
        """Do something in the loop, asked for by another thread. Once the loop is closed, it is done no more."""
        with self._outside:  # or the number of the bell could be that of another file by now
            if self._is_closed:
                return
            self._from_outside.append(do)
            try:
                os.write(self._ring, b"!")
            except BlockingIOError:
                return  # it rings already

    @property
    def ring(self) -> int:
        """Where a signal is to write a byte, so that the loop wakes up."""
        return self._ring

    # -- waiting

    def run(self) -> None:
        """Go round until somebody ends it."""
        while not self._is_over:
            self.turn()

    def turn(self) -> None:
        """Wait for something to happen, and see to all that has."""
        for key, events in self._ready():
            if not self.attempt(partial(key.data, events)):
                self.forget(key.fd)  # or it would go wrong again at once
        self._ring_through()
        while self._soon:
            doing, self._soon = self._soon, []
            for do in doing:
                self.attempt(do)
        self._due()
        for do in self.at_end_of_turn:
            self.attempt(do)

    def _ready(self) -> list[tuple[selectors.SelectorKey, int]]:
        """Who is ready. Whoever asks one thing after the other is there again in a moment, and to wake up takes longer
        than that: so whoever was just served is looked out for a little before one sleeps."""
        until = time.monotonic() + EAGER if self._was_busy else 0.0
        while not (ready := self._selector.select(0)) and time.monotonic() < until:
            continue
        ready = ready or self._selector.select(self._patience())
        self._was_busy = bool(ready)
        return ready

    def attempt(self, do: Callable[[], object]) -> bool:
        """Do something; whether it went well. A bug must not take everybody else down."""
        try:
            do()
        except Exception as error:
            if self.complain is None:
                raise
            self.complain(error)
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
