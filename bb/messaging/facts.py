"""What happened to messages."""

from __future__ import annotations

from bb.coordination.protocol.events import BLOCKED, HANDOFF
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


DECISION, INFO = "DECISION", "INFO"
CATEGORIES = (HANDOFF, BLOCKED, DECISION, INFO)

CBCL = "application/cbcl"  # the content type of what is said in the agent language


class Sent(Record):
    """A message to each of TO. A HANDOFF or BLOCKED carries the PAYLOAD of its protocol event; of one in CBCL, whose
    body is the S-expression, there is more to know."""

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


class Read(Record):
    """AGENT has seen the message."""

    agent: str
    message: str


class Acked(Record):
    """AGENT has accepted what the message asks for."""

    agent: str
    message: str


class Agreed(Record):
    """AGENT has accepted a message that did not ask for it."""

    agent: str
    message: str


class Said(Record):
    """Something for the readers of CCCS, in the form in which they read it: no fold needs it."""

    kind: str
    data: dict[str, Any]
    scope_key: str = ""


MailFact = Sent | Read | Acked | Agreed
