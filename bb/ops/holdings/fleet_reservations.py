"""Reservations in a fleet: they hold in every clone, because the order of rows on the engine decides.

    record   record the reservation here, for the engine's log, after the usual checks against what this clone knows
    settle   the relay sends it, and reads what it is at its place in the engine's order
    answer   granted; or it is given up, and the refusal names the holder

Nothing that affects other agents is recorded before the grant: a take-over is only named in the request. A take-over
counts only if the holder has recorded nothing since the place that this clone has read.

If the answer is lost, the reservation is pending. It is not held, and the same lines are sent again until that is
settled.
"""

from __future__ import annotations

import contextlib
import os

from bb.coordination.agents import liveness
from bb.coordination.facts import Released, Reserved, TakenOver
from bb.coordination.holdings.reservations import (
    InvalidArgs,
    ReservationConflict,
    ReservationStaleFound,
    command,
)
from bb.kernel import clock, escaping, ids
from bb.kernel.errors import BbError, Busy, Conflict
from bb.ledger.carrier.door import AnotherEngine, EngineUnreachable
from bb.ledger.fleet import asking
from bb.ledger.journal import kinds, writers
from bb.ledger.local import presence
from bb.ledger.published import heard_elsewhere
from bb.ops.desk import fleet_age, relay_questions, signs_of_life
from bb.ops.holdings import recording
from bb.ops.holdings.recording import GrantPending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.holdings.reservations import Wanted
    from bb.kernel.event import Event
    from bb.ledger.index.index import Index
    from bb.ledger.published.fleet_results import FleetResults
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

TO_SETTLE = 10.0  # seconds for the engine's verdict
TO_GIVE_BACK = 2.0  # seconds until others can have what was admitted of a request that is given up
TO_LOOK = 2.0  # seconds for a look at the engine, before anything is recorded
QUIET = 15_000  # milliseconds since the results were last known to be current, after which the engine is asked first
MOST_ATTEMPTS = 3
WAITS_FOR = 300  # seconds that a hint suggests to wait
LONG_WAIT = 1800  # until the silence of a holder is known, if it is not known when that will be,
WAITS_ON = 60  # and for how long after that moment otherwise: signs of life come every few seconds

IS_SETTLED = (
    "you do not hold it yet; it is settled by itself: `bb agent status` shows it, `bb sync` waits for it, and "
    "`bb release` withdraws the request"
)
# The outcome of a settlement is not known after these.
UNCERTAIN = frozenset([GrantPending.code, asking.RelaySilent.code, asking.RelayLost.code])
# The codes of refusals that say that nobody decides now. --fallback local then reserves in this clone only.
NOBODY_DECIDES = ("ENGINE_", "RELAY_", "FLEET_", AnotherEngine.code)
WITHOUT_ENGINE = "nothing was reserved; try again, or reserve in this clone only: --fallback local"

GrantVoid = Conflict.declare(
    "GRANT_VOID",
    "The engine's log cannot admit the reservation",
    hint="reserve it again; if this is repeated, `bb fleet status` shows the state of the engine",
)


def refuse_incompatible_options(wanted: Wanted, *, is_queued: bool, has_deadline: bool, key: str | None) -> None:
    """Refuse the options that a reservation in a fleet does not support."""
    wait = f"wait for the scopes instead: `{command(wanted, f'--wait {WAITS_FOR}')}`"
    for name, is_given, hint in (
        ("queue", is_queued, wait),
        ("deadline", has_deadline, wait),
        ("key", key is not None, "repeat the command without it: repeating it is safe"),
        ("allow-overlap", wanted.allow_overlap, "edit the same files beside each other: `--open`"),
    ):
        if is_given:
            message = f"--{name} cannot be used in a fleet, where a reservation holds in every clone"
            raise InvalidArgs(message, hint=hint, path=f"$.{name.replace('-', '_')}")


def reserve(
    desk: Desk, wanted: Wanted, fallback: str | None, wait: int | None, allow_secret: str | None
) -> dict[str, Any]:
    """Reserve WANTED in every clone, or refuse."""
    attempts = _Attempts(desk, wanted, allow_secret)
    try:
        if wait:
            from bb.ops.holdings import waiting  # noqa: PLC0415  (most reservations do not wait)

            answer = waiting.reserve_in_queue(desk, wanted, wait, attempts.patiently)
        else:
            answer = attempts.granted()
    except BbError as refusal:
        if not refusal.code.startswith(NOBODY_DECIDES):
            raise
        if fallback is None:
            refusal.hint = WITHOUT_ENGINE if refusal.code == EngineUnreachable.code else refusal.hint
            raise
        here_only = recording.reserved(desk, wanted, None, allow_secret)
        answer = here_only | {"fallback": fallback, "why": refusal.message}
    return answer | fleet_age.member(desk)


class _MustLookError(Exception):
    """The engine must be asked before this is decided: a reservation of another machine is in the way here, and may
    have ended meanwhile; or, if this HEARS, one would be taken over, and its holder may be at work."""

    def __init__(self, *, hears: bool = False) -> None:
        super().__init__()
        self.hears = hears


class _Attempts:
    """Records and settles a reservation, again if the first look was out of date."""

    def __init__(self, desk: Desk, wanted: Wanted, allow_secret: str | None) -> None:
        self._desk = desk
        self._wanted = wanted
        self._allow_secret = allow_secret
        self._is_fresh = False  # whether this attempt has read the engine's log up to now,
        self._has_heard = False  # and then heard who is alive
        self._was_away = False  # whether nobody could decide at the last attempt
        self._recorded: list[Event] = []  # the reservations that wait for their verdict
        self._later: list[Any] = []  # facts that are recorded after the grant

    def patiently(self, number: int | None) -> dict[str, Any]:
        """One attempt of a process that waits. It goes on waiting while the engine is away, and while the outcome of
        its request is not known."""
        try:
            return self.granted(number)
        except BbError as refusal:
            if refusal.code.startswith((*NOBODY_DECIDES, GrantPending.code)):
                self._was_away = True
                patient = Busy(refusal.message, hint=refusal.hint, **refusal.details)
                patient.code, patient.exit_status = refusal.code, refusal.exit_status
                raise patient from refusal
            raise

    def granted(self, number: int | None = None) -> dict[str, Any]:
        """The reservations, once they are admitted. NUMBER is the place of a waiting process among those here."""
        self._is_fresh = self._has_heard = False
        for _ in range(MOST_ATTEMPTS):
            with relay_questions.connected(self._desk) as connection:
                wanted = self._wanted
                if not self._recorded:
                    known = self._results()
                    wanted = wanted.replace(order=known.incarnation)
                    self._record(wanted, known, number)
                verdicts = self._settled(connection)
            if all(verdict.get("state") == "admitted" for verdict in verdicts.values()):
                return self._report(wanted)
            self._refuse_or_look_again(verdicts)
        raise GrantVoid()

    def _results(self) -> FleetResults:
        """The results that this attempt is checked against. If the engine may be away, it is asked first, so that
        nothing is recorded for it."""
        known = relay_questions.results(self._desk)
        may_be_away = self._was_away or self._desk.now() - known.current_at > QUIET
        if may_be_away and not self._is_fresh:
            self._look()
            self._was_away = False
            known = relay_questions.results(self._desk)
        return known

    def _look(self, *, hears: bool = False) -> None:
        """Read the engine's log up to now. If HEARS, record every sign of life that the engine knows of, too."""
        relay_questions.ask(self._desk, "fresh", TO_LOOK, signs=hears)
        self._is_fresh, self._has_heard = True, self._has_heard or hears

    # -- recording

    def _record(self, wanted: Wanted, known: FleetResults, number: int | None) -> None:
        """Record the request WANTED, or refuse it by what this clone knows."""
        while True:
            try:
                self._recorded = self._act(wanted, known, number)
            except _MustLookError as must:
                self._look(hears=must.hears)
                known = relay_questions.results(self._desk)
            else:
                return

    def _act(self, wanted: Wanted, known: FleetResults, number: int | None) -> list[Event]:
        def decide(index: Index, held: Holdings) -> list[Any]:
            try:
                facts = recording.decided(self._desk, wanted, index, held, number)
            except (ReservationConflict.error, ReservationStaleFound.error) as refusal:
                if not self._is_fresh and self._is_of_another_machine(refusal):
                    raise _MustLookError from refusal
                self._explain(refusal)
                raise
            if not self._has_heard and any(isinstance(fact, TakenOver) for fact in facts):
                raise _MustLookError(hears=True)
            takes = " ".join(f"{one.reservation}@{known.imported}" for one in facts if isinstance(one, TakenOver))
            requests = [fact.replace(takes=takes or None) for fact in facts if isinstance(fact, Reserved)]
            self._later = [fact for fact in facts if not isinstance(fact, Reserved)]
            return [*self._withdrawn(wanted, held), *requests]

        recorded = signs_of_life.act(self._desk, wanted.agent, decide, allow_secret=self._allow_secret)
        return [event for event in recorded if event.kind == kinds.BY_FACT["Reserved"][0]]

    def _explain(self, refusal: BbError) -> None:
        """Say in REFUSAL why a holder elsewhere cannot be taken over yet although nothing is heard of it, and when that
        may be possible."""
        store, now = self._desk.place.store, self._desk.now()
        hearing = heard_elsewhere.in_fleet(store) if self._wanted.takeover else None
        if hearing is None or not isinstance(refusal, ReservationConflict.error):
            return
        holders = {str(one.get("agent_id")) for one in refusal.details.get("conflicts", ())}
        seen = [presence.read(store, name, now) for name in holders if ids.is_actor_id(name)]
        elsewhere = [last.seen_at if last else 0 for last in seen if last is None or last.is_remote]
        if any(hearing.seen_at(seen_at, now) > seen_at for seen_at in elsewhere):
            heard, known, wait = "hears no others now", "", LONG_WAIT
            if hearing.is_current(now):
                known_at = hearing.since + self._desk.stale_after
                heard = f"hears other machines only since {clock.text(hearing.since)}"
                known = f". From {clock.text(known_at)} on, its silence can be known"
                wait = max(known_at - now, 0) // clock.SECOND + WAITS_ON
            refusal.message += (
                f". It may be silent, but this clone {heard}, and time in which it heard nothing does not count{known}"
            )
            refusal.hint = f"wait until its silence is known: `{command(self._wanted, f'--wait {wait}')}`"

    def _is_of_another_machine(self, refusal: BbError) -> bool:
        """Whether a reservation that was made in another clone is in the way."""
        journals = os.path.join(self._desk.place.store, writers.JOURNALS)
        names = [str(one.get("reservation_id")) for one in refusal.details.get("conflicts", ())]
        makers = {ids.split_event_id(name)[0] for name in names if ids.is_event_id(name)}
        return any(writers.read_owner(journals, maker) is None for maker in makers)

    def _withdrawn(self, wanted: Wanted, held: Holdings) -> list[Released]:
        """The ends of the agent's own requests for the same scopes that are not settled: the new one replaces them."""
        names = {scope.text for scope in wanted.scopes}
        own = [one.reservation for one in held.reservations_of_agent(wanted.agent)]
        return [
            Released(wanted.agent, one.id)
            for one in own
            if one.scope in names and one.order == wanted.order and not held.counts(one)
        ]

    # -- the verdict

    def _settled(self, connection: asking.Connected) -> dict[str, Any]:
        """The verdicts of the engine's order about what was recorded, by event."""
        names = [event.id for event in self._recorded]
        try:
            found = relay_questions.ask(self._desk, "settle", TO_SETTLE, at=connection, events=names).get("events")
        except BbError as refusal:
            if refusal.code in UNCERTAIN:
                message = f"it may have been admitted: {refusal.message}"
                raise GrantPending(message, hint=IS_SETTLED, reservation_ids=names) from refusal
            self._give_up()
            raise
        verdicts = found if type(found) is dict else {}
        return {name: verdict if type(verdict := verdicts.get(name)) is dict else {} for name in names}

    def _give_up(self) -> list[str]:
        """Release what was recorded: it is not held, and later lines must not make it so. Returns the new events."""
        names = [event.id for event in self._recorded]
        self._recorded = []
        return [event.id for event in recording.give_up(self._desk, self._wanted.agent, names)]

    def _give_back(self, verdicts: dict[str, Any]) -> None:
        """Give the reservations up. If some were admitted, they keep others out until the engine has the release, so it
        is waited for, for a moment. If it takes longer, it is sent all the same."""
        released = self._give_up()
        if any(verdict.get("state") == "admitted" for verdict in verdicts.values()):
            with contextlib.suppress(BbError):
                relay_questions.ask(self._desk, "settle", TO_GIVE_BACK, events=released)

    def _report(self, wanted: Wanted) -> dict[str, Any]:
        """Record what follows from the grant: ends of earlier reservations, take-overs, notices."""
        recorded, later = self._recorded, self._later
        self._recorded = []
        if not later:
            self._desk.note_all_sent()
        else:
            from bb.messaging.mail import mail  # noqa: PLC0415  (most reservations affect no other)

            facts = [*later, *mail.incursion_notifications(later)]
            recorded += signs_of_life.act(self._desk, wanted.agent, lambda _, __: facts)
        return recording.report(self._desk, wanted, recorded)

    def _refuse_or_look_again(self, verdicts: dict[str, Any]) -> None:
        """Give the reservations up, and refuse because of the grants in the way. Returns if none is in the way: the
        engine began a new log meanwhile, so another attempt may succeed."""
        self._give_back(verdicts)
        blockers = [one for verdict in verdicts.values() for one in verdict.get("by") or () if type(one) is dict]
        if blockers:
            raise self._conflict(blockers)
        reasons = sorted({str(verdict["reason"]) for verdict in verdicts.values() if verdict.get("reason")})
        if reasons and self._is_fresh:
            raise GrantVoid(f"the engine's log cannot admit the reservation: {', '.join(reasons)}")
        self._look()

    def _conflict(self, blockers: Sequence[dict[str, Any]]) -> BbError:
        """The refusal because of admitted reservations of other agents."""
        rows = list({str(one.get("reservation_id")): one for one in blockers}.values())
        first = rows[0]
        agent, scope, token = str(first.get("agent_id")), escaping.name(str(first.get("scope"))), first.get("token")
        held = self._desk.holdings(self._desk.store.caught_up(), self._desk.now())
        state = held.liveness_of(agent) if ids.is_principal(agent) else liveness.ACTIVE
        also = f"; also conflicting: {len(rows) - 1} more" if len(rows) > 1 else ""
        message = f"{agent} holds {scope} in every clone, with token {token}{also}"
        details: dict[str, Any] = {"conflicts": rows, "count": len(rows)}
        if first.get("reservation_id") in {one.reservation for one in self._later if isinstance(one, TakenOver)}:
            message += ", and has recorded something since this clone last heard of it, so it cannot be taken over"
        elif state != liveness.ACTIVE:
            hint = f"take it over, its holder is notified: `{command(self._wanted, '--takeover-stale')}`"
            return ReservationStaleFound(f"{message}, and is {state}", hint=hint, **details)
        hint = f"wait for it: `{command(self._wanted, f'--wait {WAITS_FOR}')}`; or message the holder: `bb send`"
        if any(scope.region is not None for scope in self._wanted.scopes):
            hint = "across clones, files are held as a whole; edit the file beside others: `--open`"
        conflict = ReservationConflict(message, hint=hint, **details)
        self._explain(conflict)
        return conflict
