"""Escalation of an unanswered message: agents are asked one at a time, up a ladder that ends with the person."""

from __future__ import annotations

from bb.attention.acts import notices
from bb.attention.acts.sending import escalation_ids
from bb.attention.decision import Decision
from bb.attention.facts import AttentionFact, Moved
from bb.attention.messages.message import Message
from bb.attention.state import transitions
from bb.attention.state.attention_state import AttentionState
from bb.attention.state.deliveries import Delivery
from bb.attention.words import BUFFERED, ESCALATED, MUST, NORMAL, SYSTEM, TO_ME
from bb.kernel.ids import PERSON


def escalate(book: AttentionState, delivery: Delivery, said: Message, now: int, why: str) -> list[AttentionFact]:
    """Ask the next agent on the ladder about a message that the agent of DELIVERY has left unanswered.

    Nothing follows if the next one was already asked, or if the ladder has ended.
    """
    origin = said.linked if said.reason == ESCALATED else delivery.event
    names = escalation_ids(origin)
    rung = next((place for place, name in enumerate(names) if book.message(name) is None), None)
    if rung is None or delivery.escalated_to or (rung and said.reason != ESCALATED):
        return []  # if several agents leave one event unanswered, only the first escalates it
    to = _next(book, said, _asked(book, origin, names) | {delivery.agent}, is_last=rung == len(names) - 1)
    if to is None:
        return []
    decided = Decision(TO_ME, MUST, BUFFERED, ESCALATED, NORMAL, book.tuning.time_for(MUST))
    text = f"{delivery.agent} has not answered {origin} ({why}). You are asked to answer instead."
    return [
        Moved(SYSTEM, delivery.event, delivery.agent, transitions.ESCALATED, {"to": to, "as": names[rung], "why": why}),
        notices.notice(names[rung], said, to, decided, text, now),
    ]


def _asked(book: AttentionState, origin: str, names: list[str]) -> set[str]:
    """The agents that were already asked, by the message itself or by an escalation. A mere knock does not count."""
    agents: set[str] = set()
    for name in (origin, *names):
        head = book.message(name)
        for agent in head.meant if head else ():
            delivery = book.delivery(name, agent)
            agents |= {agent} if delivery and delivery.decision.policy == MUST else set()
    return agents


def _next(book: AttentionState, said: Message, asked: set[str], *, is_last: bool) -> str | None:
    """The next on the ladder; None if the person was already asked.

    The ladder: the lead of the conversation, the owners of the stream, the owner of the conversation, the responder in
    the settings, and last the person.
    """
    where = book.conversation(said.conversation)
    owners = book.directory.owners(said.stream or where.stream)
    ladder = [] if is_last else [where.lead, *owners, where.owner, book.tuning.responder]
    for agent in ladder:
        is_here = agent in book.agents and not book.agents[agent].is_evicted
        if is_here and agent not in asked and where.admits(agent):
            return agent
    return None if PERSON in asked else PERSON
