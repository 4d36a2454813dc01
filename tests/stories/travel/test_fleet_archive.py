"""The rows of a fleet's engine on the ledger's branch: what they say there is what the engine said."""

from __future__ import annotations

from pathlib import Path

from bb.coordination.facts import Reserved
from bb.ledger.published import pins
from tests import engine_log
from tests.engine_log import EngineLog
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, clone, hub


def reserved(agent: str, scope: str, log: EngineLog, **more: object) -> Reserved:
    return Reserved(agent, scope, "bb-1", 120, order=log.incarnation, **more)


def results(at: Clone) -> pins.Pins:
    return pins.read(str(at.store))


def test_rows_become_commits_and_their_places_are_the_tokens(tmp_path: Path):
    here, there = agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)
    before = results(here).remote("origin").tip
    log = engine_log.begin(here.path)
    (mine,) = engine_log.record(here.path, AMBER, reserved(AMBER, "src", log))
    engine_log.send(here.path, log)
    (theirs,) = engine_log.record(there.path, COBALT, reserved(COBALT, "src/parser", log))
    (other,) = engine_log.record(there.path, COBALT, reserved(COBALT, "docs", log))
    engine_log.send(there.path, log, most=1)
    known = engine_log.archive(here.path, log.rows)
    tip = known.remote("origin").tip

    there.sync(pull=True)
    newcomer = clone(tmp_path / "hub.git", "newcomer")
    newcomer.sync(pull=True)

    assert before is not None
    assert tip is not None
    assert tip.generation == tip.place == log.place
    assert tip.digest == log.digest
    assert {name: grant.token for name, grant in known.admitted.grants.items()} == {
        mine: log.first,
        other: log.place,
    }
    assert results(there).admitted == results(newcomer).admitted == known.admitted
    assert results(newcomer).remote("origin").tip == tip
    assert theirs in known.admitted.generations
