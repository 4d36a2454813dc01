"""The kinds of parameters. A kind is a plain value's type with its limits; its docstring is the help text.

`from_text` reads what stood on a command line, `from_json` what stood in a JSON request. Both refuse with the same
code, so every face says the same about the same mistake.
"""

from __future__ import annotations

from bb.coordination.agents import identity
from bb.kernel import ids, json_text
from bb.kernel.errors import Usage
from bb.kernel.json_text import InvalidText
from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    Whatever = Any
else:
    Whatever = str


class InvalidValue(Usage):
    """A value is not what the parameter takes."""

    code = "INVALID_VALUE"
    hint = "`--help` behind the command says what it takes"


def invalid(message: str, name: str) -> InvalidValue:
    """The refusal of a value, with the path to it in the request."""
    return InvalidValue(message, path=f"$.{name}")


class Text(str):
    """Text."""

    metavar: ClassVar[str] = "TEXT"
    choices: ClassVar[tuple[str, ...]] = ()
    offered: ClassVar[tuple[str, ...]] = ()  # by completion, where the rules and not the kind say what is right
    is_agent: ClassVar[bool] = False
    takes_numbers: ClassVar[bool] = False  # in JSON: where the rules judge the text, a number is as good
    longest: ClassVar[int] = 10_000

    @classmethod
    def from_text(cls, text: str, name: str) -> Any:
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            raise InvalidText(f"{name} is not valid UTF-8: {harmless(text[:60])}", path=f"$.{name}")
        if len(text) > cls.longest:
            raise invalid(f"{name} is longer than {cls.longest:,} characters", name)
        return cls.checked(text, name)

    @classmethod
    def from_json(cls, value: Any, name: str) -> Any:
        if cls.takes_numbers and type(value) is int:
            value = str(value)
        if type(value) is not str:
            raise invalid(f"{name} must be text", name)
        return cls.from_text(value, name)

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        if cls.choices and text not in cls.choices:
            raise invalid(f"{name} must be one of {', '.join(cls.choices)}, not {harmless(text[:60])!r}", name)
        return text


class Name(Text):
    """A name: anything but nothing."""

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        if not text.strip():
            raise invalid(f"{name} must not be empty", name)
        return text


class Flag:
    """A switch: there or not. Ops annotate it as `bool`."""

    metavar: ClassVar[str] = ""
    choices: ClassVar[tuple[str, ...]] = ()
    offered: ClassVar[tuple[str, ...]] = ()
    is_agent: ClassVar[bool] = False

    @classmethod
    def from_text(cls, text: Any, name: str) -> Any:
        return bool(text)

    @classmethod
    def from_json(cls, value: Any, name: str) -> Any:
        if type(value) is not bool:
            raise invalid(f"{name} must be true or false", name)
        return value


class Number(int):
    """A whole number."""

    metavar: ClassVar[str] = "N"
    choices: ClassVar[tuple[str, ...]] = ()
    offered: ClassVar[tuple[str, ...]] = ()
    is_agent: ClassVar[bool] = False
    least: ClassVar[int] = 1
    most: ClassVar[int] = 1_000_000

    @classmethod
    def from_text(cls, text: str, name: str) -> Any:
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            bounds = f"from {cls.least} to {cls.most:,}"
            raise invalid(f"{name} must be a whole number {bounds}, not {harmless(text[:60])!r}", name)
        return cls.from_json(int(text), name)

    @classmethod
    def from_json(cls, value: Any, name: str) -> Any:
        if type(value) is not int:
            raise invalid(f"{name} must be a whole number", name)
        if not cls.least <= value <= cls.most:
            raise invalid(f"{name} must be from {cls.least} to {cls.most:,}", name)
        return value


class AgentId(Text):
    """The agent, by its id, such as amber-otter."""

    metavar = "ID"
    is_agent = True

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        return ids.actor_id(text)


class NewAgentId(Text):
    """The agent: lower-case words joined by hyphens, such as amber-otter."""

    metavar = "ID"
    is_agent = True

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        return ids.agent_id(text)


class Someone(Text):
    """The agent."""

    metavar = "ID"
    is_agent = True
    longest = 100_000

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        if text != ids.PERSON and not ids.is_actor_id(text):  # what nobody can be called, nobody is registered as
            raise identity.AgentNotFound(f"no agent {harmless(text[:60])!r} is registered", agent_id=text[:60])
        return text


class Plain(Text):
    """Text that the op judges by itself, in the order its rules want."""

    longest = 1_000_000


class Scope(Plain):
    """A path or pattern in this repository: src/parser, src/*, docs/**/*.md."""

    metavar = "SCOPE"


class Bead(Plain):
    """The bead (work item) this is about, such as bb-12."""

    metavar = "BEAD"


class Seconds(Number):
    """Seconds."""

    metavar = "SECONDS"
    least = 0
    most = 86_400


class Since(Text):
    """Only from this moment on: a time like 2026-11-21T03:40:35Z, or an age like 90s, 15m, 2h, 7d."""

    metavar = "TIME"


class Role(Text):
    """What the agent does here, such as builder, reviewer or tester."""

    metavar = "ROLE"

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        return identity.role(text)


class DisplayName(Text):
    """The name people are shown; the id unless given."""

    metavar = "NAME"

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        return identity.title(text)


class Key(Text):
    """An idempotency key: a repetition with the same key records nothing and answers as the first time."""

    metavar = "KEY"
    longest = 128

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        if not text.isprintable() or not text.strip():
            raise invalid(f"{name} must be one line of 1 to {cls.longest} characters", name)
        return text


class Json(Whatever):  # type: ignore[misc]
    """Anything that JSON can say; the rules of the op judge it."""

    metavar: ClassVar[str] = "JSON"
    choices: ClassVar[tuple[str, ...]] = ()
    offered: ClassVar[tuple[str, ...]] = ()
    is_agent: ClassVar[bool] = False

    @classmethod
    def from_text(cls, text: str, name: str) -> Any:
        try:
            return json_text.loads(text)
        except json_text.NotJson:
            raise invalid(f"{name} is no JSON: {harmless(text[:60])}", name) from None

    @classmethod
    def from_json(cls, value: Any, name: str) -> Any:
        return value


class Word(Json):
    """A text at a terminal; in a request, whatever it is, the rules of the op judge it."""

    metavar = "TEXT"

    @classmethod
    def from_text(cls, text: str, name: str) -> Any:
        return Text.from_text(text, name)


class GroupId(Word):
    """The group; that of the repository you are in unless given."""

    metavar = "GROUP"


class ActorId(Word):
    """The actor, by its id."""

    metavar = "ACTOR"
    is_agent = True


class By(Word):
    """In whose name; BB_AGENT unless given, else `user`, the person."""

    metavar = "ID"
    is_agent = True


class Reason(Text):
    """Why this is right although it looks wrong; it is recorded."""

    metavar = "REASON"
    longest = 500

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        if not text.strip():
            raise invalid(f"{name} must say why", name)
        return text.strip()


class AsPerson(Someone):
    """`user`, to say that it is you who asks, at a shell in which BB_AGENT names an agent."""


class Why(Reason):
    """Why, in one line; agents are told."""

    metavar = "TEXT"

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        if harmless(text.strip()) != text.strip():
            raise invalid(f"{name} must be one line", name)
        return super().checked(text, name)


if TYPE_CHECKING:
    Kind = type[Text | Number | Flag | Json]
