"""A machine whose wall clock is an hour wrong, or is set while its daemon runs: nobody is taken over because of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import engines
from tests.stories.fleet.client_support import AMBER, COBALT, Fleet, fleet
from tests.waiting import until
from tests.wrong_machines import WallClock


@pytest.fixture(scope="module")
def clock() -> WallClock:
    """The clock of the second machine."""
    return WallClock()


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory, clock: WallClock) -> Iterator[Fleet]:
    with fleet(tmp_path_factory.mktemp("fleet"), engines.shared_postgres(), there=clock.settings) as made:
        yield made


@pytest.mark.each
@pytest.mark.parametrize("hours", [1, -1])
def test_a_machine_whose_clock_is_wrong_agrees_with_the_others(two: Fleet, clock: WallClock, hours: int):
    """The daemon runs, and the clock is set: by an hour, then by two in the other direction."""
    clock.is_ahead_by(hours)
    held, wanted = f"held-{hours}", f"wanted-{hours}"
    first = two.here.reserve(held, "--ttl", "5").data["token"]

    for more in ((), ("--takeover-stale",)):
        refused = two.there.reserve(held, *more)
        assert refused.code == "RESERVATION_CONFLICT", refused.out
        assert AMBER in refused.envelope["error"]["message"]
    assert two.there.reserve(wanted, "--ttl", "5").data["token"] > first
    for more in ((), ("--takeover-stale",)):
        refused = until(lambda more=more: (found := two.here.reserve(wanted, *more)).status and found)
        assert refused.code == "RESERVATION_CONFLICT", refused.out
        assert COBALT in refused.envelope["error"]["message"]
    assert two.here.json("agent", "release", "--scope", held).status == 0
    assert until(lambda: (found := two.there.reserve(held)).status == 0 and found).data["token"] > first


@pytest.mark.each
@pytest.mark.parametrize("hours", [1, -1])
def test_after_hours_of_hearing_a_jump_of_the_clock_is_nobodys_silence(two: Fleet, clock: WallClock, hours: int):
    clock.is_ahead_by(0)
    held = f"at-work-{hours}"
    two.here.reserve(held)
    until(lambda: held in two.there.text("check", held).out)
    two.there.restart_daemon(lambda: two.there.has_heard(AMBER, since=300, last=0))

    clock.is_ahead_by(hours)
    refused = two.there.reserve(held, "--takeover-stale")

    assert refused.code == "RESERVATION_CONFLICT", refused.out
    assert two.here.token(held)


@pytest.mark.each
@pytest.mark.parametrize("hours", [1, -1])
def test_a_new_agent_of_a_machine_whose_clock_is_wrong_is_active_at_once(two: Fleet, clock: WallClock, hours: int):
    clock.is_ahead_by(hours)
    until(lambda: two.there.text("sync").status == 0)
    two.here.restart_daemon(lambda: two.here.has_heard(COBALT, since=300))
    new, held = f"new-{'later' if hours > 0 else 'earlier'}", f"of-the-new-{hours}"

    assert two.there.json("agent", "register", "--name", new, "--role", "worker", BB_AGENT=new).status == 0
    assert two.there.reserve(held, BB_AGENT=new).status == 0
    (Path(two.there.store) / "presence" / f"{new}.json").unlink()  # no beat will name it

    until(
        lambda: ("active", new) in [(one["liveness"], one["agent_id"]) for one in two.here.json("agent", "list").data]
    )
    refused = two.here.reserve(held, "--takeover-stale")
    assert refused.code == "RESERVATION_CONFLICT", refused.out
    assert new in refused.envelope["error"]["message"]


def test_the_difference_is_shown_and_both_machines_are_alive(two: Fleet, clock: WallClock):
    clock.is_ahead_by(1)
    two.there.restart_daemon(lambda: None)

    shown = until(lambda: "2 alive" in (out := two.there.text("fleet", "status").out) and out)
    assert "differs from the engine's by 3600 s, which is harmless" in shown
    until(lambda: "2 alive" in two.here.text("fleet", "status").out)  # the next beat here hears of the first one there
