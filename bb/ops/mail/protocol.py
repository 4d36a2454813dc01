"""Protocol events (Operative Protocol §6): pass work on, say what blocks you, and read what was said."""

from __future__ import annotations

from bb.coordination.protocol import events
from bb.kernel import ids
from bb.kernel.errors import NotFound
from bb.ops.catalogue import first_rows, op
from bb.ops.desk import signs_of_life
from bb.ops.holdings import incursions
from bb.ops.mail import mail
from bb.ops.mail.mail import From, Subject, Thread, To
from bb.ops.params import Bead, Key, Number, Plain, Reason, Scope, Someone, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ops.desk.desk import Desk


class EventNotThere(NotFound):
    """There is no such protocol event."""

    code = "PROTOCOL_EVENT_NOT_FOUND"
    hint = "`bb protocol list` shows the ids"


class Summary(Plain):
    """What was done and where it stands; `-` reads it from stdin."""


class NextAction(Plain):
    """What to do next."""


class Blocker(Plain):
    """What stands in the way; `-` reads it from stdin."""


class RequestedAction(Plain):
    """What you ask for."""


class Urgency(Text):
    """How urgent it is: low, medium or high."""

    choices = ("low", "medium", "high")


class Type(Text):
    """Only events of this type: HANDOFF, BLOCKED, INCURSION or RESUME."""

    metavar = "TYPE"
    choices = events.EVENT_TYPES


class About(Text):
    """Only events about this bead."""

    metavar = "BEAD"


class Concerning(Someone):
    """Only events from or to this agent."""


class State(Text):
    """Only events in this state: unread, read, acked; incursions: open, accepted, reverted, transferred, closed."""

    choices = ("unread", "read", "acked", *incursions.STATES)


class Limit(Number):
    """At most so many, the newest."""

    most = 500


class EventId(Text):
    """The id of a protocol event."""

    metavar = "ID"


@op(
    "protocol.handoff",
    screen="overview",
    examples=(
        "bb protocol handoff --to cobalt-harbor --bead bb-12 --subject Parser --summary Done. --next-action Dates",
    ),
    no_ack="It need not be accepted.",
)
def handoff(
    desk: Desk,
    *,
    from_: From | None = None,
    to: To,
    bead: Bead,
    subject: Subject,
    summary: Summary,
    next_action: NextAction,
    scope: Scope | None = None,
    thread: Thread | None = None,
    no_ack: bool = False,
    key: Key | None = None,
    allow_secret: Reason | None = None,
) -> dict[str, Any]:
    """Pass work on: what was done, and what to do next. The recipient accepts it with `bb agent ack`.

    Reservations do not move by themselves: release yours, so that the recipient can reserve them.
    """
    said = mail.text_of(desk, summary)
    payload = {"subject": subject.strip(), "summary": said, "next_action": next_action, "requires_ack": not no_ack}
    body = f"{said}\n\nNext: {next_action}"
    return _send(desk, from_, to, bead, events.HANDOFF, body, payload, scope, thread, key, allow_secret)


@op(
    "protocol.blocked",
    screen="overview",
    examples=(
        "bb protocol blocked --to user --bead bb-12 --subject Dates --blocker Two --requested-action One --urgency low",
    ),
)
def blocked(
    desk: Desk,
    *,
    from_: From | None = None,
    to: To,
    bead: Bead,
    subject: Subject,
    blocker: Blocker,
    requested_action: RequestedAction,
    urgency: Urgency,
    scope: Scope | None = None,
    thread: Thread | None = None,
    key: Key | None = None,
    allow_secret: Reason | None = None,
) -> dict[str, Any]:
    """Say that you cannot go on, why, and what you ask for. `--to user` asks the person."""
    said = mail.text_of(desk, blocker)
    payload = {
        "subject": subject.strip(),
        "blocker": said,
        "requested_action": requested_action,
        "urgency": urgency,
        "requires_ack": True,
    }
    body = f"{said}\n\nAsked for: {requested_action}"
    return _send(desk, from_, to, bead, events.BLOCKED, body, payload, scope, thread, key, allow_secret)


@op(
    "protocol.list",
    reads=True,
    screen="overview",
    examples=("bb protocol list", "bb protocol list --type HANDOFF --state unread --json"),
)
def list_events(
    desk: Desk,
    *,
    type_: Type | None = None,
    bead: About | None = None,
    agent: Concerning | None = None,
    state: State | None = None,
    limit: Limit = Limit(50),  # noqa: B008
) -> list[dict[str, Any]]:
    """Protocol events, newest first: hand-offs, blockers, incursions and resumptions.

    What went to several is listed once for each, with the state of that copy.
    """
    known = incursions.events(desk)
    if agent is not None and agent != ids.PERSON:
        signs_of_life.registered(desk.store.index, agent)
    found = (
        event
        for event in known.newest_first(type_, bead)
        if agent in (None, event["from_agent"], event["to_agent"]) and state in (None, event["state"])
    )
    return first_rows(map(incursions.shown, found), limit, Limit.most)


@op("protocol.show", reads=True, screen="overview", examples=("bb protocol show k7q2mzp4x3ab.17",))
def show(desk: Desk, event: EventId) -> dict[str, Any]:
    """One protocol event, in the envelope of Operative Protocol v1, and what became of it."""
    found = incursions.events(desk).one(event)
    if not found:
        raise EventNotThere(f"there is no protocol event {event[:80]}")
    return incursions.shown(found[0])


def _send(
    desk: Desk,
    sender: str | None,
    to: str,
    bead: str,
    category: str,
    body: str,
    payload: dict[str, Any],
    scope: str | None,
    thread: str | None,
    key: str | None,
    allow_secret: str | None,
) -> dict[str, Any]:
    """A protocol event travels as a message, so that the recipient finds it in its inbox."""
    letter = {
        "to": to,
        "category": category,
        "subject": payload["subject"],
        "body": body,
        "bead": bead,
        "thread": thread,
        "scope": lambda: None if scope is None else desk.scope(scope).text,
        "payload": payload,
    }
    sent = mail.dispatch(desk, sender, letter, key, allow_secret)
    return incursions.shown(incursions.events(desk).one(sent["message_id"])[0]) | {"recipients": sent["recipients"]}
