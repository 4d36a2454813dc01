"""Transferring a reservation to another agent in one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bb.coordination.agents.pauses import AgentPaused
from bb.coordination.holdings import scopes, transfers
from bb.coordination.holdings.held import Overlap
from bb.coordination.holdings.holdings import Reservation
from bb.ledger.index.index import Index
from bb.ledger.views.holdings import Holdings
from bb.messaging.mail import person_notices
from bb.ops.agent_params import Why
from bb.ops.catalogue import op
from bb.ops.desk import pause_check, signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.holdings.recording import answer, scopes_of
from bb.ops.params import AgentOrPerson, AllowSecretReason, Key, Scope


@op(
    "agent.transfer",
    screen="person_orders",
    examples=(
        "bb agent transfer --agent amber-otter --scope src/parser --to cobalt-harbor",
        "bb agent transfer --agent user --scope src/parser --to cobalt-harbor --why 'amber-otter is gone' --json",
    ),
)
def transfer(
    desk: Desk,
    *,
    agent: AgentOrPerson | None = None,
    scope: list[Scope],
    to: AgentOrPerson,
    from_: AgentOrPerson | None = None,
    why: Why | None = None,
    key: Key | None = None,
    allow_secret: AllowSecretReason | None = None,
) -> dict[str, Any]:
    """Transfer your reservations of these scopes to another agent, with the same bead and time.

    The transfer is atomic: no third agent can reserve the scopes in between, and of several scopes all are transferred
    or none. The person (`--agent user`) may transfer any agent's reservation; both agents are notified. To describe the
    work and its state, send a hand-off: `bb protocol handoff`. A global reservation cannot be transferred.

    Parameters:
        to: The new holder.
        from_: The current holder; needed only if several agents share the scope.
    """
    who = signs_of_life.caller(desk, agent, may_be_person=True)
    wanted_scopes = scopes_of(desk, scope)
    before: dict[str, str] = {}

    def decide(index: Index, held: Holdings) -> list[Any]:
        signs_of_life.in_service(index, to)
        if pause := pause_check.pause_of(index, to):
            raise AgentPaused(pause.sentence(to), agent_id=to, hint=f"unpause it first: bb agent unpause {to}")
        passed: list[Reservation] = []
        facts = [fact for one in wanted_scopes for fact in passed_on(one, held.overlaps([one]), passed)]
        return [*facts, *(person_notices.transferred(who, passed, to, why) if passed else ())]

    def passed_on(one: scopes.Scope, met: Sequence[Overlap], passed: list[Reservation]) -> list[Any]:
        """The facts of one transfer. Its reservation is added to PASSED if it changes hands."""
        transferable = transfers.transferable(who, one, met, from_)
        before[one.text] = transferable.reservation.agent
        facts = transfers.transfer(who, transferable, to, met)
        passed += [transferable.reservation] if facts else []
        return list(facts)

    signs_of_life.act(desk, who, decide, key=key, allow_secret=allow_secret)
    held = desk.holdings(desk.store.index, desk.now())
    names = [
        on.reservation.id
        for one in wanted_scopes
        for on in held.reservations_of_scope(one)
        if on.reservation.agent == to
    ]
    return answer(desk, names) | {"transferred_from": sorted({agent for agent in before.values() if agent != to})}
