"""Text screens for the chat commands that act on events (C2A): claim, resolve, send, react and so on."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bb.cli.screens import styling
from bb.cli.screens.attention import AUTHOR
from bb.cli.screens.styling import coloured, column, flowing, whole
from bb.kernel.foreign import Foreign, sentence


def claim(found: Foreign) -> list[str]:
    """The agent that has claimed a message or thread, and until when."""
    subject = _subject(found["subject"])
    if not found["granted"]:
        return [f"Claim released: {subject}"]
    return [f"{found['owner']} has claimed {subject}, {styling.left(found['expiresAt'])}"]


def _subject(subject: Foreign) -> str:
    """An event by its id; a thread as `--thread` takes it."""
    kind, _, name = subject.parted(" ")
    return whole("thread ") + thread(name) if kind == "thread" else whole(name)


def thread(name: Foreign) -> str:
    """A conversation and its thread, in the form that `--thread` takes."""
    return whole("/".join(sentence(name).rsplit(" ", 1)))


def deferred(found: Foreign) -> list[str]:
    return [f"Deferred: it is shown again {styling.ago(found['resurfaceAt'])}  [{whole(found['eventId'])}]"]


def resolved(found: Foreign) -> list[str]:
    """The events that were closed."""
    if found["disposition"].is_none:
        return [f"No open events for you in {thread(found['eventId'])}"]
    also = [f"  also closed: {whole(event_id)}" for event_id in found["alsoClosed"]]
    return [f"Closed: {found['disposition']}  [{whole(found['eventId'])}]", *also]


def progress(found: Foreign) -> list[str]:
    total = f" of {found['total']}" if not found.get("total").is_none else ""
    note = f": {flowing(found['message'])}" if found.get("message") else ""
    return [f"{whole(found['token'])}: {found['progress']}{total}{note}"]


def due_changes(found: Foreign) -> list[str]:
    """The changes that became due."""
    rows = [
        f"{column(str(change['what']).replace('_', ' '), 12)}  {change['agent']}"
        f"{' -> ' + str(change['to']) if 'to' in change else ''}  [{whole(change['eventId'])}]"
        for change in found["due"]
    ]
    return rows or ["Nothing is due."]


def cancelled(found: Foreign) -> list[str]:
    before = "Already cancelled" if found.get("already") else "Cancelled"
    return [f"{before}  [{whole(found['eventId'])}]"]


def stopped(found: Foreign) -> list[str]:
    """The events whose work was stopped, and the order that the agent gets."""
    rows = [f"  stopped  [{whole(event)}]" for event in found["stopped"]]
    nothing = [] if rows else [f"  {found['agent']} worked on no message; it gets the order anyway"]
    return [f"{found['agent']} gets an order to stop  [{whole(found['eventId'])}]", *rows, *nothing]


def sent(found: Foreign) -> list[str]:
    """The state of a message, its effect on each recipient, and warnings."""
    state = found["state"].among(STATES, str(found["state"]))
    again = "Already sent, not sent again: " if found["deduplicated"] else ""
    done = f"; the answered event is {found['disposition']}" if found["disposition"] else ""
    head = f"{again}{state[:1].lower() + state[1:] if again else state}{done}  [{whole(found['messageId'])}]"
    warned = [
        coloured(f"Warning: {flowing(sentence(warning['message']))}  ({warning['code']})", "yellow")
        for warning in found["warnings"]
    ]
    no_effect = [] if found["effects"] or again else ["  no agent is asked to act"]
    note = [f"Note: {flowing(sentence(new['message']))}"] if (new := found.get("newConversation")) else []
    return [head, *warned, *effects(found["effects"]), *no_effect, *note]


STATES = {
    "sent": "Sent",
    "pending": "Waiting in the outbox until it is posted",
    "unknown": "Unknown whether it was posted",
    "failed": "Permanently refused by the platform",
}


def effects(effects: Foreign) -> list[str]:
    """The effect of a message on each agent, the default responder first."""
    first = sorted(effects.items(), key=lambda each: not each[1].get("defaultResponder"))
    return [f"  {column(str(agent), AUTHOR)}  {_effect(effect)}" for agent, effect in first]


def _effect(decision: Foreign) -> str:
    first = ", asked first" if decision.get("defaultResponder") else ""
    return f"{decision['policy']}, {decision['injection']} ({whole(decision['reason'])}){first}"


def reacted(found: Foreign) -> list[str]:
    before = f", instead of {found['superseded']}" if found.get("superseded") else ""
    sign = f"{found['glyph']} {found['signal']}{before}"
    return [f"{sign}; the event is {found['disposition'] or 'still open'}  [{whole(found['eventId'])}]"]


FORMS: dict[str, Callable[[Foreign], Iterable[str]]] = {
    "chat claim": claim,
    "chat defer": deferred,
    "chat resolve": resolved,
    "chat progress": progress,
    "chat tick": due_changes,
    "chat cancel": cancelled,
    "chat stop": stopped,
    "chat send": sent,
    "chat react": reacted,
}
