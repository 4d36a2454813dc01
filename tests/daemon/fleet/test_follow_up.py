"""When a daemon applies what its relays have brought. Time is played, one look after the other."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bb.daemon.fleet import follow_up
from bb.daemon.fleet.follow_up import GLANCE, LONGEST, LONGEST_WAIT, QUIET, SHARE, FollowUp
from bb.daemon.loop.log import Log
from bb.kernel.errors import Busy
from bb.ledger.git.place import Place


class Clone:
    """A clone, and what its relay does."""

    def __init__(self, day: Day, folder: Path) -> None:
        self.brought = self.asked = 0
        self.is_busy = False
        self.applied: list[float] = []  # when
        self._day = day
        self.look: Callable[[], None] = lambda: None
        place = Place(str(folder / ".git"), str(folder))
        log: Any = Log(str(folder / "log"))
        loop: Any = self
        self.follow_up = FollowUp(place, loop, {}, log, lambda: (self.asked, self.is_busy))
        day.clones[str(folder)] = self

    def later(self, _: float, look: Callable[[], None]) -> SimpleNamespace:
        self.look = look
        return SimpleNamespace(cancel=lambda: None)


class Day:
    """The clock, and all clones of a machine."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.processor = 0.0  # seconds of it that were used
        self.cost = 0.0  # of applying
        self.refusals = 0  # so often, applying is refused
        self.is_crowded = False  # no processor of the machine is free
        self.clones: dict[str, Clone] = {}

    def apply(self, desk: SimpleNamespace) -> None:
        self.processor += self.cost
        if self.refusals:
            self.refusals -= 1
            raise Busy("no")
        self.clones[desk.cwd].applied.append(self.now)

    def play(self, seconds: float, happens: Callable[[Clone], None] = lambda _: None) -> None:
        """Let time pass. Before each look of a clone, something HAPPENS in it."""
        until = self.now + seconds
        while self.now < until:
            self.now += GLANCE
            for clone in self.clones.values():
                happens(clone)
                clone.look()


class AtOnce:
    """A thread that has done its work when it is started."""

    def __init__(self, target: Callable[[], None], **_: Any) -> None:
        self.start = target


@pytest.fixture
def day(monkeypatch: pytest.MonkeyPatch) -> Day:
    day = Day()
    clock = SimpleNamespace(monotonic=lambda: day.now, thread_time=lambda: day.processor)
    monkeypatch.setattr(follow_up, "time", clock)
    monkeypatch.setattr(follow_up, "threading", SimpleNamespace(Thread=AtOnce))
    monkeypatch.setattr(follow_up, "no_processor_is_free", lambda: day.is_crowded)
    monkeypatch.setattr(follow_up, "applying", SimpleNamespace(apply=day.apply))
    monkeypatch.setattr(
        follow_up,
        "Desk",
        lambda cwd, _: SimpleNamespace(cwd=cwd, switch_to=lambda *_: None, close=lambda: None),
    )
    monkeypatch.setattr(FollowUp, "_state", lambda self: day.clones[self._place.work_tree].brought)
    return day


def brings(clone: Clone) -> None:
    clone.brought += 1


def asks(clone: Clone) -> None:
    clone.asked += 1


def works(clone: Clone) -> None:
    clone.is_busy = True


def test_what_came_is_applied_as_soon_as_it_is_quiet(tmp_path: Path, day: Day):
    clone = Clone(day, tmp_path)
    day.play(30, brings)
    assert clone.applied == []

    day.play(QUIET + GLANCE)
    assert len(clone.applied) == 1
    day.play(LONGEST)
    assert len(clone.applied) == 1, "nothing else came"


@pytest.mark.parametrize("use", [brings, asks, works])
def test_while_the_processor_is_needed_it_waits_but_not_for_ever(
    tmp_path: Path, day: Day, use: Callable[[Clone], None]
):
    clone = Clone(day, tmp_path)
    began = day.now
    clone.brought = 1
    day.play(2 * LONGEST_WAIT + 2 * GLANCE, use)

    assert clone.applied
    assert LONGEST_WAIT <= clone.applied[0] - began <= 2 * LONGEST_WAIT + 2 * GLANCE


def test_while_no_processor_is_free_it_waits_longer_but_not_for_ever(tmp_path: Path, day: Day):
    day.is_crowded = True
    clone = Clone(day, tmp_path)
    began = day.now
    day.play(2 * LONGEST + 2 * GLANCE, brings)

    assert LONGEST <= clone.applied[0] - began <= 2 * LONGEST + 2 * GLANCE


def test_a_quiet_moment_of_a_crowded_machine_is_used(tmp_path: Path, day: Day):
    day.is_crowded = True
    clone = Clone(day, tmp_path)
    clone.brought = 1
    day.play(QUIET + 2 * GLANCE)

    assert len(clone.applied) == 1


@pytest.mark.parametrize(("load", "is_crowded"), [(0.5, False), (1.99, False), (2.0, True), (30.0, True)])
def test_a_machine_is_crowded_if_as_many_threads_as_processors_want_to_run(
    monkeypatch: pytest.MonkeyPatch, load: float, is_crowded: bool
):
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)

    assert follow_up.no_processor_is_free() is is_crowded


def test_a_system_without_a_load_average_has_processors_to_spare(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(os, "getloadavg", raising=False)

    assert follow_up.no_processor_is_free() is False


def test_the_clones_of_a_machine_do_not_all_do_it_at_once(tmp_path: Path, day: Day):
    random.seed(7)
    for number in range(50):
        (tmp_path / str(number)).mkdir()
        Clone(day, tmp_path / str(number))
    day.play(2 * LONGEST_WAIT + 2 * GLANCE, brings)

    first = [clone.applied[0] for clone in day.clones.values()]
    assert max(first.count(moment) for moment in first) <= 5


def test_it_takes_a_small_share_of_the_processor(tmp_path: Path, day: Day):
    day.cost = 0.2
    clone = Clone(day, tmp_path)
    day.play(3 * LONGEST, lambda clone: brings(clone) if day.now % 20 < 1 else None)

    assert len(clone.applied) >= 4
    pauses = [later - before for before, later in zip(clone.applied, clone.applied[1:], strict=False)]
    assert min(pauses) >= SHARE * day.cost


def test_however_much_it_costs_it_is_done_again(tmp_path: Path, day: Day):
    day.cost = 60.0
    clone = Clone(day, tmp_path)
    day.play(2 * QUIET + LONGEST * 2 + LONGEST_WAIT * 2 + 3 * GLANCE, brings)
    day.play(QUIET + GLANCE)

    assert len(clone.applied) >= 2


def test_what_is_refused_is_tried_again_although_nothing_new_came(tmp_path: Path, day: Day):
    day.refusals = 1
    clone = Clone(day, tmp_path)
    clone.brought = 1
    day.play(3 * QUIET)

    assert len(clone.applied) == 1
