"""A machine whose wall clock is set while agents work there and elsewhere. None becomes silent because of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.travel.travel_support import AMBER, COBALT, clone, hub
from tests.support import Scratch, scratch
from tests.wrong_machines import WallClock


@pytest.fixture
def clock() -> WallClock:
    return WallClock()


@pytest.fixture
def repo(tmp_path: Path, clock: WallClock) -> Scratch:
    made = scratch(tmp_path / "repo")
    made.settings = {**made.settings, **clock.settings, "BB_DAEMON": "off"}
    for agent in (AMBER, COBALT):
        assert made.json("agent", "register", "--name", agent, "--role", "worker", BB_AGENT=agent).status == 0
    return made


@pytest.mark.parametrize("hours", [1, -1, 5])
def test_a_holder_is_not_taken_over_because_the_clock_was_set(repo: Scratch, clock: WallClock, hours: int):
    assert repo.json("agent", "reserve", "--scope", "src", BB_AGENT=AMBER).status == 0

    clock.is_ahead_by(hours)

    refused = repo.json("agent", "reserve", "--scope", "src", "--takeover-stale", BB_AGENT=COBALT)
    assert refused.code == "RESERVATION_CONFLICT", refused.out
    rows = {row["agent_id"]: row["liveness"] for row in repo.json("agent", "list", BB_AGENT=COBALT).data}
    assert rows == {AMBER: "active", COBALT: "active"}
    assert repo.json("check", "src", BB_AGENT=COBALT).status != 0
    assert repo.json("agent", "heartbeat", BB_AGENT=AMBER).data["liveness"] == "active"
    returned = repo.json("ledger", "log", BB_AGENT="").data
    assert not [event for event in returned if event["kind"] == "x.bb.seen"], "nobody was away"


@pytest.mark.parametrize("hours", [1, -1])
def test_an_agent_of_another_clone_is_not_silent_because_the_clock_was_set(
    tmp_path: Path, clock: WallClock, hours: int
):
    """The other clone is on another machine, and the git remote brings its signs of life."""
    at = hub(tmp_path / "hub.git")
    there, here = (Scratch(clone(at, name).path, {"BB_DAEMON": "off"}) for name in ("there", "here"))
    here.settings = {**here.settings, **clock.settings}
    for each, agent in ((there, AMBER), (here, COBALT)):
        assert each.json("agent", "register", "--name", agent, "--role", "worker", BB_AGENT=agent).status == 0
        assert each.json("sync", "--publish", BB_AGENT=agent).status == 0

    clock.is_ahead_by(hours)

    rows = {row["agent_id"]: row["liveness"] for row in here.json("agent", "list", BB_AGENT=COBALT).data}
    assert rows == {AMBER: "active", COBALT: "active"}
