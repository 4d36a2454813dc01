"""A day's work in which every text is hostile, as the tools and the resources of MCP tell it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from bb.attention.acts.tools import TOOLS
from bb.kernel.escaping import has_control
from bb.mcp import tool_list
from bb.mcp.tool_calls import Toolbox
from tests.hostile import EVERYTHING, has_raw, haunted_scene
from tests.mcp.mcp_support import ERAS, over_mcp
from tests.near import Near
from tests.scene import AMBER, COBALT
from tests.support import environment

EVIL = " ".join(EVERYTHING.values())
LETTER = {"to": COBALT, "bead": "bb-1.1", "subject": EVIL}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("session", {}),
    ("session", {"role": EVIL}),
    ("check", {"path": ["src/parser/dates.py", "docs/parser.md", "tests/test_dates.py"]}),
    ("check", {"path": [EVIL]}),
    ("reserve", {"scope": ["tests"], "bead": EVIL}),
    ("reserve", {"scope": [EVIL], "bead": "bb-1.1"}),
    ("release", {"scope": [EVIL]}),
    ("hand_over", {"kind": "HANDOFF", "summary": EVIL, "next_action": EVIL, **LETTER}),
    ("hand_over", {"kind": EVIL, **LETTER}),
    ("inbox", {}),
    ("inbox", {"state": EVIL}),
    ("send", {"category": "INFO", "body": EVIL, **LETTER}),
    ("send", {EVIL: EVIL}),
    ("acknowledge", {"message": EVIL, "as": "seen"}),
    ("status", {}),
    ("chat", {"tool": "list_events", "arguments": {"include": "body"}}),
    ("chat", {"tool": EVIL}),
    ("chat_capabilities", {}),
    *((tool, {"eventId": EVIL, "conversation": EVIL, "reason": EVIL}) for tool in TOOLS),
    ("chat.send_message", {"target": {"recipient": COBALT}, "content": EVIL, "idempotencyKey": "k"}),
)
RESOURCES = ("bb://status", "bb://sessions", "bb://sessions/bb-1.1", "bb://chat")


@pytest.fixture(scope="module")
def haunted(tmp_path_factory: pytest.TempPathFactory) -> Near:
    return haunted_scene(tmp_path_factory.mktemp("mcp"))


@pytest.fixture
def box(haunted: Near) -> Toolbox:
    def report(what: str, error: Exception) -> None:
        raise AssertionError(f"a bug at {what}") from error

    return Toolbox(str(haunted.path), environment(**haunted.settings, BB_AGENT=AMBER), report)


def test_every_tool_is_called():
    assert {name for name, _ in CALLS} >= {*tool_list.BY_NAME, *TOOLS}


@pytest.mark.parametrize("era", ERAS)
def test_what_tools_say_in_text_obeys_nobody_and_is_the_structured_answer_all_the_same(box: Toolbox, era: str):
    async def talk(client: Client) -> list[Any]:
        return [await client.call_tool(name, given) for name, given in CALLS]

    for (name, _), answer in zip(CALLS, over_mcp(box, era, talk), strict=True):
        (block,) = answer.content
        assert not has_raw(block.text), name
        assert not has_control(block.text), name
        assert json.loads(block.text) == answer.structured_content, name


def test_others_texts_are_there_to_be_escaped(box: Toolbox):
    told = "".join(letter["body"] for letter in box.call("inbox", {"limit": 20}).data["items"])

    assert has_raw(told) > {"\x9b", "\u202e"}


@pytest.mark.parametrize("era", ERAS)
def test_what_resources_say_obeys_nobody(box: Toolbox, haunted: Near, era: str):
    events = [each["id"] for each in haunted.json("ledger", "log", "--limit", "500").data]

    async def read(client: Client, uri: str) -> str:
        try:
            return str((await client.read_resource(uri)).contents[0].text)
        except MCPError as refusal:  # of an event that is not for all to see, say
            return json.dumps(refusal.message, ensure_ascii=False)

    async def talk(client: Client) -> list[str]:
        return [await read(client, uri) for uri in (*RESOURCES, *(f"bb://events/{event}" for event in events))]

    texts = over_mcp(box, era, talk)

    assert sum(text.startswith("{") for text in texts) > len(RESOURCES) + 10
    for text in texts:
        assert not has_raw(text)
        assert not has_control(text)
        assert json.loads(text)
