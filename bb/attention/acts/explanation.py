"""The history of an event for an agent, and the explanation of the host's decision about it."""

from __future__ import annotations

from bb.attention.incoming.follow_ups import going_on
from bb.attention.incoming.receiving import asked
from bb.attention.judging.cases import case, of_bystander
from bb.attention.judging.decide import Scene, decide
from bb.attention.judging.directedness import aim, call
from bb.attention.state import deliveries, threads
from bb.attention.turns import knocks
from bb.attention.turns.queries import row
from bb.kernel import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.attention.state.book import Book


def show(book: Book, agent: str, event: str, now: int) -> dict[str, Any]:
    """One event with all steps of its delivery."""
    current = case(book, event, agent, now)
    state = book.states.state(deliveries.NAME, deliveries.name(current.event, agent)) or {"log": []}
    steps = [
        {"step": what, "at": clock.text(ms), "by": f"{writer}.{n}", **({"about": about} if about else {})}
        for _, writer, n, ms, what, about in state["log"]
    ]
    return row(book, current.known, current.standing, now) | {
        "agent": agent,
        "version": current.known.version,
        "state": current.known.state or None,
        "steps": steps,
    }


def explain(book: Book, agent: str, event: str, now: int) -> dict[str, Any]:
    """Why the host decided this way about an event for an agent: the inputs, the rule and the result.

    The decision is computed with the current rules, and shown beside the decision that was recorded on arrival.
    """
    current = case(book, event, agent, now)
    said = current.message
    thread = threads.before(book.states.state(threads.NAME, current.known.window), current.known.order)
    before = Scene(
        directory=book.directory,
        tuning=book.tuning,
        conversation=book.conversation(said.conversation),
        thread=thread,
        asked=asked(book, said, thread),
        going_on=going_on(book, said),
        is_live=lambda name: name in book.agents and book.agents[name].is_live,
    )
    called = call(said, book.directory)
    aimed = aim(said, book.directory, thread, before.asked, before.going_on)
    is_decided = not said.reason
    decided = decide(said, before) if is_decided else None
    again = (decided.each.get(agent) or of_bystander(book, current.known, agent).decision) if decided else None
    recorded = current.standing.delivery.decision
    if again is None or (current.is_bystander and agent not in (decided.each if decided else {})):
        again = recorded
    is_bound = book.binding(agent).leads_from(said.platform)
    warnings = (
        [] if is_bound else [f"{agent} has no name on {said.platform}; add one: `bb chat bind {agent} --handle …`"]
    )
    return {
        "eventId": current.event,
        "agent": agent,
        **again.shown(),
        "recorded": recorded.shown() if again != recorded else None,
        "now": current.standing.decision.shown(),
        **current.standing.shown(),
        **({"deletionReason": current.known.deletion_reason} if current.known.deletion_reason else {}),
        "inputs": {
            "author": knocks.author_of(current.known),
            **({"unverified": True} if said.is_unverified else {}),
            "authorKind": said.author_kind,
            "kind": said.kind,
            "intent": said.intent,
            "mentions": list(said.mentions),
            "recipient": said.recipient or None,
            "thread": said.thread or None,
            "stream": said.stream or None,
            "declared": said.declared or None,
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
