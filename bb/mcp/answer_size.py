"""Shortens an answer to a maximum size. Models pay for every character, and hosts cut long answers anywhere.

An answer that is cut here stays valid JSON and says how much is missing. Long lists and long texts lose their ends.
"""

from __future__ import annotations

from typing import Any

from bb.kernel import json_text
from bb.kernel.escaping import harmless
from bb.wire.envelope import AnswerTooLarge

MOST = 32_000  # characters of one answer, some 8,000 tokens
# The limits to try in turn: items of a list, characters of a text.
STEPS = ((500, 4_000), (100, 2_000), (50, 1_000), (25, 500), (12, 300), (5, 300), (2, 300), (1, 300))


def shortened(answer: dict[str, Any], most: int = MOST) -> dict[str, Any]:
    """ANSWER in at most MOST characters; `left_out` counts the removed items and characters."""
    if len(json_text.dumps(answer)) <= most:
        return answer
    for items, characters in STEPS:
        left_out = {"items": 0, "characters": 0}
        cut = _cut(answer, items, characters, left_out) | {"left_out": left_out}
        if len(json_text.dumps(cut)) <= most:
            return dict(cut)
    raise AnswerTooLarge()


def _cut(value: Any, items: int, characters: int, left_out: dict[str, int]) -> Any:
    if isinstance(value, str) and len(value) > characters:
        left_out["characters"] += len(value) - characters
        return value[:characters] + "…"
    if isinstance(value, dict):
        left_out["items"] += max(len(value) - items, 0)
        return {name: _cut(value[name], items, characters, left_out) for name in list(value)[:items]}
    if isinstance(value, list | tuple):
        left_out["items"] += max(len(value) - items, 0)
        return [_cut(item, items, characters, left_out) for item in value[:items]]
    return value


def as_text(answer: object) -> str:
    """ANSWER as JSON that is safe to show on a terminal: control characters are written as JSON escapes.

    JSON itself escapes only characters below the space. Bidirectional overrides and C1 control characters would reach
    the terminal unchanged.
    """
    text = json_text.dumps(answer)
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if harmless(character) == character else _escaped(character) for character in text)


def _escaped(character: str) -> str:
    return json_text.dumps_ascii(character)[1:-1] if character != "\x7f" else "\\u007f"


def without_lone_surrogates(answer: dict[str, Any]) -> dict[str, Any]:
    """ANSWER without lone surrogates, which cannot be encoded as UTF-8. They may come from the request."""
    text = json_text.dumps(answer)
    try:
        text.encode()
    except UnicodeEncodeError:
        repaired: dict[str, Any] = json_text.loads(text.encode("utf-8", "replace").decode())
        return repaired
    return answer
