"""Facts about messages."""

from __future__ import annotations

from bb.coordination.protocol.events import BLOCKED, HANDOFF
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


DECISION, INFO = "DECISION", "INFO"
CATEGORIES = (HANDOFF, BLOCKED, DECISION, INFO)

CBCL = "application/cbcl"  # the content type of CBCL messages


class Sent(Record):
    """A message was sent to each of TO. PAYLOAD is that of a HANDOFF or BLOCKED event. CBCL has additional data if the
    body is an S-expression. NEWS is the member of `bb turn` that tells the same, so that it is not told twice."""

    sender: str
    to: tuple[str, ...]
    category: str
    subject: str
    body: str
    bead: str
    thread: str
    requires_ack: bool
    scope: str | None = None
    payload: dict[str, Any] | None = None
    cbcl: dict[str, Any] | None = None
    news: str = ""


class Read(Record):
    """AGENT has seen the message."""

    agent: str
    message: str


class Acked(Record):
    """AGENT has accepted a message that requires acknowledgement."""

    agent: str
    message: str


class Agreed(Record):
    """AGENT has accepted a message that does not require acknowledgement."""

    agent: str
    message: str


class Said(Record):
    """An event for readers of CCCS, in its CCCS form. No fold uses it."""

    kind: str
    data: dict[str, Any]
    scope_key: str = ""


MailFact = Sent | Read | Acked | Agreed
