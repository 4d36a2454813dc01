"""True time, chance, and steps that take time.

A *process* is a generator. It yields milliseconds to sleep, or a `Wait` for a signal. Each yield is a step between two
of which the process can be killed. Everything random comes from one seed, so a world runs alike each time.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Generator
from typing import Any, TypeAlias

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000

Steps: TypeAlias = "Generator[float | Wait, Any, Any]"
TIME_OVER = object()  # what a wait returns if nothing came in time


class Signal:
    """Something that happens once. Those who wait for it get its value."""

    __slots__ = ("is_fired", "value", "waiting")

    def __init__(self) -> None:
        self.waiting: list[tuple[Process, int]] = []
        self.value: Any = None
        self.is_fired = False

    def fire(self, value: Any = None) -> None:
        if self.is_fired:
            return
        self.is_fired, self.value = True, value
        waiting, self.waiting = self.waiting, []
        for process, turn in waiting:
            process.resume(turn, value)


class Wait:
    """A wait for a SIGNAL, for at most PATIENCE milliseconds."""

    __slots__ = ("patience", "signal")

    def __init__(self, signal: Signal, patience: float | None = None) -> None:
        self.signal, self.patience = signal, patience


class Process:
    """Steps that run until they end or are killed."""

    __slots__ = ("is_over", "steps", "turn", "world")

    def __init__(self, world: World, steps: Steps) -> None:
        self.world, self.steps, self.turn, self.is_over = world, steps, 0, False
        world.after(0, self.resume, 0, None)

    def resume(self, turn: int, value: Any) -> None:
        """Go on with VALUE, if the process is still at the step that it was at in that TURN."""
        if self.is_over or turn != self.turn:
            return
        self.turn += 1
        try:
            wanted = self.steps.send(value)
        except StopIteration:
            self.is_over = True
            return
        if not isinstance(wanted, Wait):
            self.world.after(wanted, self.resume, self.turn, None)
            return
        if wanted.signal.is_fired:
            self.world.after(0, self.resume, self.turn, wanted.signal.value)
            return
        wanted.signal.waiting.append((self, self.turn))
        if wanted.patience is not None:
            self.world.after(wanted.patience, self.resume, self.turn, TIME_OVER)

    def kill(self) -> None:
        """End it where it is, as SIGKILL does: nothing of it runs any more."""
        self.is_over = True
        self.turn += 1


class World:
    """The true time in milliseconds, and what is still to happen."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = 0.0
        self.steps = 0
        self._queue: list[tuple[float, int, Callable[..., object], tuple[Any, ...]]] = []

    def after(self, milliseconds: float, do: Callable[..., object], *about: Any) -> None:
        """Call DO in so many milliseconds."""
        self.steps += 1
        heapq.heappush(self._queue, (self.now + milliseconds, self.steps, do, about))

    def start(self, steps: Steps) -> Process:
        return Process(self, steps)

    def run(self, until: float) -> None:
        """Let everything happen that happens before a true time."""
        while self._queue and self._queue[0][0] <= until:
            self.now, _, do, about = heapq.heappop(self._queue)
            do(*about)
        self.now = max(self.now, until)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def about(self, mean: float) -> float:
        """A random time whose mean is given; mostly shorter, at times much longer."""
        return self.random.expovariate(1 / mean)
