"""Random worlds of a fleet against the model (`tests/fleet_worlds/`): whatever breaks, no path is held twice.

Each world has an engine, machines that run the relay's own code, agents, and failures, under a clock that is turned. A
world that found something is kept in `tests/data/worlds/`, with what it found. To look into one:

    .venv/bin/python -m tests.fleet_worlds tests/data/worlds/NAME.toml
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bb.coordination.holdings.ordered_admission import Changes, OrderedAdmission
from bb.ledger.travel import quick_rows, row_facts
from tests.fleet_worlds.fleet import Fleet, Recipe
from tests.fleet_worlds.machine import Rules
from tests.fleet_worlds.model import Broken
from tests.fleet_worlds.world import DAY
from tests.grids import part

KEPT = Path(__file__).parents[2] / "data" / "worlds"
SMALL: dict[str, Any] = {"hours": 4, "machines": 3, "agents": 12, "files": 2, "pause_minutes": 10}

KINDS: dict[str, dict[str, float]] = {
    "nothing": {},
    "the network": {"cut": 20, "bad_network": 30, "no_git": 10},
    "machines": {"kill": 30, "kill_relay": 40, "slow_disk": 20, "clock": 10},
    "the engine": {"crash": 30},
    "moves": {"move": 8, "no_git": 8, "cut": 8},
    "a backup": {"backup": 6, "cut": 10},
    "a failover": {"failover": 10, "cut": 10},
    "a second engine": {"second_engine": 8, "cut": 8},
    "a cloned machine": {"clone": 6, "kill": 10, "cut": 6},
}
ALL = {name: rate for kind in KINDS.values() for name, rate in kind.items()} | {"backup": 2, "second_engine": 3}
ACCIDENTS = ("backup", "failover", "second_engine")
# What these worlds have found is shown by tests of their own, in tests/ledger/fleet/test_twins.py and test_verdicts.py.
SHOWN = ("told-late", "twins", "twins-in-the-archive")


def world(seed: int, failures: Mapping[str, float], **more: Any) -> Fleet:
    return Fleet(Recipe(seed=seed, failures=failures, **(SMALL | more)))


@pytest.mark.each
@pytest.mark.parametrize("kind", part(KINDS, 3))
def test_no_path_is_held_twice_whatever_fails(kind: str):
    failures = KINDS[kind]
    found = world(7, failures).run()

    assert found.model.counts["grants"] > 20
    if not any(failures.get(name) for name in ACCIDENTS):
        assert not found.model.exposures, "as long as the engine keeps what it acknowledged, there is no exception"


@pytest.mark.parametrize("seed", range(1, 4))
def test_no_path_is_held_twice_if_everything_fails_at_once(seed: int):
    assert world(seed, ALL).run().model.counts["grants"] > 20


@pytest.mark.each
@pytest.mark.parametrize(
    "kept",
    [
        pytest.param(path.stem, marks=[pytest.mark.long] if path.stem in SHOWN else [])
        for path in sorted(KEPT.glob("*.toml"))
    ],
)
def test_a_world_that_found_something_finds_nothing_any_more(kept: str):
    Fleet(Recipe.read(KEPT / f"{kept}.toml")).run()


def test_an_engine_that_takes_lines_twice_changes_nothing():
    """Readers look at the numbers and the chain of the lines themselves: a row that repeats lines does not count."""
    Fleet(Recipe(seed=3, failures={"bad_network": 40}, **SMALL), takes_lines_twice=True).run()


def test_a_world_is_the_same_each_time():
    one, again = (world(5, ALL, hours=2).run() for _ in range(2))

    assert one.keeper.log.digest == again.keeper.log.digest
    assert one.world.steps == again.world.steps


# -- the model can fail: a world without a rule shows what the rule is for


class SeesNothing(OrderedAdmission):
    """Does not note what a holder records after its grant."""

    def row(self, place: int, facts: Sequence[tuple[str, Any]], recorders: Iterable[str], **more: Any) -> Changes:
        return super().row(place, facts, (), **more)


def broken(seed: int, failures: Mapping[str, float], rules: Rules, **more: Any) -> str:
    """What a world without a rule breaks. With the rule, nothing does."""
    recipe = Recipe(seed=seed, failures=failures, **(SMALL | {"hours": 6} | more))
    Fleet(recipe).run()
    with pytest.raises(Broken) as found:
        Fleet(recipe, rules).run()
    return str(found.value)


def test_a_world_whose_readers_do_not_see_that_a_holder_works_takes_over_from_it():
    """The disks are slow, so some holders come back between the decision to take over and its place in the order."""
    what = broken(3, {}, Rules(reader=SeesNothing), silent=0.6, write_seconds=60)

    assert "was not admitted" in what


def test_a_world_whose_relays_do_not_compare_digests_tells_agents_of_grants_that_were_not_admitted():
    assert "was not admitted" in broken(5, {"failover": 24, "cut": 20}, Rules(compares=False))


@pytest.mark.long
def test_a_week_of_a_thousand_agents_on_fifty_machines(monkeypatch: pytest.MonkeyPatch):
    """It takes long. What a row says is the same for all machines, so it is read once."""
    monkeypatch.setattr(row_facts, "of_row", functools.cache(row_facts.of_row))
    monkeypatch.setattr(quick_rows, "read", functools.cache(quick_rows.read))

    week = Fleet(Recipe.read(KEPT.parent / "worlds-long" / "week.toml")).run()

    assert week.model.counts["grants"] > 10_000
    assert week.world.now > 7 * DAY
