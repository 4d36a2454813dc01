"""Two clones that reserved the same without knowing of each other agree on whose it is, and the loser is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.ops.ledger import contest_notices
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, hub, settle
from tests.support import NOON


@pytest.fixture
def pair(tmp_path: Path) -> list[Clone]:
    """Two clones whose agents have both reserved what overlaps; nobody has synced since."""
    here, there = agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    there.ask("agent.reserve", agent=COBALT, scope=["src/parser"], bead="bb-2")
    return [here, there]


def contested(at: Clone) -> list[tuple[str, str]]:
    """Who does not hold what, because another clone's reservation stands."""
    found = at.ask("protocol.incursions")
    return [(each["from_agent"], each["scope"]) for each in found if each["outcome"] == "contested"]


@pytest.mark.parametrize("first", [0, 1], ids=["the-earlier-one", "the-later-one"])
def test_what_was_published_first_stands_whenever_it_was_made(pair: list[Clone], first: int):
    winner, loser = pair[first], pair[1 - first]
    agents, scopes = (AMBER, COBALT), ("src", "src/parser")

    winner.sync()
    answer = loser.sync(pull=True)
    settle(pair)

    lost = (agents[1 - first], scopes[1 - first])
    assert [(each["agent_id"], each["scope"]) for each in answer["contested"]] == [lost]
    assert contested(winner) == contested(loser) == [lost]
    assert winner.digest == loser.digest


def test_the_loser_is_told_by_mail_and_by_its_next_heartbeat(pair: list[Clone]):
    here, there = pair
    here.sync()
    there.sync()

    (told,) = there.ask("agent.inbox", agent=COBALT)
    beat = there.ask("agent.heartbeat", agent=COBALT)

    assert AMBER in told["body"]
    assert "is not valid" in told["subject"]
    assert beat["contested"] == ["src/parser"]
    assert "contested" not in here.ask("agent.heartbeat", agent=AMBER)
    assert there.holds() == here.holds() | {(COBALT, "src/parser", "contested")}


def met_untold(here: Clone, there: Clone) -> None:
    """HERE publishes first, and THERE is stopped before it tells its own agent."""
    here.sync()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contest_notices, "notify_losers", lambda *_: [])
        there.sync()
    here.sync(pull=True)
    assert contested(here) == contested(there) == []


def test_it_is_seen_wherever_both_are_known_before_anybody_says_so(pair: list[Clone]):
    met_untold(*pair)

    for at in pair:
        assert at.holds() == {(AMBER, "src", "active"), (COBALT, "src/parser", "contested")}
        assert {each["scope"]: each["state"] for each in at.ask("status")["reservations"]} == {
            "src": "active",
            "src/parser": "contested",
        }
        shown = {bead: at.ask("sessions.show", bead=bead) for bead in ("bb-1", "bb-2")}
        assert [shown[bead]["contested"] for bead in ("bb-1", "bb-2")] == [[], ["src/parser"]]
        assert "contested: src/parser;" in at.bb("sessions", "show", "bb-2", BB_NOW=NOON).out


def test_a_bead_is_its_whose_reservation_stands(tmp_path: Path):
    here, there = agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)
    there.ask("agent.reserve", agent=COBALT, scope=["src"], bead="bb-1")
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")

    met_untold(here, there)

    for at in (here, there):
        (task,) = at.ask("sessions.list")["feed"][0]["tasks"]
        assert (task["owner"], task["scopes"], task["contested"]) == (AMBER, ["src", "src"], ["src"])


def test_it_is_told_once_however_often_one_syncs(pair: list[Clone]):
    here, there = pair
    here.sync()
    for _ in range(3):
        there.sync()
        here.sync()

    assert len(there.ask("agent.inbox", agent=COBALT)) == 1
    assert here.ask("agent.inbox", agent=AMBER) == []
    assert len(contested(here)) == 1


def test_it_is_over_once_the_loser_has_let_go(pair: list[Clone]):
    here, there = pair
    here.sync()
    there.sync()

    there.ask("agent.release", agent=COBALT, all=True)

    assert "contested" not in there.ask("agent.heartbeat", agent=COBALT)
    assert there.ask("status")["incursions"] == []


def test_a_global_reservation_stands_before_a_local_one_that_came_earlier(tmp_path: Path):
    here, there = agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    there.ask("agent.reserve", agent=COBALT, scope=["src"], bead="bb-2", **{"global": True})

    here.sync()

    assert here.ask("agent.heartbeat", agent=AMBER)["contested"] == ["src"]
    settle([here, there])
    assert contested(there) == [(AMBER, "src")]


def test_an_overlap_that_was_agreed_to_is_no_contest(tmp_path: Path):
    here, there = agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    settle([here, there])
    there.ask("agent.reserve", agent=COBALT, scope=["src/parser"], bead="bb-2", allow_overlap=True)

    settle([here, there])

    assert contested(here) == contested(there) == []
