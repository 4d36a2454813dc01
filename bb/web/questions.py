"""What is asked: of a page, in its address, which anybody may have typed; and by a page, of the ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bb.ops import catalogue

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from bb.ops.desk.desk import Desk

LONGEST = 300  # characters


def answer(desk: Desk, op: str, **given: Any) -> Any:
    """What an op answers."""
    found = catalogue.find(op)
    return found.answer(desk, catalogue.bind(found, given))


class Asked:
    """The query of an address. What makes no sense in it counts as not said."""

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
        """What was given of these."""
        return {name: text for name in names if (text := self.text(name))}

    def all(self) -> dict[str, Any]:
        """Everything, to be asked for again."""
        return dict(self._given)
