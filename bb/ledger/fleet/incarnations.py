"""Begins a fleet, begins its log again after the engine has lost history, and ends it.

    begin   make an empty log whose first place follows the last generation, and push a charter with its terms
    again   publish what the engine still has, make a log whose first place is above every place that anybody has seen,
            and push its terms. Relays send it the lines that it lacks
    end     close the log, publish the rest of it, and push a charter without terms

A log is closed before the push, because nothing may be granted after the last row that is published. So what can be
pushed is pushed before that: a remote that refuses pushes is found while the log is open.

The push is the switch. It succeeds only on the tip that the log was made for, so a line is either published before it
or has a place after it. If another clone pushes first, everything is done again with fresh numbers; the engine allows
this for a log without rows.
"""

from __future__ import annotations

import contextlib
import os

from bb.kernel import clock
from bb.kernel.errors import BbError, Conflict
from bb.kernel.escaping import harmless
from bb.kernel.record import Record
from bb.ledger.carrier.door import EngineNotDurable
from bb.ledger.fleet import last_rows
from bb.ledger.published import fleet_results
from bb.ledger.published.fleet_terms import INCARNATION_LENGTH, FleetTerms, NoFleet
from bb.ledger.travel import switching

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from bb.ledger.carrier.door import Carrier, Keeper
    from bb.ledger.published.tip import Tip
    from bb.ledger.travel.sync import Sync

LEAP = 1_000_000  # places between the last one that anybody has seen and the first one of the next incarnation
# How many rows an engine can have lost, at most. A machine says in its beat how far it has read. One that claims to be
# further ahead of everything else that is known says nothing true, and a charter cannot leap that far.
MOST_LOST = 1 << 30

HOW_DURABLE = {
    "postgres": "set `fsync = on` in postgresql.conf, and restart the server",
    "nats": "set `sync_interval: always` in the `jetstream` section of the server, and name its monitoring address: "
    "nats://HOST:PORT?monitor=http://HOST:8222",
}

FleetExists = Conflict.declare(
    "FLEET_EXISTS",
    "This ledger has a fleet already",
    hint="to connect this clone: `bb fleet join ENGINE`; to move to another engine: `bb fleet begin ENGINE --again "
    "--reason '…'`",
)


class Order(Record):
    """The person's order: who gives it, for which reason, and when."""

    by: str
    reason: str
    now: int

    def terms(self, carrier: str, first: int, incarnation: str) -> FleetTerms:
        return FleetTerms(carrier, incarnation, first, by=self.by, reason=self.reason, ts=clock.text(self.now))


def must_be_durable(carrier: str, health: Mapping[str, Any]) -> None:
    """Refuse an engine that acknowledges lines which a power failure can lose."""
    if not health["durable"]:
        message = f"the engine acknowledges lines that a power failure can lose ({in_words(health)})"
        raise EngineNotDurable(message, hint=HOW_DURABLE[carrier], health=dict(health))


def in_words(health: Mapping[str, Any]) -> str:
    """The settings of an engine, for a sentence. `durable` itself is left out."""
    parts = []
    for name, value in health.items():
        if type(value) is dict:
            parts += [f"{inner} {_setting(setting)}" for inner, setting in value.items()]
        elif type(value) is str and value:
            parts.append(f"{name} {value}")
    return harmless(", ".join(parts))


def _setting(value: object) -> str:
    """A setting in words. NATS has some for each of its servers."""
    return ", ".join(f"{one} on {name}" for name, one in value.items()) if isinstance(value, dict) else str(value)


def begin(sync: Sync, keeper: Keeper, order: Order) -> Tip:
    """Let the engine order all further lines. Everything that is recorded here is published first."""
    incarnation = new_incarnation()

    def attempt() -> Tip:
        sync.look()
        if last_rows.tip_of(sync).charter.fleet:
            raise FleetExists()
        sync.publish_all()
        first = last_rows.tip_of(sync).place + 1
        return _switched(sync, keeper, order.terms(keeper.kind, first, incarnation))

    return sync.repeated(attempt)


def begin_again(sync: Sync, keeper: Keeper, order: Order, before: Carrier | None) -> tuple[Tip, int]:
    """Begin a new incarnation with the engine of KEEPER. BEFORE is the carrier of the log so far, if there is one that
    can be reached: what it has is published first. Returns the tip, and the number of those rows."""
    sync.look()
    must_have_fleet(sync.pin.tip)
    incarnation, seen, rows = new_incarnation(), places_seen(sync, before), 0

    def attempt() -> Tip:
        nonlocal rows
        sync.look()
        rows += last_rows.publish(sync, before) if before else 0
        first = max([*seen, last_rows.tip_of(sync).place]) + LEAP
        return _switched(sync, keeper, order.terms(keeper.kind, first, incarnation))

    return sync.repeated(attempt), rows


def end(sync: Sync, keeper: Keeper, carrier: Carrier) -> tuple[Tip, int]:
    """Close the log, publish the rest of it, and end the fleet. Returns the tip, and the number of rows that were
    published."""
    sync.look()
    terms = must_have_fleet(sync.pin.tip)
    rows = last_rows.publish(sync, carrier)
    closed = keeper.end(last_rows.tip_of(sync).charter.repo, terms.incarnation)

    def attempt() -> Tip:
        nonlocal rows
        sync.look()
        rows += last_rows.publish(sync, carrier)
        last_rows.must_reach(sync, closed.place, closed.digest)
        return switching.end(sync, closed.place)

    with after_closing("bb fleet end"):
        return sync.repeated(attempt), rows


def end_without_engine(sync: Sync, order: Order) -> Tip:
    """End a fleet whose engine is lost. Generations go on above every place that anybody may have seen. What the engine
    had and the archive has not is published by the machines that recorded it; reservations in it are void."""
    incarnation = new_incarnation()

    def attempt() -> Tip:
        sync.look()
        terms = must_have_fleet(sync.pin.tip)
        if terms.incarnation != incarnation:
            first = max([*places_seen(sync, None), last_rows.tip_of(sync).place]) + LEAP
            switching.begin(sync, order.terms(terms.carrier, first, incarnation))
        return switching.end(sync, last_rows.tip_of(sync).place)

    return sync.repeated(attempt)


@contextlib.contextmanager
def after_closing(command: str) -> Iterator[None]:
    """What is done after the log was closed. A refusal says that no machine can reserve until COMMAND is repeated."""
    try:
        yield
    except BbError as refusal:
        refusal.message += f". The engine's log is closed by now: no machine can reserve until `{command}` is repeated"
        refusal.args = (refusal.message,)
        before = f"{refusal.hint}; then " if refusal.hint else ""
        refusal.hint = f"{before}repeat `{command}` with the same words, which completes it"
        raise


def must_have_fleet(tip: Tip | None) -> FleetTerms:
    """The terms in the charter at TIP. Refused if there are none."""
    if tip is None or tip.charter.fleet is None:
        raise NoFleet()
    return tip.charter.fleet


def new_incarnation() -> str:
    return os.urandom(INCARNATION_LENGTH // 2).hex()


def places_seen(sync: Sync, before: Carrier | None) -> list[int]:
    """The places that somebody has seen, as far as this clone can tell, and the engine and the machines that BEFORE
    reaches."""
    saved, seen = fleet_results.read(sync.store.path), [last_rows.tip_of(sync).place]
    if saved:
        seen.append(saved.place)
    if before:
        try:
            seen.append(before.head().place)
            most = max(seen) + MOST_LOST
            seen += [machine.place for machine in before.alive() if machine.place <= most]
        except BbError:  # it is lost, or has another log now: that is why the log begins again
            return seen
    return seen


def _switched(sync: Sync, keeper: Keeper, terms: FleetTerms) -> Tip:
    """Make the log of these TERMS, and push the charter that names them."""
    tip = last_rows.tip_of(sync)
    keeper.begin(tip.charter.repo, terms.incarnation, terms.first, tip.last_lines)
    return switching.begin(sync, terms)
