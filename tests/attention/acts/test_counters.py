"""The counters of what went wrong: which events they name, of which agents, and what is no fault."""

from __future__ import annotations

from typing import Any

from bb.attention.acts import counters
from tests.attention.hosts import AMBER, BLUE, CORAL, EVERYBODY, InMemory, message

QUESTION = "is the build green?"


def silences(host: InMemory) -> list[tuple[str, str, str]]:
    return [_row(event) for event in counted(host)["overSilence"]["events"]]


def talk(host: InMemory) -> list[tuple[str, str, str]]:
    return [_row(event) for event in counted(host)["overTalk"]["events"]]


def counted(host: InMemory, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = host.replay.ids.shortened(counters.counted(host.replay.here.book, host.replay.now, **more))
    return found


def _row(event: dict[str, Any]) -> tuple[str, str, str]:
    who = event["agent"] if "agent" in event else " ".join(event["agents"])
    return event["kind"], event["eventId"].removeprefix("slack:"), who


def over(host: InMemory) -> None:
    host.wait("16m")
    host.do(tick={})


def test_nothing_is_counted_where_nothing_went_wrong(memory: InMemory):
    memory.people()
    memory.dm("1", QUESTION)
    memory.says("2", "good morning")
    memory.send(AMBER, "It is.", "k", inReplyTo="1", visibility="dm")
    over(memory)

    wrong = counted(memory)

    assert [about["count"] for about in wrong.values()] == [0, 0]
    assert all(about["events"] == [] and about["cursor"] is None for about in wrong.values())


# -- too little


def test_an_answer_that_never_came_is_counted_when_its_time_is_over(memory: InMemory):
    memory.people()
    memory.dm("1", QUESTION)

    assert silences(memory) == []
    over(memory)
    assert silences(memory) == [("unanswered", "1", AMBER)]


def test_an_answer_that_came_after_its_time_is_late(memory: InMemory):
    memory.people()
    memory.dm("1", QUESTION)
    over(memory)
    memory.do(read={"agent": AMBER, "eventId": "1"})
    memory.send(AMBER, "It is.", "k", inReplyTo="1", visibility="dm")

    assert silences(memory) == [("late", "1", AMBER)]


def test_a_refusal_is_counted_at_once(memory: InMemory):
    memory.people()
    memory.dm("1", QUESTION)
    memory.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "declined"})

    assert silences(memory) == [("declined", "1", AMBER)]


def test_a_question_to_a_role_that_no_agent_takes_up_names_all_who_were_asked(memory: InMemory):
    memory.people((AMBER, "@backend"), (BLUE, "@backend"))
    memory.says("1", "@backend can one of you look?", mentions=["@backend"])

    assert silences(memory) == []
    over(memory)
    assert silences(memory) == [("not_taken_up", "1", f"{AMBER} {BLUE}")]
    assert counted(memory)["overSilence"]["agents"] == {AMBER: 1, BLUE: 1}


def test_a_question_to_a_role_that_one_agent_answers_is_no_fault(memory: InMemory):
    memory.people((AMBER, "@backend"), (BLUE, "@backend"))
    memory.says("1", "@backend can one of you look?", mentions=["@backend"])
    first = next(agent for agent in (AMBER, BLUE) if memory.sees(agent))
    memory.do(claim={"agent": first, "eventId": "1"})
    memory.send(first, "I can.", "k", inReplyTo="1")
    over(memory)

    assert silences(memory) == []


def test_what_was_deleted_or_edited_away_is_owed_no_more(memory: InMemory):
    memory.people()
    memory.says("1", "U1 look?", mentions=["U1"])
    memory.says("2", "U1 and this?", mentions=["U1"], conversation="C2")
    memory.do(delete={"eventId": "1"})
    memory.do(edit=message("2", "never mind", conversation="C2", mentions=[]) | {"version": 2})
    over(memory)

    assert silences(memory) == []


# -- too much


def test_an_attempt_that_was_refused_is_counted_with_its_reason(memory: InMemory):
    memory.people()
    memory.says("1", "good morning")
    memory.refusal(send={"agent": BLUE, "inReplyTo": "1", "content": "Good morning!", **SAID})

    (event,) = counted(memory)["overTalk"]["events"]
    assert _row(event) == ("refused", "1", BLUE)
    assert event["code"] == "POLICY_FORBIDS"


def test_a_refusal_that_is_no_talk_is_not_counted(memory: InMemory):
    memory.people()
    memory.refusal(send={"agent": BLUE, "inReplyTo": "nothing", "content": "Hello", **SAID})

    assert talk(memory) == []


def test_a_second_agent_that_answered_in_another_clone_is_counted(memory: InMemory):
    memory.people((AMBER, "@backend"), (BLUE, "@backend"))
    memory.says("1", "@backend look?", mentions=["@backend"])
    memory.do(clone="there")
    memory.wait("31s")
    for clone, agent in (("here", AMBER), ("there", BLUE)):
        memory.step_in(clone, claim={"agent": agent, "eventId": "1"})
        memory.step_in(clone, send={"agent": agent, "inReplyTo": "1", "content": "I look.", **SAID})
    memory.do(merge=["here", "there"])

    (fault,) = talk(memory)
    assert fault[:2] == ("second_answer", "1")
    assert fault[2] in (AMBER, BLUE)


def test_two_agents_that_are_both_asked_may_both_answer(memory: InMemory):
    memory.people()
    memory.says("1", "U1 U2 is it green?", mentions=["U1", "U2"])
    for agent in (AMBER, BLUE):
        memory.send(agent, "Yes.", agent, inReplyTo="1")

    assert talk(memory) == []


# -- how they are listed


def test_the_events_are_listed_in_pages_and_the_counts_are_of_all(memory: InMemory):
    memory.people()
    for number in range(5):
        memory.dm(str(number), QUESTION, to=EVERYBODY[number % 2], author=f"W{number}")
    over(memory)

    first = counted(memory, most=3)["overSilence"]
    second = counted(memory, most=3, cursor=first["cursor"])["overSilence"]

    assert (first["count"], first["kinds"], first["agents"]) == (5, {"unanswered": 5}, {AMBER: 3, BLUE: 2})
    assert [_row(event)[1] for event in (*first["events"], *second["events"])] == ["4", "3", "2", "1", "0"]
    assert second["cursor"] is None
    assert CORAL not in first["agents"]


SAID = {"idempotencyKey": "k", "visibility": "channel", "directedness": "to_other"}
