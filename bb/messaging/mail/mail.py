"""The rules for sending, reading and accepting mail (Operative Protocol §6.2; mail of the original command line).

Rules are checked in a fixed order, so that a request with several mistakes is always refused for the same one: sender,
recipient, bead, category, subject and body, payload, fan-out, scope.
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
from bb.kernel import ids, validation
from bb.kernel.errors import Forbidden, NotFound, Usage
from bb.kernel.escaping import has_control
from bb.kernel.validation import is_bead, is_subject, is_thread, shown_bead
from bb.messaging import facts
from bb.messaging.facts import Sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from bb.coordination.facts import Resolved

DECISION, INFO, CATEGORIES = facts.DECISION, facts.INFO, facts.CATEGORIES
LABELS = {**events.LABELS, DECISION: "Deciding"}  # for other categories: "Update"
BROADCAST, ROLE = "broadcast", "role:"

NO_BEAD_THREAD = "reservations"  # the thread of notices about reservations without a bead

SUBJECT_LENGTH, BODY_LENGTH = validation.SUBJECT_LENGTH, 262_144
BEAD_LENGTH, THREAD_LENGTH = validation.BEAD_LENGTH, validation.THREAD_LENGTH

UnknownSender = NotFound.declare(
    "UNKNOWN_SENDER",
    "The sender is not registered",
    hint="register the agent: `bb agent register --name NAME --role ROLE`",
)

UnknownRecipient = NotFound.declare(
    "UNKNOWN_RECIPIENT",
    "The recipient is not registered, or no agent matches it",
    hint="list the agents: `bb agent list`; other recipients: `role:ROLE`, `broadcast`, `user` (the person)",
)

MissingBeadId = Usage.declare(
    "MISSING_BEAD_ID",
    "A HANDOFF or BLOCKED needs the id of a bead (a work item)",
    hint="pass --bead ID; a message without a bead: `bb send NAME 'text'`",
)

InvalidCategory = Usage.declare(
    "INVALID_CATEGORY",
    "The category must be HANDOFF, BLOCKED, DECISION or INFO",
    hint="for example `bb send NAME 'text' --category DECISION`; HANDOFF and BLOCKED must be acknowledged",
)

InvalidMessage = Usage.declare(
    "INVALID_MESSAGE",
    "A message needs a subject of one line and a body",
    hint="for example `bb send NAME 'text'`; `-` as the text reads it from stdin",
)

InvalidState = Usage.declare(
    "INVALID_STATE", "The state of a message is unread, read or acked", hint="for example `bb inbox --state unread`"
)
InvalidLimit = Usage.declare(
    "INVALID_LIMIT", "The limit must be a whole number from 1 to 500", hint="for example --limit 50"
)
InvalidMessageId = Usage.declare(
    "INVALID_MESSAGE_ID", "That is not a valid message id", hint="list the ids: `bb inbox`"
)
MessageNotFound = NotFound.declare("MESSAGE_NOT_FOUND", "No message has that id", hint="list the ids: `bb inbox`")
ReadForbidden = Forbidden.declare(
    "READ_FORBIDDEN", "Only a recipient may mark that message as read", hint="list your own messages: `bb inbox`"
)
AckForbidden = Forbidden.declare(
    "ACK_FORBIDDEN", "Only a recipient may acknowledge that message", hint="list your own messages: `bb inbox`"
)


def compose(
    *,
    sender: str,
    to: str,
    category: str,
    subject: str,
    body: str,
    bead: str | None,
    thread: str | None,
    scope: Callable[[], str | None],
    payload: dict[str, Any] | None,
    everybody: Callable[[], Sequence[tuple[str, str]]],
    is_known: Callable[[str], bool],
) -> Sent:
    """The message, if it may be sent. EVERYBODY returns the agents in service with their roles. SCOPE is called last,
    because it may refuse."""
    if not (sender == ids.PERSON or (ids.is_actor_id(sender) and is_known(sender))):
        raise UnknownSender(f"no agent {sender[:60]!r} is registered", agent_id=sender[:60])
    is_group = to == BROADCAST or to.startswith(ROLE)
    if not (is_group or to == ids.PERSON or (ids.is_actor_id(to) and is_known(to))):
        raise UnknownRecipient(f"no agent {to[:60]!r} is registered", to=to[:60])
    bead = _bead(bead, category)
    if category not in CATEGORIES:
        raise InvalidCategory(f"{category[:40]!r} is not a category; use HANDOFF, BLOCKED, DECISION or INFO")
    subject = subject.strip()
    if not is_subject(subject) or has_control(subject):
        raise InvalidMessage(f"the subject must be one line of 1 to {SUBJECT_LENGTH} characters", path="$.subject")
    if not body.strip() or len(body) > BODY_LENGTH:
        raise InvalidMessage(f"the body must have 1 to {BODY_LENGTH:,} characters", path="$.body")
    if payload is None and category in (events.HANDOFF, events.BLOCKED):
        payload = events.payload_of_message(category, subject, body)
    if payload is not None:
        events.check_payload(category, payload)
    requires_ack = payload is not None and payload["requires_ack"]
    recipients = _fan_out(sender, to, everybody) if is_group else (to,)
    thread = _thread(thread, f"bead:{bead}" if bead else between(sender, to))
    return Sent(sender, recipients, category, subject, body, bead, thread, requires_ack, scope(), payload)


def _bead(text: str | None, category: str) -> str:
    """The bead; empty for a message without one. Protocol events need one (Operative Protocol §6.1)."""
    if text is None and category not in (events.HANDOFF, events.BLOCKED):
        return events.NO_BEAD
    if text is None or not text.strip():
        raise MissingBeadId(None if text is None else "the bead's id is blank")
    if not is_bead(text.strip()) or not text.strip().isprintable():
        message = f"the bead's id must be one line of 1 to {BEAD_LENGTH} characters"
        raise MissingBeadId(message, hint="for example --bead bb-12")
    return text.strip()


def between(sender: str, to: str) -> str:
    """The thread of the messages without a bead between two agents, or to a role or to all."""
    return f"agents:{'+'.join(sorted([sender, to]))}"[:THREAD_LENGTH]


def first_line(body: str) -> str:
    """The subject of a message without one: its first line."""
    line = next(iter(body.strip().splitlines()), "").strip()
    plain = "".join(" " if has_control(character) else character for character in line)
    return plain if len(plain) <= SUBJECT_LENGTH else f"{plain[: SUBJECT_LENGTH - 1]}…"


def _thread(text: str | None, usual: str) -> str:
    """The thread TEXT, or else the USUAL one."""
    thread = (text or "").strip() or usual
    if not is_thread(thread) or not thread.isprintable():
        raise InvalidMessage(f"the thread must be one line of at most {THREAD_LENGTH} characters", path="$.thread")
    return thread


def _fan_out(sender: str, to: str, everybody: Callable[[], Sequence[tuple[str, str]]]) -> tuple[str, ...]:
    """The agents that TO matches, except the sender."""
    role = to.removeprefix(ROLE)
    matching = [agent for agent, its_role in everybody() if to == BROADCAST or its_role == role]
    if others := tuple(agent for agent in matching if agent != sender):
        return others
    if sender != ids.PERSON and role.strip():
        return (ids.PERSON,)  # what no other agent can receive yet is recorded for the person rather than lost
    which = "to broadcast to" if to == BROADCAST else f"with role {role[:60]!r}"
    raise UnknownRecipient(f"there are no agents {which}", to=to[:60])


def incursion_notifications(facts: Sequence[Any]) -> list[Sent]:
    """The notifications to the owners of the reservations in FACTS about incursions."""
    return [_told(fact) for fact in facts if isinstance(fact, Incurred) and fact.outcome in TOLD]


TOLD = {
    TAKEN_OVER: "{incoming} took over {held}. {hint}.",
    OVERLAPPING: "{incoming} works in {scope}, which overlaps {held}. {hint}.",
    TOUCHED: "{incoming} changed {where}; you hold {held}. {hint}.",
    CONTESTED: "{incoming}, your reservation of {scope} is not valid. {hint}.",
}
SETTLED = {
    ACCEPTED: "{who} accepted the changes of {incoming} in {where}.",
    REVERTED: "{who} resolved the changes of {incoming} in {where} as reverted.",
    TRANSFERRED: "{who} transferred {held} to {incoming}.",
}


def resolution_notifications(fact: Incurred, resolved: Resolved) -> list[Sent]:
    """The notification to the owner and the incoming agent that another agent has resolved their INCURSION."""
    who = resolved.agent
    text = SETTLED[resolved.state].format(who=who, where=fact.where, held=fact.held, incoming=fact.incoming)
    to = tuple(agent for agent in dict.fromkeys([fact.owner, fact.incoming]) if agent != who)
    body = f"{text} {resolved.note}" if resolved.note else text
    return [notice(who, to, text, body, fact.bead)] if to else []


def _told(fact: Incurred) -> Sent:
    text = TOLD[fact.outcome].format(**fact.as_dict(), where=fact.where)
    body = "\n".join([text, *_found(fact)])
    whom = fact.incoming if fact.outcome == CONTESTED else fact.owner
    return notice(fact.incoming, (whom,), text, body, fact.bead)


def notice(sender: str, to: tuple[str, ...], text: str, body: str, bead: str | None, news: str = "") -> Sent:
    """An INFO message with the first sentence of TEXT as its subject, about a reservation for BEAD or without one. NEWS
    is the member of `bb turn` that tells the same."""
    known = shown_bead(bead or "")
    thread = f"bead:{known}" if known else NO_BEAD_THREAD
    return Sent(sender, to, INFO, _subject(text), body, known or "", thread, False, news=news)


def _subject(text: str) -> str:
    return text.partition(". ")[0].removesuffix(".")[:SUBJECT_LENGTH]


def _found(fact: Incurred) -> list[str]:
    """The changed paths, one on each line."""
    if fact.outcome != TOUCHED:
        return []
    left_out = [f"… and {fact.count - len(fact.paths)} more"] if fact.count > len(fact.paths) else []
    commit = [f"Commit: {fact.commit}"] if fact.commit else []
    return ["", *fact.paths, *left_out, *commit]


def message_id(event: str, agent: str, *, is_alone: bool) -> str:
    """The id of a recipient's copy of a message."""
    return event if is_alone else f"{event}_{agent}"


def split_message_id(text: str) -> tuple[str, str | None]:
    """The event and, if the message has several recipients, the recipient of the copy."""
    if not text.strip():
        raise MessageNotFound("the message id is empty")
    if not text.replace("_", "").replace("-", "").replace(":", "").replace(".", "").isalnum() or not text.isascii():
        raise InvalidMessageId(f"{text[:60]!r} is not a valid message id")
    event, _, agent = text.partition("_")
    try:
        ids.split_event_id(event)
    except ids.InvalidEventId.error:
        raise MessageNotFound(f"there is no message {text[:60]}") from None
    return event, agent or None
