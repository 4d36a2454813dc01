"""Who may send, read and accept what (Operative Protocol §6.2; mail of the original command line).

Rules are asked in a fixed order, so that a request with several mistakes is always refused for the same one: sender,
recipient, bead, category, subject and body, the event's fields, fan-out, scope.
"""

from __future__ import annotations

from bb.coordination.facts import (
    ACCEPTED,
    CONTESTED,
    OVERLAPPING,
    REVERTED,
    TAKEN_OVER,
    TOUCHED,
    TRANSFERRED,
    Incurred,
)
from bb.coordination.protocol import events
from bb.kernel import ids, validity
from bb.kernel.errors import Forbidden, NotFound, Usage
from bb.kernel.show import has_control
from bb.kernel.validity import is_bead, is_subject, is_thread
from bb.messaging import facts
from bb.messaging.facts import Sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from bb.coordination.facts import Resolved

DECISION, INFO, CATEGORIES = facts.DECISION, facts.INFO, facts.CATEGORIES
LABELS = {**events.LABELS, DECISION: "Deciding"}  # any other: "Update"
BROADCAST, ROLE = "broadcast", "role:"

SUBJECT_LENGTH, BODY_LENGTH = validity.SUBJECT_LENGTH, 262_144
BEAD_LENGTH, THREAD_LENGTH = validity.BEAD_LENGTH, validity.THREAD_LENGTH


class UnknownSender(NotFound):
    """The sender is not registered."""

    code = "UNKNOWN_SENDER"
    hint = "`bb agent register --name NAME --role ROLE` adds an agent"


class UnknownRecipient(NotFound):
    """There is nobody to send that to."""

    code = "UNKNOWN_RECIPIENT"
    hint = "`bb agent list` shows who is here; `role:ROLE`, `broadcast` and `user` (the person) work too"


class MissingBeadId(Usage):
    """A message is about a bead."""

    code = "MISSING_BEAD_ID"
    hint = "pass --bead ID"


class InvalidCategory(Usage):
    """A category is HANDOFF, BLOCKED, DECISION or INFO."""

    code = "INVALID_CATEGORY"
    hint = "HANDOFF and BLOCKED ask to be accepted; DECISION and INFO do not"


class InvalidMessage(Usage):
    """A message needs a subject of one line and a body."""

    code = "INVALID_MESSAGE"
    hint = "`--help` behind the command names its texts; `-` for the main one reads it from stdin"


class InvalidState(Usage):
    """A message is unread, read or acked."""

    code = "INVALID_STATE"
    hint = "for example --state unread"


class InvalidLimit(Usage):
    """A limit is a whole number from 1 to 500."""

    code = "INVALID_LIMIT"
    hint = "for example --limit 50"


class InvalidMessageId(Usage):
    """That cannot be the id of a message."""

    code = "INVALID_MESSAGE_ID"
    hint = "`bb agent inbox` shows the ids"


class MessageNotFound(NotFound):
    """There is no such message."""

    code = "MESSAGE_NOT_FOUND"
    hint = "`bb agent inbox` shows the ids"


class ReadForbidden(Forbidden):
    """The message went to somebody else, who alone may mark it as seen."""

    code = "READ_FORBIDDEN"
    hint = "`bb agent inbox` shows your own messages"


class AckForbidden(Forbidden):
    """The message went to somebody else, who alone may accept it."""

    code = "ACK_FORBIDDEN"
    hint = "`bb agent inbox` shows your own messages"


def compose(
    *,
    sender: str,
    to: str,
    category: str,
    subject: str,
    body: str,
    bead: str,
    thread: str | None,
    scope: Callable[[], str | None],
    payload: dict[str, Any] | None,
    everybody: Callable[[], Sequence[tuple[str, str]]],
    is_known: Callable[[str], bool],
) -> Sent:
    """The message, if it may be sent. EVERYBODY are the agents in service, each with its role; SCOPE refuses last."""
    if not (sender == ids.PERSON or (ids.is_actor_id(sender) and is_known(sender))):
        raise UnknownSender(f"no agent {sender[:60]!r} is registered", agent_id=sender[:60])
    is_group = to == BROADCAST or to.startswith(ROLE)
    if not (is_group or to == ids.PERSON or (ids.is_actor_id(to) and is_known(to))):
        raise UnknownRecipient(f"no agent {to[:60]!r} is in service here", to=to[:60])
    bead = _bead(bead)
    if category not in CATEGORIES:
        raise InvalidCategory(f"{category[:40]!r} is no category; {InvalidCategory.__doc__}")
    subject = subject.strip()
    if not is_subject(subject) or has_control(subject):
        raise InvalidMessage(f"a subject is one line of 1 to {SUBJECT_LENGTH} characters", path="$.subject")
    if not body.strip() or len(body) > BODY_LENGTH:
        raise InvalidMessage(f"a body has 1 to {BODY_LENGTH:,} characters", path="$.body")
    if payload is None and category in (events.HANDOFF, events.BLOCKED):
        payload = _payload(category, subject, body)
    if payload is not None:
        events.check_payload(category, payload)
    requires_ack = payload is not None and payload["requires_ack"]
    recipients = _fan_out(sender, to, everybody) if is_group else (to,)
    thread = _thread(thread, bead)
    return Sent(sender, recipients, category, subject, body, bead, thread, requires_ack, scope(), payload)


def _bead(text: str) -> str:
    if not text.strip():
        raise MissingBeadId
    if not is_bead(text.strip()) or not text.strip().isprintable():
        raise MissingBeadId(
            f"a bead's id is one line of 1 to {BEAD_LENGTH} characters", hint="for example --bead bb-12"
        )
    return text.strip()


def _thread(text: str | None, bead: str) -> str:
    """The conversation that was named, else the bead's."""
    thread = (text or "").strip() or f"bead:{bead}"
    if not is_thread(thread) or not thread.isprintable():
        raise InvalidMessage(f"a thread's name is one line of at most {THREAD_LENGTH} characters", path="$.thread")
    return thread


def _fan_out(sender: str, to: str, everybody: Callable[[], Sequence[tuple[str, str]]]) -> tuple[str, ...]:
    """Everybody meant but the sender."""
    role = to.removeprefix(ROLE)
    meant = [agent for agent, its_role in everybody() if to == BROADCAST or its_role == role]
    if not meant:
        what = "is nobody to broadcast to" if to == BROADCAST else f"are no agents with role {role[:60]!r}"
        raise UnknownRecipient(f"there {what}", to=to[:60])
    if others := tuple(agent for agent in meant if agent != sender):
        return others
    raise UnknownRecipient("all recipients were excluded: only the sender is left", to=to[:60])


def _payload(category: str, subject: str, body: str) -> dict[str, Any]:
    """What a plain message of a category that is a protocol event says in the event's fields."""
    if category == events.HANDOFF:
        return {"subject": subject, "summary": body, "next_action": body, "requires_ack": True}
    return {
        "subject": subject,
        "blocker": body,
        "requested_action": body,
        "urgency": "medium",
        "requires_ack": True,
    }


def about(facts: Sequence[Any]) -> list[Sent]:
    """What those are told whose reservations others took over, work beside, or have touched."""
    return [_told(fact) for fact in facts if isinstance(fact, Incurred) and fact.outcome in TOLD]


TOLD = {
    TAKEN_OVER: "{incoming} took over {held}. {hint}.",
    OVERLAPPING: "{incoming} works in {scope}, which overlaps {held}. {hint}.",
    TOUCHED: "{incoming} changed {where}; you hold {held}. {hint}.",
    CONTESTED: "{incoming}, your reservation of {scope} does not stand. {hint}.",
}
SETTLED = {
    ACCEPTED: "{who} accepts what {incoming} did in {where}.",
    REVERTED: "{who} says that what {incoming} did in {where} is reverted.",
    TRANSFERRED: "{who} leaves {held} to {incoming}.",
}


def settled(fact: Incurred, resolved: Resolved) -> list[Sent]:
    """What those are told whom an INCURSION concerns, when another of them has settled it."""
    who, said = resolved.agent, SETTLED[resolved.state]
    text = said.format(who=who, where=fact.where, held=fact.held, incoming=fact.incoming)
    to = tuple(each for each in dict.fromkeys([fact.owner, fact.incoming]) if each != who)
    body = f"{text} {resolved.note}" if resolved.note else text
    return [Sent(who, to, INFO, _subject(text), body, fact.bead, f"bead:{fact.bead}", False)] if to else []


def _told(fact: Incurred) -> Sent:
    text = TOLD[fact.outcome].format(**fact.as_dict(), where=fact.where)
    body = "\n".join([text, *_found(fact)])
    whom = fact.incoming if fact.outcome == CONTESTED else fact.owner
    return Sent(fact.incoming, (whom,), INFO, _subject(text), body, fact.bead, f"bead:{fact.bead}", False)


def _subject(text: str) -> str:
    return text.partition(". ")[0].removesuffix(".")[:SUBJECT_LENGTH]


def _found(fact: Incurred) -> list[str]:
    """What was touched, one path in a line."""
    if fact.outcome != TOUCHED:
        return []
    left_out = [f"… and {fact.count - len(fact.paths)} more"] if fact.count > len(fact.paths) else []
    commit = [f"Commit: {fact.commit}"] if fact.commit else []
    return ["", *fact.paths, *left_out, *commit]


def message_id(event: str, agent: str, *, is_alone: bool) -> str:
    """What a recipient calls its copy."""
    return event if is_alone else f"{event}_{agent}"


def split_message_id(text: str) -> tuple[str, str | None]:
    """The event and, where it went to several, the recipient whose copy is meant."""
    if not text.strip():
        raise MessageNotFound("no message was named")
    if not text.replace("_", "").replace("-", "").replace(":", "").replace(".", "").isalnum() or not text.isascii():
        raise InvalidMessageId(f"{text[:60]!r} cannot be the id of a message")
    event, _, agent = text.partition("_")
    try:
        ids.split_event_id(event)
    except ids.InvalidEventId:
        raise MessageNotFound(f"there is no message {text[:60]}") from None
    return event, agent or None
