"""Reads a page's query, which is untrusted input, and calls ops for the pages."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from bb.ops import catalogue
from bb.ops.desk.desk import Desk

LONGEST = 300  # characters


def answer(desk: Desk, op: str, **given: Any) -> Any:
    """The answer of an op."""
    found_op = catalogue.find(op)
    return found_op.run(desk, catalogue.bind(found_op, given))


class Query:
    """The query of an address. Invalid values count as missing."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given

    def text(self, name: str) -> str:
        return self._given.get(name, "").strip()[:LONGEST]

    def one_of(self, name: str, known: Container[str], usual: str) -> str:
        text = self.text(name)
        return text if text in known else usual

    def count(self, name: str, usual: int, most: int) -> int:
        text = self.text(name)
        is_number = text.isascii() and text.isdigit() and len(text) < 7
        return min(max(int(text), 1), most) if is_number else usual

    def those(self, *names: str) -> dict[str, str]:
        """Those of NAMES that have a value."""
        return {name: text for name in names if (text := self.text(name))}

    def all(self) -> dict[str, Any]:
        """The whole query, for links to the same page."""
        return dict(self._given)
