"""Gemini: POST /v1beta/models/MODEL:generateContent and :streamGenerateContent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.hosts.model.turns import Turn

USAGE = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
Event = tuple[str, dict[str, Any]]


def events(turn: Turn, body: dict[str, Any], number: int) -> Iterator[Event]:
    """The answer as server-sent events."""
    yield "", whole(turn, body, number)


def whole(turn: Turn, body: dict[str, Any], number: int) -> dict[str, Any]:
    """The answer as one document."""
    content = {"role": "model", "parts": _parts(turn)}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": USAGE, "responseId": f"answer-{number}"}


def _parts(turn: Turn) -> list[dict[str, Any]]:
    if isinstance(turn, str):
        return [{"text": turn}]
    return [{"functionCall": {"name": call.tool, "args": call.input}} for call in turn]
