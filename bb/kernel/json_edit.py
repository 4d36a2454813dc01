"""Edits a JSON text in place: inserts or removes members without changing any other character.

A settings file belongs to its user, with its order, indentation and blank lines. Parsing and rewriting it would lose
them. So members are located in the text. Inserting a member and removing it again restores the original text.
"""

from __future__ import annotations

from typing import Any

from bb.kernel import json_text
from bb.kernel.json_text import WHITESPACE, NotJson
from bb.kernel.record import Record

INDENT = "  "  # used if a text has no indentation


class Member(Record):
    """A member of an object or list, with its positions in the text."""

    name: str | None  # None in a list
    start: int
    value: int
    end: int


def members(text: str, at: int) -> tuple[list[Member], int]:
    """The members of the object or list that starts AT, and the position of its closing bracket."""
    is_object = text[at] == "{"
    entries: list[Member] = []
    place = _skip(text, at + 1)
    while text[place] not in "}]":
        start, name = place, None
        if is_object:
            name, place = json_text.scan(text, start)
            place = _skip(text, _skip(text, place) + 1)  # after the colon
        value = place
        _, end = json_text.scan(text, value)
        entries.append(Member(name, start, value, end))
        place = _skip(text, end)
        if text[place] == ",":
            place = _skip(text, place + 1)
    return entries, place


def root(text: str) -> int:
    """The start of the object in TEXT. Raises NotJson if TEXT is not an object."""
    if not isinstance(json_text.loads(text), dict):
        raise NotJson("it is not an object")
    return _skip(text, 0)


def member(text: str, at: int, name: str) -> Member | None:
    """The member NAME of the object that starts AT; the last one if there are several."""
    return next((child for child in reversed(members(text, at)[0]) if child.name == name), None)


def put(text: str, at: int, depth: int, value: Any, name: str | None = None) -> str:
    """TEXT with a new last member in the object or list that starts AT, DEPTH levels deep."""
    inside, close = members(text, at)
    unit, line_end = _unit(text), "\r\n" if "\r\n" in text else "\n"
    pad = line_end + unit * (depth + 1) if unit else ""
    written = ("" if name is None else f"{json_text.dumps(name)}: ") + _pretty(value, unit, depth + 1, line_end)
    if inside:
        last = inside[-1].end
        return f"{text[:last]},{pad or ' '}{written}{text[last:]}"
    return f"{text[: at + 1]}{pad}{written}{line_end + unit * depth if unit else ''}{text[close:]}"


def without(text: str, at: int, number: int) -> str:
    """TEXT without the member NUMBER of the object or list that starts AT."""
    inside, close = members(text, at)
    if len(inside) == 1:
        return text[: at + 1] + text[close:]
    if number:
        return text[: inside[number - 1].end] + text[inside[number].end :]
    return text[: inside[0].start] + text[inside[1].start :]


def without_member(text: str, at: int, name: str) -> str:
    """TEXT without the first member NAME, if any, of the object that starts AT."""
    number = next((number for number, child in enumerate(members(text, at)[0]) if child.name == name), None)
    return text if number is None else without(text, at, number)


def _skip(text: str, place: int) -> int:
    while text[place] in WHITESPACE:
        place += 1
    return place


def _unit(text: str) -> str:
    """The indentation of TEXT, taken from its first member; empty if TEXT is on one line."""
    at = root(text)
    inside, close = members(text, at)
    if not inside:
        return INDENT
    before = text[at + 1 : inside[0].start]
    _, line_end, unit = before.rpartition("\n")
    return unit if line_end else "" if "\n" not in text[at:close] else INDENT


def _pretty(value: Any, unit: str, depth: int, line_end: str) -> str:
    """VALUE as JSON, DEPTH levels deep. If there is an indentation UNIT, lists and objects span several lines."""
    if not value or not isinstance(value, dict | list):
        return json_text.dumps(value)
    if isinstance(value, dict):
        items = [f"{json_text.dumps(name)}: {_pretty(item, unit, depth + 1, line_end)}" for name, item in value.items()]
    else:
        items = [_pretty(item, unit, depth + 1, line_end) for item in value]
    first, last = ("{", "}") if isinstance(value, dict) else ("[", "]")
    if not unit:
        return f"{first}{', '.join(items)}{last}"
    pad = line_end + unit * (depth + 1)
    return f"{first}{pad}{f',{pad}'.join(items)}{line_end}{unit * depth}{last}"
