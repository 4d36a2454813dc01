"""`bb fleet begin`: lets an engine order the ledger, or begins its log again."""

from __future__ import annotations

import contextlib

from bb.kernel import secret_patterns
from bb.kernel.errors import BbError
from bb.kernel.plurals import counted
from bb.ledger.carrier.door import AnotherEngine
from bb.ledger.fleet import engines, incarnations, last_rows, replaced_logs, settings
from bb.ledger.fleet.incarnations import FleetExists, Order
from bb.ledger.fleet.replaced_logs import OpenLog
from bb.ledger.published import fleet_results
from bb.ledger.published.fleet_terms import NoFleet
from bb.ledger.travel import publish
from bb.ledger.travel.sync import Sync
from bb.ledger.travel.sync_lock import SyncLock
from bb.ops.agent_params import AsPerson, Why
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.fleet import connections, preparing, relay_start
from bb.ops.fleet.parameters import Engine, Timeout
from bb.ops.ledger import fleet_changes
from bb.ops.ledger.running_sync import apply_fetched
from bb.ops.ledger.sync import must_exist

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.carrier.door import Carrier, Keeper
    from bb.ledger.fleet.settings import EngineAddress
    from bb.ledger.published.fleet_terms import FleetTerms
    from bb.ledger.published.pins import Pins
    from bb.ledger.published.tip import Tip
    from bb.ops.desk.desk import Desk

PATIENCE = 300
RELAY = "`bb fleet begin ENGINE --relay ENGINE`: two addresses of one engine, which differ in the role"


class RelayEngine(Engine):
    """The address that the relay of this clone uses, if it differs from ENGINE: with the role of this machine."""


@op(
    "fleet.begin",
    screen="fleet",
    examples=(
        "bb fleet begin postgres://db.example.org/bb --dry-run",
        "bb fleet begin service=bb-owner --relay service=bb",
        "bb fleet begin --again --reason 'the database was restored from the backup of Monday'",
    ),
)
def begin(
    desk: Desk,
    engine: Engine | None = None,
    *,
    again: bool = False,
    reason: Why | None = None,
    relay: RelayEngine | None = None,
    agent: AsPerson | None = None,
    timeout: Timeout = Timeout(PATIENCE),  # noqa: B008  (a number)
    dry_run: bool = False,
) -> dict[str, Any]:
    """Let an engine order the ledger of this repository, for a fleet of machines. Only the person may do this.

    Run this in a clone that publishes to the arbiter. bb publishes what is recorded there, and checks that a power
    failure of the engine loses nothing. It makes its tables in the engine if they are missing. If your role may not
    make tables, `bb fleet schema` prints them for the person who may. If the relay has an address of its own, it must
    work already: enroll its role first (`bb fleet enroll`). Then bb makes a log for this repository, and
    pushes a charter that names the log. This push is the switch. From then on, plain `bb reserve` holds in every clone,
    and the published branch is the archive of the engine. Versions of bb that do not know fleets refuse the ledger.
    Other clones connect with `bb fleet join`.

    --again begins a new log. Use it if the engine has lost history (ENGINE_REWOUND), or to move to another engine. bb
    closes the old log, and publishes what it still has. The places of the new log begin at least a million higher, so
    tokens only rise. Reservations that only the lost part of the old log had are void, and their holders are told.

    Parameters:
        again: Begin a new log for a fleet that exists.
        reason: The reason. Every clone shows it. Needed with --again.
        dry_run: Ask the engine, and say what would be done. Nothing is fetched, published or saved.
    """
    must_exist(desk)
    who = signs_of_life.person(desk, agent)
    if again and reason is None:
        raise connections.needs_reason("begin --again")
    secret_patterns.refuse_secrets(reason or "")
    target = connections.engine(desk, engine, saved=again)
    own = target if relay is None else engines.parse(relay, desk.env)
    if own.carrier != target.carrier:
        raise AnotherEngine(
            f"the relay must use the same engine, which is {target.carrier}, not {own.carrier}", hint=RELAY
        )
    known = connections.known_pins(desk)
    beginning = _Beginning(desk, known, target, Order(who, reason or "", desk.now()), is_again=again)
    with connections.as_owner("begin"), contextlib.closing(engines.keeper(target)) as keeper:
        health = keeper.health()
        incarnations.must_be_durable(target.carrier, health)
    if own != target:
        preparing.try_relay(own, desk.store.clone.repo, health.get("role"))
    with connections.as_owner("begin"), contextlib.closing(engines.keeper(target)) as keeper:
        preparing.make_tables(keeper, dry_run=dry_run)
        planned = beginning.planned(keeper)
        if dry_run:
            return planned
        made = beginning.made(keeper, timeout)
    settings.write(desk.store.path, own)
    relays = relay_start.attend(desk, str(made["terms"]["incarnation"]))
    return planned | made | {"void": fleet_changes.follow(desk), "relay": relays}


class _Beginning:
    """One beginning of a log, with the engine TARGET."""

    def __init__(self, desk: Desk, known: Pins, target: EngineAddress, order: Order, *, is_again: bool) -> None:
        self._desk, self._known, self._target, self._order = desk, known, target, order
        self._remote = connections.arbiter(desk, known)
        self._tip = known.remote(self._remote).tip
        self._is_again = is_again
        self.still_open: str | None = None  # why the log so far could not be closed
        fleet = self._tip.charter.fleet if self._tip else None
        if fleet and not is_again:
            raise FleetExists()
        if is_again and not fleet:
            raise NoFleet()

    def planned(self, keeper: Keeper) -> dict[str, Any]:
        """What will be done, as far as it can be known without a fetch."""
        return {
            "dry_run": True,
            "again": self._is_again,
            "remote": self._remote,
            "engine": connections.shown(self._target),
            "terms": None,
            "first": self._first(),
            "rows": 0,
            "void": fleet_changes.would_be_void(self._desk, "?", by_archive=self._is_again),
            "still_open": None,
            "steps": self._steps(keeper),
        }

    def _first(self) -> int:
        saved = fleet_results.read(self._desk.store.path)
        last = max(self._tip.place if self._tip else 0, saved.place if saved else 0)
        return last + (incarnations.LEAP if self._is_again else 1)

    def _steps(self, keeper: Keeper) -> list[str]:
        tip, store, name = self._tip, self._desk.store, self._remote
        writers = counted(len(tip.last_lines) if tip else 0, "writer")
        if self._is_again:
            steps = [
                "close the log so far, if its engine can be reached: it takes no more lines",
                f"publish on {name} what the engine's log so far still has, as far as it continues the archive",
                "give up reservations that are neither in the archive nor in that log any more",
            ]
        else:
            waiting = counted(publish.unpublished(store, tip).count, "event")
            steps = [f"publish {waiting} on {name}, and whatever else is recorded until then"]
        if preparing.lacks_tables(keeper):
            steps.append("make bb's tables in the engine")
        least = "above every place that anybody has seen" if self._is_again else "after the last generation"
        return [
            *steps,
            f"make a log for repository {store.clone.repo} in the engine",
            f"begin it at place {self._first()} or later, {least}",
            f"note the last published lines of {writers} in it",
            f"push a charter with the new log to {name}. From then on, only bb with fleets reads this ledger",
            "save the engine's address in this clone, without any secret, and start its relay in bb's daemon",
        ]

    def made(self, keeper: Keeper, timeout: int) -> dict[str, Any]:
        """Do it."""
        desk, store = self._desk, self._desk.store
        with SyncLock(store.path, connections.TURN_PATIENCE), store.git, contextlib.ExitStack() as stack:
            sync = Sync(store, self._remote, desk.now(), timeout)
            tip, rows = self._begun(sync, keeper, stack)
            apply_fetched(desk, sync.outcome())
        return {
            "dry_run": False,
            "terms": connections.terms_shown(tip.charter.fleet),
            "first": tip.charter.fleet.first if tip.charter.fleet else 0,
            "rows": rows,
            "still_open": self.still_open,
            "tip": tip.commit,
        }

    def _begun(self, sync: Sync, keeper: Keeper, stack: contextlib.ExitStack) -> tuple[Tip, int]:
        if not self._is_again:
            return incarnations.begin(sync, keeper, self._order), 0
        sync.look()  # nothing is closed as long as the charter cannot be replaced
        terms = incarnations.must_have_fleet(sync.pin.tip)
        saved = settings.read(self._desk.store.path)
        old = saved if saved and saved.carrier == terms.carrier else None
        before = self._before(old, terms, stack)
        early = last_rows.publish(sync, before) if before else 0  # nor as long as the remote refuses pushes
        self._close(keeper, old, terms)
        closed = contextlib.nullcontext() if self.still_open else incarnations.after_closing("bb fleet begin --again")
        with closed:
            tip, rows = incarnations.begin_again(sync, keeper, self._order, before)
        return tip, early + rows

    def _close(self, keeper: Keeper, old: EngineAddress | None, terms: FleetTerms) -> None:
        """Close the log so far, so that nothing is added to it. If that is not possible now, it is done later.

        The engine that begins the new log can have a copy of the old one, as a restored backup or a former standby has.
        Then the old server may still run, with its own log."""
        repo, store = self._desk.store.clone.repo, self._desk.store.path
        is_closed = self._is_closed_by(keeper, terms)
        if old is None:
            if not is_closed:
                self.still_open = f"this clone does not know the engine of log {terms.incarnation}"
            return
        if is_closed and (old == self._target or self._is_seen_closed(old, terms)):
            return
        log = OpenLog(old.carrier, old.address, repo, terms.incarnation, old.service_file)
        try:
            replaced_logs.close(log)
        except BbError as refusal:
            replaced_logs.note(store, log)
            self.still_open = refusal.message

    def _is_closed_by(self, keeper: Keeper, terms: FleetTerms) -> bool:
        """Close the log so far on the engine that begins the new one, if that has it."""
        if keeper.kind != terms.carrier:
            return False
        try:
            keeper.end(self._desk.store.clone.repo, terms.incarnation)
        except BbError:
            return False  # it is on another engine, or lost
        return True

    def _is_seen_closed(self, old: EngineAddress, terms: FleetTerms) -> bool:
        """Whether OLD has the log that was closed just now: it is another address of the same engine."""
        try:
            with contextlib.closing(engines.open_carrier(old, self._desk.store.clone.repo, terms)) as carrier:
                return carrier.head().is_closed
        except BbError:
            return False

    def _before(self, old: EngineAddress | None, terms: FleetTerms, stack: contextlib.ExitStack) -> Carrier | None:
        """The carrier of the log so far, or of the copy that the new engine has. None if neither can be reached."""
        repo = self._desk.store.clone.repo
        for engine in (old, self._target):
            if engine is None or engine.carrier != terms.carrier:
                continue
            try:
                carrier = stack.enter_context(contextlib.closing(engines.open_carrier(engine, repo, terms)))
                carrier.head()
            except BbError:
                continue
            return carrier
        return None
