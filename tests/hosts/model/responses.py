"""OpenAI responses: POST /v1/responses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.hosts.model.turns import Call, Turn

USAGE = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
DETAILS = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
Event = tuple[str, dict[str, Any]]


def events(turn: Turn, body: dict[str, Any], number: int) -> Iterator[Event]:
    """The answer as server-sent events."""
    answer = whole(turn, body, number)
    begun = {"response": answer | {"status": "in_progress", "output": [], "usage": None}}
    yield "response.created", begun
    for index, item in enumerate(answer["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        yield "response.output_item.added", {**place, "item": item | _EMPTY[item["type"]] | {"status": "in_progress"}}
        yield from _pieces(item, place)
        yield "response.output_item.done", {**place, "item": item}
    yield "response.completed", {"response": answer}


def whole(turn: Turn, body: dict[str, Any], number: int) -> dict[str, Any]:
    """The answer as one document."""
    head = {"id": f"resp_{number}", "object": "response", "created_at": 0, "status": "completed"}
    return head | {"model": body.get("model", ""), "output": _items(turn, number), "usage": USAGE | DETAILS}


_EMPTY: dict[str, dict[str, Any]] = {
    "message": {"content": []},
    "function_call": {"arguments": ""},
    "custom_tool_call": {"input": ""},
}


def _items(turn: Turn, number: int) -> list[dict[str, Any]]:
    if isinstance(turn, str):
        content = [{"type": "output_text", "text": turn, "annotations": []}]
        return [{"type": "message", "id": f"item_{number}", "role": "assistant", "content": content}]
    return [_call(call, f"{number}_{place}") for place, call in enumerate(turn)]


def _call(call: Call, number: str) -> dict[str, Any]:
    """A call. The name of a tool in a namespace, such as one of an MCP server, is given as NAMESPACE/NAME."""
    namespace, _, name = call.tool.rpartition("/")
    common = {"id": f"item_{number}", "call_id": f"call_{number}", "name": name, "status": "completed"}
    common |= {"namespace": namespace} if namespace else {}
    if isinstance(call.input, str):
        return common | {"type": "custom_tool_call", "input": call.input}
    return common | {"type": "function_call", "arguments": json.dumps(call.input)}


def _pieces(item: dict[str, Any], place: dict[str, Any]) -> Iterator[Event]:
    if item["type"] == "message":
        text = item["content"][0]["text"]
        part = {**place, "content_index": 0}
        yield "response.content_part.added", {**part, "part": item["content"][0] | {"text": ""}}
        yield "response.output_text.delta", {**part, "delta": text}
        yield "response.output_text.done", {**part, "text": text}
        yield "response.content_part.done", {**part, "part": item["content"][0]}
    elif item["type"] == "function_call":
        yield "response.function_call_arguments.delta", {**place, "delta": item["arguments"]}
        yield "response.function_call_arguments.done", {**place, "arguments": item["arguments"]}
