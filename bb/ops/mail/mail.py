"""Ops on mail: send it, mark it as read, acknowledge it, wait for it."""

from __future__ import annotations

from itertools import islice

from bb.coordination.agents import roster
from bb.kernel import ids
from bb.kernel.errors import Busy, Refusal
from bb.ledger.records.changes import LedgerWatch
from bb.ledger.views import mail as mails
from bb.messaging.facts import Acked, Agreed, Read
from bb.messaging.mail import mail, mailbox
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import NoAgent
from bb.ops.mail import inbox
from bb.ops.params import AgentOrPerson, AllowSecretReason, Bead, Key, Seconds, UncheckedAgent, UncheckedText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bb.ledger.index.index import Index
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

NothingCame = Busy.declare(
    "NOTHING_CAME", "No message arrived in that time", hint="wait again, or continue with other work"
)


class From(UncheckedAgent):
    """The sender; `user` is the person. Default: BB_AGENT."""


class To(UncheckedAgent):
    """The recipient: an agent, `role:ROLE`, `broadcast`, or `user` for the person."""


class Category(UncheckedText):
    """HANDOFF, BLOCKED, DECISION or INFO. The recipient must acknowledge the first two."""

    metavar = "CATEGORY"
    offered = mail.CATEGORIES


class Subject(UncheckedText):
    """The subject, in one line."""


class Thread(UncheckedText):
    """The thread of the message. Default: the bead's thread."""

    metavar = "THREAD"


class MessageId(UncheckedText):
    """The message's id."""

    metavar = "ID"


@op(
    "agent.send",
    examples=(
        "bb agent send --to cobalt-harbor --bead bb-12 --category INFO --subject Renamed --body 'parse is read now.'",
        "bb agent send --to role:reviewer --bead bb-12 --category DECISION --subject 'Which format?' --body -",
    ),
)
def send(
    desk: Desk,
    *,
    from_: From | None = None,
    to: To,
    bead: Bead,
    category: Category,
    subject: Subject,
    body: UncheckedText,
    thread: Thread | None = None,
    key: Key | None = None,
    allow_secret: AllowSecretReason | None = None,
) -> dict[str, Any]:
    """Send a message about a bead to an agent, a role, all agents, or the person.

    Each recipient gets its own copy to read and to acknowledge. The sender of a message to a role or to all agents gets
    no copy. With several recipients, the answer is the first recipient's copy, and `recipients` lists all of them.

    Parameters:
        body: The text of the message; `-` reads it from stdin.
    """
    return send_message(
        desk,
        from_,
        dict(to=to, category=category, subject=subject, body=text_of(desk, body), bead=bead, thread=thread),  # noqa: C408
        key,
        allow_secret,
    )


MOST = 50  # messages in one answer of `wait`; `inbox` lists the rest


@op("agent.read", screen="overview", examples=("bb agent read --agent cobalt-harbor --message k7q2mzp4x3ab.17",))
def read(desk: Desk, *, agent: AgentOrPerson | None = None, message: MessageId) -> dict[str, Any]:
    """Mark a message as read. Only its recipient may do this. Doing it again changes nothing."""
    return _gesture(
        desk,
        agent,
        message,
        mail.ReadForbidden,
        lambda copy, who, event: [] if copy["state"] != mailbox.UNREAD else [Read(who, event)],
    )


@op("agent.ack", examples=("bb agent ack --agent cobalt-harbor --message k7q2mzp4x3ab.17",))
def ack(desk: Desk, *, agent: AgentOrPerson | None = None, message: MessageId) -> dict[str, Any]:
    """Acknowledge a message: you accept responsibility for its request. Only its recipient may do this."""

    def accepted(copy: dict[str, Any], who: str, event: str) -> list[Any]:
        if copy["state"] == mailbox.ACKED:
            return []
        return [(Acked if copy["requires_ack"] else Agreed)(who, event)]

    return _gesture(desk, agent, message, mail.AckForbidden, accepted)


@op(
    "agent.wait",
    screen="overview",
    examples=("bb agent wait --agent cobalt-harbor --timeout 600 --json", "bb agent wait --new && bb agent inbox"),
)
def wait(
    desk: Desk,
    *,
    agent: AgentOrPerson | None = None,
    timeout: Seconds = Seconds(300),  # noqa: B008
    new: bool = False,
) -> dict[str, Any]:
    """Wait until a message for you arrives, and show it. Waiting uses almost no CPU time.

    Returns at once if you have unread mail, unless --new is given. If no message arrives in time, it fails with
    NOTHING_CAME (exit status 6). Waiting counts as a sign of life.

    Parameters:
        timeout: Seconds to wait, up to a day.
        new: Wait for messages that arrive from now on; ignore those already unread.
    """
    who, index = inbox.inbox_owner(desk, agent, acts=True)
    known_ids = {message["message_id"] for message in mails.inbox(index, who, mailbox.UNREAD)} if new else set()
    signs_of_life.record_sign_of_life(desk, who)
    watch = LedgerWatch(desk.store)
    for _ in watch.changes(
        timeout, every_minute=lambda: signs_of_life.record_sign_of_life(desk, who), is_over=desk.is_client_gone
    ):
        try:
            unread = mails.inbox(desk.store.caught_up(), who, mailbox.UNREAD)
            messages = list(islice((message for message in unread if message["message_id"] not in known_ids), MOST))
        except Busy:
            continue
        if messages:
            return {"agent_id": who, "messages": messages, "waited_seconds": watch.waited}
    raise NothingCame(f"no message arrived for {who} within {timeout} s")


def send_message(
    desk: Desk,
    sender: str | None,
    letter: dict[str, Any],
    key: str | None = None,
    allow_secret: str | None = None,
) -> dict[str, Any]:
    """Send a LETTER. Returns the first recipient's copy."""
    who = sender if sender == "" else desk.actor(sender)
    if not who:
        raise NoAgent(hint="pass --from ID, or set BB_AGENT")

    def decide(index: Index, _: Holdings) -> list[Any]:
        message = mail.compose(
            sender=who,
            **({"scope": lambda: None, "payload": None} | letter),
            everybody=lambda: [(agent.agent_id, agent.role) for agent in roster.in_service(index.states(roster.NAME))],
            is_known=lambda name: bool(roster.in_service([(name, index.state(roster.NAME, name))])),
        )
        return [message]

    if not desk.store.exists and who != ids.PERSON:
        raise mail.UnknownSender(f"no agent {who[:60]!r} is registered", agent_id=who[:60])
    desk.store.require_ledger()
    recorded = signs_of_life.act(desk, who, decide, key=key, allow_secret=allow_secret)
    event = next(event for event in recorded if event.kind == "chat.message")
    copies = mails.copies(desk.store.index, event.id)
    return copies[0] | {"recipients": [copy["to_agent"] for copy in copies]}


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
