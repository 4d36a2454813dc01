"""What happens to an agent that speaks or hears CBCL, and to a repository when a dialect comes or goes."""

from __future__ import annotations

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
    """An answer of TO is waited for."""

    to: str
    id: str
    thread: str | None = None


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


class Installed(Record):
    """A dialect is spoken here from now on. SIGNATURE says whether one was checked, SOURCE where it came from."""

    by: str
    dialect: str
    text: str
    hash: str
    author: str
    signature: str
    source: str


class Removed(Record):
    """A dialect is spoken here no more."""

    by: str
    dialect: str


class Heard(Record):
    """An agent has taken note of a message. ABOUT says what came of it."""

    by: str
    event_id: str
    outcome: str
    about: dict[str, Any] | None = None


Effect = Believed | Entered | Expected | Settled | Obliged | Discharged | Greeted | Met | Parted | Verified | Installed
REPLIED, FAILED, CANCELLED, DROPPED = "replied", "failed", "cancelled", "dropped"
BY_NAME: dict[str, type[Any]] = {
    kind.__name__.lower(): kind
    for kind in (Believed, Entered, Expected, Settled, Obliged, Discharged, Greeted, Met, Parted, Verified)
}
