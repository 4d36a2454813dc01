"""What must be so before an engine is used: it has bb's tables, and the relay can use its address."""

from __future__ import annotations

import contextlib

from bb.kernel.errors import BbError
from bb.ledger.carrier.door import AnotherEngine, Denied, EngineUnreachable
from bb.ledger.fleet import engines, incarnations
from bb.ledger.published.fleet_terms import FleetTerms
from bb.ops.fleet import connections

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.fleet.settings import EngineAddress

UNPREPARED = "ENGINE_UNPREPARED"  # its declaration needs the library of PostgreSQL
MAY_NOT_MAKE = (
    "bb's tables are not there, and this role may not make them. Let the owner of the database run `grant create on "
    "database DATABASE to ROLE`; or let another role run what `bb fleet schema` prints, and name an address of that "
    "role, which then owns the tables"
)
ENROLL_MAKES = (
    "`bb fleet enroll MACHINE ENGINE --do` makes them, as the owner; `bb fleet schema` prints them for the person who "
    "runs the database"
)
ENROLL_FIRST = (
    "enroll the role of the relay first: `bb fleet enroll MACHINE ENGINE --do`, as the owner, which makes bb's tables "
    "too if they are missing; then run this command again"
)


def lacks_tables(keeper: Any) -> bool:
    """Whether the engine of KEEPER has no tables of bb. NATS needs none. Refused for a role that may not use them."""
    if keeper.kind != engines.POSTGRES:
        keeper.logs()
        return False
    try:
        keeper.last_lines("", "")
    except BbError as refusal:
        if refusal.code != UNPREPARED:
            raise
        return True
    return False


def make_tables(keeper: Any, *, dry_run: bool = False) -> None:
    """Make bb's tables if they are missing. A DRY RUN makes them, too, and takes that back, so that it is refused where
    they cannot be made."""
    if not lacks_tables(keeper):
        return
    try:
        if dry_run:
            keeper.run(["begin", engines.schema(), "rollback"])
        else:
            keeper.prepare()
    except Denied.error as refusal:
        raise Denied(refusal.message, hint=MAY_NOT_MAKE) from refusal


def must_have_tables(keeper: Any) -> None:
    """Refuse an engine without bb's tables, on which no rights can be given."""
    try:
        is_lacking = keeper.kind == engines.POSTGRES and lacks_tables(keeper)
    except Denied.error:
        return  # they are there, and belong to another role
    if is_lacking:
        from bb.ledger.carrier.postgres_session import EngineUnprepared  # noqa: PLC0415  (PostgreSQL is in use)

        raise EngineUnprepared(hint=ENROLL_MAKES)


def try_relay(engine: EngineAddress, repo: str, owner: str | None) -> None:
    """Refuse an address of the relay that does not work, while nothing is switched yet. Without bb's tables, only the
    role OWNER, which makes them, is known to work."""
    no_log = FleetTerms(engine.carrier, incarnations.new_incarnation(), 1)
    with contextlib.closing(engines.open_carrier(engine, repo, no_log)) as carrier:
        try:
            carrier.head()
        except AnotherEngine.error:
            return  # it may ask for a log, and there is none of that name
        except BbError as refusal:
            if refusal.code == UNPREPARED and carrier.health()["role"] == owner:
                return
            raise _of_relay(refusal) from refusal


def _of_relay(refusal: BbError) -> BbError:
    """The REFUSAL, with the way to an address of the relay that works."""
    hint = refusal.hint
    if refusal.code == UNPREPARED or (refusal.code == Denied.code and hint == Denied.hint):
        hint = ENROLL_FIRST
    elif refusal.code == EngineUnreachable.code:
        hint = f"{connections.CHECK_ADDRESS}. If the role does not exist: {ENROLL_FIRST}"
    return type(refusal)(f"the relay cannot use its address: {refusal.message}", hint=hint)
