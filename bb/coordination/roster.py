"""Everybody who ever registered, as a fold over the facts about agents.

Facts may arrive in any order: a field is a register that keeps the value with the highest place in the order, the
moment of joining keeps the lowest, and the ledger hands over each line once. So every clone that knows the same lines
has the same roster.
"""

from __future__ import annotations

from bb.coordination.facts import Registered, Retired, Seen, Updated
from bb.kernel import clock
from bb.kernel.order import earliest, latest
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from bb.coordination.facts import AgentFact
    from bb.kernel.order import Place, State

NAME = "agent"
FACTS = (Registered, Updated, Retired, Seen)


class Agent(Record):
    """One identity, as the ledger has it; what is known of its heartbeats is the presence file's business."""

    agent_id: str
    role: str
    title: str
    created_at: int
    heard_at: int
    is_retired: bool
    changes: int


def keys(fact: AgentFact, at: Place) -> list[str]:  # noqa: ARG001  (other folds name their entries by place)
    """The entry of the roster that FACT is about."""
    return [fact.agent]


def step(state: State | None, fact: AgentFact, at: Place, ts: str) -> State:
    """STATE after one more fact, which stands AT a place in the total order and was written at TS."""
    after = dict(state or {"changes": 0})
    latest(after, "heard", at, ts)
    match fact:
        case Registered(role=role, title=title):
            earliest(after, "joined", at, ts)
            latest(after, "role", at, role)
            latest(after, "title", at, title)
            latest(after, "retired", at, False)
            after["changes"] += 1
        case Updated(role=role, title=title):
            if role is not None:
                latest(after, "role", at, role)
            if title is not None:
                latest(after, "title", at, title)
            after["changes"] += 1
        case Retired():
            latest(after, "retired", at, True)
            after["changes"] += 1
        case Seen():
            pass
    return after


def in_service(states: Iterable[tuple[str, State | None]]) -> list[Agent]:
    """The identities that are not retired, of all there are."""
    return [found for name, state in states if (found := agent(name, state)) and not found.is_retired]


def agent(agent_id: str, state: Mapping[str, Any] | None) -> Agent | None:
    """The identity that STATE describes; None until its registration is known here."""
    if state is None or "joined" not in state:
        return None
    value = {name: register[3] for name, register in state.items() if name != "changes"}
    return Agent(
        agent_id=agent_id,
        role=value["role"],
        title=value["title"],
        created_at=clock.parse_or(value["joined"], 0),
        heard_at=clock.parse_or(value["heard"], 0),
        is_retired=value["retired"],
        changes=state["changes"],
    )
