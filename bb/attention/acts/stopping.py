"""The person stops an agent: its work is ended, and it gets an order to stop as a private message."""

from __future__ import annotations

from itertools import islice

from bb.attention.facts import Answer
from bb.attention.incoming.receiving import record_message
from bb.attention.judging.cases import find_message, require_registered
from bb.attention.judging.stopping import is_in_work, stop_facts
from bb.attention.messages.message import HERE, Message
from bb.attention.messages.messages import MessageHead
from bb.attention.messages.redaction import redact
from bb.attention.refusals import no_event
from bb.attention.state import deliveries, transitions
from bb.attention.state.attention_state import AttentionState
from bb.attention.state.deliveries import Delivery
from bb.attention.words import CANCEL, CLAIMED, DM
from bb.kernel.escaping import stripped
from bb.kernel.ids import PERSON

MOST_LOOKED_THROUGH = 50  # deliveries that are searched for running turns, besides the open ones
LONGEST_REASON = 500
ORDER = "Stop what you are doing."


def stop(book: AttentionState, agent: str, now: int, *, event: str = "", reason: str = "") -> Answer:
    """Stop AGENT: all that it works on, or only EVENT."""
    require_registered(book, agent)
    work = _work_on(book, agent, event) if event else _all_work(book, agent, now)
    why = redact(" ".join(stripped(line) for line in reason.split()))[:LONGEST_REASON]
    order = Message(
        event=f"stop:{agent}:{now}",
        platform=HERE,
        conversation=f"dm:{'+'.join(sorted([agent, PERSON]))}",
        kind=DM,
        author=PERSON,
        recipient=agent,
        text=f"{ORDER} {why}".rstrip() if not event else f"Stop the work on {event}. {why}".rstrip(),
        at=now,
        intent=CANCEL,
    )
    if book.message(order.event) is not None:  # the same order in the same millisecond
        return [], {"agent": agent, "eventId": order.event, "stopped": []}
    facts, _ = record_message(book, order, PERSON, now)
    stopped = [head.event for head, _ in work]
    return [*facts, *stop_facts(book, order.event, work)], {"agent": agent, "eventId": order.event, "stopped": stopped}


def _work_on(book: AttentionState, agent: str, event: str) -> list[tuple[MessageHead, Delivery]]:
    head = find_message(book, event)
    delivery = book.delivery(head.event, agent)
    if delivery is None:
        raise no_event(event)
    return [(head, delivery)]


def _all_work(book: AttentionState, agent: str, now: int) -> list[tuple[MessageHead, Delivery]]:
    """The events that the agent was given and has not finished. Messages that it has not seen yet stay."""
    newest = islice(book.states.newest_first(deliveries.NAME, f"to {agent}"), MOST_LOOKED_THROUGH)
    found = {key: deliveries.delivery_of_state(key, state) for _, key, state in newest}
    running = [delivery for delivery in found.values() if delivery.turn == transitions.STARTED]
    begun = [delivery for delivery in book.open_for(agent) if _has_begun(delivery)]
    every = {delivery.event: delivery for delivery in (*begun, *running) if is_in_work(delivery, now)}
    return [(head, delivery) for delivery in every.values() if (head := book.message(delivery.event))]


def _has_begun(delivery: Delivery) -> bool:
    was_given = delivery.is_shown or delivery.pulled_at is not None
    return was_given or delivery.disposition == CLAIMED
