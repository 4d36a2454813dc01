"""Passing a reservation on: somebody else holds it from there on, just as it is.

Its holder may do so, and the person. It is one fact about the reservation, so there is no moment at which a third
could come in between, and nothing is said in the name of who receives it.
"""

from __future__ import annotations

from bb.coordination.facts import Released, Transferred
from bb.coordination.holdings import reservations, scopes
from bb.kernel import show
from bb.kernel.errors import Conflict, Forbidden, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bb.coordination.facts import HoldingFact
    from bb.coordination.holdings.reservations import Held, Overlap
    from bb.coordination.holdings.scopes import Scope


class TransferForbidden(Forbidden):
    """Another agent holds that scope, so it is not yours to pass on."""

    code = "TRANSFER_FORBIDDEN"
    hint = "its holder passes it on, or the person does: `--agent user`"


class ManyHolders(Conflict):
    """Several agents share that scope."""

    code = "MANY_HOLDERS"
    hint = "say whose reservation it is: --from ID"


class GlobalTransfer(Refused):
    """What is held in every clone is not passed on in one of them."""

    code = "GLOBAL_TRANSFER"
    hint = "give it back, and let the other one ask for it: `bb agent reserve --global`"


def given(who: str, scope: Scope, met: Sequence[Overlap], whose: str | None) -> Held:
    """The reservation on exactly this SCOPE that WHO may pass on; WHOSE it is, where several share it."""
    found = reservations.at_disposal(who, scope, met, TransferForbidden)
    mine = [each for each in found if whose in (None, each.reservation.agent)]
    if not mine:
        raise reservations.ReservationNotFound(
            f"{whose} does not hold exactly {show.name(scope.text)}", scope=scope.text
        )
    if len(mine) > 1:
        holders = [each.reservation.agent for each in mine]
        raise ManyHolders(f"{', '.join(holders)} share {show.name(scope.text)}", holders=holders)
    if mine[0].reservation.base is not None:
        raise GlobalTransfer(f"{mine[0].reservation.agent} holds {show.name(scope.text)} in every clone")
    return mine[0]


def transfer(who: str, given: Held, to: str, met: Sequence[Overlap]) -> list[HoldingFact]:
    """What is recorded so that TO holds what is GIVEN; nothing where it does. Who shares it keeps its own."""
    name = given.reservation.id
    if given.reservation.agent == to:
        return []
    on_it = (each.held for each in met if each.kind == scopes.EXACT and not each.held.is_over)
    if any(each.reservation.agent == to for each in on_it):
        return [Released(who, name)]
    return [Transferred(who, name, to)]
