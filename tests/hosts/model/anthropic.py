"""Anthropic messages: POST /v1/messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.hosts.model.turns import Call, Turn

USAGE = {"input_tokens": 10, "output_tokens": 10}
Event = tuple[str, dict[str, Any]]


def events(turn: Turn, body: dict[str, Any], number: int) -> Iterator[Event]:
    """The answer as server-sent events."""
    blocks = _blocks(turn, number)
    yield "message_start", {"message": _message(body, number, []) | {"stop_reason": None}}
    for index, block in enumerate(blocks):
        empty, delta = _in_pieces(block)
        yield "content_block_start", {"index": index, "content_block": empty}
        yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    yield "message_delta", {"delta": {"stop_reason": _reason(blocks), "stop_sequence": None}, "usage": USAGE}
    yield "message_stop", {}


def whole(turn: Turn, body: dict[str, Any], number: int) -> dict[str, Any]:
    """The answer as one document."""
    return _message(body, number, _blocks(turn, number))


def _message(body: dict[str, Any], number: int, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model", "")}
    return head | {"content": blocks, "stop_reason": _reason(blocks), "stop_sequence": None, "usage": USAGE}


def _blocks(turn: Turn, number: int) -> list[dict[str, Any]]:
    if isinstance(turn, str):
        return [{"type": "text", "text": turn}]
    return [_tool_use(call, f"toolu_{number}_{place}") for place, call in enumerate(turn)]


def _tool_use(call: Call, name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": call.tool, "input": call.input}


def _in_pieces(block: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The start of a block, and the piece that completes it."""
    if block["type"] == "text":
        return block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
    return block | {"input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}


def _reason(blocks: list[dict[str, Any]]) -> str:
    return "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
