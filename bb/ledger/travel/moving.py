"""Moves the arbiter of a ledger to another remote, or to a new address of the same one.

    tell        one commit on the arbiter so far names the next one. Its order ends there: the remote accepts the commit
                only on its tip, so no grant is lost and none is made afterwards
    take over   one commit on the next arbiter has the results of the order so far. Its order decides from there on

If a move is interrupted between the two, nobody grants anything until it is run again. An arbiter that is lost cannot
be told. Then the results that this clone knows count, and later grants by the lost one are void.
"""

from __future__ import annotations

from bb.kernel import clock
from bb.kernel.errors import Conflict, Refused
from bb.kernel.record import Record
from bb.ledger.published import fleet_terms
from bb.ledger.published.arbiter import Arbiter
from bb.ledger.published.charter import LedgerRewritten
from bb.ledger.travel import admitted, arbitration, publish, remote, rotation
from bb.ledger.travel.sync import Sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.coordination.holdings.admission import Admitted
    from bb.ledger.records.store import Store

BEYOND_FLEET = 1 << 20  # places after the last one known of a fleet that is lost

UnclearAddress = Refused.declare(
    "UNCLEAR_ADDRESS",
    "The remote is fetched from one address and pushed to another, so it cannot be the arbiter",
    hint="if both lead to one repository, say which address it is known by: `git config remote.NAME.bbUrl URL`",
)

LOST = (
    "add the arbiter as a remote (`bb ledger arbiter` shows it) and try again; if it is gone for good, or only has "
    "another address now: --lost. Reservations that it grants meanwhile are void"
)

IsTheArbiter = Conflict.declare(
    "IS_THE_ARBITER", "That remote is the arbiter already", hint="`bb ledger arbiter` shows the arbiter"
)


class Move(Record):
    """A move of the arbiter. TOLD is the remote that was the arbiter and names the next one; None if it is lost."""

    arbiter: Arbiter
    told: str | None
    generation: int


def move(store: Store, name: str, by: str, reason: str, now: int, patience: float, *, is_lost: bool) -> Move:
    """Make the remote NAME the arbiter. IS_LOST allows a move although the arbiter so far cannot be told."""
    target = Sync(store, name, now, patience)
    if not target.address:
        raise UnclearAddress(f"{name} is fetched from one address and pushed to another")
    target.look(may_be_gone=True)
    named = target.pins.named
    _refuse_in_fleet(target, is_lost=is_lost)
    if target.decides:
        raise IsTheArbiter(f"{name} is the arbiter already")
    if named is None or named.address != target.address:
        previous = arbitration.find(store.place, named) if named else target.pins.home
        url, about = arbitration.url(store.place, name, target.address), (by, reason, clock.text(now))
        after = Arbiter(2 if named is None else named.turn + 1, target.address, url, _last_generation(target), *about)
        named = _told_or_lost(Sync(store, previous, now, patience) if previous else None, named, after, is_lost=is_lost)
    target = Sync(store, name, now, patience)
    told = _told_remote(target, named)
    if told is None and not is_lost:
        raise arbitration.NotTheArbiter(f"no remote here says that {name} is to be the arbiter", hint=LOST)
    return Move(named, told, _taken_over(target, named, told))


def _refuse_in_fleet(target: Sync, *, is_lost: bool) -> None:
    """Refuse a move while a fleet's engine orders the ledger, because the archive of its rows would be on two branches.
    If the arbiter IS_LOST, the fleet is lost with it."""
    fleets = [name for name, pin in target.pins.remotes.items() if pin.tip and pin.tip.charter.fleet]
    if target.name in fleets or (fleets and not is_lost):
        hint = "end the fleet first: `bb fleet end`. If the arbiter is gone for good, the fleet ends with it: --lost"
        raise fleet_terms.FleetIsOn(f"a fleet's engine orders the ledger on {fleets[0]}", hint=hint)


def _told_or_lost(previous: Sync | None, named: Arbiter | None, after: Arbiter, *, is_lost: bool) -> Arbiter:
    """The arbiter AFTER the NAMED one, which is the remote PREVIOUS here, and is told so unless it IS_LOST."""
    if previous is None:
        if is_lost or named is None:
            return after
        raise arbitration.NotTheArbiter(f"the arbiter so far, {named.url}, is no remote of this clone", hint=LOST)
    try:
        return _told(previous, after)
    except (*remote.unreachable(), *remote.denied(), remote.RemoteNotFound.error, LedgerRewritten.error) as why:
        if is_lost:
            return after
        why.hint = f"nothing was moved; {LOST}"
        raise


def _told_remote(target: Sync, named: Arbiter) -> str | None:
    """The remote that was the arbiter before the NAMED one, and that says so."""
    pins = target.pins.remotes.items()
    for name, pin in pins:
        if pin.tip and pin.tip.charter.arbiter == named and name != target.name:
            return name if pin.tip.generation >= named.generation else None
    return None


def _last_generation(target: Sync) -> int:
    """The last generation that counts, as far as this clone knows."""
    pins = target.pins
    known = pins.remote(pins.arbiter).tip if pins.arbiter else None
    last = max(known.place if known else 0, pins.admitted.latest, pins.fleet.place if pins.fleet else 0)
    # Other clones may know later rows of the fleet, and nobody here can tell how many.
    return last + (BEYOND_FLEET if known and known.charter.fleet else 0)


def _told(previous: Sync, named: Arbiter) -> Arbiter:
    """Let the arbiter so far name the next one, in a commit of its own after everything that is known here."""

    def tell() -> Arbiter:
        previous.look()
        previous.publish_all()
        tip = previous.pin.tip
        if tip is None:
            raise LedgerRewritten(f"the branch of the ledger is missing on {previous.name}")
        after = named.replace(generation=tip.generation + 1)
        previous.push(publish.Unpublished({}, 0), after)
        return after

    return previous.repeated(tell)


def _taken_over(target: Sync, named: Arbiter, told: str | None) -> int:
    """Let the next arbiter take over the results. Returns the generation of that commit."""

    def take_over() -> int:
        target.look(may_be_gone=True)
        target.pins = target.pins.replace(named=named)
        return target.push(target.wanted(), named, _results(target, named, told)).generation

    return target.repeated(take_over)


def _results(target: Sync, named: Arbiter, told: str | None) -> Admitted:
    """The results of the order so far. Reservations that only the next arbiter has were published with this move."""
    store, live = target.store, rotation.live(target.store)
    known = target.pins.fleet.admitted if target.pins.fleet else target.pins.admitted
    if told and (tip := target.pins.remote(told).tip):
        commits, begun = admitted.whole_history(store, tip)
        known = admitted.admit_commits(begun, commits, arbitration.address(store.place, told))
    known = known.keeping(live)
    others = {name: named.generation for name in live if name not in known.generations and named.generation}
    return known.replace(generations={**known.generations, **others})
