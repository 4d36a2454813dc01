"""A case: one event from the point of view of one agent, now. Every query and every act about an event starts here.

An event that an agent may not see does not exist for that agent.
"""

from __future__ import annotations

from itertools import islice

from bb.attention.decision import Decision
from bb.attention.judging.current_decision import standing
from bb.attention.messages import message
from bb.attention.messages.messages import in_window, is_the_persons
from bb.attention.refusals import UnknownAgent, no_event
from bb.attention.state.deliveries import NAME as DELIVERIES
from bb.attention.state.deliveries import Delivery, delivery_key, with_steps
from bb.attention.words import BEFORE_BIND, DM, IGNORED, MAILBOX, MAY, MUST_NOT, TO_ME, TO_OTHER, UNBOUND
from bb.kernel.ids import PERSON
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.attention.judging.current_decision import Standing
    from bb.attention.messages.message import Message
    from bb.attention.messages.messages import MessageHead
    from bb.attention.state.attention_state import AttentionState
    from bb.attention.state.conversations import Conversation


MOST_LOOKED_THROUGH = 50  # messages that are searched for one that the agent may see


class Case(Record):
    """An event and an agent."""

    agent: str
    known: MessageHead
    message: Message
    standing: Standing
    is_bystander: bool

    @property
    def event(self) -> str:
        return self.known.event


def case_for_agent(book: AttentionState, event: str, agent: str, now: int) -> Case:
    """The case of EVENT for AGENT."""
    require_registered(book, agent)
    head = find_message(book, event)
    if not may_see(book, agent, head):
        raise no_event(event)
    delivery = book.delivery(head.event, agent)
    claim = book.claim(head.event, head.thread_window, now)
    now_standing = standing(
        delivery or bystander_delivery(book, head, agent), claim, now, book.tuning, last_message_time(book, head)
    )
    return Case(agent, head, current_message(book, head), now_standing, delivery is None)


def require_registered(book: AttentionState, agent: str) -> None:
    """Refuse a name that is not registered here."""
    if agent not in book.agents and agent != PERSON:
        raise UnknownAgent(f"no agent {agent[:60]!r} is registered here", agent_id=agent[:60])


def find_message(book: AttentionState, event: str) -> MessageHead:
    """The message with the id EVENT."""
    head = find_message_or_none(book, event)
    if head is None:
        raise no_event(event)
    return head


def find_message_or_none(book: AttentionState, event: str) -> MessageHead | None:
    """The message with the id EVENT, on the line EVENT, or with that id on its platform; None if there is none."""
    head = book.message(event)
    if head is None and (c2a := book.data(event).get("c2a")) and isinstance(c2a, dict):
        head = book.message(str(c2a.get("event") or event))
    return head or (_by_native_id(book, event) if event else None)


def _by_native_id(book: AttentionState, event: str) -> MessageHead | None:
    """The message with that id on its platform, or the event about it that bb made (`<id>~e2`)."""
    if head := book.message_by_native_id(event):
        return head
    origin, mark, suffix = event.partition("~")
    head = book.message_by_native_id(origin) if mark else None
    return book.message(f"{head.event}~{suffix}") if head else None


def current_message(book: AttentionState, known: MessageHead) -> Message:
    """The current version of a message, read from its line."""
    data = book.data(known.line)
    c2a, mail = data.get("c2a"), data.get("mail")
    text = str(data.get("text", ""))
    if isinstance(mail, dict):
        text = f"{mail.get('subject', '')}\n\n{text}"
    elif data.get("kind") and "title" in data:
        text = f"{data['title']}\n\n{data.get('message', '')}".rstrip()
    current = message.message_of_c2a(c2a if isinstance(c2a, dict) else _as_kept(known), text, known.event)
    if known.is_deleted:
        current = current.replace(text="", parts=(), more={})
    is_unverified = data.get(message.UNSIGNED) is True and is_the_persons(current)
    return current.replace(event=known.event, version=known.version, is_unverified=is_unverified)


def _as_kept(known: MessageHead) -> dict[str, Any]:
    """The members of a message whose line has no `c2a` member."""
    return {name: getattr(known, name) for name in message.MEMBERS if hasattr(known, name)}


def may_see(book: AttentionState, agent: str, known: MessageHead) -> bool:
    """Whether an agent may see a message. A private one is only for its recipients and members of the conversation."""
    if agent == PERSON:
        return True  # it is the person's own machine
    where = book.conversation(known.conversation)
    if agent in where.absent:
        return False
    if where.is_private:  # if its members are not known, it is for the recipients
        is_unknown = not where.members and not where.is_listed
        is_recipient = agent in (known.agent, *known.meant) or known.event in book.binding(agent).earlier
        return where.admits(agent) or (is_unknown and is_recipient)
    if known.kind != DM:
        return True
    is_theirs = agent in (known.agent, known.author, *known.meant)
    binding = book.binding(agent)
    return is_theirs or known.conversation in binding.conversations or known.event in binding.earlier


def may_join(book: AttentionState, agent: str, where: Conversation) -> bool:
    """Whether an agent may write in a conversation.

    In a direct one it may if it can see a message there, is a member or is bound to it. Any agent may start a new one.
    In a private one of unknown members it may if it can see a message there, such as one that mentions it.
    """
    if where.is_private and not (where.members or where.is_listed) and not where.admits(agent):
        heads = islice(book.newest_messages(f"in {where.id}"), MOST_LOOKED_THROUGH)
        return any(may_see(book, agent, head) for head in heads)
    if not where.admits(agent):
        return False
    if where.kind != DM or where.members or where.id in book.binding(agent).conversations:
        return True
    messages = list(islice(book.newest_messages(f"in {where.id}"), MOST_LOOKED_THROUGH))
    return not messages or any(may_see(book, agent, head) for head in messages)


def open_cases(book: AttentionState, agent: str, now: int) -> Iterator[tuple[MessageHead, Standing]]:
    """The open deliveries to AGENT that it may see now, in ledger order."""
    opened = book.open_for(agent)
    at_hand = book.with_messages_of(opened)
    for delivery in opened:
        head = at_hand.message(delivery.event)
        if head and not head.is_deleted and may_see(at_hand, agent, head):
            yield head, standing(delivery, at_hand.claim(delivery.event, head.thread_window, now), now, book.tuning)


def bystander_delivery(book: AttentionState, known: MessageHead, agent: str) -> Delivery:
    """The delivery of an event to an agent that it is not for."""
    decided = known.others
    if agent in (known.agent, known.author):
        decided = Decision(TO_OTHER, reason="own_message")
    elif not book.binding(agent).leads_from(known.platform):
        decided = Decision(reason=UNBOUND)
    is_before_bind = known.event in book.binding(agent).earlier
    if is_before_bind:
        decided = Decision(TO_ME, MAY, MAILBOX, BEFORE_BIND, deadline=book.tuning.time_for(MAY))
    delivery = Delivery(
        known.event,
        agent,
        line=known.first_line,
        window=known.window,
        author=known.author,
        at=known.at,
        arrived=known.arrived,
        place=known.place,
        decision=decided,
        disposition=IGNORED if decided.policy == MUST_NOT else None,
    )
    if not is_before_bind:
        return delivery
    return with_steps(delivery, book.states.state(DELIVERIES, delivery_key(known.event, agent)))


def last_message_time(book: AttentionState, known: MessageHead) -> int:
    """The time of the last message in the thread of KNOWN. Notices of the host and reactions do not count."""
    return next((head.arrived for head in book.newest_messages(in_window(known.window)) if not head.reason), 0)
