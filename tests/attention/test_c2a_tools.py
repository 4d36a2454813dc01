"""C2A §Chat Tools, items 114 to 126 of the checklist: what an agent asks of its host, rightly and wrongly."""

from __future__ import annotations

from typing import Any

import pytest

from bb.attention.acts.tools import TOOLS
from tests.attention.hosts import AMBER, BLUE, CORAL, CommandLine, Host, InMemory, Refused

ALL = ("list_events", "read_thread", "send_message", "react", "claim", "defer", "resolve")
USAGE, MISSING, POLICY, CONFLICT = 2, 3, 4, 7


def refused(host: Host, code: str, status: int, **step: Any) -> Refused:
    """A step is refused with that code; a command ends with that status, and nothing is said or settled by it."""
    before = [host.do(list={"agent": agent})["events"] for agent in (AMBER, BLUE)]
    found = host.refusal(**step)
    assert (found.code, found.status) in ((code, None), (code, status))
    assert [host.do(list={"agent": agent})["events"] for agent in (AMBER, BLUE)] == before
    return found


def listed(host: Host, agent: str = AMBER, **wanted: Any) -> list[str]:
    return [row["eventId"] for row in host.do(list={"agent": agent, **wanted})["events"]]


# -- 114: there are tools


def test_c2a_114_each_act_is_a_tool_that_says_what_it_takes():
    assert [tool.name for tool in TOOLS.values()] == [f"chat.{name}" for name in ALL]
    for tool in TOOLS.values():
        assert tool.about.endswith(".")
        schema = tool.schema()
        assert set(schema["required"]) <= set(schema["properties"])
        assert tool.plain_name == tool.name.replace(".", "_")


def test_c2a_114_each_act_is_a_command(command_line: CommandLine):
    for verb in ("list", "read", "send", "react", "claim", "defer", "resolve"):
        assert command_line.repo.bb("chat", verb, "--help").status == 0


def test_c2a_114_what_is_not_shown_can_be_looked_up(host: Host):
    host.people()
    host.says("1", "the lights are on")

    assert host.sees(AMBER) == []
    assert listed(host) == ["1"]
    assert host.do(read={"agent": AMBER, "eventId": "1"})["items"][0]["parts"][0]["text"] == "the lights are on"


# -- 115: list_events


def test_c2a_115_a_list_is_of_a_stream_or_a_conversation_or_a_policy_or_a_mode(host: Host):
    host.people()
    host.do(bind={"agent": AMBER, "streams": ["kettle"]})
    host.says("channel", "good morning")
    host.says("stream", "a new lid", conversation="C2", stream="kettle")
    host.says("mention", "U1 look", conversation="C2", mentions=["U1"])

    assert listed(host) == ["mention", "stream", "channel"]
    assert listed(host, conversation="C2") == ["mention", "stream"]
    assert listed(host, stream="kettle") == ["stream"]
    assert listed(host, policy=["must_respond"]) == ["mention"]
    assert listed(host, policy=["must_respond", "must_not_respond"]) == ["mention", "channel"]
    assert listed(host, mode=["notify"]) == ["stream"]
    assert listed(host, mode=["tool_mailbox", "buffered"], conversation="C2") == ["mention"]
    assert listed(host, conversation="nowhere") == []


def test_c2a_115_or_of_a_time_or_a_state(host: Host):
    host.people()
    host.dm("1", "one?")
    host.wait("10m")
    host.dm("2", "two?")
    host.wait("1m")
    host.says("3", "good morning")
    host.do(resolve={"agent": AMBER, "eventId": "1"})

    assert listed(host, since="2026-06-02T19:05:00Z") == ["3", "2"]
    assert listed(host, until="2026-06-02T19:10:30Z") == ["2", "1"]
    assert listed(host, since="2026-06-02T19:05:00Z", until="2026-06-02T19:10:30Z") == ["2"]
    assert listed(host, state="open") == ["2"]
    assert listed(host, state="buffering") == ["2"]
    assert listed(host, state="closed") == ["3", "1"]
    assert listed(host, state="all") == ["3", "2", "1"]


@pytest.mark.parametrize("where", [{}, {"conversation": "C1"}])
def test_c2a_115_a_long_list_goes_on_behind_a_cursor(host: Host, where: dict[str, str]):
    host.people()
    for n in (3, 1, 5, 2, 4):
        host.says(str(n), f"word {n}", sequence=n)
    whole = listed(host, **where)

    found: list[str] = []
    cursor: dict[str, Any] = {}
    for _ in range(3):
        answer = host.do(list={"agent": AMBER, "limit": 2, **where, **cursor})
        found += [row["eventId"] for row in answer["events"]]
        cursor = {"cursor": answer["cursor"]}
    assert found == whole
    assert sorted(found) == ["1", "2", "3", "4", "5"]
    assert cursor == {"cursor": None}


def test_c2a_115_bodies_only_when_they_are_asked_for_and_only_ones_own(host: Host):
    host.people()
    host.dm("1", "quartz-lantern?")
    host.dm("2", "basalt-kettle?", to=BLUE)

    plain = host.do(list={"agent": AMBER})["events"]
    assert [row["eventId"] for row in plain] == ["1"]
    assert "quartz" not in str(plain)
    (row,) = host.do(list={"agent": AMBER, "include": "body"})["events"]
    assert (row["content"][0]["text"], row["untrusted"]) == ("quartz-lantern?", True)


@pytest.mark.parametrize(
    "wrong", [{"policy": ["must"]}, {"mode": ["loud"]}, {"state": "half"}, {"since": "the other day"}]
)
def test_c2a_115_a_list_of_what_there_is_not_is_refused(host: Host, wrong: dict[str, Any]):
    host.people()

    assert host.refusal(list={"agent": AMBER, **wrong}).status in (None, USAGE)


# -- 116: read_thread


def test_c2a_116_a_thread_is_read_in_its_order(host: Host):
    host.people()
    host.says("other", "elsewhere", conversation="C1")
    for n in (2, 1, 3):
        host.says(str(n), f"word {n}", thread="T1", sequence=n)
    host.do(delete={"eventId": "2"})

    found = host.do(read={"agent": AMBER, "conversation": "C1", "threadId": "T1"})
    assert [item["eventId"] for item in found["items"]] == ["1", "2", "3"]
    assert [item.get("tombstone", False) for item in found["items"]] == [False, True, False]
    assert [len(item["parts"]) for item in found["items"]] == [1, 0, 1]
    assert all(item["untrusted"] for item in found["items"])
    assert (found["latestSequence"], found["truncated"]) == (3, False)
    assert host.do(read={"agent": AMBER, "eventId": "1"})["items"] == found["items"]


def test_c2a_116_or_a_window_of_it(host: Host):
    host.people()
    for n in range(6):
        host.says(str(n), "x" * 600, sequence=n)

    def read(**wanted: Any) -> tuple[list[str], bool]:
        found = host.do(read={"agent": AMBER, "conversation": "C1", **wanted})
        return [item["eventId"] for item in found["items"]], found["truncated"]

    assert read(limit=2) == (["4", "5"], True)
    assert read(before="3") == (["0", "1", "2"], False)
    assert read(before="3", limit=2) == (["1", "2"], True)
    assert read(after="3") == (["4", "5"], False)
    assert read(after="1", before="4") == (["2", "3"], False)
    assert read(maxBytes=1500) == (["4", "5"], True)
    assert host.do(read={"agent": AMBER, "conversation": "C1", "before": "3"})["latestSequence"] == 5


def test_c2a_116_what_there_is_not_cannot_be_read(host: Host):
    host.people()

    refused(host, "NOT_FOUND", MISSING, read={"agent": AMBER, "conversation": "nowhere"})
    refused(host, "NOT_FOUND", MISSING, read={"agent": AMBER, "eventId": "never"})
    assert host.refusal(read={"agent": AMBER}).status in (None, USAGE)


# -- 117 to 121: the acts


def test_c2a_117_a_message_is_sent_once(host: Host):
    host.people()
    first = host.send(AMBER, "The cache is warm.", "k", target={"conversation": "C1"})
    again = host.send(AMBER, "The cache is warm.", "k", target={"conversation": "C1"})

    assert (first["state"], first["deduplicated"], again["deduplicated"]) == ("sent", False, True)
    assert first["messageId"] == again["messageId"]
    assert listed(host, BLUE) == [first["messageId"]]
    assert host.refusal(send={"agent": AMBER}).status in (None, USAGE)


def test_c2a_118_a_reaction_needs_an_event_and_a_signal(host: Host):
    host.people()
    host.dm("1", "look?")

    assert host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "done"})["disposition"] == "responded"
    refused(host, "INVALID_SIGNAL", USAGE, react={"agent": AMBER, "inReplyTo": "1", "signal": "fine"})
    refused(host, "NOT_FOUND", MISSING, react={"agent": AMBER, "inReplyTo": "never", "signal": "done"})
    mine = host.send(AMBER, "A word.", "k", target={"conversation": "C1"})["messageId"]
    assert host.refusal(react={"agent": AMBER, "inReplyTo": mine, "signal": "agree"}).code == "PERMISSION_DENIED"


def test_c2a_119_a_claim_is_of_an_event_or_of_a_thread(host: Host):
    host.people((AMBER, "@backend"))
    host.says("1", "@backend ping", mentions=["@backend"])
    host.says("2", "a word", thread="T1")

    claimed = host.do(claim={"agent": AMBER, "eventId": "1"})
    assert (claimed["granted"], claimed["owner"], claimed["expiresAt"]) == (True, AMBER, "2026-06-02T19:15:00.000Z")
    assert host.do(claim={"agent": AMBER, "thread": "C1/T1"})["owner"] == AMBER
    refused(host, "NOT_FOUND", MISSING, claim={"agent": AMBER, "eventId": "never"})
    refused(host, "NOT_FOUND", MISSING, claim={"agent": AMBER, "thread": "C1/never"})
    refused(host, "CLAIMED_BY_OTHER", POLICY, claim={"agent": BLUE, "thread": "C1/T1"})
    host.says("3", "good morning")
    refused(host, "POLICY_FORBIDS", POLICY, claim={"agent": AMBER, "eventId": "3"})
    refused(host, "PERMISSION_DENIED", 5, claim={"agent": BLUE, "eventId": "3", "action": "release"})


def test_c2a_120_what_is_owed_is_put_off_with_a_reason(host: Host):
    host.people()
    host.dm("1", "look?")
    host.says("2", "good morning")
    host.dm("3", "thanks!")

    found = host.do(defer={"agent": AMBER, "eventId": "1", "reason": "the deploy runs"})
    assert (found["disposition"], found["resurfaceAt"]) == ("deferred", "2026-06-02T19:30:00.000Z")
    for event in ("2", "3"):
        refused(host, "NOT_DEFERRABLE", POLICY, defer={"agent": AMBER, "eventId": event, "reason": "later"})
    refused(host, "NOT_FOUND", MISSING, defer={"agent": AMBER, "eventId": "never", "reason": "later"})
    for reason in ({}, {"reason": ""}, {"reason": "  "}):
        assert host.refusal(defer={"agent": AMBER, "eventId": "1", **reason}).status in (None, USAGE)


def test_c2a_121_an_event_a_thread_or_an_assignment_is_called_settled(host: Host):
    host.people()
    for event in ("1", "2"):
        host.says(event, "U1 look?", mentions=["U1"], thread="T1")
    host.dm("3", "The lid is yours.", intent="assignment")
    host.dm("4", "And this?")

    assert host.do(resolve={"agent": AMBER, "eventId": "4", "outcome": "answered"})["disposition"] == "responded"
    found = host.do(resolve={"agent": AMBER, "thread": "C1/T1"})
    assert [found["eventId"], *found["alsoClosed"]] == ["1", "2"]
    assert host.do(resolve={"agent": AMBER, "assignment": "3", "outcome": "done"})["disposition"] == "responded"
    assert host.do(pending=AMBER)["events"] == []
    refused(host, "NOT_FOUND", MISSING, resolve={"agent": AMBER, "eventId": "never"})
    assert host.refusal(resolve={"agent": AMBER, "eventId": "1", "outcome": "perhaps"}).status in (None, USAGE)


@pytest.mark.parametrize(
    ("outcome", "becomes"), [("answered", "responded"), ("done", "responded"), ("duplicate", "superseded")]
)
def test_c2a_121_an_outcome_says_what_became_of_it(host: Host, outcome: str, becomes: str):
    host.people()
    host.dm("1", "look?")

    assert host.do(resolve={"agent": AMBER, "eventId": "1", "outcome": outcome})["disposition"] == becomes


def test_c2a_121_whoever_it_is_not_for_settles_nothing(host: Host):
    host.people()
    host.says("1", "U1 look?", mentions=["U1"])

    assert host.refusal(resolve={"agent": BLUE, "eventId": "1"}).code == "POLICY_FORBIDS"
    assert host.disposition("1", AMBER) is None


def test_c2a_117_who_is_not_here_does_nothing(host: Host):
    host.people()
    host.dm("1", "look?")
    given = {"agent": "grey-goose", "eventId": "1"}

    assert host.refusal(list={"agent": "grey-goose"}).code == "UNKNOWN_AGENT"
    assert host.refusal(claim=given).code == "UNKNOWN_AGENT"
    assert host.refusal(resolve=given).code == "UNKNOWN_AGENT"
    assert host.refusal(defer={**given, "reason": "later"}).code == "UNKNOWN_AGENT"


# -- 122 to 126: what a send must have

WHOLE: dict[str, Any] = {
    "agent": AMBER,
    "target": {"conversation": "C1"},
    "content": "The cache is warm.",
    "idempotencyKey": "k",
    "visibility": "channel",
    "directedness": "ambient",
}


def without(name: str) -> dict[str, Any]:
    return {member: value for member, value in WHOLE.items() if member != name}


def lacks(host: Host, name: str) -> None:
    """A send without that member is refused, named, and not sent."""
    host.people()
    host.do(conversation={"id": "C1", "is_external": True})
    found = refused(host, "MISSING_MEMBER", USAGE, send=without(name))
    assert (found.details["member"], found.details["pointer"]) == (name, f"/{name}")
    assert host.do(outbox={}) == []
    assert host.do(send=WHOLE)["state"] == "pending"


def test_c2a_122_a_send_says_where_it_goes(host: Host):
    lacks(host, "target")


def test_c2a_122_a_send_says_something(host: Host):
    lacks(host, "content")


def test_c2a_123_a_send_says_what_it_answers_and_nothing_when_it_answers_nothing(host: Host):
    host.people()
    host.dm("1", "look?")
    answer = host.send(AMBER, "I have.", "a", inReplyTo="1", visibility="dm")
    fresh = host.send(AMBER, "By the way, it is warm.", "b", target={"conversation": "C1"})

    assert (answer["disposition"], fresh["disposition"]) == ("responded", None)
    refused(host, "NOT_FOUND", MISSING, send={**WHOLE, "inReplyTo": "never"})


def test_c2a_124_a_send_has_a_key(host: Host):
    lacks(host, "idempotencyKey")


def test_c2a_125_a_send_says_who_may_see_it(host: Host):
    lacks(host, "visibility")


@pytest.mark.parametrize("visibility", ["channel", "thread", "dm"])
def test_c2a_125_each_visibility_goes_there(host: Host, visibility: str):
    host.people()
    host.says("1", "U1 look?", mentions=["U1"], author_kind="agent", author="U2")
    found = host.send(AMBER, "I have.", "k", inReplyTo="1", visibility=visibility)["messageId"]

    items = host.do(read={"agent": BLUE, "eventId": found})["items"]
    assert found in [item["eventId"] for item in items]
    in_channel = host.do(list={"agent": CORAL, "conversation": "C1"})["events"]
    where = {row["eventId"]: row["conversation"].get("threadId") for row in in_channel}
    assert where.get(found, "nowhere") == {"channel": None, "thread": "1", "dm": "nowhere"}[visibility]


def test_c2a_125_what_cannot_be_said_so_is_not_said_otherwise(host: Host):
    host.people()
    host.do(conversation={"id": "C1", "is_external": True})
    refused(host, "CAPABILITY_MISSING", POLICY, send=WHOLE | {"visibility": "ephemeral"})
    assert host.do(outbox={}) == []


def test_c2a_125_in_private_is_to_somebody(host: Host):
    host.people()
    refused(host, "MISSING_MEMBER", USAGE, send=WHOLE | {"visibility": "dm"})
    refused(host, "UNKNOWN_AGENT", MISSING, send=WHOLE | {"visibility": "dm", "target": {"recipient": "grey-goose"}})


def test_c2a_126_a_send_says_whom_it_obliges(host: Host):
    lacks(host, "directedness")


@pytest.mark.parametrize(
    "wrong",
    [
        {"visibility": "secret"},
        {"directedness": "everybody"},
        {"idempotencyKey": ""},
        {"content": "  "},
        {"intent": "gossip"},
        {"priority": "rather"},
    ],
)
def test_c2a_122_what_it_says_must_be_one_of_what_there_is(host: Host, wrong: dict[str, str]):
    host.people()

    assert host.refusal(send=WHOLE | wrong).status in (None, USAGE)
    assert listed(host, BLUE) == []


def test_c2a_122_every_wrong_member_is_pointed_at(memory: InMemory):
    memory.people()
    for member, value in {
        "content": 5,
        "idempotencyKey": ["k"],
        "visibility": 1,
        "mentions": "all",
        "followup": "yes",
        "target": "C1",
        "deadlineMs": -1,
    }.items():
        found = memory.refusal(send=WHOLE | {member: value})
        assert found.details["pointer"].startswith(f"/{member}")


def test_c2a_123_an_answer_may_name_the_line_it_answers(host: Host):
    host.people()
    host.dm("1", "look?")
    line = host.do(audit={})["records"][-1]["line"]
    found = host.send(AMBER, "I have.", "k", inReplyTo=line, visibility="dm")

    assert found["disposition"] == "responded"
    assert host.disposition("1") == "responded"
