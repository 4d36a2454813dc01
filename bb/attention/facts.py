"""The facts about messages on their way to agents.

A C2A message is a `chat.message` whose `c2a` member holds the host's decision: the recipients, and what each of them is
to do. Everything that happens to the message later is a separate fact.
"""

from __future__ import annotations

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias


class Posted(Record):
    """A message was received or sent. C2A holds what the host knows about it and what the host decided."""

    by: str
    c2a: dict[str, Any]
    text: str = ""
    to: tuple[str, ...] = ()  # the recipients in the sense of CCCS: the agents whose inbox contains it
    reply_to: str = ""


class Edited(Record):
    """The author edited a message. The highest VERSION counts."""

    by: str
    event: str
    version: int
    c2a: dict[str, Any]
    text: str = ""


class Deleted(Record):
    """The author deleted a message. REASON is set if an agent cancelled its own message and gave a reason."""

    by: str
    event: str
    reason: str | None = None


class Moved(Record):
    """The delivery of a message to an agent took the step TO. ABOUT holds details of the step."""

    by: str
    event: str
    agent: str
    to: str
    about: dict[str, Any] | None = None


class Claiming(Record):
    """An agent claimed, renewed, released or transferred the claim on a SUBJECT: an event or a thread."""

    by: str
    subject: str
    action: str
    about: dict[str, Any] | None = None


class Bound(Record):
    """The names, roles and streams of an agent on the platforms. The last such fact counts."""

    by: str
    agent: str
    names: dict[str, Any]


class Arranged(Record):
    """Settings of a conversation, such as its members and its lead. For each setting the last value counts."""

    by: str
    conversation: str
    about: dict[str, Any]


class Tuned(Record):
    """Settings of the host. For each setting the last value counts."""

    by: str
    settings: dict[str, Any]


class Typing(Record):
    """An author began or stopped typing."""

    by: str
    window: str
    author: str
    is_typing: bool = False


class Posting(Record):
    """The state of a message on its way to the platform: for example posted, or refused there."""

    by: str
    event: str
    state: str
    about: dict[str, Any] | None = None


class Progressed(Record):
    """The progress of a piece of work. It is not a message."""

    by: str
    token: str
    about: dict[str, Any]


class Digested(Record):
    """An agent received a digest of everything up to a place in the ledger."""

    by: str
    upto: str


class Confirming(Record):
    """An agent asked the person to allow something, or the person answered such a REQUEST."""

    by: str
    request: str
    action: str
    about: dict[str, Any] | None = None


class Refusal(Record):
    """The host refused something that an agent tried. Kept so that `bb chat audit` can count them."""

    by: str
    code: str
    about: dict[str, Any]


AttentionFact = (
    Posted
    | Edited
    | Deleted
    | Moved
    | Claiming
    | Confirming
    | Bound
    | Arranged
    | Tuned
    | Typing
    | Posting
    | Progressed
    | Digested
    | Refusal
)

# What a rule returns: the facts to record, and the answer to the caller.
Answer: TypeAlias = "tuple[list[AttentionFact], dict[str, Any]]"
