"""Whose message it is: ids belong to their source, and only the source of a message changes it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bb.attention.acts import outbox
from bb.attention.facts import Posted
from tests.attention.hosts import AMBER, BLUE, CommandLine, Host, InMemory, message
from tests.near import near


def said(event: str, text: str, platform: str, **more: Any) -> dict[str, Any]:
    return message(event, text, platform=platform, conversation=f"{platform}-room", mentions=[f"agent:{AMBER}"], **more)


def texts(host: Host, agent: str = AMBER) -> list[str]:
    rows = host.do(list={"agent": agent, "include": "body", "limit": 200})["events"]
    return sorted(row["content"][0]["text"] for row in rows if row["content"])


def test_equal_ids_of_two_platforms_are_two_messages(host: Host):
    host.people()
    host.do(ingest=said("1", "from slack?", "slack"))
    host.do(ingest=said("1", "from discord?", "discord"))

    assert texts(host) == ["from discord?", "from slack?"]
    assert [row["eventId"] for row in host.do(pending=AMBER)["events"]] == ["slack:1", "discord:1"]
    assert host.explain("slack:1")["eventId"] == "slack:1"
    assert host.refusal(explain={"agent": AMBER, "event": "1"}).code == "NOT_FOUND", "it could be either"


def test_so_they_are_in_clones_that_learn_of_each_other_later(memory: InMemory):
    memory.people()
    memory.do(clone="there")
    memory.step_in("here", ingest=said("1", "from slack?", "slack"))
    memory.step_in("there", ingest=said("1", "from discord?", "discord"))

    assert memory.do(merge=["here", "there"])["agree"]
    assert texts(memory) == ["from discord?", "from slack?"]


def test_the_id_of_the_platform_finds_a_message_while_only_one_platform_has_it(command_line: CommandLine):
    command_line.people()
    command_line.run("chat", "ingest", stdin=json.dumps(said("7", "from slack?", "slack")))

    assert command_line.run("chat", "show", "7", "--agent", AMBER)["eventId"] == "slack:7"
    assert command_line.run("chat", "show", "slack:7", "--agent", AMBER)["eventId"] == "slack:7"


@pytest.mark.parametrize("kind", ["edit", "delete"])
def test_no_other_platform_changes_a_message(host: Host, kind: str):
    host.people()
    host.do(ingest=said("1", "from slack?", "slack"))
    change = said("1", "forged", "discord", version=9)
    answer = host.do(**{kind: change})

    assert answer["status"] == "held", "of a message that discord has not brought yet"
    assert texts(host) == ["from slack?"]


def test_nor_does_another_workspace(host: Host):
    host.people()
    line = said("1", "from one?", "slack")
    host.do(ingest=line | {"source": {"platform": "slack", "workspaceId": "T1"}})
    other = {"source": {"platform": "slack", "workspaceId": "T2"}, "version": 9}

    assert host.refusal(edit=line | other | {"content": [{"type": "text", "text": "forged"}]}).code == "NOT_ITS_SOURCE"
    assert host.refusal(delete={"eventId": "1", **other}).code == "NOT_ITS_SOURCE"
    assert texts(host) == ["from one?"]


def test_a_line_without_a_platform_changes_no_message_of_an_agent(host: Host):
    host.people()
    name = host.send(AMBER, "It is green.", "k", target={"conversation": "C1"})["messageId"]

    assert host.refusal(delete={"eventId": name}).code == "NOT_ITS_SOURCE"
    assert texts(host, BLUE) == ["It is green."]


def test_ids_of_ledgers_written_before_stay_and_their_edits_find_them(memory: InMemory):
    memory.people()
    old = {"event": "1", "platform": "slack", "conversation": "C1", "author": "W1", "at": memory.replay.now}
    decided = ["to_me", "must_respond", "buffered", "direct_mention"]
    memory.replay.here.record([Posted("svc:slack", old | {"for": {AMBER: decided}}, "old?")], memory.replay.now)

    assert memory.do(ingest=message("1", "old?"))["status"] == "duplicate"
    assert memory.do(edit=message("1", "new?", version=2))["status"] == "edited"
    assert texts(memory) == ["new?"]
    assert memory.do(ingest=said("1", "another", "discord"))["status"] == "recorded"
    assert memory.do(delete={"eventId": "1", "source": {"platform": "slack"}})["status"] == "deleted"
    assert texts(memory) == ["", "another"]


def test_the_outbox_names_a_message_as_its_platform_does(memory: InMemory):
    memory.people()
    memory.do(conversation={"id": "C1", "is_external": True, "platform": "slack"})
    memory.says("1", "well?", mentions=["U1"])
    memory.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "seen"})
    memory.send(AMBER, "It is.", "k", inReplyTo="1")

    reaction, answer = outbox.to_post(memory.replay.here.book)  # a step would shorten all ids
    assert (reaction["onMessage"], answer["inReplyTo"]) == ("1", "1")


def test_payloads_of_a_platform_are_of_that_platform(tmp_path: Any):
    host = CommandLine(near(tmp_path / "repo"))
    host.people()
    event = {"type": "message", "channel": "C1", "user": "W1", "text": "well, <@U1>?", "ts": "1748.1"}
    host.run("chat", "ingest", "--format", "slack", stdin=json.dumps(callback(event)))
    gone = {"type": "message", "subtype": "message_deleted", "channel": "C1", "deleted_ts": "1748.1", "ts": "1749.1"}
    found = host.run("chat", "ingest", "--format", "slack", stdin=json.dumps(callback(gone)))

    assert found["counts"] == {"deleted": 1}


def callback(event: dict[str, Any]) -> dict[str, Any]:
    return {"type": "event_callback", "team_id": "T1", "event": event}
