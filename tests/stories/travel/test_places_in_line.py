"""Places in line travel with the ledger, and only the clone that recorded one grants it."""

from __future__ import annotations

from pathlib import Path

from tests.stories.travel.travel_support import AMBER, COBALT, agents_at_work, hub


def test_only_the_clone_that_recorded_a_place_grants_it(tmp_path: Path):
    here, there = agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)
    here.ask("agent.reserve", agent=AMBER, scope=["src"])
    here.sync()
    there.sync()
    queued = there.ask("agent.reserve", agent=COBALT, scope=["src/a"], queue=True)
    assert queued["state"] == "queued"
    there.sync()
    here.sync()
    assert here.ask("status")["waiting"] == [], "the line of another clone"

    here.ask("agent.release", agent=AMBER, scope=["src"])
    assert here.holds() == set()
    here.sync()
    there.sync()
    assert there.holds() == set(), "nothing is granted until somebody acts here"
    there.ask("agent.reserve", agent=COBALT, scope=["docs"])

    assert (COBALT, "src/a", "active") in there.holds()
    there.sync()
    here.sync()
    assert (COBALT, "src/a", "active") in here.holds()
    assert here.digest == there.digest
    assert there.ask("status")["waiting"] == []
