"""Taking over from the silent: many try at once, one does, and the old reservation is archived once."""

from __future__ import annotations

import time

import pytest

from tests.grids import repeats
from tests.stories.races.doers import COVERING
from tests.stories.races.races_support import Worker, ago, crew, in_order, meetings, of_kind
from tests.support import Scratch

OWNER = "amber-otter"
TAKERS = [f"taker-{number}" for number in range(8)]


@pytest.mark.parametrize(
    ("minutes", "archived"), [(20, "taken_over"), (40, "expired"), (150, "expired")], ids=["stale", "evicted", "over"]
)
def test_one_of_many_takes_over_and_the_old_one_is_archived_once(repo: Scratch, minutes: int, archived: str):
    with crew(repo.path) as everybody:
        takers = everybody.registered(*TAKERS)
        (owner,) = everybody.hire(OWNER)
        before = ago(minutes)
        assert owner.do("agent.register", now=before, name=OWNER, role="builder").code is None
        for turn in repeats(5, 10):
            old = owner.do("agent.reserve", now=before, scope=["src/parser"], bead=f"bb-{turn}").reservation
            wanted = [
                {"scope": [COVERING[(turn + place) % len(COVERING)]], "bead": "bb-1", "takeover_stale": True}
                for place in range(len(takers))
            ]
            answers = everybody.race("agent.reserve", list(zip(takers, wanted, strict=True)))

            assert sorted(str(answer.code) for answer in answers) == ["None"] + ["RESERVATION_CONFLICT"] * 7
            ((winner, answer),) = [(a, b) for a, b in zip(takers, answers, strict=True) if b.code is None]
            (taken,) = answer.data["taken_over"]
            assert (taken["reservation_id"], taken["state"], taken["agent_id"]) == (old, archived, OWNER)
            assert winner.do("agent.release", all_=True).code is None

            lines = in_order(repo.path)
            ends = [line for line in lines if line["data"].get("reservation_id") == old]
            assert [(line["kind"], line["by"]) for line in ends] == [("x.bb.taken_over", winner.agent)]
            told = [line for line in lines if of_incursion(line, old, "taken_over")]
            assert len(told) == 1
        assert meetings(lines) == []


def of_incursion(line: dict, reservation: str, outcome: str) -> bool:
    return line["kind"] == "system.notify" and reservation in str(line["data"]) and outcome in str(line["data"])


def test_many_holdings_of_the_silent_go_to_one(repo: Scratch):
    """Who takes `src` takes all that is held below it, each once."""
    with crew(repo.path) as everybody:
        takers = everybody.registered(*TAKERS)
        owners = everybody.hire(*[f"owner-{number}" for number in range(4)])
        before = ago(20)
        for one in owners:
            assert one.do("agent.register", now=before, name=one.agent, role="builder").code is None
        for _ in repeats(3, 5):
            old = [
                one.do("agent.reserve", now=before, scope=[f"src/part-{n}"], bead="bb-1").reservation
                for n, one in enumerate(owners)
            ]
            given = {"scope": ["src"], "bead": "bb-1", "takeover_stale": True}
            answers = everybody.race("agent.reserve", [(one, given) for one in takers])

            (winner,) = [one for one, answer in zip(takers, answers, strict=True) if answer.code is None]
            ended = [line["data"]["reservation_id"] for line in of_kind(in_order(repo.path), "x.bb.taken_over")]
            assert sorted(ended[-4:]) == sorted(old)
            assert len(ended) == len(set(ended))
            assert winner.do("agent.release", all_=True).code is None
    assert meetings(in_order(repo.path)) == []


def test_the_owner_comes_back_or_is_taken_over(repo: Scratch):
    """A renewal races with those who take over: either it is renewed and all of them are refused, or one has it."""
    outcomes = []
    with crew(repo.path) as everybody:
        takers = everybody.registered(*TAKERS[:3])
        (owner,) = everybody.hire(OWNER)
        before = ago(20)
        assert owner.do("agent.register", now=before, name=OWNER, role="builder").code is None
        for _ in repeats(8, 20):
            (repo.store / "presence" / f"{OWNER}.json").unlink(missing_ok=True)
            assert owner.do("agent.register", now=before, name=OWNER, role="builder", force_update=True).code is None
            owner.do("agent.reserve", now=before, scope=["src"], bead="bb-1").reservation  # noqa: B018
            given = {"scope": ["src"], "bead": "bb-1", "takeover_stale": True}
            renewed, *answers = everybody.race_of(
                [(owner, "agent.renew", {"scope": ["src"]}), *((one, "agent.reserve", given) for one in takers)]
            )

            won = [one for one, answer in zip(takers, answers, strict=True) if answer.code is None]
            refused = {answer.code for answer in answers if answer.code}
            assert refused == {"RESERVATION_CONFLICT"}
            assert len(won) == (0 if renewed.code is None else 1)
            assert renewed.code in (None, "RENEW_FORBIDDEN", "RESERVATION_NOT_FOUND")
            outcomes.append(renewed.code)
            for one in (owner, *won):
                one.do("agent.release", all_=True)
    assert meetings(in_order(repo.path)) == []


def at_work_for_an_hour(one: Worker) -> None:
    """Registered an hour ago and never silent for long since, so its presence is the only sign of life there is."""
    assert one.do("agent.register", now=ago(60), name=one.agent, role="builder").code is None
    for minutes in (50, 40, 30, 20, 10):
        assert one.do("agent.heartbeat", now=ago(minutes)).code is None


def test_who_has_just_reserved_is_not_taken_for_silent(repo: Scratch):
    """Each asks the clock before it stands in line for the ledger, so a winner's sign of life is often later than the
    moment a loser judges it by."""
    with crew(repo.path) as everybody:
        takers = everybody.hire(*TAKERS)
        for one in takers:
            at_work_for_an_hour(one)
        for turn in repeats(6, 15):
            given = {"scope": ["src"], "bead": f"bb-{turn}", "takeover_stale": True}
            answers = everybody.race("agent.reserve", [(one, given) for one in takers])

            assert sorted(str(answer.code) for answer in answers) == ["None"] + ["RESERVATION_CONFLICT"] * 7
            assert [one.do("agent.release", all_=True).code for one in takers] == [None] * 8
    assert of_kind(in_order(repo.path), "x.bb.taken_over") == []


def test_a_moment_in_line_does_not_make_a_holder_silent(repo: Scratch):
    """The same, one after the other: judged by a moment just before it reserved, the holder is alive."""
    with crew(repo.path) as everybody:
        holder, taker = everybody.hire(*TAKERS[:2])
        at_work_for_an_hour(holder)
        at_work_for_an_hour(taker)
        before = ago(0)
        time.sleep(0.02)
        assert holder.do("agent.reserve", scope=["src"], bead="bb-1").code is None

        found = taker.do("agent.reserve", now=before, scope=["src"], bead="bb-1", takeover_stale=True)

        assert found.code == "RESERVATION_CONFLICT"
