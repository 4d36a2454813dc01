"""Transfers: another agent becomes the holder of a reservation.

The holder or the person may transfer a reservation. A transfer is one fact about the reservation, so no other agent can
reserve the scope in between, and nothing is recorded in the recipient's name.
"""

from __future__ import annotations

from bb.coordination.facts import Released, Transferred
from bb.coordination.holdings import reservations, scopes
from bb.kernel import escaping
from bb.kernel.errors import Conflict, Forbidden, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bb.coordination.facts import HoldingFact
    from bb.coordination.holdings.held import Held, Overlap
    from bb.coordination.holdings.scopes import Scope

TransferForbidden = Forbidden.declare(
    "TRANSFER_FORBIDDEN",
    "Another agent holds that scope, so you cannot transfer it",
    hint="ask the holder to transfer it: `bb send HOLDER 'text'`",
)

ManyHolders = Conflict.declare(
    "MANY_HOLDERS", "Several agents share that scope", hint="name the holder: `bb agent transfer --from ID`"
)

GlobalTransfer = Refused.declare(
    "GLOBAL_TRANSFER",
    "A global reservation cannot be transferred",
    hint="release it, and let the other agent reserve it: `bb reserve --global`",
)


def transferable(who: str, scope: Scope, met: Sequence[Overlap], whose: str | None) -> Held:
    """The reservation on exactly SCOPE that WHO may transfer. WHOSE names the holder if several agents share it."""
    permitted = reservations.usable_reservations(who, scope, met, TransferForbidden)
    chosen = [held for held in permitted if whose in (None, held.reservation.agent)]
    if not chosen:
        raise reservations.ReservationNotFound(
            f"{whose} has no reservation for exactly {escaping.name(scope.text)}", scope=scope.text
        )
    if len(chosen) > 1:
        holders = [held.reservation.agent for held in chosen]
        raise ManyHolders(f"{', '.join(holders)} share {escaping.name(scope.text)}", holders=holders)
    held = chosen[0].reservation
    if held.is_global:
        hint = "release it, and let the other agent reserve it: `bb reserve`" if held.order else None
        raise GlobalTransfer(f"{held.agent} holds {escaping.name(scope.text)} in every clone", hint=hint)
    return chosen[0]


def transfer(who: str, given: Held, to: str, met: Sequence[Overlap]) -> list[HoldingFact]:
    """The facts that make TO the holder of GIVEN. If TO shares the scope, GIVEN is only released."""
    name = given.reservation.id
    if given.reservation.agent == to:
        return []
    same_scope = (overlap.held for overlap in met if overlap.kind == scopes.EXACT and not overlap.held.is_over)
    if any(held.reservation.agent == to for held in same_scope):
        return [Released(who, name)]
    return [Transferred(who, name, to)]
