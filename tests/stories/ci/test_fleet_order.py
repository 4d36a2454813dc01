"""In a fleet, CI judges by the engine's order, from the published branch alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.coordination.facts import Released, Reserved
from bb.ledger.published import tip
from tests import engine_log
from tests.engine_log import EngineLog
from tests.near import Near
from tests.stories.ci.ci_support import dated, told
from tests.stories.ci.program_support import alone, packed_once
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, hub
from tests.support import Ran

LEX, LATER = "src/lib/lex.py", "2026-01-05T12:10:00.000Z"


@pytest.fixture
def pair(tmp_path: Path) -> list[Clone]:
    here, there = agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)
    here.git("push", "--quiet", "origin", "HEAD:refs/heads/main")
    there.git("fetch", "--quiet", "origin", "main")
    there.git("reset", "--quiet", "--hard", "FETCH_HEAD")
    return [here, there]


@pytest.fixture
def log(pair: list[Clone]) -> EngineLog:
    """A fleet in which both have reserved src/lib. AMBER's row came first, and COBALT recorded it first."""
    log = engine_log.begin(pair[0].path)
    for place, who in ((1, COBALT), (0, AMBER)):
        wanted = Reserved(who, "src/lib", "bb-1", 120, order=log.incarnation)
        engine_log.record(pair[place].path, who, wanted)
    for each in pair:
        engine_log.send(each.path, log)
    engine_log.archive(pair[0].path, log.rows)
    return log


def commit(at: Clone, who: str, *, when: str = LATER) -> None:
    """WHO changes a file in src/lib, past its hooks."""
    (at.path / LEX).parent.mkdir(parents=True, exist_ok=True)
    (at.path / LEX).write_text(who)
    at.git("add", "--all")
    dated(at, "commit", "--quiet", "--no-verify", "-m", f"Change\n\nBB-Agent: {who}", author=when, committer=when)


def checkout(at: Clone, now: str = LATER) -> Near:
    """A fresh and shallow checkout of the clone's work."""
    at.git("push", "--quiet", "--force", "origin", "HEAD:refs/heads/work")
    ci = Near(at.path.parent / f"checkout-{len(list(at.path.parent.iterdir()))}", {"BB_NOW": now})
    origin = f"file://{at.path.parent / 'hub.git'}"
    at.git("clone", "--quiet", "--branch=work", "--depth=2", "--no-single-branch", origin, str(ci.path))
    return ci


def checked(at: Clone, *words: str, now: str = LATER) -> Ran:
    """What CI says about the clone's work."""
    return checkout(at, now).json("ci", "check", "--base", "origin/main", *words)


@pytest.mark.parametrize("is_from_snapshot", [False, True])
def test_the_agent_whose_row_came_first_holds_it(
    pair: list[Clone], log: EngineLog, monkeypatch: pytest.MonkeyPatch, is_from_snapshot: bool
):
    here, there = pair
    if is_from_snapshot:
        monkeypatch.setattr(tip, "AT_LEAST", 1)
        assert engine_log.sync_both(here.path).archived
        engine_log.record(here.path, AMBER, Reserved(AMBER, "docs", "bb-1", 120, order=log.incarnation))
        engine_log.send(here.path, log)
        monkeypatch.setattr(tip, "AT_LEAST", 1000)
        engine_log.archive(here.path, log.rows)
    commit(here, AMBER)
    commit(there, COBALT)

    assert checked(here).status == 0
    ran = checked(there)
    assert (ran.code, told(ran)) == ("CI_INCURSION", [("error", "held-then", LEX)])
    assert ran.envelope["error"]["details"]["ledger"]["generation"] == log.place


def test_after_a_release_in_a_later_row_the_next_one_holds_it(pair: list[Clone], log: EngineLog):
    here, there = pair
    (mine,) = (name for name, grant in engine_log.results(here.path).grants.items() if grant.agent == AMBER)
    engine_log.record(here.path, AMBER, Released(AMBER, mine))
    engine_log.send(here.path, log)
    engine_log.record(there.path, COBALT, Reserved(COBALT, "src/lib", "bb-1", 120, order=log.incarnation))
    engine_log.send(there.path, log)
    engine_log.archive(here.path, log.rows)
    commit(there, COBALT, when="2026-01-05T12:30:00.000Z")

    assert checked(there, now="2026-01-05T12:30:00.000Z").status == 0


@pytest.mark.usefixtures("log")
def test_the_packed_program_judges_alike(pair: list[Clone]):
    for each, who, status in ((pair[0], AMBER, 0), (pair[1], COBALT, 7)):
        commit(each, who)
        ran = alone(packed_once(), checkout(each), "check", "--base", "origin/main", "--json", BB_NOW=LATER)
        assert ran.status == status, ran.out + ran.err
