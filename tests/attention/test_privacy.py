"""Who sees what is private: recipients and members, as the platform says, from the moment it says so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bb.attention.surfaces import SURFACES
from tests.attention.hosts import AMBER, BLUE, CORAL, CommandLine, Host, InMemory, message
from tests.near import near

SLACK = {"platform": "slack"}


def membership(user: str, *, joined: bool, conversation: str = "P1") -> dict[str, Any]:
    where = {"conversation": {"id": conversation}, "member": {"id": user}, "joined": joined}
    return {"type": "membership", "source": SLACK, **where}


def conversation(name: str = "C1", **about: Any) -> dict[str, Any]:
    return {"type": "conversation", "source": SLACK, "conversation": {"id": name, **about}}


def is_hidden(host: Host, event: str, agent: str) -> bool:
    """Whether an event is nowhere to be found for an agent."""
    rows = host.do(list={"agent": agent, "include": "body"})["events"]
    if any(row["eventId"] == event for row in rows):
        return False
    said = {"content": "me", "idempotencyKey": "x", "visibility": "channel", "directedness": "ambient"}
    steps: list[dict[str, Any]] = [
        {"read": {"agent": agent, "eventId": event}},
        {"show": {"agent": agent, "event": event}},
        {"explain": {"agent": agent, "event": event}},
        {"claim": {"agent": agent, "eventId": event}},
        {"react": {"agent": agent, "inReplyTo": event, "signal": "seen"}},
        {"send": {"agent": agent, "inReplyTo": event, **said}},
    ]
    assert {host.refusal(**step).code for step in steps} == {"NOT_FOUND"}
    assert not [line for line in host.sees(agent) if f" {event} " in line]
    assert all(row["eventId"] != event for row in host.do(knocks=agent)["knocks"])
    assert all(row["eventId"] != event for row in host.do(pending=agent)["events"])
    return True


# -- direct messages


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("how", ["recipient", "binding", "history"])
def test_a_direct_message_to_one_that_mentions_another_is_not_for_the_other(host: Host, how: str, private: bool):
    host.people()
    line = message("1", "please ask @blue-heron", conversation="D1", kind="dm", mentions=["U2"])
    if how == "recipient":
        line["target"]["recipient"] = "U1"
    elif how == "binding":
        host.do(bind={"agent": AMBER, "conversations": ["D1"]})
    else:
        host.says("0", "hello", conversation="D1", kind="dm", recipient="U1")
    if private:
        line["conversation"]["private"] = True
    host.do(ingest=line)
    host.wait("5s")

    assert is_hidden(host, "1", BLUE)
    assert host.explain("1", AMBER)["directedness"] == "to_me"


def test_in_a_new_conversation_of_unknown_members_a_mention_is_all_that_is_known(host: Host):
    host.people()
    host.do(ingest=message("1", "@amber-otter?", conversation="G1", kind="dm", mentions=["U1"]))

    assert host.triple("1") == "to_me/must_respond/buffered"


# -- a channel that becomes private


def test_what_becomes_private_is_hidden_at_that_moment_from_all_but_its_members(host: Host):
    host.people((BLUE, "@backend"), (AMBER, "@backend"))
    host.says("1", "U2, is the quartz lantern broken?", mentions=["U2"])
    host.says("2", "@backend?", mentions=["@backend"])
    host.says("3", "lunch")
    assert not is_hidden(host, "3", CORAL)
    host.do(ingest=conversation(private=True, members=["U1", "W1"]))
    host.wait("5s")

    for event in ("1", "2", "3"):
        assert is_hidden(host, event, BLUE)
        assert is_hidden(host, event, CORAL)
    assert host.do(digest=CORAL)["sections"] == []
    assert "quartz" in str(host.do(list={"agent": AMBER, "include": "body"}))
    host.do(ingest=conversation(private=False))
    assert "quartz" in str(host.do(list={"agent": CORAL, "include": "body"}))


def test_a_private_flag_on_a_later_message_counts_too(host: Host):
    host.people()
    host.says("1", "is the quartz lantern broken?")
    line = message("2", "U1?", mentions=["U1"])
    line["conversation"]["private"] = True
    host.do(ingest=line)

    assert is_hidden(host, "1", BLUE)
    assert not is_hidden(host, "2", AMBER)


def test_what_was_handed_over_and_not_taken_is_called_back(memory: InMemory):
    from tests.attention.harness.test_session import Side

    memory.people()
    side = Side(memory)
    memory.says("1", "U1, is it broken?", mentions=["U1"])
    memory.wait("5s")
    assert side.go() == ["buffered 1 #1"]
    memory.do(ingest=conversation(private=True, members=["U2"]))

    assert side.go() == ["cancel 1"]
    memory.wait("2m")
    assert side.go() == []


# -- members


def test_a_member_that_leaves_sees_nothing_more_and_one_that_joins_sees_it(host: Host):
    host.people()
    host.do(ingest=conversation("P1", private=True, members=["U1"]))
    host.says("1", "U1, is it broken?", conversation="P1", mentions=["U1"])
    host.wait("5s")
    assert is_hidden(host, "1", BLUE)
    host.do(ingest=membership("U1", joined=False))
    host.do(ingest=membership("U2", joined=True))

    assert is_hidden(host, "1", AMBER), "although it was for that agent"
    assert "is it broken" in str(host.do(list={"agent": BLUE, "include": "body"}))
    host.do(ingest=membership("U1", joined=True))
    assert host.sees(AMBER) == ["content 1 must_respond"]


def test_the_platform_overrides_what_the_person_arranged_before_and_the_person_what_it_said_before(host: Host):
    host.people()
    host.do(conversation={"id": "P1", "is_private": True, "members": [AMBER, BLUE], "lead": BLUE})
    host.says("1", "well", conversation="P1")
    host.do(ingest=membership("U2", joined=False))

    assert is_hidden(host, "1", BLUE)
    host.do(conversation={"id": "P1", "members": [AMBER, BLUE]})
    assert not is_hidden(host, "1", BLUE)


def test_a_member_is_known_by_its_handle_even_if_it_gets_that_handle_later(memory: InMemory):
    memory.do(agents=[{"id": AMBER}, {"id": BLUE}])
    memory.do(ingest=[conversation("P1", private=True), membership("U2", joined=True)])
    memory.says("1", "well", conversation="P1")
    assert is_hidden(memory, "1", BLUE)
    memory.do(bind={"agent": BLUE, "handles": ["slack:U2"]})

    assert not is_hidden(memory, "1", BLUE)


def test_clones_that_learn_of_different_members_agree_afterwards(memory: InMemory):
    memory.people()
    memory.do(ingest=conversation("P1", private=True, members=["U1"]))
    memory.says("1", "well", conversation="P1")
    memory.do(clone="there")
    memory.step_in("here", ingest=membership("U2", joined=True))
    memory.step_in("there", ingest=membership("U3", joined=True))

    assert memory.do(merge=["here", "there"])["agree"]
    for clone in ("here", "there"):
        members = memory.replay.clones[clone].book.conversation("P1").members
        assert set(members) == {AMBER, BLUE, CORAL}


def test_another_platform_has_no_say_in_it(host: Host):
    host.people()
    host.do(ingest=conversation("P1", private=True, members=["U1"]))
    line = membership("U2", joined=True) | {"source": {"platform": "discord"}}

    host.do(ingest=line)
    host.says("1", "well", conversation="P1")
    assert is_hidden(host, "1", BLUE)


@pytest.mark.parametrize(
    ("line", "pointer"),
    [
        ({"type": "membership", "conversation": {"id": "C1"}}, "/member"),
        ({"type": "membership", "conversation": {"id": "C1"}, "member": {}}, "/member/id"),
        ({"type": "membership", "member": {"id": "U1"}}, "/conversation"),
        ({"type": "membership", "conversation": {"id": "C1"}, "member": {"id": "U1"}, "joined": "no"}, "/joined"),
        ({"type": "conversation", "conversation": {}}, "/conversation/id"),
        ({"type": "conversation", "conversation": {"id": "C1", "members": "U1"}}, "/conversation/members"),
        ({"type": "conversation", "conversation": {"id": "C1", "private": 1}}, "/conversation/private"),
    ],
)
def test_a_wrong_member_of_such_a_line_is_pointed_at(host: Host, line: dict[str, Any], pointer: str):
    refused = host.refusal(ingest=line)

    assert (refused.code, refused.details["pointer"]) == ("INVALID_ENVELOPE", pointer)


# -- what the platforms say

SLACK_EVENT = {"type": "event_callback", "team_id": "T1"}
PAYLOADS: list[tuple[str, dict[str, str], dict[str, Any], list[tuple[str, Any]]]] = [
    (
        "slack",
        {},
        {**SLACK_EVENT, "event": {"type": "member_joined_channel", "user": "U1", "channel": "C1"}},
        [("U1", True)],
    ),
    (
        "slack",
        {},
        {**SLACK_EVENT, "event": {"type": "member_left_channel", "user": "U1", "channel": "C1"}},
        [("U1", False)],
    ),
    (
        "slack",
        {},
        {**SLACK_EVENT, "event": {"type": "message", "subtype": "channel_convert_to_private", "channel": "C1"}},
        [("private", True)],
    ),
    (
        "slack",
        {},
        {**SLACK_EVENT, "event": {"type": "message", "subtype": "channel_convert_to_public", "channel": "C1"}},
        [("private", False)],
    ),
    (
        "matrix",
        {},
        {"type": "m.room.member", "room_id": "!r:x", "state_key": "@u:x", "content": {"membership": "join"}},
        [("@u:x", True)],
    ),
    (
        "matrix",
        {},
        {"type": "m.room.member", "room_id": "!r:x", "state_key": "@u:x", "content": {"membership": "ban"}},
        [("@u:x", False)],
    ),
    (
        "matrix",
        {},
        {"type": "m.room.member", "room_id": "!r:x", "state_key": "@u:x", "content": {"membership": "invite"}},
        [],
    ),
    (
        "matrix",
        {},
        {"type": "m.room.join_rules", "room_id": "!r:x", "content": {"join_rule": "invite"}},
        [("private", True)],
    ),
    (
        "matrix",
        {},
        {"type": "m.room.join_rules", "room_id": "!r:x", "content": {"join_rule": "public"}},
        [("private", False)],
    ),
    (
        "discord",
        {},
        {
            "t": "CHANNEL_UPDATE",
            "d": {
                "id": "9",
                "guild_id": "7",
                "type": 0,
                "permission_overwrites": [
                    {"id": "7", "type": 0, "allow": "0", "deny": "1024"},
                    {"id": "55", "type": 1, "allow": "1024", "deny": "0"},
                ],
            },
        },
        [("private", True), ("55", True)],
    ),
    ("discord", {}, {"t": "CHANNEL_UPDATE", "d": {"id": "9", "guild_id": "7", "type": 0}}, []),
    ("discord", {}, {"t": "THREAD_CREATE", "d": {"id": "9", "guild_id": "7", "type": 12}}, [("private", True)]),
    (
        "discord",
        {},
        {
            "t": "THREAD_MEMBERS_UPDATE",
            "d": {"id": "9", "guild_id": "7", "added_members": [{"user_id": "5"}], "removed_member_ids": ["6"]},
        },
        [("5", True), ("6", False)],
    ),
    (
        "github",
        {"X-GitHub-Event": "repository"},
        {"action": "privatized", "repository": {"full_name": "a/b"}},
        [("private", True)],
    ),
    (
        "github",
        {"X-GitHub-Event": "repository"},
        {"action": "publicized", "repository": {"full_name": "a/b"}},
        [("private", False)],
    ),
    ("github", {"X-GitHub-Event": "repository"}, {"action": "renamed", "repository": {"full_name": "a/b"}}, []),
    (
        "github",
        {"X-GitHub-Event": "member"},
        {"action": "removed", "repository": {"full_name": "a/b"}, "member": {"login": "bo-k"}},
        [("bo-k", False)],
    ),
]


@pytest.mark.parametrize(("platform", "headers", "payload", "wanted"), PAYLOADS)
def test_each_platform_says_who_joins_and_leaves_and_what_becomes_private(
    platform: str, headers: dict[str, str], payload: dict[str, Any], wanted: list[tuple[str, Any]]
):
    found = SURFACES[platform](headers, payload)

    said = [
        (line["member"]["id"], line["joined"])
        if line["type"] == "membership"
        else ("private", line["conversation"]["private"])
        for line in found
    ]
    assert said == wanted
    assert {line["source"]["platform"] for line in found} <= {platform}


def test_a_user_of_slack_that_leaves_a_channel_is_the_agent_with_that_handle(tmp_path: Any):
    host = CommandLine(near(tmp_path / "repo"))
    host.people()
    host.do(ingest=[conversation("P1", private=True, members=["U1", "U2"])])
    host.says("1", "well", conversation="P1")
    left = {**SLACK_EVENT, "event": {"type": "member_left_channel", "user": "U2", "channel": "P1"}}
    host.run("chat", "ingest", "--format", "slack", stdin=json.dumps(left))

    assert is_hidden(host, "1", BLUE)
    assert not is_hidden(host, "1", AMBER)
