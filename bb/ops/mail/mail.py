"""Ops on mail: send it, mark it as read, acknowledge it."""

from __future__ import annotations

from bb.coordination.agents import roster
from bb.kernel import ids
from bb.kernel.errors import Refusal
from bb.ledger.views import mail as mails
from bb.messaging.facts import Acked, Agreed, Read
from bb.messaging.mail import mail, mailbox
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import NoAgent
from bb.ops.mail import inbox
from bb.ops.params import AgentOrPerson, AllowSecretReason, Bead, Key, UncheckedAgent, UncheckedText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bb.ledger.index.index import Index
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk


class From(UncheckedAgent):
    """The sender; `user` is the person. Default: BB_AGENT."""

    is_caller = True


class To(UncheckedAgent):
    """The recipient: an agent, `role:ROLE`, `broadcast`, or `user` for the person."""

    metavar = "NAME"


class Category(UncheckedText):
    """HANDOFF, BLOCKED, DECISION or INFO. The recipient must acknowledge the first two."""

    metavar = "CATEGORY"
    offered = mail.CATEGORIES


class Subject(UncheckedText):
    """The subject, in one line. Default: the first line of the text."""


class Thread(UncheckedText):
    """The thread of the message. Default: the thread of the bead; without a bead, that of the two agents."""

    metavar = "THREAD"


class MessageId(UncheckedText):
    """The message's id."""

    metavar = "ID"


@op(
    "agent.send",
    examples=(
        "bb agent send --to cobalt-harbor --bead bb-12 --category INFO --subject Renamed --body 'parse is read now.'",
        "bb agent send --to role:reviewer --bead bb-12 --category DECISION --subject 'Which format?' --body -",
        "bb send cobalt-harbor 'parse is renamed to read.'",
        "bb send broadcast 'The tests of src/parser pass.' --bead bb-12",
    ),
    short="send",
    positional=("to", "body"),
)
def send(
    desk: Desk,
    *,
    from_: From | None = None,
    to: To,
    bead: Bead | None = None,
    category: Category = Category(mail.INFO),  # noqa: B008  (a text)
    subject: Subject | None = None,
    body: UncheckedText,
    thread: Thread | None = None,
    key: Key | None = None,
    allow_secret: AllowSecretReason | None = None,
) -> dict[str, Any]:
    """Send a message to an agent, a role, all agents, or the person.

    Each recipient gets its own copy to read and to acknowledge. The sender of a message to a role or to all agents gets
    no copy. With several recipients, the answer is the first recipient's copy, and `recipients` lists all of them. If
    no other agent matches, the message is recorded for the person. HANDOFF and BLOCKED need a bead.

    Parameters:
        body: The text of the message; `-` reads it from stdin.
    """
    text = text_of(desk, body)
    letter = {
        "to": to,
        "category": category,
        "subject": (mail.first_line(text) or NO_TEXT) if subject is None else subject,
        "body": text,
        "bead": bead,
        "thread": thread,
    }
    return send_message(desk, from_, letter, key, allow_secret)


NO_TEXT = "(no text)"  # the subject of a message whose text is refused as blank


@op(
    "agent.read",
    screen="overview",
    examples=("bb agent read --agent cobalt-harbor --message k7q2mzp4x3ab.17", "bb read k7q2mzp4x3ab.17"),
    short="read",
    positional=("message",),
)
def read(desk: Desk, *, agent: AgentOrPerson | None = None, message: MessageId) -> dict[str, Any]:
    """Mark a message as read. Only its recipient may do this. Doing it again changes nothing."""
    return _gesture(
        desk,
        agent,
        message,
        mail.ReadForbidden,
        lambda copy, who, event: [] if copy["state"] != mailbox.UNREAD else [Read(who, event)],
    )


@op(
    "agent.ack",
    examples=("bb agent ack --agent cobalt-harbor --message k7q2mzp4x3ab.17", "bb ack k7q2mzp4x3ab.17"),
    short="ack",
    positional=("message",),
)
def ack(desk: Desk, *, agent: AgentOrPerson | None = None, message: MessageId) -> dict[str, Any]:
    """Acknowledge a message: you accept responsibility for its request. Only its recipient may do this."""

    def accepted(copy: dict[str, Any], who: str, event: str) -> list[Any]:
        if copy["state"] == mailbox.ACKED:
            return []
        return [(Acked if copy["requires_ack"] else Agreed)(who, event)]

    return _gesture(desk, agent, message, mail.AckForbidden, accepted)


def send_message(
    desk: Desk,
    sender: str | None,
    letter: dict[str, Any],
    key: str | None = None,
    allow_secret: str | None = None,
    also: Callable[[Index, str], list[Any]] = lambda *_: [],
) -> dict[str, Any]:
    """Send a LETTER, and record the facts that ALSO returns for the sender. Returns the first recipient's copy."""
    who = sender if sender == "" else desk.actor(sender)
    if not who:
        raise NoAgent(hint="use the name that session-start gave you: pass --from NAME, or set BB_AGENT")

    def decide(index: Index, _: Holdings) -> list[Any]:
        message = mail.compose(
            sender=who,
            **({"scope": lambda: None, "payload": None} | letter),
            everybody=lambda: [(agent.agent_id, agent.role) for agent in roster.in_service(index.states(roster.NAME))],
            is_known=lambda name: bool(roster.in_service([(name, index.state(roster.NAME, name))])),
        )
        return [message, *also(index, who)]

    if not desk.store.exists and who != ids.PERSON:
        raise mail.UnknownSender(f"no agent {who[:60]!r} is registered", agent_id=who[:60])
    desk.store.require_ledger()
    recorded = signs_of_life.act(desk, who, decide, key=key, allow_secret=allow_secret)
    event = next(event for event in recorded if event.kind == "chat.message")
    copies = mails.copies(desk.store.index, event.id)
    recipients = [copy["to_agent"] for copy in copies]
    is_for_nobody = recipients == [ids.PERSON] and letter["to"] != ids.PERSON
    return copies[0] | {"recipients": recipients} | ({"recorded_only": True} if is_for_nobody else {})


def _gesture(
    desk: Desk,
    agent: str | None,
    message: str,
    forbidden: Refusal,
    decide: Callable[[dict[str, Any], str, str], list[Any]],
) -> dict[str, Any]:
    """Record what DECIDE returns for the agent's own copy of a message. Returns the changed copy."""
    who, index = inbox.inbox_owner(desk, agent, acts=True)
    event, recipient = mail.split_message_id(message)
    if not (copies := mails.copies(index, event)) or (recipient and recipient not in [c["to_agent"] for c in copies]):
        raise mail.MessageNotFound(f"there is no message {message[:80]}")
    if recipient not in (None, who) or not mails.copy_of(index, event, who):
        to = recipient or copies[0]["to_agent"]
        raise forbidden(f"message {message[:80]} was sent to {to}, not to {who}")

    def facts(index: Index, _: Holdings) -> list[Any]:
        copy = mails.copy_of(index, event, who)
        return decide(copy, who, event) if copy else []

    signs_of_life.act(desk, who, facts)
    return mails.copy_of(desk.store.index, event, who) or {}


def text_of(desk: Desk, body: str) -> str:
    """BODY, or the text on stdin if BODY is `-`."""
    if body != "-" or desk.stdin is None:
        return body
    octets = desk.stdin.read(mail.BODY_LENGTH * 4 + 1)
    desk.add_to_request_digest(octets)
    return str(UncheckedText.from_text(octets.decode("utf-8", "surrogateescape"), "body"))
