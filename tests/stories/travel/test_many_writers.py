"""A clone that knows very many writers does not look at each of them, and still notices what is missing. Here a single
writer counts as many, so two clones are enough.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.ledger.index.index import Index
from bb.ledger.journal.journal import Journal
from bb.ledger.published import pins, saved_mapping
from bb.ledger.published.saved_mapping import SavedMapping
from bb.ledger.records import events as recorded
from bb.ledger.records import newest_first
from bb.ops.ledger import running_sync
from tests.ledger.ledger_support import opened
from tests.stories.travel.test_forks import LOSSES
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, clone, settle

NOT_HERE = ("foreign head", "pins, other types")  # a person looks at the first; the second is about a file of one line


@pytest.fixture(autouse=True)
def crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_mapping, "FEW", 0)


@pytest.fixture
def busy(origin: Path) -> list[Clone]:
    return agents_at_work(origin, AMBER, COBALT, after=_each_has_reserved)


def _each_has_reserved(both: list[Clone]) -> None:
    for each, agent, scope in zip(both, (AMBER, COBALT), ("src", "docs"), strict=True):
        each.ask("agent.reserve", agent=agent, scope=[scope], bead="bb-1")
        settle(both)


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss not in NOT_HERE])
def test_what_is_lost_here_comes_back(busy: list[Clone], loss: str):
    here, there = busy
    expected, holds = here.digest, here.holds()
    here.sync()
    LOSSES[loss](here)

    here.sync(pull=True)

    assert here.digest == expected
    assert here.holds() == holds
    if here.refused_or("sync") == "NOT_PUBLISHED":  # whom we publish to is lost with the pins
        here.sync(publish=True)
    here.ask("agent.reserve", agent=AMBER, scope=["after"], bead="bb-1")
    settle(busy)
    assert (AMBER, "after", "active") in there.holds()


def test_a_sync_in_which_nothing_happens_looks_at_no_writer(busy: list[Clone], monkeypatch: pytest.MonkeyPatch):
    here, _ = busy
    settle(busy)
    monkeypatch.setattr(Index, "heads", lambda _: pytest.fail("it looked at every writer"))
    monkeypatch.setattr(SavedMapping, "entries", property(lambda _: pytest.fail("it read every writer")))

    assert here.sync(pull=True)["came"] == 0
    assert here.sync()["went"] == 0


def test_the_lines_of_another_remote_are_still_carried_on(busy: list[Clone], tmp_path: Path):
    here, there = busy
    here.git("init", "--quiet", "--bare", str(tmp_path / "second.git"))
    for each in busy:
        each.git("remote", "add", "second", str(tmp_path / "second.git"))
    here.sync(publish=True, remote="second")
    there.ask("agent.reserve", agent=COBALT, scope=["later"], bead="bb-1")
    there.sync()
    here.sync()

    here.sync(remote="second")

    fresh = clone(tmp_path / "second.git", "fresh")
    fresh.sync(pull=True)
    assert (COBALT, "later", "active") in fresh.holds()


def test_global_reservations_know_each_other(busy: list[Clone]):
    here, there = busy
    here.ask("agent.release", agent=AMBER, all=True)
    settle(busy)

    assert here.ask("agent.reserve", agent=AMBER, scope=["lib"], bead="bb-1", **{"global": True})["global"] is True
    refusal = there.refused("agent.reserve", agent=COBALT, scope=["lib"], bead="bb-1", **{"global": True})

    assert refusal.code == "RESERVATION_CONFLICT"
    settle(busy)
    assert pins.read(str(here.store)) == pins.read(str(here.store))


def test_signs_of_life_are_published_every_few_minutes(busy: list[Clone], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(running_sync, "MANY", 0)
    here, there = busy
    for minute in (1, 2, 9):
        here.ask("agent.heartbeat", agent=AMBER, now=f"2026-01-05T12:0{minute}:00Z")
        here.sync(now=f"2026-01-05T12:0{minute}:30Z")
    there.sync(now="2026-01-05T12:10:00Z")

    (agent,) = (one for one in there.ask("agent.list", now="2026-01-05T12:23:00Z") if one["agent_id"] == AMBER)
    assert agent["liveness"] == "active", "it was last heard of at nine minutes past"


def test_a_pause_that_another_clone_publishes_is_told_by_the_next_heartbeat(
    busy: list[Clone], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(running_sync, "MANY", 0)
    here, there = busy
    here.sync()
    there.ask("agent.pause", name=AMBER, why="a review", agent="user")
    there.sync()

    here.sync()

    assert here.ask("agent.heartbeat", agent=AMBER)["paused"]["why"] == "a review"


@pytest.mark.parametrize("first", [1, 2, 64])
def test_the_newest_events_of_all_writers_come_first_whoever_wrote_them(
    busy: list[Clone], monkeypatch: pytest.MonkeyPatch, first: int
):
    monkeypatch.setattr(newest_first, "FIRST", first)
    here, there = busy
    for number, (each, agent) in enumerate(((there, COBALT), (here, AMBER), (there, COBALT), (here, AMBER))):
        each.ask("agent.reserve", agent=agent, scope=[f"later-{number}"], bead="bb-1")
        settle(busy)

    with opened(here.path) as store:
        lines = (raw for journal in store.journals() for raw in journal.backwards())
        every = sorted(recorded.readable(lines), key=lambda event: event.order, reverse=True)
        assert list(newest_first.newest_first(store, lambda _: True)) == every
        reserved = [event for event in every if event.kind == "x.bb.reserved"]
        assert list(newest_first.newest_first(store, lambda raw: b'"kind":"x.bb.reserved"' in raw)) == reserved
    assert len({event.id.partition(".")[0] for event in every}) == 2


def test_the_newest_events_are_read_from_no_more_journals_than_needed(
    busy: list[Clone], monkeypatch: pytest.MonkeyPatch
):
    here, _ = busy
    here.ask("agent.reserve", agent=AMBER, scope=["later"], bead="bb-1")
    with opened(here.path) as store:
        store.caught_up()
        own = store.writer
        monkeypatch.setattr(
            newest_first,
            "Journal",
            lambda path, writer: Journal(path, writer) if writer == own else pytest.fail("older"),
        )

        assert next(newest_first.newest_first(store, lambda _: True)).data["scope"] == "later"
