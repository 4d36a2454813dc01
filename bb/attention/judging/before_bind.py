"""Messages that named an agent on a platform before it was bound to that name.

A new binding changes no earlier decision (docs/decisions/0025). But the binding remembers the messages that it came too
late for, so the agent finds them in its lists, and may answer them. They are offered to no turn.
"""

from __future__ import annotations

from itertools import islice

from bb.attention.judging.cases import bystander_delivery, current_message, may_see
from bb.attention.judging.directedness import mentioned_agents
from bb.attention.messages.messages import EVERY
from bb.attention.state.directory import Binding, Directory
from bb.attention.words import ADDRESSED_TO_OTHER, DM
from bb.kernel import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.attention.messages.messages import MessageHead
    from bb.attention.state.attention_state import AttentionState
    from bb.attention.state.deliveries import Delivery

MOST_LOOKED_THROUGH = 2000  # newest messages that are searched when a name is bound
OLDEST = 30 * clock.DAY
MOST_REMEMBERED = 50


def messages_for_new_names(
    book: AttentionState, agent: str, handles: Sequence[str], roles: Sequence[str], now: int
) -> list[MessageHead]:
    """The newest messages that name AGENT by one of these new names, newest first."""
    if not (handles or roles):
        return []
    names = Directory([Binding(agent, tuple(handles), tuple(roles))])
    found: list[MessageHead] = []
    for head in islice(book.newest_messages(EVERY), MOST_LOOKED_THROUGH):
        if now - head.arrived > OLDEST or len(found) == MOST_REMEMBERED:
            break
        is_for_another = head.others.reason == ADDRESSED_TO_OTHER and agent not in (*head.meant, head.agent)
        if is_for_another and not (head.reason or head.is_deleted) and _names(book, agent, head, names):
            found.append(head)
    return found


def _names(book: AttentionState, agent: str, head: MessageHead, names: Directory) -> bool:
    said = current_message(book, head)
    if said.kind == DM:
        return bool(said.recipient) and names.agent(said.recipient, said.platform) == agent
    called = mentioned_agents(said, names)
    return agent in (*called.agents, *called.groups) and may_see(book, agent, head)


def open_before_bind(book: AttentionState, agent: str) -> list[tuple[MessageHead, Delivery]]:
    """The remembered messages that the agent may see and has not answered or resolved, newest first."""
    heads = [head for event in book.binding(agent).earlier if (head := book.message(event)) and not head.is_deleted]
    seen = [head for head in heads if book.delivery(head.event, agent) is None and may_see(book, agent, head)]
    deliveries = [(head, bystander_delivery(book, head, agent)) for head in seen]
    return [(head, delivery) for head, delivery in deliveries if delivery.is_open]


def summary(heads: Sequence[MessageHead], now: int) -> dict[str, Any]:
    """How many messages there are, and how old they are."""
    oldest, newest = min(head.at for head in heads), max(head.at for head in heads)
    count = {"count": len(heads), "oldest": clock.text(oldest), "newest": clock.text(newest)}
    return {**count, "oldestAgeMs": max(now - oldest, 0), "events": [head.event for head in heads]}
