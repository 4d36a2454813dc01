"""The names that this clone registered after another clone had them (`coordination/agents/name_claims.py`)."""

from __future__ import annotations

from bb.coordination.agents import roster
from bb.ops.desk import signs_of_life

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.index.index import Index
    from bb.ops.desk.desk import Desk

NEXT = "bb agent rename NEW --agent {name}"
OR = "or, if both are one agent on purpose: bb agent merge --agent {name}"


def taken_names(desk: Desk, index: Index) -> list[str]:
    """The names of agents of this clone that must decide, because the name belongs to an agent of another clone."""
    if not index.count(roster.NAME, roster.RIVALS):
        return []
    agents = roster.in_service(index.entries_by_term(roster.NAME, roster.RIVALS))
    return [agent.agent_id for agent in agents if signs_of_life.own_rivals(desk, agent)]
