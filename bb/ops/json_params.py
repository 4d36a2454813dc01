"""Kinds of parameters for values of any JSON type, mostly of CCCC ops. Their rules check the type."""

from __future__ import annotations

from bb.kernel import json_text
from bb.kernel.escaping import harmless
from bb.ops.params import Kind, Text, in_its_case, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Whatever = Any
else:
    Whatever = str


class Json(Kind, Whatever):  # type: ignore[misc]
    """Any JSON value; the op validates it."""

    metavar = "JSON"

    @classmethod
    def from_text(cls, text: str, name: str) -> Any:
        try:
            return json_text.loads(text)
        except json_text.NotJson:
            raise invalid(f"{name} is not valid JSON: {harmless(text[:60])}", name) from None

    @classmethod
    def from_json(cls, value: Any, name: str) -> Any:
        return value


class JsonText(Json):
    """Text on the command line, any JSON value in a request; the op validates it."""

    metavar = "TEXT"

    @classmethod
    def from_text(cls, text: str, name: str) -> Any:
        return Text.from_text(in_its_case(cls, text), name)


class GroupId(JsonText):
    """The group's id. Default: the group of the current repository."""

    metavar = "GROUP"


class ActorId(JsonText):
    """The actor's id."""

    metavar = "ACTOR"
    is_agent = True


class By(JsonText):
    """The agent that does this. Default: BB_AGENT, else `user` (the person)."""

    metavar = "ID"
    is_agent = True
    is_caller = True
