"""What a clone does after a sync that brought another charter: it follows the end of a fleet, and gives up reservations
that became void. The holder's own clone tells the holder."""

from __future__ import annotations

from bb.coordination.facts import Released
from bb.coordination.holdings import void
from bb.kernel import ids
from bb.ledger.fleet import settings
from bb.ledger.local import fleet_files, presence
from bb.ledger.published import pins
from bb.messaging.mail import fleet_notices
from bb.ops.desk import signs_of_life
from bb.ops.desk.after_recording import AfterRecording
from bb.ops.ledger.contest_notices import writers_of_this_clone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.coordination.holdings.holdings import Reservation
    from bb.ledger.index.index import Index
    from bb.ledger.journal.kinds import Fact
    from bb.ledger.published.pins import Pins
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

    Void = dict[tuple[str, str], list[Reservation]]  # by holder and reason


def follow(desk: Desk) -> list[dict[str, str]]:
    """Follow the charter of the home remote. Returns the reservations of this clone that became void."""
    store = desk.store.path
    known = pins.read(store)
    if not desk.store.exists or known.home is None or known.remote(known.home).tip is None or known.is_elsewhere:
        return []
    if known.terms is None and fleet_files.has_engine(store):
        settings.remove(store)
    return notify_holders(desk)


def notify_holders(desk: Desk) -> list[dict[str, str]]:
    """Give up the reservations of this clone that are void for good, and notify their holders."""
    known = pins.read(desk.store.path)
    incarnation = known.terms.incarnation if known.terms else None
    if not would_be_void(desk, incarnation):
        return []
    ended: list[Reservation] = []

    def decide(_: Index, held: Holdings) -> list[Fact]:
        void = _void(desk, held, known, incarnation)
        ended[:] = [one for lost in void.values() for one in lost]
        letters = [fleet_notices.void(holder, lost, why) for (holder, why), lost in void.items()]
        return [*(Released(one.agent, one.id) for one in ended), *letters]

    principal = signs_of_life.principal(desk)
    signs_of_life.act(
        desk,
        ids.PERSON,
        decide,
        by=principal,
        author=lambda fact: fact.agent if isinstance(fact, Released) else principal,
    )
    for holder in {one.agent for one in ended}:
        _flag(desk, holder, [one.scope for one in ended if one.agent == holder])
    return _shown(ended)


def would_be_void(desk: Desk, incarnation: str | None, *, by_archive: bool = False) -> list[dict[str, str]]:
    """The reservations of this clone that are void for good once the fleet's log is that INCARNATION; None stands for
    the end of the fleet. BY_ARCHIVE assumes that the engine has nothing that is not archived."""
    held, known = desk.holdings(desk.store.caught_up(), desk.now()), pins.read(desk.store.path)
    void = _void(desk, held, known.replace(fleet=None) if by_archive else known, incarnation)
    return _shown([one for lost in void.values() for one in lost])


def _shown(ended: list[Reservation]) -> list[dict[str, str]]:
    return [{"agent_id": one.agent, "scope": one.scope, "reservation_id": one.id} for one in ended]


def _void(desk: Desk, held: Holdings, known: Pins, incarnation: str | None) -> Void:
    """The reservations of this clone that are void for good."""
    found: Void = {}
    for ours in held.of_writers(writers_of_this_clone(desk)):
        reservation = ours.reservation
        if why := void.reason(reservation, known.in_force, incarnation):
            found.setdefault((reservation.agent, why), []).append(reservation)
    return found


def _flag(desk: Desk, agent: str, scopes: list[str]) -> None:
    """Write the scopes into the agent's presence file, so that its next heartbeat reports them."""
    last = presence.read(desk.store.path, agent, desk.now())
    if last:
        with AfterRecording(desk):
            presence.write(desk.store.path, last.replace(contested=(*last.contested, *scopes)))
