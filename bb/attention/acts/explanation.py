"""The history of an event for an agent, and the explanation of the host's decision about it."""

from __future__ import annotations

from typing import Any

from bb.attention.incoming.follow_ups import continued_aim
from bb.attention.judging.audience import audience
from bb.attention.judging.cases import Case, bystander_delivery, case_for_agent
from bb.attention.judging.decide import DecisionContext, decide
from bb.attention.judging.directedness import Aimed, aim_of_message, mentioned_agents
from bb.attention.judging.replies import before_message, refers, thread_before, thread_with_root
from bb.attention.state import deliveries
from bb.attention.state.attention_state import AttentionState
from bb.attention.turns import knocks
from bb.attention.turns.queries import event_row
from bb.attention.words import BEFORE_BIND, CANCEL, TO_ME
from bb.kernel import clock


def show(book: AttentionState, agent: str, event: str, now: int) -> dict[str, Any]:
    """One event with all steps of its delivery."""
    current = case_for_agent(book, event, agent, now)
    state = book.states.state(deliveries.NAME, deliveries.delivery_key(current.event, agent)) or {"log": []}
    steps = [
        {"step": what, "at": clock.text(ms), "by": f"{writer}.{n}", **({"about": about} if about else {})}
        for _, writer, n, ms, what, about in state["log"]
    ]
    return event_row(book, agent, current.known, current.standing, now) | {
        "agent": agent,
        "version": current.known.version,
        "state": current.known.state or None,
        "steps": steps,
    }


def _stopped_aim(current: Case) -> Aimed:
    """An order to stop is also for an agent that it does not name, if it stopped that agent's work."""
    recorded = current.standing.delivery.decision
    return {current.agent: (TO_ME, CANCEL)} if (recorded.directedness, recorded.reason) == (TO_ME, CANCEL) else {}


def explain(book: AttentionState, agent: str, event: str, now: int) -> dict[str, Any]:
    """Why the host decided this way about an event for an agent: the inputs, the rule and the result.

    The decision is computed with the current rules, and shown beside the decision that was recorded on arrival.
    """
    current = case_for_agent(book, event, agent, now)
    message = current.message
    thread = thread_with_root(book, message, thread_before(book, current.known))
    thread = before_message(book, thread, current.known) if message.thread else thread
    before = DecisionContext(
        directory=book.directory,
        tuning=book.tuning,
        conversation=book.conversation(message.conversation),
        thread=thread,
        refers=refers(book, message, thread),
        going_on=continued_aim(book, message) | _stopped_aim(current),
        is_live=lambda name: name in book.agents and book.agents[name].is_live,
        audience=audience(book, message),
    )
    called = mentioned_agents(message, book.directory)
    aimed = aim_of_message(message, book.directory, thread, before.refers, before.going_on)
    is_decided = not message.reason
    decided = decide(message, before) if is_decided else None
    again = (decided.each.get(agent) or bystander_delivery(book, current.known, agent).decision) if decided else None
    recorded = current.standing.delivery.decision
    recorded = current.known.others if recorded.reason == BEFORE_BIND else recorded
    if again is None or (current.is_bystander and agent not in (decided.each if decided else {})):
        again = recorded
    is_bound = book.binding(agent).leads_from(message.platform)
    warnings = (
        [] if is_bound else [f"{agent} has no name on {message.platform}; add one: `bb chat bind {agent} --handle …`"]
    )
    return {
        "eventId": current.event,
        "agent": agent,
        **again.details(),
        "recorded": recorded.details() if again != recorded else None,
        "now": current.standing.decision.details(),
        **current.standing.shown(),
        **({"deletionReason": current.known.deletion_reason} if current.known.deletion_reason else {}),
        "inputs": {
            "author": knocks.author_of(current.known),
            **({"unverified": True} if message.is_unverified else {}),
            "authorKind": message.author_kind,
            "kind": message.kind,
            "intent": message.intent,
            "mentions": list(message.mentions),
            "recipient": message.recipient or None,
            "thread": message.thread or None,
            "stream": message.stream or None,
            "answers": message.answers or None,
            "declared": message.declared or None,
            "calls": {"agents": list(called.agents), "groups": list(called.groups)},
            "participants": list(before.thread.participants),
            "turnsOfAgents": before.thread.run,
        },
        "rule": {
            "aimed": dict(zip(("directedness", "why"), aimed.at.get(agent, aimed.others), strict=True)),
            "row": f"{again.directedness} / {again.policy} / {again.mode}",
        },
        "dueAt": clock.text(current.standing.due) if current.standing.due is not None else None,
        "warnings": warnings,
    }
