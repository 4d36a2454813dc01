"""Who may stop an agent, and which of its work an order to stop ends.

    the person                                      everything of that agent in the conversation
    the lead or the owner of the conversation       the same
    the author of a message that the agent works on   that message; at the top of a conversation, all of that author's
    somebody who addressed the agent in the thread  everything of that agent in the thread

Nobody else: for a bystander, the order is an ordinary message. An order that names agents is for these alone.
"""

from __future__ import annotations

from itertools import islice

from bb.attention.facts import Claiming, Moved
from bb.attention.judging.cases import current_message
from bb.attention.judging.directedness import mentioned_agents
from bb.attention.messages.message import HERE
from bb.attention.messages.stop_words import StopOrder, stop_order
from bb.attention.state import claims, transitions
from bb.attention.words import CANCEL, DM, HUMAN, MUST_NOT, PLAIN, RESPONDED, SYSTEM, TO_ME
from bb.kernel.clock import HOUR
from bb.kernel.errors import PermissionDenied
from bb.kernel.ids import PERSON

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from bb.attention.facts import AttentionFact
    from bb.attention.messages.message import Message
    from bb.attention.messages.messages import MessageHead
    from bb.attention.state.attention_state import AttentionState
    from bb.attention.state.deliveries import Delivery
    from bb.kernel.errors import BbError

MOST_LOOKED_THROUGH = 100  # messages of the conversation that are searched for work to stop
STILL = HOUR  # so long after an answer, the agent may still be doing what it was asked

# Agent -> the work that is stopped.
Stops: TypeAlias = "dict[str, list[tuple[MessageHead, Delivery]]]"


def order_of(said: Message) -> StopOrder | None:
    """The order to stop that a message declares as its intent, or gives in its words; None if there is none."""
    if said.intent == CANCEL:
        return StopOrder()
    is_by_a_person = said.author_kind == HUMAN and not said.agent and said.intent == PLAIN
    return stop_order(said.text) if is_by_a_person and not said.parts else None


def stopped_work(book: AttentionState, said: Message, order: StopOrder, now: int) -> Stops:
    """The work that SAID may stop, by agent."""
    recent = list(islice(book.newest_messages(f"in {said.conversation}"), MOST_LOOKED_THROUGH))
    agents = _named_agents(book, said)
    found: Stops = {}
    for head in recent:
        for agent in head.meant if head.event != said.event else ():
            delivery = book.delivery(head.event, agent) if agents is None or agent in agents else None
            if (
                delivery is not None
                and is_in_work(delivery, now)
                and _may_stop(book, said, head, agent, recent)
                and order.concerns(_asked_for(book, head))
            ):
                found.setdefault(agent, []).append((head, delivery))
    return found


def _asked_for(book: AttentionState, head: MessageHead) -> str:
    """The words of a request. "Do it" asks for what the agent proposed in the message that it answers."""
    proposal = book.message(head.answers) if head.answers else None
    texts = [current_message(book, each).text for each in (proposal, head) if each]
    return "\n".join(texts)


def is_in_work(delivery: Delivery, now: int) -> bool:
    """Whether an agent works, or may still be working, on what a message asked."""
    if delivery.decision.policy == MUST_NOT:
        return False
    is_request = delivery.intent != CANCEL  # an order that was answered is over
    is_recent = is_request and delivery.disposition == RESPONDED and now - delivery.arrived < STILL
    return delivery.is_open or delivery.turn == transitions.STARTED or is_recent


def stop_facts(book: AttentionState, by: str, work: Sequence[tuple[MessageHead, Delivery]]) -> list[AttentionFact]:
    """The facts when the message BY stops this work of one agent. Its claims end, too."""
    facts: list[AttentionFact] = []
    for head, delivery in work:
        facts.append(Moved(SYSTEM, head.event, delivery.agent, transitions.STOPPED, {"by": by}))
        subject = claims.EVENT + head.event
        if book.claim_on(subject).owner == delivery.agent:
            facts.append(Claiming(SYSTEM, subject, claims.DONE))
    return facts


def may_not_stop() -> BbError:
    """The refusal of an order to stop from a sender who may not give it."""
    return PermissionDenied(
        "you may not stop this work: only the person, the lead or owner of the conversation, or who asked for it may",
        hint="send the message without the intent cancel, or ask the person, who can run `bb chat stop AGENT`",
    )


def is_in_charge(book: AttentionState, said: Message) -> bool:
    """Whether the author is the person, or leads or owns the conversation."""
    where = book.conversation(said.conversation)
    sender = said.author if said.key else ""  # a message that is sent here has a key, and its author is known
    who = said.agent or sender or book.directory.agent(said.author, said.platform) or ""
    is_person = said.author == PERSON and said.platform == HERE and who in ("", PERSON)
    return is_person or bool(who and who in (where.lead, where.owner))


def _named_agents(book: AttentionState, said: Message) -> set[str] | None:
    """The agents that an order is for; None if it names nobody."""
    called = mentioned_agents(said, book.directory)
    named = {*called.agents, *called.groups}
    if said.kind == DM:
        to = book.directory.agent(said.recipient, said.platform) if said.recipient else None
        named |= {to} if to else set(book.directory.by_conversation.get(said.conversation, ()))
    return named if named or called.somebody else None


def _may_stop(
    book: AttentionState, said: Message, head: MessageHead, agent: str, recent: Sequence[MessageHead]
) -> bool:
    is_here = is_in_thread(said, head)
    is_own = head.author == said.author
    if not said.thread and not said.in_reply_to:
        return is_own or is_in_charge(book, said)
    if not is_here:
        return False
    return is_own or is_in_charge(book, said) or (bool(said.thread) and _has_addressed(book, said, agent, recent))


def is_in_thread(said: Message, head: MessageHead) -> bool:
    """Whether a message is in the thread of SAID: in the same one, the one that opened it, or the one it answers."""
    is_opener = said.root == head.event or (
        bool(said.thread) and not head.thread and (head.event == said.thread or _ends(head.event, said.thread))
    )
    return said.window == head.window or is_opener or said.in_reply_to == head.event


def _ends(event: str, thread: str) -> bool:
    return event.endswith((f":{thread}", f"/{thread}"))


def _has_addressed(book: AttentionState, said: Message, agent: str, recent: Sequence[MessageHead]) -> bool:
    """Whether the author has addressed the agent in this thread before, with more than an order to stop."""
    for head in recent:
        if head.author == said.author and head.event != said.event and is_in_thread(said, head):
            delivery = book.delivery(head.event, agent)
            is_order = head.intent == CANCEL or stop_order(current_message(book, head).text) is not None
            if delivery is not None and delivery.decision.directedness == TO_ME and not is_order:
                return True
    return False
