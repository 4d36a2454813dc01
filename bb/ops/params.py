"""The kinds of parameters. A kind is the type of a plain value with its limits.

The docstring of a kind is the help text of its parameters, unless an op has its own for one (`ops/docstrings.py`). So
a kind that says nothing of the meaning, such as `Text`, needs an entry in the docstring of the op.

`from_text` reads a value from a command line, `from_json` reads one from a JSON request. Both refuse with the same
code, so every face reports the same mistake in the same way.
"""

from __future__ import annotations

from bb.coordination.agents import identity
from bb.kernel import ids
from bb.kernel.errors import BbError, Usage
from bb.kernel.escaping import harmless
from bb.kernel.json_text import InvalidText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

InvalidValue = Usage.declare(
    "INVALID_VALUE",
    "The parameter does not accept that value",
    hint="run the command with `--help` to see its parameters",
)


def invalid(message: str, name: str) -> BbError:
    """The refusal of a value, with its path in the request."""
    return InvalidValue(message, path=f"$.{name}")


class Kind:
    """How the value of a parameter is read, and what help and completion say about it."""

    metavar: ClassVar[str] = ""  # the word for the value in help
    choices: ClassVar[tuple[str, ...]] = ()
    offered: ClassVar[tuple[str, ...]] = ()  # values for shell completion; the op's rules accept others too
    is_agent: ClassVar[bool] = False
    is_caller: ClassVar[bool] = False
    alone: ClassVar[str] = ""  # the value if the option stands alone; then a value follows only after `=`
    letter: ClassVar[str] = ""  # the letter of a short option, where users expect one from git: `-m`

    @classmethod
    def from_text(cls, text: Any, name: str) -> Any:
        raise NotImplementedError

    @classmethod
    def from_json(cls, value: Any, name: str) -> Any:
        raise NotImplementedError


def in_its_case(kind: type[Kind], text: str) -> str:
    """TEXT, or the choice of KIND that it spells in another case. Only a command line is read so leniently."""
    known = kind.choices or kind.offered
    if text in known:
        return text
    return next((choice for choice in known if choice.lower() == text.lower()), text)


class Text(Kind, str):
    """Text."""

    metavar = "TEXT"
    takes_numbers: ClassVar[bool] = False  # a JSON number is accepted and converted to text
    longest: ClassVar[int] = 10_000

    @classmethod
    def from_text(cls, text: str, name: str) -> Any:
        return cls._sound(in_its_case(cls, text), name)

    @classmethod
    def _sound(cls, text: str, name: str) -> Any:
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
        return cls._sound(value, name)

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        if cls.choices and text not in cls.choices:
            raise invalid(f"{name} must be one of {', '.join(cls.choices)}, not {harmless(text[:60])!r}", name)
        return text


class Flag(Kind):
    """A switch: present or absent. Ops annotate it as `bool`."""

    @classmethod
    def from_text(cls, text: Any, name: str) -> Any:
        return bool(text)

    @classmethod
    def from_json(cls, value: Any, name: str) -> Any:
        if type(value) is not bool:
            raise invalid(f"{name} must be true or false", name)
        return value


class Number(Kind, int):
    """A whole number."""

    metavar = "N"
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
    """The agent's id, such as amber-otter."""

    metavar = "ID"
    is_agent = True

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        return ids.actor_id(text)


class AgentOrPerson(Text):
    """The calling agent, such as amber-otter. Default: BB_AGENT."""

    metavar = "ID"
    is_agent = True
    longest = 100_000

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        if text != ids.PERSON and not ids.is_actor_id(text):  # no agent can be registered under an invalid id
            raise identity.AgentNotFound(f"no agent {harmless(text[:60])!r} is registered", agent_id=text[:60])
        return text


class UncheckedText(Text):
    """Text that the op validates itself, in the order that its rules need."""

    longest = 1_000_000


class UncheckedAgent(UncheckedText):
    """An agent, or another word that the op accepts in its place."""

    metavar = "ID"
    is_agent = True


class UncheckedNumber(UncheckedText):
    """A number that the op reads itself."""

    metavar = "N"
    takes_numbers = True


class Scope(UncheckedText):
    """A path or pattern in this repository: src/parser, src/*, docs/**/*.md."""

    metavar = "SCOPE"


class Bead(UncheckedText):
    """The bead that this is about, such as bb-12. A bead is a task of the Beads issue tracker; any short id works."""

    metavar = "BEAD"


class Seconds(Number):
    """Seconds."""

    metavar = "SECONDS"
    least = 0
    most = 86_400


class Key(Text):
    """Idempotency key. A repeated request with the same key records nothing and returns the first answer."""

    metavar = "KEY"
    longest = 128

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        if not text.isprintable() or not text.strip():
            raise invalid(f"{name} must be one line of 1 to {cls.longest} characters", name)
        return text


class AllowSecretReason(Text):
    """Allow text that looks like a secret. Give the reason; it is recorded."""

    metavar = "REASON"
    longest = 500

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        if not text.strip():
            raise invalid(f"{name} must give a reason", name)
        return text.strip()
