"""What two clones reserved at the same time excuses only the agent that holds it: in CI as in `bb check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.ledger.published import tip
from bb.ledger.travel import remote_reader
from tests.examples import examples
from tests.near import Near
from tests.stories.ci.ci_support import dated, told
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, hub, settle
from tests.support import NOON, Ran

LEX, LATER = "src/lib/lex.py", "2026-01-05T12:10:00.000Z"


@pytest.fixture
def pair(tmp_path: Path) -> list[Clone]:
    """AMBER and COBALT have both reserved src/lib in their clones. AMBER published first, and the code has a base."""
    here, there = agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)
    here.git("push", "--quiet", "origin", "HEAD:refs/heads/main")
    there.git("fetch", "--quiet", "origin", "main")
    there.git("reset", "--quiet", "--hard", "FETCH_HEAD")
    there.ask("agent.reserve", agent=COBALT, scope=["src/lib"], bead="bb-2")
    here.ask("agent.reserve", agent=AMBER, scope=["src/lib"], bead="bb-1")
    here.sync()
    there.sync()
    here.sync(pull=True)
    return [here, there]


def commit(at: Clone, who: str, path: str = LEX, *, when: str = LATER) -> str:
    """WHO changes a path, past its hooks; the commit."""
    (at.path / path).parent.mkdir(parents=True, exist_ok=True)
    (at.path / path).write_text(who)
    at.git("add", "--all")
    dated(at, "commit", "--quiet", "--no-verify", "-m", f"Change\n\nBB-Agent: {who}", author=when, committer=when)
    return at.git("rev-parse", "HEAD").strip()


def checked(at: Clone, *words: str, now: str = LATER) -> Ran:
    """What CI says about the clone's work, in a fresh checkout of it."""
    at.git("push", "--quiet", "--force", "origin", "HEAD:refs/heads/work")
    ci = Near(at.path.parent / f"checkout-{len(list(at.path.parent.iterdir()))}", {"BB_NOW": now})
    origin = at.git("remote", "get-url", "origin").strip()
    at.git("clone", "--quiet", "--branch=work", origin, str(ci.path))
    return ci.json("ci", "check", "--base", "origin/main", *words)


def test_the_agent_that_lost_is_stopped_as_its_own_check_stops_it(pair: list[Clone]):
    _, there = pair
    commit(there, COBALT)

    assert there.refused_or("check", path=[LEX], agent=COBALT) == "PATH_HELD"
    ran = checked(there)
    assert (ran.code, told(ran)) == ("CI_INCURSION", [("error", "held-then", LEX)])
    assert ran.envelope["error"]["details"]["findings"][0]["held_by"] == AMBER


def test_the_agent_that_holds_it_passes(pair: list[Clone]):
    here, _ = pair
    commit(here, AMBER)

    assert here.refused_or("check", path=[LEX], agent=AMBER) == ""
    assert checked(here, "--declared").data["findings"] == []


def test_what_is_contested_was_not_declared(pair: list[Clone]):
    _, there = pair
    commit(there, COBALT)

    found = told(checked(there, "--declared"))

    assert set(found) == {("error", "held-then", LEX), ("error", "outside-declared", LEX)}


def test_the_order_of_publication_decides_and_not_the_order_in_the_ledger(tmp_path: Path):
    """COBALT reserved first and published second: the last commit of the ledger alone would name the wrong holder."""
    here, there = agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)
    here.git("push", "--quiet", "origin", "HEAD:refs/heads/main")
    there.git("fetch", "--quiet", "origin", "main")
    there.git("reset", "--quiet", "--hard", "FETCH_HEAD")
    for clone, who in ((there, COBALT), (here, AMBER)):
        clone.ask("agent.reserve", agent=who, scope=["src/lib"], bead="bb-1")
    for clone in (here, there, here):
        clone.sync()
    for clone, who in ((here, AMBER), (there, COBALT)):
        commit(clone, who)

    assert checked(here).status == 0
    assert told(checked(there)) == [("error", "held-then", LEX)]
    for clone, who, status in ((here, AMBER, 0), (there, COBALT, 7)):
        assert clone.json("ci", "check", "--base", "HEAD^", "--local", BB_NOW=LATER).status == status, who


def test_the_loser_holds_it_once_the_winner_has_released_it(pair: list[Clone]):
    here, there = pair
    here.ask("agent.release", agent=AMBER, all=True, now="2026-01-05T12:20:00.000Z")
    here.sync()
    there.sync(pull=True)
    before = commit(there, COBALT)
    commit(there, COBALT, "src/lib/b.py", when="2026-01-05T12:30:00.000Z")

    ran = checked(there, now="2026-01-05T12:30:00.000Z")

    # It holds the path by now, so what it did during the contest is a warning.
    assert told(ran) == [("warning", "held-then", LEX)]
    assert ran.data["findings"][0]["commits"] == [before]


@pytest.fixture
def beside(tmp_path: Path) -> list[Clone]:
    """AMBER holds two files of src/lib. COBALT knows, and has reserved src/lib with --allow-overlap."""
    here, there = agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)
    here.git("push", "--quiet", "origin", "HEAD:refs/heads/main")
    there.git("fetch", "--quiet", "origin", "main")
    there.git("reset", "--quiet", "--hard", "FETCH_HEAD")
    here.ask("agent.reserve", agent=AMBER, scope=["src/lib/a.py", LEX], bead="bb-1")
    here.sync()
    there.sync(pull=True)
    there.ask("agent.reserve", agent=COBALT, scope=["src/lib"], bead="bb-2", allow_overlap=True)
    return [here, there]


@pytest.mark.parametrize("path", ["src/lib/a.py", LEX])
def test_who_reserved_beside_what_it_knew_is_not_in_a_contest(beside: list[Clone], path: str):
    there = beside[1]
    there.sync()
    commit(there, COBALT, path)

    assert there.refused_or("check", path=[path], agent=COBALT) == ""
    assert checked(there).data["findings"] == []


def test_an_overlap_with_one_reservation_is_none_with_another_one_that_was_not_known(beside: list[Clone]):
    here, there = beside
    here.ask("agent.reserve", agent=AMBER, scope=["src/lib/b.py"], bead="bb-1")
    here.sync()
    there.sync()
    commit(there, COBALT, "src/lib/b.py")

    assert there.refused_or("check", path=["src/lib/b.py"], agent=COBALT) == "PATH_HELD"
    assert told(checked(there)) == [("error", "held-then", "src/lib/b.py")]


def test_an_overlap_ends_with_the_reservation_that_was_known(beside: list[Clone]):
    """Later, both reserve the same scopes again, and neither knows."""
    here, there = beside
    settle(beside)
    here.ask("agent.release", agent=AMBER, all=True)
    there.ask("agent.release", agent=COBALT, all=True)
    settle(beside)
    here.ask("agent.reserve", agent=AMBER, scope=[LEX], bead="bb-1")
    there.ask("agent.reserve", agent=COBALT, scope=["src/lib"], bead="bb-2")
    settle(beside)
    commit(there, COBALT)

    assert there.refused_or("check", path=[LEX], agent=COBALT) == "PATH_HELD"
    assert told(checked(there)) == [("error", "held-then", LEX)]


def test_an_overlap_that_was_resolved_as_reverted_is_contested(beside: list[Clone]):
    here, there = beside
    settle(beside)
    (found,) = here.ask("protocol.incursions")
    here.ask("protocol.resolve", event=found["id"], agent=AMBER, **{"as": "reverted"})
    settle(beside)
    commit(there, COBALT)

    assert there.refused_or("check", path=[LEX], agent=COBALT) == "PATH_HELD"
    assert told(checked(there)) == [("error", "held-then", LEX)]


def test_a_global_reservation_that_was_not_admitted_excuses_nothing(tmp_path: Path):
    here, there = agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)
    here.git("push", "--quiet", "origin", "HEAD:refs/heads/main")
    there.git("fetch", "--quiet", "origin", "main")
    there.git("reset", "--quiet", "--hard", "FETCH_HEAD")
    here.ask("agent.reserve", agent=AMBER, scope=["src/lib"], bead="bb-1", **{"global": True})
    there.sync(pull=True)
    assert there.refused_or("agent.reserve", agent=COBALT, scope=["src/lib"], bead="bb-2", **{"global": True})
    commit(there, COBALT)

    assert told(checked(there, "--declared")) == [
        ("error", "held-then", LEX),
        ("error", "outside-declared", LEX),
    ]


def test_what_a_later_global_reservation_took_over_excuses_its_former_holder_no_more(tmp_path: Path):
    here, there = agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)
    here.git("push", "--quiet", "origin", "HEAD:refs/heads/main")
    here.ask("agent.reserve", agent=AMBER, scope=["src/lib"], bead="bb-1", ttl=1440, **{"global": True})
    there.sync(pull=True)
    taken = "2026-01-05T13:00:00.000Z"
    there.ask(
        *("agent.reserve", taken),
        **{"agent": COBALT, "scope": ["src/lib"], "bead": "bb-2", "global": True, "takeover_stale": True},
    )
    commit(here, AMBER, when="2026-01-05T13:10:00.000Z")

    assert told(checked(here, now="2026-01-05T13:10:00.000Z")) == [("error", "held-then", LEX)]
    assert taken > NOON


def test_every_guard_stops_the_agent_that_lost(pair: list[Clone]):
    here, there = pair
    for clone, who, status in ((there, COBALT, 7), (here, AMBER, 0)):
        clone.settings["BB_NOW"] = LATER
        (clone.path / LEX).parent.mkdir(parents=True, exist_ok=True)
        (clone.path / LEX).write_text(who)
        clone.git("add", "--all")
        assert clone.json("check", LEX, "--agent", who).status == status
        assert clone.json("check", "--staged", "--agent", who).status == status
        assert clone.json("hook", "pre-commit", BB_AGENT=who).status == status
        call = {
            "tool_name": "Edit",
            "tool_input": {"file_path": str(clone.path / LEX)},
            "hook_event_name": "PreToolUse",
        }
        asked = clone.bb("hook", "pre-tool", stdin=json.dumps(call), BB_AGENT=who)
        assert ("is reserved by amber-otter" in asked.out + asked.err) is (status == 7), asked


SCOPES = ("src", "src/lib", "src/lib/lex.py", "src/*.py")
HOLDINGS = st.tuples(st.sampled_from(SCOPES), st.sampled_from(("exclusive", "shared", "open")))


@examples(15)
@given(first=HOLDINGS, second=HOLDINGS, is_amber_first=st.booleans(), is_known=st.booleans())
def test_ci_and_check_come_to_the_same_verdict(
    tmp_path_factory: pytest.TempPathFactory,
    first: tuple[str, str],
    second: tuple[str, str],
    is_amber_first: bool,
    is_known: bool,
):
    folder = tmp_path_factory.mktemp("same")
    here, there = agents_at_work(hub(folder / "hub.git"), AMBER, COBALT)
    both = ((here, AMBER, first), (there, COBALT, second))
    for clone, who, (scope, kind) in both if is_amber_first else reversed(both):
        if is_known:
            clone.sync(pull=True)
        flags = {kind: True} if kind != "exclusive" else {}
        clone.refused_or("agent.reserve", agent=who, scope=[scope], bead="bb-1", allow_overlap=is_known, **flags)
        if is_known:
            clone.sync()
    for clone in (here, there, here) if is_amber_first else (there, here, there):
        clone.sync()

    for path in ("src/lib/lex.py", "src/lib/b.py", "src/c.py"):
        for who in (AMBER, COBALT):
            is_held = here.refused_or("check", now=LATER, path=[path], agent=who) == "PATH_HELD"
            commit(here, who, path)
            answer = here.refused_or("ci.check", now=LATER, base="HEAD^", local=True)
            assert (answer == "CI_INCURSION") is is_held, (path, who, answer)


def with_snapshot(pair: list[Clone], monkeypatch: pytest.MonkeyPatch, lines: int = 30) -> None:
    """Let a few lines be enough for a snapshot of the published ledger, and publish one."""
    monkeypatch.setattr(tip, "AT_LEAST", 20)
    here, there = pair
    letter = {"from": AMBER, "to": COBALT, "bead": "bb-1", "category": "INFO", "subject": "Look"}
    for n in range(lines):
        here.ask("agent.send", **letter, body=f"nothing much {n}")
    assert here.sync()["archived"] is not None
    there.sync()


def readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for each time that every commit is read from now on."""
    seen: list[str] = []
    read = remote_reader._everything

    def noted(repository: str, commit: str, *more: Any) -> Any:
        seen.append(commit)
        return read(repository, commit, *more)

    monkeypatch.setattr(remote_reader, "_everything", noted)
    return seen


def test_a_snapshot_says_which_of_two_live_reservations_holds(pair: list[Clone], monkeypatch: pytest.MonkeyPatch):
    here, there = pair
    with_snapshot(pair, monkeypatch)
    commit(here, AMBER)
    commit(there, COBALT)

    seen = readings(monkeypatch)
    assert checked(here).status == 0
    assert told(checked(there)) == [("error", "held-then", LEX)]
    assert not seen, "the snapshot was enough"


def test_of_reservations_that_ended_before_a_snapshot_every_commit_shows_the_order(
    pair: list[Clone], monkeypatch: pytest.MonkeyPatch
):
    here, there = pair
    here.ask("agent.release", agent=AMBER, all=True, now="2026-01-05T12:20:00.000Z")
    here.sync()
    there.sync(pull=True)
    with_snapshot(pair, monkeypatch)
    before = commit(there, COBALT)
    commit(there, COBALT, "src/lib/b.py", when="2026-01-05T12:30:00.000Z")

    seen = readings(monkeypatch)
    ran = checked(there, now="2026-01-05T12:30:00.000Z")

    assert told(ran) == [("warning", "held-then", LEX)]
    assert ran.data["findings"][0]["commits"] == [before]
    assert len(seen) == 1
