"""Another host hands something to us (C2A checklist 1, 13 to 21, 134, 136)."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from bb.kernel import clock
from tests.stories.attention.harness_support import AMBER, BLUE, EXAMPLE, World, dm, post, problems, without
from tests.support import ROOT

SCHEMA: dict[str, Any] = json.loads((ROOT / "docs/schema/chat-deliver.json").read_text())
REQUIRED = [
    "/eventId",
    "/conversation",
    "/conversation/kind",
    "/content",
    "/target",
    "/target/directedness",
    "/attention",
    "/attention/policy",
    "/injection",
    "/injection/mode",
    "/reliability",
    "/reliability/idempotencyKey",
]
HANDS_IN = without("injection.immediate", "injection.buffered", "injection.notify")


def changed(pointer: str, how: str) -> dict[str, Any]:
    """The example, with one member gone, null, or of a kind that it cannot be."""
    found = copy.deepcopy(EXAMPLE)
    *path, name = pointer.split("/")[1:]
    holder = found
    for each in path:
        holder = holder[each]
    if how == "removed":
        del holder[name]
    else:
        holder[name] = None if how == "null" else [7] if isinstance(holder[name], dict) else {"x": 1}
    return found


def test_c2a_013_the_specifications_own_example_is_as_the_schema_says():
    assert problems(EXAMPLE, SCHEMA) == []


@pytest.mark.parametrize("how", ["removed", "null", "corrupt"])
@pytest.mark.parametrize("pointer", REQUIRED)
def test_c2a_013_the_schema_refuses_what_is_malformed(pointer: str, how: str):
    assert problems(changed(pointer, how), SCHEMA) != []


@pytest.mark.parametrize("how", ["removed", "null", "corrupt"])
def test_c2a_001_014_to_020_what_is_malformed_is_pointed_at(world: World, how: str):
    """And nothing of it is kept."""
    harness = world.harness(HANDS_IN)

    for pointer in REQUIRED:
        refused = harness.refusal("chat/deliver", **changed(pointer, how))

        assert (refused.number, refused.code) == (-32602, "invalid_envelope"), pointer
        assert refused.data["path"] == pointer
    assert harness.call("chat.list_events")["events"] == []


def test_c2a_017_018_019_only_their_own_words_are_taken(world: World):
    harness = world.harness(HANDS_IN)

    for pointer in ("/conversation/kind", "/target/directedness", "/attention/policy", "/injection/mode"):
        given = changed(pointer, "null")
        given[pointer.split("/")[1]][pointer.split("/")[2]] = "somehow"

        assert harness.refusal("chat/deliver", **given).data["path"] == pointer


def test_c2a_134_what_was_accepted_is_kept(world: World):
    harness = world.harness(HANDS_IN)

    assert harness.ask("chat/deliver", **EXAMPLE) == {"status": "accepted"}
    harness.line.close()

    (row,) = world.bb("chat", "list", "--agent", AMBER, "--body")["events"]
    assert row["content"] == EXAMPLE["content"]
    assert (row["directedness"], row["policy"], row["injection"]) == ("to_me", "must_respond", "buffered")
    assert (row["reason"], row["deadlineMs"]) == ("direct_message", 300000)


def test_c2a_020_unknown_members_are_no_mistake(world: World):
    given = {**copy.deepcopy(EXAMPLE), "mood": "sunny"}
    given["attention"]["shade"] = {"deep": True}

    assert world.harness(HANDS_IN).ask("chat/deliver", **given) == {"status": "accepted"}


def test_c2a_021_optional_members_survive(world: World):
    world.now = clock.parse("2026-06-02T19:11:00Z")
    world.harness(HANDS_IN).ask("chat/deliver", **EXAMPLE)
    harness = world.harness()

    (envelope,) = [row["envelope"] for row in harness.call("chat.list_events", include="envelope")["events"]]

    assert problems(envelope, SCHEMA) == []
    for name in ("source", "conversation", "author", "content"):
        assert envelope[name] == EXAMPLE[name]
    assert envelope["target"] == EXAMPLE["target"]
    assert envelope["timing"] == {"createdAt": "2026-06-02T19:10:00.000Z", "sequence": 42}
    assert envelope["attention"] == EXAMPLE["attention"]
    assert envelope["injection"] == EXAMPLE["injection"]
    assert envelope["reliability"] == {"attempt": 1, "idempotencyKey": "evt_123:agent_amber_otter"}


def test_c2a_136_what_is_known_is_a_duplicate_and_a_higher_version_an_edit(world: World):
    host = world.harness(HANDS_IN)
    edited = {**copy.deepcopy(EXAMPLE), "contentVersion": 2, "content": [{"type": "text", "text": "and the build?"}]}

    assert host.ask("chat/deliver", **EXAMPLE) == {"status": "accepted"}
    assert host.ask("chat/deliver", **EXAMPLE) == {"status": "duplicate"}
    assert host.ask("chat/deliver", **edited) == {"status": "accepted"}
    assert host.ask("chat/deliver", **edited) == {"status": "duplicate"}
    assert host.ask("chat/deliver", **EXAMPLE) == {"status": "duplicate"}

    (row,) = world.bb("chat", "list", "--agent", AMBER, "--body")["events"]
    assert row["content"][0]["text"] == "and the build?"


def test_a_knock_is_kept_and_what_it_announced_comes_after_it(world: World):
    host = world.harness(HANDS_IN)
    knock = {name: value for name, value in EXAMPLE.items() if name != "content"}
    knock["injection"] = {"mode": "notify"}
    knock["knock"] = {"from": "human:Will", "where": "dm:C123", "topic": "question", "pullWith": "chat.read_thread"}
    knock["target"] = {"mentions": [], "directedness": "to_my_role"}
    knock["attention"] = {"policy": "may_respond"}

    assert host.ask("chat/deliver", **knock) == {"status": "accepted"}
    assert host.ask("chat/deliver", **knock) == {"status": "duplicate"}
    assert host.ask("chat/deliver", **EXAMPLE) == {"status": "accepted"}

    (row,) = world.bb("chat", "list", "--agent", AMBER, "--body")["events"]
    assert row["content"] == EXAMPLE["content"]
    assert row["policy"] == "must_respond"


def test_one_event_may_be_handed_in_for_several_agents(world: World):
    for agent in (AMBER, BLUE):
        host = world.harness(HANDS_IN, agent=agent)
        assert host.ask("chat/deliver", **EXAMPLE) == {"status": "accepted"}
        assert host.ask("chat/deliver", **EXAMPLE) == {"status": "duplicate"}

    for agent in (AMBER, BLUE):
        assert [row["eventId"] for row in world.bb("chat", "pending", "--agent", agent)["events"]] == ["evt_123"]


def test_what_one_has_handed_in_is_not_handed_back(world: World):
    both = world.harness()
    both.ask("chat/deliver", **EXAMPLE)
    world.wait(60, both)
    assert both.news() == []

    assert world.harness().take()["eventId"] == "evt_123"


def test_a_bridge_hands_in_lines_and_one_that_is_wrong_stops_no_other(world: World):
    harness = world.harness()

    answer = harness.ask("chat/ingest", lines=[dm("1", "check the deploy?"), post("2", "lunch")])
    assert answer["counts"] == {"recorded": 2}
    refused = harness.refusal("chat/ingest", lines=[dm("3", "hello?"), {"type": "message", "eventId": "4"}])

    assert refused.number == -32602
    assert refused.data["refused"][0]["line"] == 2
    assert refused.data["counts"] == {"recorded": 1}
    assert harness.refusal("chat/ingest", lines="x").data["path"] == "/lines"
    world.wait(5, harness)
    assert harness.events() == ["3"]


def test_secrets_are_taken_out_before_anything_is_kept(world: World):
    given = copy.deepcopy(EXAMPLE)
    given["content"][0]["text"] = "the key is " + "AKIA" + "Q0W1E2R3T4Y5U6I7"

    world.harness(HANDS_IN).ask("chat/deliver", **given)

    assert b"Q0W1E2R3T4Y5" not in b"".join(file.read_bytes() for file in world.repo.store.glob("j/*/*.jsonl"))
