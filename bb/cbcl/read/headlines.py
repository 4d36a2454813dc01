"""A one-line summary of a message, for lists of mail."""

from __future__ import annotations

from bb.cbcl.read.message import Call, Define, Lang, Message, Query, Simple, Teach, core_of
from bb.cbcl.read.tree import STRING, text_of
from bb.cbcl.read.words import TELL

LONGEST = 120


def headline(message: Message) -> str:
    """MESSAGE in one line: its content, or its action."""
    core = core_of(message)
    match core:
        case Simple():
            return _said(core)
        case Define():
            return _short(f"defines the dialect {core.definition.name}")
        case Teach():
            return _short(f"teaches the dialect {core.definition.name}")
        case Query():
            return _short(f"asks whether {core.dialect} is spoken")
        case Lang(inner=Call(node=node)):
            return _short(f"{core.dialect}: {_line(text_of(node)[1:-1])}")
    return _short(f"speaks {core.dialect}")


def _said(core: Simple) -> str:
    if core.content is None:
        return core.performative
    text = str(core.content.value) if core.content.tag == STRING else text_of(core.content)
    line = _line(text)
    return _short(line if core.performative == TELL and line else f"{core.performative}: {line}".removesuffix(": "))


def _line(text: str) -> str:
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def _short(line: str) -> str:
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
