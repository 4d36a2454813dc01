"""Freezes: reservations of the person that stop all changes by agents.

A freeze may overlap reservations of agents. The agents keep their reservations but must not change frozen paths until
the freeze is lifted. A freeze needs no heartbeat, cannot be taken over, and no option of an agent bypasses it.
"""

from __future__ import annotations

from bb.coordination.facts import Expired, Released, Reserved
from bb.coordination.holdings import scopes
from bb.coordination.holdings.holdings import FOREVER
from bb.kernel import escaping, ids
from bb.kernel.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bb.coordination.facts import HoldingFact
    from bb.coordination.holdings.held import Held, Overlap
    from bb.coordination.holdings.scopes import Scope

BEAD = "freeze"  # the bead of a freeze

NotFrozen = NotFound.declare(
    "NOT_FROZEN", "There is no freeze on that scope", hint="list the freezes: `bb agent status --agent user`"
)


def freeze(wanted: Iterable[Scope], why: str | None, minutes: int | None, met: Sequence[Overlap]) -> list[HoldingFact]:
    """The facts that freeze the scopes WANTED, given the overlaps MET. A scope with the same freeze adds none."""
    facts: list[HoldingFact] = []
    for scope in wanted:
        before = [overlap.held.reservation for overlap in met if overlap.wanted == scope and _is_on(overlap)]
        if minutes is None and any(held.has_no_end and held.why == why for held in before):
            continue
        facts += [Released(ids.PERSON, held.id) for held in before]
        facts.append(
            Reserved(
                *(ids.PERSON, scope.where, BEAD, minutes or FOREVER),
                is_file=scope.is_file,
                why=why,
                region=scope.region,
            )
        )
    return facts


def thaw(wanted: Scope, met: Sequence[Overlap]) -> list[HoldingFact]:
    """The facts that lift the freeze on exactly the scope WANTED."""
    if here := [overlap.held for overlap in met if _is_on(overlap)]:
        return [Released(ids.PERSON, held.reservation.id) for held in here]
    near = [overlap.held.reservation.scope for overlap in met if overlap.held.reservation.is_freeze]
    hint = f"name the frozen scope exactly: {', '.join(map(escaping.name, near))}" if near else None
    raise NotFrozen(f"{escaping.name(wanted.text)} is not frozen", hint=hint, scope=wanted.text)


def thaw_all(frozen: Iterable[Held]) -> list[HoldingFact]:
    """The facts that lift all FROZEN reservations. Those that have expired end as expired."""
    return [(Expired if held.is_over else Released)(ids.PERSON, held.reservation.id) for held in frozen]


def holders_affected(met: Iterable[Overlap]) -> dict[str, list[Held]]:
    """The live reservations in MET, by their holders."""
    by_agent: dict[str, list[Held]] = {}
    for overlap in met:
        own = by_agent.setdefault(overlap.held.reservation.agent, [])
        if not overlap.held.is_over and overlap.held not in own:
            own.append(overlap.held)
    return {agent: held for agent, held in by_agent.items() if held and agent != ids.PERSON}


def _is_on(meeting: Overlap) -> bool:
    return meeting.kind == scopes.EXACT and meeting.held.reservation.is_freeze
