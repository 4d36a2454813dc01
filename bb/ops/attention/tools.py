"""Running a C2A tool for an agent and recording its effects, independent of the caller and its protocol."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from bb.attention.acts import tools
from bb.attention.acts.tools import Tool
from bb.attention.facts import Answer
from bb.attention.harness import delivery
from bb.attention.judging.cases import find_message
from bb.attention.refusals import NoSuchEvent
from bb.attention.state.attention_state import AttentionState
from bb.attention.turns import queries
from bb.kernel import json_text
from bb.kernel.errors import Usage
from bb.ops.attention.attention_desk import C2aDesk

MOST_ANSWER = 250_000  # bytes of a tool's answer; a response line can contain the answer twice

UnknownTool = Usage.declare("UNKNOWN_TOOL", "The tool does not exist", hint="the request tools/list returns all tools")


def find_tool(name: str) -> Tool:
    """Find a tool by its name, with a dot or with an underscore."""
    tool = tools.BY_ANY_NAME.get(name)
    if tool is None:
        raise UnknownTool(f"there is no tool {name[:60]!r}", pointer="/name")
    return tool


def run(at: C2aDesk, agent: str, tool: Tool, given: Mapping[str, Any], most: int = MOST_ANSWER) -> dict[str, Any]:
    """Run TOOL for AGENT and record its effects. The answer has about MOST bytes at most."""
    if tool.reads_only:
        with contextlib.suppress(NoSuchEvent.error):  # refused again below, where that is recorded
            facts, answer = _fitting(tool, at.book(), agent, given, at.desk.now(), most)
            if not facts:
                return answer
    return at.act(lambda book, now: _fitting(tool, book, agent, given, now, most))


def _fitting(tool: Tool, book: AttentionState, agent: str, given: Mapping[str, Any], now: int, most: int) -> Answer:
    """Call TOOL with ever smaller limits until the answer fits. A shortened answer says where to continue."""
    while True:
        facts, answer = tools.call(tool.name, book, agent, dict(given), now)
        if tool.name == "chat.list_events" and given.get("include") == "envelope":
            for row in answer["events"]:
                row["envelope"] = delivery.lookup_envelope(book, agent, find_message(book, row["eventId"]), now)
        limit = given.get("limit") or queries.USUAL
        if not tool.reads_only or limit == 1 or len(json_text.dumps(answer).encode("utf-8", "replace")) < most:
            return facts, answer
        given = {**given, "limit": min(limit, len(answer.get("events") or answer.get("items", ())) or 2) // 2 or 1}
