"""OpenAI chat completions: POST /v1/chat/completions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.hosts.model.turns import Call, Turn

USAGE = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
Event = tuple[str, dict[str, Any]]


def events(turn: Turn, body: dict[str, Any], number: int) -> Iterator[Event]:
    """The answer as server-sent events."""
    message = _message(turn, number)
    yield "", _chunk(body, number, message)
    yield "", _chunk(body, number, {}, _reason(turn)) | {"usage": USAGE}


def whole(turn: Turn, body: dict[str, Any], number: int) -> dict[str, Any]:
    """The answer as one document."""
    choice = {"index": 0, "message": _message(turn, number), "finish_reason": _reason(turn)}
    return _head(body, number, "chat.completion") | {"choices": [choice], "usage": USAGE}


def _chunk(body: dict[str, Any], number: int, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return _head(body, number, "chat.completion.chunk") | {"choices": [choice]}


def _head(body: dict[str, Any], number: int, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 0, "model": body.get("model", "")}


def _message(turn: Turn, number: int) -> dict[str, Any]:
    if isinstance(turn, str):
        return {"role": "assistant", "content": turn}
    calls = [_call(call, number, place) for place, call in enumerate(turn)]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _call(call: Call, number: int, place: int) -> dict[str, Any]:
    function = {"name": call.tool, "arguments": json.dumps(call.input)}
    return {"index": place, "id": f"call_{number}_{place}", "type": "function", "function": function}


def _reason(turn: Turn) -> str:
    return "stop" if isinstance(turn, str) else "tool_calls"
