"""`bb fleet join`: connects this clone to the engine of its fleet."""

from __future__ import annotations

import contextlib

from bb.kernel.errors import BbError
from bb.kernel.plurals import counted
from bb.ledger.fleet import engines, incarnations, same_log, settings
from bb.ledger.published import pins
from bb.ledger.published.fleet_terms import NoFleet
from bb.ledger.travel import publish
from bb.ledger.travel.sync_lock import SyncLock
from bb.ops.catalogue import op
from bb.ops.desk import relay_questions
from bb.ops.fleet import connections, fetching, relay_start
from bb.ops.fleet.parameters import Engine, Timeout
from bb.ops.ledger import applying, fleet_changes
from bb.ops.ledger.running_sync import visible_to
from bb.ops.ledger.sync import must_exist, remote_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.carrier.door import Head
    from bb.ledger.published.tip import Tip
    from bb.ops.desk.desk import Desk

PATIENCE = 60
TO_LOOK = 5.0  # seconds to read the log after the clone has joined


@op(
    "fleet.join",
    screen="fleet",
    examples=("bb fleet join service=bb", "PGSERVICE=bb bb fleet join", "bb fleet join nats://127.0.0.1:4222"),
)
def join(
    desk: Desk,
    engine: Engine | None = None,
    *,
    timeout: Timeout = Timeout(PATIENCE),  # noqa: B008  (a number)
    dry_run: bool = False,
) -> dict[str, Any]:
    """Connect this clone to the engine of the fleet that its ledger names, and start its relay.

    bb fetches the charter of the published ledger first. The engine must have the log that the charter names, with the
    history that is archived on the branch. Otherwise it is refused. bb saves the address in this clone, without any
    secret. To replace it, join again with another address. `bb fleet begin` joins the clone in which it runs.

    The relay sends everything that is recorded in this clone. So joining permits publication, as `bb sync --publish`
    does.

    Parameters:
        dry_run: Check the engine, and say what would be done. Nothing is fetched or saved.
    """
    must_exist(desk)
    name = remote_of(desk, None)
    if not dry_run:
        fetching.fetch(desk, name, timeout)
    pin = connections.known_pins(desk).remote(name)
    tip = pin.tip
    try:
        terms = incarnations.must_have_fleet(tip)
    except NoFleet.error as refusal:
        if dry_run:
            refusal.hint = "nothing is fetched with --dry-run; this fetches the charter: `bb sync --pull`"
        raise
    target = connections.engine(desk, engine, saved=True)
    head, health = _checked(desk, target, tip)
    answer = {
        "dry_run": dry_run,
        "remote": name,
        "engine": connections.shown(target),
        "terms": connections.terms_shown(terms),
        "head": head.place,
        "archived": tip.place if tip else 0,
        "durable": health["durable"],
        "visible_to": None if pin.publishes else f"{visible_to(desk, name)}, and to the machines of the engine",
        "notes": _notes(desk, target),
        "steps": _steps(desk, tip),
    }
    if dry_run:
        return answer
    if not pin.publishes:
        with SyncLock(desk.store.path, connections.TURN_PATIENCE):
            known = connections.known_pins(desk)
            pins.write(desk.store.path, known.with_remote(name, known.remote(name).replace(publishes=True)))
    settings.write(desk.store.path, target)
    void, relay = fleet_changes.follow(desk), relay_start.attend(desk, terms.incarnation)
    contested = _contested(desk) if relay["running"] else []
    return answer | {"void": void, "contested": contested, "relay": relay}


def _contested(desk: Desk) -> list[dict[str, str]]:
    """The reservations of this clone that others hold, as far as the engine's log is read within a moment. What comes
    later, the relay tells the agents."""
    with contextlib.suppress(BbError):
        relay_questions.ask(desk, "fresh", TO_LOOK)
    lost, _ = applying.apply(desk)
    return lost


def _steps(desk: Desk, tip: Tip | None) -> list[str]:
    waiting = counted(publish.lines_beyond(desk.store, tip)[1], "event")
    return [
        "save the engine's address in this clone, without any secret",
        f"start its relay in bb's daemon, which sends {waiting} of this clone to the engine, and each later one",
    ]


def _checked(desk: Desk, target: settings.EngineAddress, tip: Tip | None) -> tuple[Head, dict[str, Any]]:
    """The head of the engine's log, which must be the one that the charter at TIP names, and the engine's health."""
    terms = incarnations.must_have_fleet(tip)
    opened = engines.open_carrier(target, desk.store.clone.repo, terms)
    with connections.in_fleet(), connections.reaching(), contextlib.closing(opened) as carrier:
        head = carrier.head()
        if tip is not None:
            same_log.check(carrier, head, tip)
        try:
            return head, carrier.health()
        except BbError:
            return head, {"durable": None}  # a machine's role may not see the settings


def _notes(desk: Desk, target: settings.EngineAddress) -> list[str]:
    """What the user should know about these settings."""
    if target.carrier == engines.POSTGRES and desk.env.get("PGPASSWORD"):
        return ["PGPASSWORD is only in this shell: the daemon reads the password from ~/.pgpass or a service file"]
    return []
