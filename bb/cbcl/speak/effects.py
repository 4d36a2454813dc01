"""The effects of a sent or received message on an agent, and their form on a line of the ledger: `[kind, field, …]`.

Reading is tolerant, writing is strict. The line does not repeat the text of the message: a belief or an entry with the
message's own text is written with an empty text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from bb.cbcl.facts import Installed
from bb.kernel.record import Record

REPLIED, FAILED, CANCELLED, DROPPED = "replied", "failed", "cancelled", "dropped"
MOST = 10_000  # effects of one message, when read
OPTIONAL = ("thread", "timeout")


class Believed(Record):
    """The agent WHO told something. TEXT is canonical. It is recorded as WHO's statement, not as a fact."""

    who: str
    text: str


class Entered(Record):
    """A message was added to a conversation."""

    thread: str
    sender: str
    performative: str
    id: str
    text: str


class Expected(Record):
    """The agent expects an answer from TO, within TIMEOUT seconds if the question has a timeout."""

    to: str
    id: str
    thread: str | None = None
    timeout: str | None = None
    event: str = ""  # the message's event id; not written, because the line itself has it


class Settled(Record):
    """An expected answer has arrived or will not arrive: replied, failed, cancelled or dropped."""

    to: str
    id: str
    how: str


class Obliged(Record):
    """The agent owes FROM_ an answer."""

    from_: str
    id: str
    thread: str | None = None
    timeout: str | None = None
    event: str = ""  # not written, as in Expected


class Discharged(Record):
    """The agent no longer owes an answer: replied, failed or cancelled."""

    from_: str
    id: str
    how: str


class Greeted(Record):
    """The agent said hello to PEER."""

    peer: str


class Met(Record):
    """PEER said hello to the agent."""

    peer: str


class Parted(Record):
    """The session with PEER has ended."""

    peer: str


class Verified(Record):
    """A signed message of WHO was accepted. A second copy is a duplicate."""

    who: str
    hash: str


Effect = Believed | Entered | Expected | Settled | Obliged | Discharged | Greeted | Met | Parted | Verified | Installed
BY_NAME: dict[str, type[Any]] = {
    kind.__name__.lower(): kind
    for kind in (Believed, Entered, Expected, Settled, Obliged, Discharged, Greeted, Met, Parted, Verified)
}


def to_line(effects: Iterable[Effect], own: frozenset[str] = frozenset()) -> list[list[Any]]:
    """EFFECTS in the form of a line. Texts among the message's OWN are left out. Dialects have their own lines."""
    return [
        [type(effect).__name__.lower(), *_values(effect, own)]
        for effect in effects
        if not isinstance(effect, Installed)
    ]


def _values(effect: Effect, own: frozenset[str]) -> list[Any]:
    values = {name: value for name, value in effect.as_dict().items() if name != "event"}
    return ["" if name == "text" and value in own else value for name, value in values.items()]


def texts(effect: Effect) -> str:
    """The message text that EFFECT contains; empty if none."""
    return effect.text if isinstance(effect, Believed | Entered) else ""


def from_line(value: Any) -> Iterator[Effect]:
    """The effects on a line. Invalid entries are skipped."""
    for entry in value[:MOST] if isinstance(value, list) else ():
        kind = BY_NAME.get(entry[0]) if isinstance(entry, list) and entry and isinstance(entry[0], str) else None
        if kind is None or len(entry) != len(_names(kind)) + 1:
            continue
        fields = zip(_names(kind), entry[1:], strict=True)
        if all(isinstance(field, str) or (field is None and name in OPTIONAL) for name, field in fields):
            yield kind(*entry[1:])


def _names(kind: type[Any]) -> list[str]:
    return [name for name in kind.__match_args__ if name != "event"]
