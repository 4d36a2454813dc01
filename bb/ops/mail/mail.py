"""Sending mail, marking it as seen, accepting what it asks for, and waiting for more."""

from __future__ import annotations

from itertools import islice

from bb.coordination.agents import roster
from bb.kernel import ids
from bb.kernel.errors import Busy
from bb.ledger.records.changes import Watch
from bb.ledger.views import mail as mails
from bb.messaging.facts import Acked, Agreed, Read
from bb.messaging.mail import mail, mailbox
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import NoAgent
from bb.ops.mail import inbox
from bb.ops.params import Bead, Key, Plain, Reason, Seconds, Someone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bb.ledger.index.index import Index
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk


class NothingCame(Busy):
    """Nothing has arrived in that time."""

    code = "NOTHING_CAME"
    hint = "wait again, or go on with something else"


class From(Plain):
    """Who sends it; BB_AGENT unless given. `user` is the person."""

    metavar = "ID"
    is_agent = True


class To(Plain):
    """Who is to get it: an agent, `role:ROLE`, `broadcast`, or `user` for the person."""

    metavar = "ID"
    is_agent = True


class Category(Plain):
    """HANDOFF, BLOCKED, DECISION or INFO. The first two ask to be accepted."""

    metavar = "CATEGORY"
    offered = mail.CATEGORIES


class Subject(Plain):
    """What it is about, in one line."""


class Body(Plain):
    """What there is to say; `-` reads it from stdin."""


class Thread(Plain):
    """The conversation it belongs to; that of the bead unless given."""

    metavar = "THREAD"


class MessageId(Plain):
    """The message, by its id."""

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
    body: Body,
    thread: Thread | None = None,
    key: Key | None = None,
    allow_secret: Reason | None = None,
) -> dict[str, Any]:
    """Send a message about a bead to an agent, to a role, to everybody, or to the person.

    Each recipient has a copy of its own to see and to accept. You get no copy of what you send to a group. With
    several recipients the answer is the first one's copy, and `recipients` names them all.
    """
    return dispatch(
        desk,
        from_,
        dict(to=to, category=category, subject=subject, body=text_of(desk, body), bead=bead, thread=thread),  # noqa: C408
        key,
        allow_secret,
    )


class Timeout(Seconds):
    """How many seconds to wait, up to a day."""


MOST = 50  # messages in one answer; the inbox has them all


@op("agent.read", screen="overview", examples=("bb agent read --agent cobalt-harbor --message k7q2mzp4x3ab.17",))
def read(desk: Desk, *, agent: Someone | None = None, message: MessageId) -> dict[str, Any]:
    """Mark a message as seen. Only its recipient may; doing it again changes nothing."""
    return _gesture(
        desk,
        agent,
        message,
        mail.ReadForbidden,
        lambda found, who, event: [] if found["state"] != mailbox.UNREAD else [Read(who, event)],
    )


@op("agent.ack", examples=("bb agent ack --agent cobalt-harbor --message k7q2mzp4x3ab.17",))
def ack(desk: Desk, *, agent: Someone | None = None, message: MessageId) -> dict[str, Any]:
    """Accept what a message asks for: it is your responsibility now. Only its recipient may."""

    def accepted(found: dict[str, Any], who: str, event: str) -> list[Any]:
        if found["state"] == mailbox.ACKED:
            return []
        return [(Acked if found["requires_ack"] else Agreed)(who, event)]

    return _gesture(desk, agent, message, mail.AckForbidden, accepted)


@op(
    "agent.wait",
    screen="overview",
    examples=("bb agent wait --agent cobalt-harbor --timeout 600 --json", "bb agent wait --new && bb agent inbox"),
    new="Only what arrives from now on, not what is unread already.",
)
def wait(
    desk: Desk,
    *,
    agent: Someone | None = None,
    timeout: Timeout = Timeout(300),  # noqa: B008
    new: bool = False,
) -> dict[str, Any]:
    """Wait until a message arrives for you, and show it. Costs nothing while nothing happens.

    Answers at once when there is unread mail, unless --new is given. NOTHING_CAME (exit status 6) when the time is
    up. Waiting counts as a sign of life.
    """
    who, index = inbox.known(desk, agent, acts=True)
    known = {message["message_id"] for message in mails.inbox(index, who, mailbox.UNREAD)} if new else set()
    signs_of_life.alive(desk, who)
    watch = Watch(desk.store)
    for _ in watch.changes(timeout, every_minute=lambda: signs_of_life.alive(desk, who), is_over=desk.has_left):
        try:
            unread = mails.inbox(desk.store.caught_up(), who, mailbox.UNREAD)
            come = list(islice((message for message in unread if message["message_id"] not in known), MOST))
        except Busy:
            continue
        if come:
            return {"agent_id": who, "messages": come, "waited_seconds": watch.waited}
    raise NothingCame(f"nothing arrived for {who} within {timeout} s")


def dispatch(
    desk: Desk,
    sender: str | None,
    letter: dict[str, Any],
    key: str | None = None,
    allow_secret: str | None = None,
) -> dict[str, Any]:
    """Send a LETTER; the first recipient's copy."""
    who = sender if sender == "" else desk.actor(sender)
    if not who:
        raise NoAgent(hint="pass --from ID, or set BB_AGENT")

    def decide(index: Index, _: Holdings) -> list[Any]:
        sent = mail.compose(
            sender=who,
            **({"scope": lambda: None, "payload": None} | letter),
            everybody=lambda: [(agent.agent_id, agent.role) for agent in roster.in_service(index.states(roster.NAME))],
            is_known=lambda name: bool(roster.in_service([(name, index.state(roster.NAME, name))])),
        )
        return [sent]

    if not desk.store.exists and who != ids.PERSON:
        raise mail.UnknownSender(f"no agent {who[:60]!r} is registered", agent_id=who[:60])
    desk.store.must_exist()
    recorded = signs_of_life.act(desk, who, decide, key=key, allow_secret=allow_secret)
    event = next(event for event in recorded if event.kind == "chat.message")
    copies = mails.copies(desk.store.index, event.id)
    return copies[0] | {"recipients": [copy["to_agent"] for copy in copies]}


def _gesture(
    desk: Desk,
    agent: str | None,
    message: str,
    forbidden: type[Exception],
    decide: Callable[[dict[str, Any], str, str], list[Any]],
) -> dict[str, Any]:
    """Do something with one's own copy of a message; the copy afterwards."""
    who, index = inbox.known(desk, agent, acts=True)
    event, recipient = mail.split_message_id(message)
    if not (copies := mails.copies(index, event)) or (recipient and recipient not in [c["to_agent"] for c in copies]):
        raise mail.MessageNotFound(f"there is no message {message[:80]}")
    if recipient not in (None, who) or not mails.one(index, event, who):
        to = recipient or copies[0]["to_agent"]
        raise forbidden(f"message {message[:80]} went to {to}, not to {who}")

    def facts(index: Index, _: Holdings) -> list[Any]:
        found = mails.one(index, event, who)
        return decide(found, who, event) if found else []

    signs_of_life.act(desk, who, facts)
    return mails.one(desk.store.index, event, who) or {}


def text_of(desk: Desk, body: str) -> str:
    """A body, or what stands on stdin for one."""
    if body != "-" or desk.stdin is None:
        return body
    octets = desk.stdin.read(mail.BODY_LENGTH * 4 + 1)
    desk.also_asks(octets)
    return str(Body.from_text(octets.decode("utf-8", "surrogateescape"), "body"))
