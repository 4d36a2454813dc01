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
    from typing import Any

    from bb.coordination.facts import AgentFact

GENESIS = "group.create"
MERGED = "x.bb.merged"

# fact, kind, and the members of `data` that hold the fact's fields, in order
WRITTEN: tuple[tuple[type[AgentFact], str, tuple[str, ...]], ...] = (
    (Registered, "actor.add", ("actor_id", "role", "title")),
    (Updated, "actor.update", ("actor_id", "role", "title")),
    (Retired, "actor.remove", ("actor_id",)),
    (Seen, "x.bb.seen", ("actor_id", "after")),
)
BY_FACT = {fact: (kind, members) for fact, kind, members in WRITTEN}
BY_KIND = {kind: (fact, members, fact.required()) for fact, kind, members in WRITTEN}

FOLDS = dict.fromkeys(roster.FACTS, roster)


def written(fact: AgentFact) -> tuple[str, dict[str, Any]]:
    """The kind and data that FACT is recorded as."""
    kind, members = BY_FACT[type(fact)]
    data = dict(zip(members, fact.as_dict().values(), strict=True))
    return kind, {member: value for member, value in data.items() if value is not None}


def fact_of(kind: str, data: dict[str, Any]) -> AgentFact | None:
    """The fact that an event of this kind with this data records; None when it is none that we know."""
    known = BY_KIND.get(kind)
    if known is None:
        return None
    make, members, required = known
    values: list[Any] = [data.get(member) for member in members]
    if None in values[:required] or [value for value in values if type(value) is not str and value is not None]:
        return None
    return make(*values) if ids.is_agent_id(values[0]) else None
