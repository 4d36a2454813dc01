"""What the verbs about a fleet need: the remote whose branch is the archive, and the engine that the request names."""

from __future__ import annotations

import contextlib

from bb.coordination.holdings.reservations import InvalidArgs
from bb.kernel.errors import BbError
from bb.ledger.carrier.door import Denied, EngineUnreachable
from bb.ledger.fleet import engines, settings
from bb.ledger.fleet.overview import IN_FLEET
from bb.ledger.travel import arbitration, renamed_remotes
from bb.ops.ledger.sync import ONLY_PULL, NotPublished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bb.ledger.fleet.settings import EngineAddress
    from bb.ledger.published.fleet_terms import FleetTerms
    from bb.ledger.published.pins import Pins
    from bb.ops.desk.desk import Desk

CHECK_ADDRESS = "check the address, and that the server runs and lets you in; then run the command again"
TURN_PATIENCE = 10.0  # seconds to wait for a running sync


def known_pins(desk: Desk) -> Pins:
    """The saved state of the remotes."""
    return renamed_remotes.pins_now(desk.place)


def arbiter(desk: Desk, known: Pins) -> str:
    """The remote whose branch is, or will be, the archive: the arbiter. This clone must publish to it."""
    name = known.home
    if known.named is not None:
        name = known.arbiter or arbitration.find(desk.place, known.named)
        if name is None:
            raise arbitration.refusal(desk.place, known.named, None)
    if name is None or not known.remote(name).publishes:
        remote = f" --remote {name}" if name else ""
        message = f"this clone has not published to {name or 'a remote'}"
        raise NotPublished(message, hint=f"run `bb sync --publish{remote}` once; {ONLY_PULL}")
    return name


def engine(desk: Desk, named: str | None, *, saved: bool) -> EngineAddress:
    """The engine that is NAMED; if none is, the SAVED one of this clone, or the one in libpq's variables."""
    known = settings.read(desk.store.path) if saved and named is None else None
    return known or engines.parse(named or "", desk.env)


@contextlib.contextmanager
def reaching(if_lost: str = "") -> Iterator[None]:
    """Requests to an engine that the user has named. If it cannot be reached, the address may be wrong."""
    try:
        yield
    except EngineUnreachable.error as refusal:
        lost = f". If the engine is gone for good: {if_lost}" if if_lost else ""
        raise EngineUnreachable(refusal.message, hint=CHECK_ADDRESS + lost) from refusal


@contextlib.contextmanager
def in_fleet() -> Iterator[None]:
    """Requests to the engine of a fleet that exists. If bb's tables are not there, beginning a fleet is not the way."""
    try:
        yield
    except BbError as refusal:
        if refusal.hint == type(refusal).hint:
            refusal.hint = IN_FLEET.get(refusal.code, refusal.hint)
        raise


@contextlib.contextmanager
def as_owner(verb: str, if_lost: str = "") -> Iterator[None]:
    """The same, for what only the role may do that owns bb's tables. IF_LOST is what helps if the engine is gone."""
    try:
        with reaching(if_lost):
            yield
    except Denied.error as refusal:
        if refusal.hint != Denied.hint:  # the carrier knows what helps
            raise
        hint = f"use the role that owns bb's tables: `bb fleet {verb} ENGINE`, with an address that names this role"
        raise Denied(refusal.message, hint=hint) from refusal


def shown(engine: EngineAddress) -> dict[str, str]:
    """An engine in an answer."""
    return engine.members


def terms_shown(terms: FleetTerms | None) -> dict[str, object] | None:
    return terms.as_dict() if terms else None


def needs_reason(verb: str) -> BbError:
    return InvalidArgs(
        f"`bb fleet {verb}` needs a --reason", hint=f"say why: `bb fleet {verb} --reason '…'`", path="$.reason"
    )
