"""What happened to messages on their way to agents.

A message of C2A is a `chat.message` whose `c2a` member says what the host has decided about it: for whom it is, and
what each of them is to do. Everything that happens to it afterwards is a fact of its own.
"""

from __future__ import annotations

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Posted(Record):
    """A message came in, or was sent. What the host knows of it, and what it has decided, stands in C2A."""

    by: str
    c2a: dict[str, Any]
    text: str = ""
    to: tuple[str, ...] = ()  # as CCCS has it: in whose inbox it stands
    reply_to: str = ""


class Edited(Record):
    """The author has changed a message. The highest VERSION counts."""

    by: str
    event: str
    version: int
    c2a: dict[str, Any]
    text: str = ""


class Deleted(Record):
    """The author has taken a message away; with a REASON where an agent called its own back and gave one."""

    by: str
    event: str
    reason: str | None = None


class Moved(Record):
    """A message to an agent has come TO another place on its way; ABOUT says what more there is to know of the step."""

    by: str
    event: str
    agent: str
    to: str
    about: dict[str, Any] | None = None


class Claiming(Record):
    """Somebody claims, renews, releases or passes on the responsibility for a SUBJECT: an event, or a thread."""

    by: str
    subject: str
    action: str
    about: dict[str, Any] | None = None


class Bound(Record):
    """By which names, roles and streams an agent is known on the platforms. The last word counts."""

    by: str
    agent: str
    names: dict[str, Any]


class Arranged(Record):
    """What holds in a conversation: who may see it, who leads it. The last word on each point counts."""

    by: str
    conversation: str
    about: dict[str, Any]


class Tuned(Record):
    """How the host weighs things from now on. The last word on each point counts."""

    by: str
    settings: dict[str, Any]


class Typing(Record):
    """An author has begun to type, or has stopped."""

    by: str
    window: str
    author: str
    is_typing: bool = False


class Posting(Record):
    """What became of a message on its way to the platform: posted there, or not."""

    by: str
    event: str
    state: str
    about: dict[str, Any] | None = None


class Progressed(Record):
    """How far a piece of work has come. It is no message."""

    by: str
    token: str
    about: dict[str, Any]


class Digested(Record):
    """An agent has been told in short what there was, up to a place."""

    by: str
    upto: str


class Refusal(Record):
    """An agent wanted to do what the policy forbids. Kept, because saying too much is as bad as too little."""

    by: str
    code: str
    about: dict[str, Any]


AttentionFact = (
    Posted
    | Edited
    | Deleted
    | Moved
    | Claiming
    | Bound
    | Arranged
    | Tuned
    | Typing
    | Posting
    | Progressed
    | Digested
    | Refusal
)
