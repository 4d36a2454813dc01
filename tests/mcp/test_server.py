"""The server as the official SDK's client sees it, in both eras of the protocol."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from bb.kernel.escaping import has_control
from bb.mcp import resources
from bb.mcp.server import INSTRUCTIONS
from tests.hostile import EVERYTHING, has_raw
from tests.mcp.mcp_support import AMBER, COBALT, ERAS, NEW, OLD, Here, over_mcp
from tests.waiting import until

HOSTILE = " ".join(EVERYTHING.values())


@pytest.mark.parametrize("era", ERAS)
def test_a_client_of_either_era_finds_the_tools_calls_them_and_reads_resources(both: Here, era: str):
    async def talk(client: Client) -> dict[str, Any]:
        return {
            "version": client.protocol_version,
            "tools": len((await client.list_tools()).tools),
            "called": await client.call_tool("reserve", {"scope": ["src"], "bead": "bb-1"}),
            "dotted": await client.call_tool("chat.list_events", {}),
            "resources": [str(each.uri) for each in (await client.list_resources()).resources],
            "templates": [each.uri_template for each in (await client.list_resource_templates()).resource_templates],
            "status": await client.read_resource("bb://status"),
            "sessions": await client.read_resource("bb://sessions"),
            "session": await client.read_resource("bb://sessions/bb-1"),
            "chat": await client.read_resource("bb://chat"),
        }

    came = over_mcp(both.toolbox(AMBER), era, talk)

    assert came["version"] == {OLD: "2025-11-25", NEW: NEW}[era]
    assert came["tools"] == 10
    assert came["called"].structured_content["state"] == "active"
    assert json.loads(came["called"].content[0].text) == came["called"].structured_content
    assert not came["dotted"].is_error
    assert came["resources"] == ["bb://status", "bb://sessions", "bb://chat"]
    assert came["templates"] == ["bb://sessions/{bead}", "bb://events/{event_id}"]
    for name in ("status", "sessions", "session", "chat"):
        (text,) = came[name].contents
        assert text.mime_type == "application/json"
        assert json.loads(text.text)["untrusted"] is True


def test_the_old_era_is_told_how_to_live_by_the_protocol_when_it_begins(both: Here):
    async def talk(client: Client) -> Any:
        return client.instructions, client.server_info

    instructions, info = over_mcp(both.toolbox(), OLD, talk)

    assert instructions == INSTRUCTIONS
    assert info.name == "bb"


@pytest.mark.parametrize("era", ERAS)
def test_a_refusal_is_an_answer_with_structure_and_no_error_of_the_protocol(both: Here, era: str):
    both.repo.json("agent", "reserve", "--agent", AMBER, "--scope", "src", "--bead", "bb-1")

    result = over_mcp(both.toolbox(COBALT), era, lambda client: client.call_tool("check", {"path": ["src/a"]}))

    assert result.is_error is True
    assert result.structured_content["code"] == "PATH_HELD"
    assert result.structured_content["details"]["paths"][0]["held_by"][0]["agent_id"] == AMBER
    assert json.loads(result.content[0].text) == result.structured_content


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", ["nope", "", "agent.reserve", "chat.fly", "\x1b[2J"])
def test_a_tool_that_is_none_is_an_error_of_the_protocol(both: Here, era: str, name: str):
    async def talk(client: Client) -> Any:
        with pytest.raises(MCPError) as refused:
            await client.call_tool(name, {})
        return refused.value

    error = over_mcp(both.toolbox(AMBER), era, talk)

    assert error.code == -32602
    assert "\x1b" not in error.message


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("bb://nothing", "RESOURCE_NOT_FOUND"),
        ("bb://status/x", "RESOURCE_NOT_FOUND"),
        ("bb://events", "RESOURCE_NOT_FOUND"),
        ("file:///etc/passwd", "RESOURCE_NOT_FOUND"),
        ("bb://sessions/bb-99", "SESSION_NOT_FOUND"),
        ("bb://sessions/..%2F..%2Fetc", "SESSION_NOT_FOUND"),
        ("bb://sessions/" + "x" * 600, "INVALID_VALUE"),
    ],
)
def test_a_resource_that_is_not_there_is_named_as_such(both: Here, era: str, uri: str, code: str):
    async def talk(client: Client) -> Any:
        with pytest.raises(MCPError) as refused:
            await client.read_resource(uri)
        return refused.value

    error = over_mcp(both.toolbox(AMBER), era, talk)

    assert error.code == -32602
    assert error.data["code"] == code


def test_an_event_is_read_by_its_id_and_a_chat_event_only_by_who_may_see_it(both: Here):
    both.joined("quiet-heron")
    both.repo.json(
        *("protocol", "blocked", "--from", AMBER, "--to", COBALT, "--bead", "bb-1", "--subject", "Dates"),
        *("--blocker", "Two.", "--requested-action", "One.", "--urgency", "low"),
    )
    (blocked,) = both.repo.json("protocol", "list").data
    letter = {"target": {"recipient": COBALT}, "content": "Hi", "idempotencyKey": "k", "visibility": "dm"}
    sent = both.toolbox(AMBER).call("chat_send_message", letter | {"directedness": "to_me"}).data["messageId"]

    def read(agent: str | None, event: str) -> Any:
        box = both.toolbox(agent)
        return box.answer("x", lambda desk: resources.read(desk, f"bb://events/{event}"))

    reserved = both.toolbox(AMBER).call("reserve", {"scope": ["src"], "bead": "bb-1"}).data["reservation_id"]
    lines = [json.loads(line) for line in both.repo.journal().read_text().splitlines()]
    private = [line["id"] for line in lines if line["kind"].startswith(("chat.", "x.bb.c2a.", "system."))]

    assert read(None, blocked["id"]).data["event_type"] == "BLOCKED"
    assert read(None, reserved).data["kind"] == "x.bb.reserved"
    assert all(read(None, each).is_error for each in private if each != blocked["id"])
    assert len(private) > 1
    for odd in ("", "x", "a.b", f"{reserved}9", "%00", "../x"):
        assert read(None, odd).data["code"] in ("PROTOCOL_EVENT_NOT_FOUND", "RESOURCE_NOT_FOUND"), odd
    assert read(COBALT, sent).data["eventId"] == sent
    for agent in ("quiet-heron", None):
        assert read(agent, sent).is_error
        assert "Hi" not in str(read(agent, sent).data)


@pytest.mark.parametrize("era", ERAS)
def test_what_others_wrote_is_marked_as_such_and_does_nothing_to_a_terminal(both: Here, era: str):
    """JSON escapes what is below a space, so no raw control character is on the wire. What a model or a person is shown
    (`text`, and messages of errors) has everything escaped that a terminal obeys; the structured answer is data for
    programs, and is the text that was written, letter by letter."""
    both.toolbox(AMBER).call(
        "send", {"to": COBALT, "bead": "bb-1", "category": "INFO", "subject": "Hello", "body": HOSTILE}
    )

    result = over_mcp(both.toolbox(COBALT), era, lambda client: client.call_tool("inbox", {}))
    (block,) = result.content

    assert result.structured_content["untrusted"] is True
    assert result.structured_content["items"][0]["body"] == HOSTILE
    assert json.loads(block.text)["items"][0]["body"] == HOSTILE
    assert not has_raw(block.text)
    assert not has_control(block.text)
    wire = result.model_dump_json(by_alias=True)
    assert not set(map(chr, range(0x20))) & set(wire)


def test_what_is_asked_is_not_said_raw_either(both: Here):
    async def talk(client: Client) -> Any:
        return [
            await client.call_tool("check", {"path": [HOSTILE]}),
            await client.call_tool("acknowledge", {"message": HOSTILE, "as": HOSTILE}),
            await client.call_tool("chat_read_thread", {"eventId": HOSTILE}),
            await client.call_tool("session", {"role": HOSTILE, HOSTILE: 1}),
        ]

    for result in over_mcp(both.toolbox(AMBER), NEW, talk):
        assert result.is_error
        assert not has_control(result.content[0].text)


def test_calls_are_answered_while_another_one_waits(both: Here):
    """Standing in line for a reservation keeps nobody else waiting, and ends when whoever waits has gone."""
    both.repo.json("agent", "reserve", "--agent", AMBER, "--scope", "src", "--bead", "bb-1")
    threads = threading.active_count()

    async def talk(client: Client) -> float:
        async with anyio.create_task_group() as group:
            wanted = {"scope": ["src"], "bead": "bb-2", "wait": 600}
            group.start_soon(client.call_tool, "reserve", wanted)
            await anyio.sleep(0.3)
            began = time.monotonic()
            assert not (await client.call_tool("status", {})).is_error
            took = time.monotonic() - began
            group.cancel_scope.cancel()
        return took

    box = both.toolbox(COBALT)
    del box._env["BB_NOW"]  # type: ignore[attr-defined]  # who waits needs a clock that goes

    assert over_mcp(box, NEW, talk) < 5
    until(lambda: threading.active_count() <= threads, "the end of whoever waited")


def test_many_calls_at_once_are_each_answered(both: Here):
    async def talk(client: Client) -> list[Any]:
        came: list[Any] = []

        async def reserve(number: int) -> None:
            came.append(await client.call_tool("reserve", {"scope": [f"src/{number}"], "bead": "bb-1"}))

        async with anyio.create_task_group() as group:
            for number in range(40):
                group.start_soon(reserve, number)
        return came

    came = over_mcp(both.toolbox(AMBER), NEW, talk)

    assert [each.is_error for each in came] == [False] * 40
    assert len(both.repo.json("agent", "status").data["reservations"]) == 40
    assert both.repo.json("ledger", "verify").data
