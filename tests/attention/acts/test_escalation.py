"""What time alone brings about: reminders, what is too old, whom else is asked, what was put off, a question back; and
how agents among themselves are brought to an end. (C2A §Stale Events; the state machine of the notes.)"""

from __future__ import annotations

from typing import Any

import pytest

from tests.attention.hosts import AMBER, BLUE, CORAL, DELTA, EVERYBODY, Host, InMemory, message

QUESTION = "Is the deploy blocked?"


def ticks(host: Host, span: str = "") -> list[str]:
    """What has become due after a while: `what agent`, and whom it leads to."""
    if span:
        host.wait(span)
    due = host.do(tick={})["due"]
    return [" ".join([each["what"], each["agent"], *([each["to"]] if "to" in each else [])]) for each in due]


def handed(host: Host, agent: str = AMBER, span: str = "4s") -> list[str]:
    """What an agent is given after a while, and takes."""
    host.wait(span)
    found = host.sees(agent)
    host.inject(agent)
    return found


def shown(host: Host, event: str = "1", agent: str = AMBER) -> dict[str, Any]:
    found: dict[str, Any] = host.do(show={"agent": agent, "event": event})
    return found


def answers(host: Host, event: str, agent: str, **more: Any) -> dict[str, Any]:
    said = {"visibility": "channel", "inReplyTo": event, **more}
    return host.send(agent, "It is not.", f"answer of {agent} to {event}", **said)


def asked(host: Host, **about: str) -> None:
    """A is asked in a channel of which that is known, has been handed it, and says nothing."""
    host.people()
    if about:
        host.do(conversation={"id": "C1", **about})
    host.says("1", f"U1 {QUESTION}", mentions=["U1"])
    assert handed(host) == ["content 1 must_respond"]


# -- half of the time, and all of it


def test_a_reminder_comes_once_at_half_of_the_time_as_a_knock(host: Host):
    asked(host)
    assert ticks(host, "7m") == []
    assert ticks(host, "1m") == [f"reminded {AMBER}"]
    assert ticks(host) == []
    assert handed(host) == ["knock 1 must_respond"]
    assert shown(host)["attempt"] == 2
    assert handed(host) == []


def test_who_was_never_handed_it_is_not_reminded_of_it(host: Host):
    host.people()
    host.dm("1", QUESTION)

    assert ticks(host, "8m") == []
    assert host.sees(AMBER) == ["content 1 must_respond"]


def test_what_is_claimed_or_put_off_follows_its_own_time(host: Host):
    host.people()
    host.dm("1", QUESTION)
    host.dm("2", QUESTION, author="W2")
    handed(host)
    host.do(claim={"agent": AMBER, "eventId": "1", "ttlMs": 3_600_000})
    host.do(react={"agent": AMBER, "inReplyTo": "2", "signal": "queued"})

    assert ticks(host, "8m") == []
    assert ticks(host, "8m") == []
    for event in ("1", "2"):
        assert shown(host, event)["policy"] == "must_respond"
        assert "stale" not in shown(host, event)


def test_its_age_is_counted_from_when_it_was_said(host: Host):
    host.people()
    host.dm("1", QUESTION, timing={"createdAt": "2026-06-02T18:50:00Z"})

    assert host.explain("1")["dueAt"] == "2026-06-02T19:05:00.000Z"
    assert ticks(host, "6m") == [f"stale {AMBER}", f"escalated {AMBER} user"]


def test_what_comes_too_late_is_handed_over_as_old_and_given_half_of_its_time_once_more(host: Host):
    host.people()
    host.do(conversation={"id": "C1", "lead": CORAL})
    host.says("1", f"U1 {QUESTION}", mentions=["U1"], timing={"createdAt": "2026-06-02T18:00:00Z"})
    assert ticks(host) == [f"stale {AMBER}"]
    assert handed(host) == ["content 1 may_respond"]
    assert handed(host) == []

    assert ticks(host, "7m") == []
    assert host.sees(CORAL) == []
    assert ticks(host, "1m") == [f"escalated {AMBER} {CORAL}"]


def test_a_clock_that_is_ahead_makes_nothing_older(host: Host):
    host.people()
    host.dm("1", QUESTION, timing={"createdAt": "2031-01-01T00:00:00Z"})

    assert ticks(host, "16m") == []
    assert ticks(host, "25h") == [f"stale {AMBER}", f"escalated {AMBER} user"]


# -- whom else is asked


def test_the_ladder_is_gone_up_one_at_a_time_and_ends_with_the_person(host: Host):
    host.people()
    host.do(bind={"agent": DELTA, "streams": ["kettle"]})
    host.do(policy={"responder": BLUE})
    host.do(conversation={"id": "C1", "lead": CORAL, "stream": "kettle"})
    host.says("1", f"U1 {QUESTION}", mentions=["U1"])
    rungs = []
    for _ in range(12):
        rungs += [each.split()[2] for each in ticks(host, "8m") if each.startswith("escalated")]

    assert rungs == [CORAL, DELTA, BLUE, "user"]
    events = [row["eventId"] for agent in EVERYBODY for row in host.do(list={"agent": agent, "limit": 200})["events"]]
    assert sorted(event for event in events if "esc" in event) == ["1~esc1", "1~esc2", "1~esc3"]


def test_however_many_could_be_asked_the_person_is_the_last(host: Host):
    host.people()
    host.do(bind={"agent": DELTA, "streams": ["kettle"]})
    host.do(policy={"responder": BLUE})
    host.do(conversation={"id": "C1", "lead": CORAL, "owner": AMBER, "stream": "kettle"})
    host.do(agents=[{"id": "grey-goose"}])
    host.do(bind={"agent": "grey-goose", "handles": ["slack:U9"]})
    host.says("1", f"U9 {QUESTION}", mentions=["U9"])
    rungs = []
    for _ in range(12):
        rungs += [each.split()[2] for each in ticks(host, "8m") if each.startswith("escalated")]

    assert rungs == [CORAL, DELTA, AMBER, "user"]


def test_who_leads_is_asked_though_it_was_knocked_at_before(host: Host):
    host.people()
    host.do(conversation={"id": "C1", "lead": CORAL})
    host.send(CORAL, "I am here.", "k", target={"conversation": "C1", "thread": "T1"}, visibility="thread")
    host.says("1", f"U1 {QUESTION}", mentions=["U1"], thread="T1")
    assert host.triple("1", CORAL) == "to_my_role/may_respond/notify"

    assert ticks(host, "16m") == [f"stale {AMBER}", f"escalated {AMBER} {CORAL}"]


def test_who_is_gone_is_not_asked(memory: InMemory):
    memory.people()
    memory.do(agents=[{"id": CORAL, "liveness": "evicted"}])
    memory.do(conversation={"id": "C1", "lead": CORAL, "owner": DELTA})
    memory.says("1", f"U1 {QUESTION}", mentions=["U1"])

    assert ticks(memory, "16m") == [f"stale {AMBER}", f"escalated {AMBER} {DELTA}"]


def test_two_who_leave_one_question_unanswered_lead_to_one_other(host: Host):
    host.people()
    host.do(conversation={"id": "C1", "lead": CORAL, "owner": DELTA})
    host.says("1", f"U1 U2 {QUESTION}", mentions=["U1", "U2"])
    first = ticks(host, "16m")
    later = [*ticks(host), *ticks(host, "1m"), *ticks(host, "5m")]

    assert sorted(each.split()[0] for each in first) == ["escalated", "stale", "stale"]
    assert [each for each in later if each.startswith("escalated")] == []
    assert host.sees(DELTA) == []


def test_who_was_asked_instead_is_asked_as_urgently_as_anybody(host: Host):
    asked(host, lead=CORAL)
    ticks(host, "16m")

    assert handed(host, CORAL) == ["content 1~esc1 must_respond"]
    found = shown(host, "1~esc1", CORAL)
    assert (found["directedness"], found["reason"], found["linked"], found["deadlineMs"]) == (
        "to_me",
        "escalated",
        "1",
        900_000,
    )
    assert ticks(host, "8m") == [f"reminded {CORAL}"]


@pytest.mark.parametrize("way", ["send", "done", "resolve"])
def test_an_answer_to_the_question_after_all_closes_what_others_were_asked(host: Host, way: str):
    asked(host, lead=CORAL)
    ticks(host, "16m")
    if way == "send":
        host.do(read={"agent": AMBER, "eventId": "1"})
        answers(host, "1", AMBER)
    elif way == "done":
        host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "done"})
    else:
        host.do(resolve={"agent": AMBER, "eventId": "1"})

    assert host.disposition("1") == "responded"
    assert host.disposition("1~esc1", CORAL) == "superseded"
    assert host.sees(CORAL) == []
    assert host.do(pending=CORAL)["events"] == []
    assert host.refusal(send=late("1~esc1", CORAL)).code == "SUPERSEDED"


def late(event: str, agent: str) -> dict[str, Any]:
    said = {"content": "It is.", "inReplyTo": event, "idempotencyKey": "late", "visibility": "channel"}
    return {"agent": agent, "directedness": "to_other", **said}


def test_an_answer_by_who_was_asked_instead_closes_the_question(host: Host):
    asked(host, lead=CORAL)
    ticks(host, "16m")
    answers(host, "1~esc1", CORAL)

    assert host.disposition("1") == "superseded"
    assert shown(host)["supersededBy"] == "1~esc1"
    assert host.do(pending=AMBER)["events"] == []
    assert [*ticks(host, "20m"), *ticks(host, "20m")] == []


def test_what_answers_something_else_closes_nothing(host: Host):
    host.people()
    target = {"conversation": "C1"}
    mine = host.send(AMBER, f"@{BLUE} @{CORAL} {QUESTION}", "k", target=target, directedness="to_me")["messageId"]
    line = {"eventId": mine, "author": {"id": "W1"}, "source": {"platform": "slack"}, "glyph": "🙅"}
    reaction = host.do(reaction=line)["eventId"]
    host.do(react={"agent": AMBER, "inReplyTo": reaction, "signal": "done"})

    assert [host.disposition(mine, agent) for agent in (BLUE, CORAL)] == [None, None]


def test_two_clones_that_look_at_the_time_ask_the_same_one_once(memory: InMemory):
    asked(memory, lead=CORAL)
    memory.do(clone="there")
    memory.wait("16m")
    for clone in ("here", "there"):
        assert "error" not in memory.replay.step({"tick": {}, "in": clone})
    assert memory.do(merge=["here", "there"])["agree"]

    rows = memory.do(list={"agent": CORAL})["events"]
    assert [row["eventId"] for row in rows if row["policy"] == "must_respond"] == ["1~esc1"]
    assert ticks(memory) == []


def test_turns_that_keep_failing_lead_to_another(memory: InMemory):
    asked(memory, lead=CORAL)
    for _ in range(3):
        memory.do(turn={"agent": AMBER, "event": "1", "state": "started"})
        memory.do(turn={"agent": AMBER, "event": "1", "state": "failed"})
        memory.inject()

    assert ticks(memory) == [f"failed {AMBER}", f"escalated {AMBER} {CORAL}"]
    assert memory.disposition("1") == "failed"
    assert ticks(memory) == []


# -- what is put off


def test_what_is_put_off_comes_back_as_one_knock_and_has_its_time_again(host: Host):
    asked(host, lead=CORAL)
    host.do(defer={"agent": AMBER, "eventId": "1", "reason": "the deploy runs", "until": "2026-06-02T20:00:00Z"})
    assert ticks(host, "50m") == []
    assert host.sees(AMBER) == []

    assert ticks(host, "11m") == [f"resurfaced {AMBER}"]
    assert handed(host) == ["knock 1 must_respond"]
    assert shown(host)["attempt"] == 2
    assert host.explain("1")["dueAt"] == "2026-06-02T20:15:00.000Z"
    assert ticks(host, "3m") == []
    assert ticks(host, "12m") == [f"stale {AMBER}", f"escalated {AMBER} {CORAL}"]


@pytest.mark.parametrize("signal", ["queued", "blocked"])
def test_so_does_what_a_reaction_puts_off(host: Host, signal: str):
    asked(host, lead=CORAL)
    host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": signal})
    assert ticks(host, "29m") == []

    assert ticks(host, "2m") == [f"resurfaced {AMBER}"]
    assert handed(host) == ["knock 1 must_respond"]
    assert ticks(host, "3m") == []
    assert ticks(host, "14m") == [f"stale {AMBER}", f"escalated {AMBER} {CORAL}"]


def test_unless_it_is_said_it_comes_back_when_its_time_is_over_or_in_half_an_hour(host: Host):
    host.people()
    host.dm("1", QUESTION)
    host.dm("2", QUESTION, author="W2", attention={"deadlineMs": 7_200_000})

    found = [host.do(defer={"agent": AMBER, "eventId": event, "reason": "later"}) for event in ("1", "2")]
    assert [each["resurfaceAt"] for each in found] == ["2026-06-02T19:30:00.000Z", "2026-06-02T21:00:00.000Z"]


def test_to_put_it_off_again_for_the_same_reason_is_nothing_new(host: Host):
    asked(host, lead=CORAL)
    first = host.do(defer={"agent": AMBER, "eventId": "1", "reason": "the deploy runs"})
    before = host.everything()

    assert host.do(defer={"agent": AMBER, "eventId": "1", "reason": "the deploy runs"}) == first
    assert host.everything() == before


@pytest.mark.parametrize(
    "again",
    [
        {"reason": "now it is something else"},
        {"reason": "the deploy runs", "until": "2026-06-03T19:00:00Z"},
    ],
)
def test_to_put_it_off_twice_is_told_to_the_next_one_who_does_not_take_it_over(host: Host, again: dict[str, str]):
    asked(host, lead=CORAL)
    host.do(defer={"agent": AMBER, "eventId": "1", "reason": "the deploy runs"})
    assert host.sees(CORAL) == []
    host.do(defer={"agent": AMBER, "eventId": "1", **again})

    assert handed(host, CORAL) == ["content 1~esc1 must_respond"]
    assert host.disposition("1") == "deferred"
    host.do(resolve={"agent": AMBER, "eventId": "1"})
    assert host.disposition("1~esc1", CORAL) == "superseded"


@pytest.mark.parametrize("way", ["defer", "queued"])
def test_so_is_to_put_it_off_again_when_it_has_come_back(host: Host, way: str):
    asked(host, lead=CORAL)

    def puts_off() -> None:
        if way == "defer":
            host.do(defer={"agent": AMBER, "eventId": "1", "reason": "the deploy runs"})
        else:
            host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": way})

    puts_off()
    ticks(host, "31m")
    assert (host.disposition("1"), host.sees(CORAL)) == (None, [])
    puts_off()

    assert host.disposition("1") == "deferred"
    assert handed(host, CORAL) == ["content 1~esc1 must_respond"]


def test_to_give_a_reason_for_what_a_reaction_has_put_off_is_not_a_second_time(host: Host):
    asked(host, lead=CORAL)
    host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "queued"})
    host.do(defer={"agent": AMBER, "eventId": "1", "reason": "the deploy runs"})

    assert handed(host, CORAL) == []


# -- a question back


def test_a_question_back_stops_the_clock_until_one_more_deadline(host: Host):
    asked(host, lead=CORAL)
    host.wait("10m")
    host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "unclear"})
    assert host.explain("1")["dueAt"] == "2026-06-02T19:25:04.000Z"

    assert "escalated" not in str(ticks(host, "14m"))
    assert [each.split()[0] for each in ticks(host, "2m")] == ["stale", "escalated"]


def test_and_only_once(host: Host):
    asked(host)
    host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "unclear"})
    due = host.explain("1")["dueAt"]
    for signal in ("seen", "unclear", "agree", "unclear"):
        host.wait("2m")
        host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": signal})
    host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "unclear", "remove": True})
    host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "unclear"})

    assert host.explain("1")["dueAt"] == due
    assert shown(host)["open"]


def test_the_next_word_of_who_was_asked_starts_it_again(host: Host):
    asked(host)
    host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "unclear"})
    assert shown(host)["awaitingClarification"]
    host.wait("5m")
    host.says("2", "somebody else speaks", author="W2")
    assert ticks(host) == []
    host.wait("5m")
    host.says("3", "the one on the right, I mean")
    host.wait("1m")

    assert ticks(host) == [f"clarified {AMBER}"]
    assert "awaitingClarification" not in shown(host)
    assert host.explain("1")["dueAt"] == "2026-06-02T19:25:04.000Z"
    assert ticks(host) == []


# -- agents among themselves


def answering_each_other(host: Host, count: int, start: int = 0) -> list[str]:
    """What A and B say to each other, each obliging the other; what each of that is to the other."""
    found = []
    for n in range(start, start + count):
        one, other = (AMBER, BLUE) if n % 2 == 0 else (BLUE, AMBER)
        target = {"conversation": "C1"}
        sent = host.send(one, f"@{other} and now?", f"k{n}", target=target, directedness="to_me")
        found.append(host.explain(sent["messageId"], other)["now"])
    return [f"{each['policy']} {each['injection']} {each['reason']}" for each in found]


def test_agents_who_only_answer_each_other_are_brought_to_an_end(host: Host):
    host.people()
    host.do(policy={"soft_turns": 3, "hard_turns": 6})
    found = answering_each_other(host, 8)

    assert found[:3] == ["must_respond buffered direct_mention"] * 3
    assert found[3:6] == ["may_respond notify loop_guard"] * 3
    assert found[6:] == ["must_not_respond tool_mailbox loop_guard"] * 2
    tripped = [each for each in host.do(audit={})["records"] if "loop_guard" in str(each.get("about"))]
    assert len(tripped) == 5


def test_until_a_person_speaks(host: Host):
    host.people()
    host.do(policy={"soft_turns": 3, "hard_turns": 6})
    answering_each_other(host, 7)
    last = host.do(list={"agent": BLUE})["events"][0]["eventId"]
    host.do(reaction={"eventId": last, "author": {"id": "W1"}, "source": {"platform": "slack"}, "glyph": "👍"})
    assert answering_each_other(host, 1, 7) == ["must_not_respond tool_mailbox loop_guard"]
    host.says("1", "go on")

    assert answering_each_other(host, 1, 8) == ["must_respond buffered direct_mention"]


def test_it_is_eight_and_twenty_unless_set(memory: InMemory):
    memory.people()
    found = answering_each_other(memory, 22)

    assert [each.split()[0] for each in found] == ["must_respond"] * 8 + ["may_respond"] * 12 + ["must_not_respond"] * 2


def test_whoever_joins_in_counts_as_well(host: Host):
    host.people()
    host.do(policy={"soft_turns": 3, "hard_turns": 6})
    for n, agent in enumerate((AMBER, BLUE, CORAL)):
        host.send(agent, f"word {n}", f"w{n}", target={"conversation": "C1"})

    assert answering_each_other(host, 1) == ["may_respond notify loop_guard"]


def test_another_conversation_is_another_matter(host: Host):
    host.people()
    host.do(policy={"soft_turns": 2, "hard_turns": 4})
    answering_each_other(host, 5)
    target = {"conversation": "C2"}
    sent = host.send(AMBER, f"@{BLUE} and here?", "there", target=target, directedness="to_me")["messageId"]

    assert host.triple(sent, BLUE) == "to_me/must_respond/buffered"


# -- what is not owed


def test_what_may_be_answered_is_over_without_a_word(host: Host):
    host.people((AMBER, "@backend"))
    host.do(conversation={"id": "C1", "lead": CORAL})
    host.says("1", "@backend ping", mentions=["@backend"])
    host.dm("2", "thanks!")
    handed(host)

    assert ticks(host, "23h") == []
    assert ticks(host, "2h") == [f"ignored {AMBER}"] * 2
    assert [host.disposition(event) for event in ("1", "2")] == ["ignored", "ignored"]
    assert host.sees(CORAL) == host.sees(AMBER) == []
    assert host.do(audit={})["counters"].get("overSilence", 0) == 0


def test_nothing_is_due_where_nothing_is_open(host: Host):
    host.people()
    host.says("1", "good morning")
    host.dm("2", QUESTION)
    host.do(resolve={"agent": AMBER, "eventId": "2"})
    host.do(ingest=message("3", "U1 gone?", mentions=["U1"]))
    host.do(delete={"eventId": "3"})

    assert [*ticks(host, "1h"), *ticks(host, "3d")] == []
