"""Facts and the event kinds they are written as. One entry a kind; reading is tolerant, writing is not.

A line whose kind is not listed, or whose data does not fit, is no fact to this version: it is kept in the ledger,
shown as it is, and skipped by every fold.
"""

from __future__ import annotations

from bb.coordination import roster
from bb.coordination.facts import Registered, Retired, Seen, Updated
from bb.kernel import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bb.coordination.facts import AgentFact
    from bb.kernel.event import Event

GENESIS = "group.create"
MERGED = "x.bb.merged"

# fact, kind, and the member of `data` for each of the fact's fields
WRITTEN: tuple[tuple[type, str, dict[str, str]], ...] = (
    (Registered, "actor.add", {"agent": "actor_id", "role": "role", "title": "title"}),
    (Updated, "actor.update", {"agent": "actor_id", "role": "role", "title": "title"}),
    (Retired, "actor.remove", {"agent": "actor_id"}),
    (Seen, "x.bb.seen", {"agent": "actor_id", "after": "after"}),
)
BY_FACT = {fact: (kind, members) for fact, kind, members in WRITTEN}
BY_KIND = {kind: (fact, members) for fact, kind, members in WRITTEN}

FOLDS = dict.fromkeys(roster.FACTS, roster)


def written(fact: AgentFact) -> tuple[str, dict[str, Any]]:
    """The kind and data that FACT is recorded as."""
    kind, members = BY_FACT[type(fact)]
    data = {member: getattr(fact, field) for field, member in members.items()}
    return kind, {member: value for member, value in data.items() if value is not None}


def fact_of(event: Event) -> AgentFact | None:
    """The fact that EVENT records; None when it is none that we know."""
    known = BY_KIND.get(event.kind)
    if known is None:
        return None
    make: Callable[..., AgentFact] = known[0]
    values = {field: event.data[member] for field, member in known[1].items() if member in event.data}
    if not all(type(value) is str for value in values.values()) or not ids.is_agent_id(values.get("agent", "")):
        return None
    try:
        return make(**values)
    except TypeError:  # a member is missing
        return None
