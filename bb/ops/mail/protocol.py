"""Ops on protocol events (Operative Protocol §6): hand work over, report a blocker, list and show events."""

from __future__ import annotations

from typing import Any

from bb.coordination.protocol import events
from bb.kernel import ids
from bb.kernel.errors import NotFound
from bb.messaging.mail import mail as letters
from bb.ops.catalogue import first_rows, op
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.holdings import incursions
from bb.ops.mail import mail
from bb.ops.mail.mail import From, Subject, Thread, To
from bb.ops.params import AgentOrPerson, AllowSecretReason, Bead, Flag, Key, Number, Scope, Text, UncheckedText
from bb.ops.signatures import Parameter

EventNotThere = NotFound.declare(
    "PROTOCOL_EVENT_NOT_FOUND", "There is no protocol event with that id", hint="`bb protocol list` shows the ids"
)


def _options(event_type: str) -> tuple[Parameter, ...]:
    """The options of the verb that sends events of this type: one for each field that the sender writes."""
    return tuple(map(_option, events.options(event_type)))


def _option(field: events.Field) -> Parameter:
    choices = tuple(map(str, field.kind)) if isinstance(field.kind, tuple) else ()
    kind: Any = Flag if field.kind == events.FLAG else UncheckedText  # the rules of events check what has no choices
    return Parameter(
        name=field.name,
        keyword=field.name,
        kind=type(field.name, (Text,), {"choices": choices}) if choices else kind,
        is_argument=False,
        is_required=field.is_required,
        is_repeated=False,
        default=None,
        docstring=f"The fields of an event.\n\nParameters:\n    {field.name}: {field.help}",
    )


class Type(Text):
    """Only events of this type: HANDOFF, BLOCKED, INCURSION or RESUME."""

    metavar = "TYPE"
    choices = events.EVENT_TYPES


class State(Text):
    """Only events in this state: unread, read, acked; incursions: open, accepted, reverted, transferred, closed."""

    choices = ("unread", "read", "acked", *incursions.STATES)


class Limit(Number):
    """The number of newest events to show, at most 500."""

    most = 500


@op(
    "protocol.handoff",
    screen="protocol_events",
    examples=(
        "bb protocol handoff --to cobalt-harbor --bead bb-12 --subject Parser --summary Done. --next-action Dates",
        "bb handoff cobalt-harbor 'The parser reads all but dates.' --next-action 'Read dates.' --bead bb-12",
    ),
    short="handoff",
    positional=("to", "summary"),
    more=_options(events.HANDOFF),
)
def handoff(
    desk: Desk,
    *,
    from_: From | None = None,
    to: To,
    bead: Bead,
    subject: Subject | None = None,
    scope: Scope | None = None,
    thread: Thread | None = None,
    no_ack: bool = False,
    key: Key | None = None,
    allow_secret: AllowSecretReason | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Hand work over: describe what was done and the next step. The recipient accepts it with `bb agent ack`.

    Your reservations are not transferred. Release them, so that the recipient can reserve the same scopes.

    Parameters:
        no_ack: The recipient need not acknowledge it.
    """
    all_fields = fields | {"subject": subject, "requires_ack": not no_ack}
    return _send(desk, from_, to, bead, events.HANDOFF, all_fields, scope, thread, key, allow_secret)


@op(
    "protocol.blocked",
    screen="protocol_events",
    examples=(
        "bb protocol blocked --to user --bead bb-12 --subject Dates --blocker Two --requested-action One --urgency low",
        "bb blocked user 'Two date formats are in use.' --requested-action 'Choose one.' --urgency low --bead bb-12",
    ),
    short="blocked",
    positional=("to", "blocker"),
    more=_options(events.BLOCKED),
)
def blocked(
    desk: Desk,
    *,
    from_: From | None = None,
    to: To,
    bead: Bead,
    subject: Subject | None = None,
    scope: Scope | None = None,
    thread: Thread | None = None,
    key: Key | None = None,
    allow_secret: AllowSecretReason | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Report that you are blocked, why, and what help you request. `--to user` asks the person."""
    all_fields = fields | {"subject": subject, "requires_ack": True}
    return _send(desk, from_, to, bead, events.BLOCKED, all_fields, scope, thread, key, allow_secret)


@op(
    "protocol.list",
    reads=True,
    screen="protocol_events",
    examples=("bb protocol list", "bb protocol list --type HANDOFF --state unread --json"),
)
def list_events(
    desk: Desk,
    *,
    type_: Type | None = None,
    bead: Text | None = None,
    agent: AgentOrPerson | None = None,
    state: State | None = None,
    limit: Limit = Limit(50),  # noqa: B008
) -> list[dict[str, Any]]:
    """List protocol events (HANDOFF, BLOCKED, INCURSION, RESUME), newest first.

    An event with several recipients is listed once per recipient, with the state of that copy.

    Parameters:
        bead (BEAD): Only events about this bead (work item).
        agent: Only events from or to this agent.
    """
    all_events = incursions.events(desk)
    if agent is not None and agent != ids.PERSON:
        signs_of_life.registered(desk.store.index, agent)
    matching = (
        event
        for event in all_events.newest_first(type_, bead)
        if agent in (None, event["from_agent"], event["to_agent"]) and state in (None, event["state"])
    )
    return first_rows(map(incursions.event_row, matching), limit, Limit.most)


@op("protocol.show", reads=True, screen="protocol_events", examples=("bb protocol show k7q2mzp4x3ab.17",))
def show(desk: Desk, event: Text) -> dict[str, Any]:
    """Show one protocol event in the Operative Protocol v1 envelope, with its current state.

    Parameters:
        event (ID): The protocol event's id.
    """
    copies = incursions.events(desk).by_id(event)
    if not copies:
        raise EventNotThere(f"there is no protocol event {event[:80]}")
    return incursions.event_row(copies[0])


def _send(
    desk: Desk,
    sender: str | None,
    to: str,
    bead: str,
    category: str,
    given: dict[str, Any],
    scope: str | None,
    thread: str | None,
    key: str | None,
    allow_secret: str | None,
) -> dict[str, Any]:
    """Send a protocol event as a message, so that the recipient finds it in its inbox. GIVEN are its fields."""
    main = events.options(category)[0].name
    text, subject = mail.text_of(desk, given[main]), given["subject"]
    subject = letters.first_line(text) if subject is None else subject.strip()
    payload = events.payload_of(category, given | {main: text, "subject": subject})
    letter = {
        "to": to,
        "category": category,
        "subject": subject,
        "body": events.text_of(category, payload),
        "bead": bead,
        "thread": thread,
        "scope": lambda: None if scope is None else desk.scope(scope).text,
        "payload": payload,
    }
    sent = mail.send_message(desk, sender, letter, key, allow_secret)
    return incursions.event_row(incursions.events(desk).by_id(sent["message_id"])[0]) | {
        "recipients": sent["recipients"]
    }
