"""What happens to an agent when it says or hears something, and how a line of the ledger says so: `[kind, field, …]`.

Reading is tolerant, writing is not. What a message says itself is not repeated beside it: of a belief or an entry whose
text is the message's own, the line keeps no text.
"""

from __future__ import annotations

from bb.cbcl.facts import Installed
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

REPLIED, FAILED, CANCELLED, DROPPED = "replied", "failed", "cancelled", "dropped"
MOST = 10_000  # effects of one message
OPTIONAL = ("thread", "timeout")


class Believed(Record):
    """Somebody has said so. TEXT is canonical; it is WHO's word, and no more than that."""

    who: str
    text: str


class Entered(Record):
    """A message belongs to a conversation."""

    thread: str
    sender: str
    performative: str
    id: str
    text: str


class Expected(Record):
    """An answer of TO is waited for: for TIMEOUT seconds, where the question says so."""

    to: str
    id: str
    thread: str | None = None
    timeout: str | None = None
    event: str = ""  # by which the ledger knows the message; not written, for the line it stands on says so


class Settled(Record):
    """What was waited for has come, or never will: replied, failed, cancelled or dropped."""

    to: str
    id: str
    how: str


class Obliged(Record):
    """FROM_ waits for an answer of ours."""

    from_: str
    id: str
    thread: str | None = None
    timeout: str | None = None
    event: str = ""  # likewise


class Discharged(Record):
    """We owe that answer no more: replied, failed or cancelled."""

    from_: str
    id: str
    how: str


class Greeted(Record):
    """We have said hello to somebody."""

    peer: str


class Met(Record):
    """Somebody has said hello to us."""

    peer: str


class Parted(Record):
    """The session with somebody is over."""

    peer: str


class Verified(Record):
    """A signed message of WHO was taken. It is taken once."""

    who: str
    hash: str


Effect = Believed | Entered | Expected | Settled | Obliged | Discharged | Greeted | Met | Parted | Verified | Installed
BY_NAME: dict[str, type[Any]] = {
    kind.__name__.lower(): kind
    for kind in (Believed, Entered, Expected, Settled, Obliged, Discharged, Greeted, Met, Parted, Verified)
}


def written(effects: Iterable[Effect], own: frozenset[str] = frozenset()) -> list[list[Any]]:
    """EFFECTS as a line holds them; texts that are the message's OWN are left out. Dialects have lines of their own."""
    return [[type(each).__name__.lower(), *_values(each, own)] for each in effects if not isinstance(each, Installed)]


def _values(effect: Effect, own: frozenset[str]) -> list[Any]:
    values = {name: value for name, value in effect.as_dict().items() if name != "event"}
    return ["" if name == "text" and value in own else value for name, value in values.items()]


def texts(effect: Effect) -> str:
    """What somebody has said, as far as EFFECT repeats it."""
    return effect.text if isinstance(effect, Believed | Entered) else ""


def read(value: Any) -> Iterator[Effect]:
    """The effects that a line holds, as far as they are any."""
    for each in value[:MOST] if isinstance(value, list) else ():
        kind = BY_NAME.get(each[0]) if isinstance(each, list) and each and isinstance(each[0], str) else None
        if kind is None or len(each) != len(_names(kind)) + 1:
            continue
        if all(isinstance(field, str) or (field is None and name in OPTIONAL) for name, field in _named(kind, each)):
            yield kind(*each[1:])


def _named(kind: type[Any], each: list[Any]) -> Iterator[tuple[str, Any]]:
    return zip(_names(kind), each[1:], strict=True)


def _names(kind: type[Any]) -> list[str]:
    return [name for name in kind.__match_args__ if name != "event"]
