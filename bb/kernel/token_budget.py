"""Fits a JSON answer into a number of tokens that a model reads.

JSON full of ids has less than three characters per token. A non-ASCII character is escaped as six characters and takes
more than one token.
"""

from __future__ import annotations

from bb.kernel import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

ESCAPED = 6
LONGEST = (160, 80, 40, 24)  # characters of a text; the first length that fits is used


def cost(value: Any) -> int:
    """The characters of VALUE as JSON, with a non-ASCII character counted by its tokens."""
    text = json_text.dumps_ascii(value)
    return len(text) + ESCAPED * text.count("\\u")


def cut(value: Any, longest: int, texts: Collection[str], name: str = "") -> Any:
    """VALUE with every text cut to LONGEST characters, if the member that it belongs to is one of TEXTS."""
    if isinstance(value, str):
        return value if len(value) <= longest or name not in texts else value[: longest - 1] + "…"
    if isinstance(value, list):
        return [cut(item, longest, texts, name) for item in value]
    if isinstance(value, dict):
        return {member: cut(item, longest, texts, member) for member, item in value.items()}
    return value
