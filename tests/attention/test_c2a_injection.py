"""C2A §1.5 of the checklist, items 44 to 57: when something enters a turn, how much of it, and what never does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bb.attention.turns import turn_text
from tests.attention.hosts import AMBER, BLUE, CORAL, CommandLine, Host, InMemory, message
from tests.attention.test_c2a_core import EXAMPLE

CANARY = "quartz lantern under the seventh stair"


def due(host: Host, *spans: str) -> list[bool]:
    """Whether the agent would be shown anything, after each of these spans."""
    found = []
    for span in spans:
        host.wait(span)
        found.append(bool(host.sees(AMBER)))
    return found


# -- 44: at once


@pytest.mark.parametrize(
    ("intent", "priority"),
    [("message", "urgent"), ("approval_request", "high"), ("blocker", "urgent"), ("assignment", "high")],
)
def test_c2a_044_what_is_urgent_does_not_wait_for_more_words(host: Host, intent: str, priority: str):
    host.people()
    host.says("1", "U1 stop the deploy", mentions=["U1"], intent=intent, priority=priority)

    assert host.triple("1") == "to_me/must_respond/immediate"
    assert host.sees(AMBER) == ["content 1 must_respond"]
    assert [each["mode"] for each in host.inject()["blocks"]] == ["immediate"]
    (row,) = host.do(list={"agent": AMBER})["events"]
    assert row["attempt"] == 1


def test_c2a_044_nobody_can_make_chatter_urgent(host: Host):
    host.people()
    host.says("1", "the lights are on!!", priority="urgent")

    assert host.triple("1") == "ambient/must_not_respond/tool_mailbox"


# -- 45: in the middle of an answer


def test_c2a_045_an_answer_is_not_broken_off_for_what_can_wait(memory: InMemory):
    memory.people()
    memory.do(policy={"rules": [{"match": {"conversation": "C2"}, "set": {"injection": "immediate"}}]})
    memory.do(connect={"agent": AMBER, "interrupt": True})
    memory.dm("1", "check the deploy?")
    memory.wait("5s")
    memory.do(deliver=AMBER)
    memory.do(acknowledge={"agent": AMBER, "event": "1"})
    memory.do(turn={"agent": AMBER, "event": "1", "state": "started"})
    memory.says("2", "U1 look", conversation="C2", mentions=["U1"])
    memory.dm("3", "and the logs?", author="W2")
    memory.wait("5s")
    held = memory.do(deliver=AMBER)
    memory.do(turn={"agent": AMBER, "event": "1", "state": "ended"})

    assert held["blocks"] == []
    assert {each["eventId"]: each["why"] for each in held["held"]} == {
        "2": "held_for_boundary",
        "3": "held_for_boundary",
    }
    assert [each["eventId"] for each in memory.do(deliver=AMBER)["blocks"]] == ["2", "3"]


@pytest.mark.parametrize("can_interrupt", [True, False])
def test_c2a_045_an_answer_is_broken_off_for_what_is_urgent_where_that_was_agreed(
    memory: InMemory, can_interrupt: bool
):
    memory.people()
    memory.do(connect={"agent": AMBER, "interrupt": can_interrupt})
    memory.dm("1", "check the deploy?")
    memory.wait("5s")
    memory.do(deliver=AMBER)
    memory.do(turn={"agent": AMBER, "event": "1", "state": "started"})
    memory.dm("2", "stop the deploy", author="W2", priority="urgent")

    assert memory.sees(AMBER) == (["content 2 must_respond"] if can_interrupt else [])
    assert memory.do(list={"agent": AMBER, "state": "buffering"})["events"][0]["phase"] == "held_for_boundary"


# -- 46: pieces

PIECES = ["when someone types", "in", "pieces", "like this"]


def test_c2a_046_what_one_person_says_in_pieces_is_one_turn(host: Host):
    host.people()
    for n, text in enumerate(PIECES, 1):
        host.dm(str(n), text)
        host.wait("1s")
    host.wait("4s")

    assert host.sees(AMBER) == ["content 4 must_respond"]
    (block,) = host.inject()["blocks"]
    assert (block["eventId"], block["mergedFrom"]) == ("4", ["1", "2", "3"])
    assert [part["text"] for part in block["content"]] == PIECES
    assert block["text"].endswith("\nMESSAGE\nwhen someone types\nin\npieces\nlike this")
    rows = {row["eventId"]: row for row in host.do(list={"agent": AMBER})["events"]}
    assert [rows[event]["disposition"] for event in "1234"] == ["superseded"] * 3 + [None]
    assert [rows[event].get("supersededBy") for event in "1234"] == ["4"] * 3 + [None]
    assert [row["eventId"] for row in rows.values() if row["open"]] == ["4"]
    host.send(AMBER, "So I did.", "k", inReplyTo="4", visibility="dm")
    assert host.do(pending=AMBER)["events"] == []


def test_c2a_046_who_is_named_once_is_told_what_follows(host: Host):
    host.people()
    pieces = ["U1 please", "check whether", "the deploy is blocked"]
    for n, text in enumerate(pieces, 1):
        host.says(str(n), text, mentions=["U1"] if n == 1 else [])
        host.wait("2s")
    host.wait("2s")
    (block,) = host.inject()["blocks"]
    host.wait("1s")
    host.says("4", "anyone for lunch?")

    assert (block["eventId"], [part["text"] for part in block["content"]]) == ("3", pieces)
    assert host.triple("3") == "to_me/must_respond/buffered"
    found = host.explain("3")
    assert (found["directedness"], found["reason"]) == ("to_me", "direct_mention"), "and it can be explained"
    assert host.triple("3", BLUE) == host.triple("4") == "ambient/must_not_respond/tool_mailbox"


@pytest.mark.parametrize(
    "otherwise",
    [
        {"author": "W2"},
        {"conversation": "C2"},
        {"thread": "T"},
        {"mentions": ["U2"]},
        {"author_kind": "tool"},
        {"timing": {"createdAt": "2026-06-02T18:00:00Z"}},
        {"content": [{"type": "text", "text": "look"}, {"type": "image", "url": "https://img.example/1"}]},
    ],
)
def test_c2a_046_nothing_else_that_is_said_there_is(memory: InMemory, otherwise: dict[str, Any]):
    memory.people()
    memory.says("1", "U1 please", mentions=["U1"])
    memory.do(ingest=message("2", "it rains", **otherwise))

    assert memory.explain("2")["now"]["policy"] == "must_not_respond"


@pytest.mark.parametrize("span", ["3s", "1h"])
def test_c2a_046_nor_what_comes_later(memory: InMemory, span: str):
    memory.people()
    memory.says("1", "U1 please", mentions=["U1"])
    memory.wait(span)
    memory.says("2", "it rains")

    assert memory.triple("2") == "ambient/must_not_respond/tool_mailbox"


def test_c2a_046_nor_what_comes_when_it_was_shown_already(memory: InMemory):
    memory.people()
    memory.says("1", "U1 stop!", mentions=["U1"], priority="urgent")
    memory.inject()
    memory.says("2", "it rains")

    assert memory.triple("2") == "ambient/must_not_respond/tool_mailbox"


def test_c2a_046_what_others_say_or_elsewhere_is_another_turn(host: Host):
    host.people()
    host.says("1", "U1 one", mentions=["U1"])
    host.says("2", "U1 two", mentions=["U1"], thread="T")
    host.says("3", "U1 three", mentions=["U1"], author="W2")
    host.says("4", "U1 four", mentions=["U1"], conversation="C2")
    host.wait("5s")

    assert sorted(host.sees(AMBER)) == [f"content {n} must_respond" for n in "1234"]


def test_c2a_046_an_interjection_ends_what_was_said_before(host: Host):
    host.people()
    host.says("1", "U1 one", mentions=["U1"])
    host.says("2", "U1 two", mentions=["U1"], author="W2")
    host.says("3", "U1 three", mentions=["U1"])
    host.wait("5s")

    assert sorted(host.sees(AMBER)) == [f"content {n} must_respond" for n in "123"]


def test_c2a_046_the_strictest_policy_of_the_pieces_holds(host: Host):
    host.people()
    rules = [{"match": {"intent": "question"}, "set": {"policy": "may_respond"}}]
    host.do(policy={"rules": rules})
    host.dm("1", "look at this")
    host.dm("2", "does it work?")
    host.wait("5s")

    assert host.sees(AMBER) == ["content 2 must_respond"]


# -- 47: typing


def typing(host: Host, is_typing: bool, conversation: str = f"D-{AMBER}", author: str = "W1") -> None:
    where = {"id": conversation, "kind": "dm"}
    who = {"id": author}
    host.do(typing={"conversation": where, "author": who, "typing": is_typing, "source": {"platform": "slack"}})


def test_c2a_047_as_long_as_somebody_types_one_waits(host: Host):
    host.people()
    host.dm("1", "check")
    typing(host, is_typing=True)
    while_typing = due(host, "8s")
    typing(host, is_typing=False)

    assert while_typing == [False]
    assert due(host, "0.4s", "0.2s") == [False, True]


def test_c2a_047_who_types_elsewhere_is_not_waited_for(host: Host):
    host.people()
    host.dm("1", "check")
    typing(host, is_typing=True, conversation="D-other")
    typing(host, is_typing=True, author="W2")

    assert due(host, "2.9s", "0.2s") == [False, True]


def test_c2a_047_nobody_types_for_ever(host: Host):
    host.people()
    host.dm("1", "check")
    typing(host, is_typing=True)

    assert due(host, "29s", "1.1s") == [False, True]


# -- 48: how long one waits


@pytest.mark.parametrize(("setting", "waits_ms"), [(None, 3000), (2500, 2500), (1, 2000), (9000, 5000)])
def test_c2a_048_one_waits_two_to_five_seconds_for_more(host: Host, setting: int | None, waits_ms: int):
    host.people()
    if setting is not None:
        assert host.do(policy={"compose_ms": setting})["settings"]["compose_ms"] == waits_ms
    host.dm("1", "check")
    host.wait("1s")
    host.dm("2", "the deploy")

    before = f"{(waits_ms - 100) / 1000}s"
    assert due(host, before, "0.2s") == [False, True]


def test_c2a_048_who_sends_whole_messages_is_not_waited_for(host: Host):
    host.people()
    host.says("1", "U1 look", mentions=["U1"], author="B1", author_kind="agent")
    host.says("2", "@amber-otter look", platform="bb", conversation="here")

    assert sorted(host.sees(AMBER)) == ["content 1 must_respond", "content 2 must_respond"]


# -- 49: at most


def test_c2a_049_nobody_is_waited_for_longer_than_half_a_minute(host: Host):
    host.people()
    turns: list[list[str]] = []
    for n in range(31):
        host.dm(str(n), f"piece {n}")
        host.wait("2s")
        turns += [[*block["mergedFrom"], block["eventId"]] for block in host.inject()["blocks"]]
    host.wait("5s")
    turns += [[*block["mergedFrom"], block["eventId"]] for block in host.inject()["blocks"]]

    assert len(turns) >= 2
    assert [event for turn in turns for event in turn] == [str(n) for n in range(31)], "each once, and in order"
    assert max(map(len, turns)) <= 15


def test_c2a_049_nor_when_nobody_looks_meanwhile(host: Host):
    host.people()
    for n in range(16):
        host.dm(str(n), f"piece {n}")
        host.wait("2s")
    host.wait("2s")
    turns = [[*block["mergedFrom"], block["eventId"]] for block in host.inject()["blocks"]]

    assert [len(turn) for turn in turns] == [15, 1], "what was said within half a minute"
    assert [event for turn in turns for event in turn] == [str(n) for n in range(16)]


# -- 50: edits


def test_c2a_050_what_was_edited_before_is_seen_as_it_reads_now(host: Host):
    host.people()
    host.dm("1", f"check {CANARY}?")
    host.wait("1s")
    line = message("1", "check the deploy?", conversation=f"D-{AMBER}", kind="dm", recipient="U1")
    assert host.do(edit=line)["status"] == "edited"
    host.wait("5s")

    told = [host.inject(), host.do(read={"agent": AMBER, "eventId": "1"})]
    told += [host.do(list={"agent": AMBER, "include": "body"}), host.do(show={"agent": AMBER, "event": "1"})]
    told += [host.explain("1"), host.do(digest=AMBER), host.do(pending=AMBER)]
    assert "check the deploy?" in told[0]["text"]
    assert CANARY not in json.dumps(told)
    assert len(told[0]["blocks"]) == 1


def test_c2a_050_an_edit_may_call_somebody_or_let_them_go(host: Host):
    host.people()
    host.says("1", "can somebody look?")
    host.says("2", "U1 can you look?", mentions=["U1"])
    host.do(edit=message("1", "U1 can you look?", mentions=["U1"]))
    host.do(edit=message("2", "can somebody look?", mentions=[]))
    host.wait("5s")

    assert host.triple("1") == "to_me/must_respond/buffered"
    assert host.triple("2") == "ambient/must_not_respond/tool_mailbox"
    assert host.sees(AMBER) == ["content 1 must_respond"]


# -- 51 to 54: knocks


def knocked(host: Host, text: str = CANARY) -> None:
    """A role is called, in a thread of a stream, with a name that nobody should repeat."""
    host.people((AMBER, "@backend"))
    host.says("1", text, mentions=["@backend"], thread="T9", stream="kettle", name=CANARY)


def test_c2a_051_a_knock_says_from_whom_where_and_what_is_expected(host: Host):
    knocked(host, "which way does the rollback go?")
    knock = {
        "from": "human:W1",
        "where": "thread:T9",
        "directedness": "to_my_role",
        "policy": "may_respond",
        "priority": "normal",
        "topic": "question for your role (kettle), short",
        "pullWith": "chat.read_thread",
        "conversation": "C1",
    }

    assert host.do(knocks=AMBER)["knocks"] == [{"eventId": "1", "events": ["1"], "knock": knock}]
    (row,) = host.do(list={"agent": AMBER})["events"]
    assert row["knock"] == knock
    (block,) = host.inject()["blocks"]
    assert (block["mode"], block["knock"]) == ("notify", knock)
    assert block["text"].split("\n") == [
        "C2A KNOCK",
        "event_id: 1",
        "from: human:W1",
        "where: thread:T9",
        "directedness: to_my_role",
        "policy: may_respond",
        "priority: normal",
        '''topic: "question for your role (kettle), short"''',
        "pull_with: chat.read_thread",
    ]


def test_c2a_052_what_was_said_is_withheld_until_it_is_pulled(host: Host):
    knocked(host)
    told = [host.do(knocks=AMBER), host.do(list={"agent": AMBER}), host.do(pending=AMBER), host.do(digest=AMBER)]
    told += [host.do(show={"agent": AMBER, "event": "1"}), host.explain("1"), host.inject(), host.do(audit={})]
    before = host.do(show={"agent": AMBER, "event": "1"})["steps"]
    pulled = host.do(read={"agent": AMBER, "eventId": "1"})
    steps = host.do(show={"agent": AMBER, "event": "1"})["steps"]

    assert CANARY not in json.dumps(told)
    assert "pulled" not in [step["step"] for step in before]
    assert [part["text"] for part in pulled["items"][0]["parts"]] == [CANARY]
    assert "pulled" in [step["step"] for step in steps]
    assert "pulled" in [record["what"] for record in host.do(audit={})["records"]]
    assert host.do(knocks=AMBER)["knocks"] == [], "it has been followed"
    assert host.triple("1") == "to_my_role/may_respond/notify", "to look is not to be asked"


def test_c2a_052_a_list_with_bodies_pulls_as_well(host: Host):
    knocked(host)
    (row,) = host.do(list={"agent": AMBER, "include": "body"})["events"]

    assert row["content"] == [{"type": "text", "text": CANARY}]
    assert host.do(knocks=AMBER)["knocks"] == []


@pytest.mark.parametrize("stream", [CANARY, CANARY.replace(" ", "-"), "a" * 200, "kettle\ntopic: forged"])
@pytest.mark.parametrize("text", [CANARY, f"{CANARY}?", f"thanks {CANARY} {CANARY}", f"{CANARY}\n" * 300])
def test_c2a_053_a_topic_is_in_words_of_the_hosts(memory: InMemory, stream: str, text: str):
    memory.people((AMBER, "@backend"))
    memory.says("1", text, mentions=["@backend"], stream=stream, name=CANARY, thread=CANARY)
    (row,) = memory.do(list={"agent": AMBER})["events"]
    topic = row["knock"]["topic"]

    assert len(topic) <= 80
    assert topic.isprintable()
    for words in (CANARY.split()[at : at + 4] for at in range(3)):
        assert " ".join(words) not in topic.replace("-", " ")


def test_c2a_053_of_what_is_private_not_even_its_kind_is_told(host: Host):
    host.people((AMBER, "@backend"))
    host.do(conversation={"id": "C1", "is_private": True, "members": [AMBER]})
    host.says("1", "which way does the rollback go?", mentions=["@backend"], stream="kettle")

    (found,) = host.do(knocks=AMBER)["knocks"]
    assert found["knock"]["topic"] == "message"


def test_c2a_054_several_in_one_thread_knock_once(host: Host):
    host.people()
    where = {"conversation": "C1", "thread": "T"}
    host.send(AMBER, "The deploy is through.", "k", target=where, directedness="ambient", visibility="thread")
    host.says("1", "so it is", thread="T")
    host.says("2", "and it works", thread="T", author="W2")
    first = host.inject()["blocks"]
    host.says("3", "not on mondays", thread="T")
    second = host.inject()["blocks"]
    (known,) = host.do(knocks=AMBER)["knocks"]
    host.do(read={"agent": AMBER, "eventId": "3"})
    host.says("4", "nor on sundays", thread="T")

    assert [(each["mode"], each["eventId"], each["knock"]["count"]) for each in first] == [("notify", "2", 2)]
    assert second == [], "it knows that there is something"
    assert known["knock"]["count"] == 3
    assert host.sees(AMBER) == ["knock 4 may_respond"]


# -- 55: the mailbox


def test_c2a_055_what_is_in_the_mailbox_is_there_for_whoever_looks(host: Host):
    host.people()
    host.says("1", CANARY)
    host.says("2", "U2 look", mentions=["U2"])
    host.wait("1h")

    assert host.sees(AMBER) == []
    rows = host.do(list={"agent": AMBER, "include": "body"})["events"]
    assert [(row["eventId"], row["phase"]) for row in rows] == [("2", "mailboxed"), ("1", "mailboxed")]
    assert rows[1]["content"] == [{"type": "text", "text": CANARY}]
    assert host.sees(AMBER) == []


# -- 56: digests


def test_c2a_056_a_digest_asks_nothing_but_of_whom_it_names(host: Host):
    host.people()
    host.do(policy={"rules": [{"match": {"conversation": "C1"}, "set": {"injection": "digest"}}]})
    host.says("1", "the lights are on", author="ci", author_kind="system", conversation="S", kind="system")
    host.says("2", "U1 the report is due", mentions=["U1"])
    host.says("3", "the kettle boils")
    digests = {agent: host.do(digest=agent) for agent in (AMBER, BLUE, CORAL)}

    assert {agent: each["policy"] for agent, each in digests.items()} == {
        AMBER: "must_respond",
        BLUE: "must_not_respond",
        CORAL: "must_not_respond",
    }
    assert digests[AMBER]["mentions"] == ["2"]
    assert digests[AMBER]["text"].startswith("C2A DIGEST\nresponse_policy: must_respond\n")
    others = [{**digests[agent], "agent": ""} for agent in (BLUE, CORAL)]
    assert others[0] == others[1]
    assert others[0] | {"policy": "", "mentions": "", "text": ""} == {
        **digests[AMBER],
        "agent": "",
        "policy": "",
        "mentions": "",
        "text": "",
    }, "only what asks for something differs"


def test_c2a_056_an_assignment_in_it_asks_too(host: Host):
    host.people()
    host.do(policy={"rules": [{"match": {"conversation": "C1"}, "set": {"injection": "digest"}}]})
    host.says("1", "Rotate the keys", recipient="U1", intent="assignment")

    assert (host.do(digest=AMBER)["policy"], host.do(digest=BLUE)["policy"]) == ("must_respond", "must_not_respond")


def test_c2a_056_what_was_summed_up_is_not_summed_up_again(host: Host):
    host.people()
    host.says("1", "the kettle boils")
    first, again = host.do(digest=AMBER), host.do(digest=AMBER)
    host.says("2", "the kettle is cold")
    third = host.do(digest=AMBER)

    assert [section["messages"] for section in first["sections"]] == [1]
    assert (again["sections"], again["text"]) == ([], "")
    assert [section["messages"] for section in third["sections"]] == [1]
    assert first["policy"] == "must_not_respond"


# -- 57: silence


def test_c2a_057_what_is_silent_is_kept_and_nobody_is_told(host: Host):
    host.people()
    host.do(policy={"rules": [{"match": {"conversation": "C9"}, "set": {"injection": "silent"}}]})
    host.says("1", "U1 look", conversation="C9", mentions=["U1"])
    host.says("2", "exit 1", author="ci", author_kind="tool")
    host.wait("1h")

    for agent in (AMBER, BLUE):
        assert host.sees(agent) == []
        assert host.do(list={"agent": agent})["events"] == []
        assert host.do(digest=agent)["sections"] == []
    assert {record["eventId"] for record in host.do(audit={})["records"] if record["what"] == "received"} == {"1", "2"}
    if isinstance(host, CommandLine):
        rows = host.run("chat", "list", "--agent", AMBER, "--include-silent")["events"]
        assert [row["eventId"] for row in rows] == ["2", "1"]


def test_c2a_057_a_silent_event_of_another_host_stays_silent(memory: InMemory):
    memory.people()
    memory.do(receive={"agent": AMBER, "envelope": EXAMPLE | {"injection": {"mode": "silent"}}})
    memory.wait("1m")

    assert memory.sees(AMBER) == []
    assert memory.do(list={"agent": AMBER})["events"] == []


def test_c2a_046_another_session_is_shown_all_the_pieces_of_a_turn_again(memory: InMemory):
    memory.people()
    memory.dm("1", "check")
    memory.dm("2", "the deploy")
    memory.wait("3s")
    memory.inject()

    _, again = turn_text.inject(memory.replay.here.book, AMBER, memory.replay.now, "", told=())

    assert again["blocks"][0]["mergedFrom"] == ["slack:1"]
    assert "check\nthe deploy" in again["text"]
