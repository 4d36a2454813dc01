"""Global reservations: they hold in every clone, because the order of publication on the remote decides.

    look      fetch all published lines; reservations of other agents refuse the request as usual
    record    record the reservation with the published commit that it was checked against
    publish   push on top of exactly that commit; if another clone pushed first, start again from the beginning

Whether the reservation was admitted is read from the remote's history, never guessed. If the answer to a push is lost
and the remote cannot be reached, the reservation is pending: it is not granted, and the next sync decides.
"""

from __future__ import annotations

import time

from bb.coordination.facts import Released, Reserved, TakenOver
from bb.coordination.holdings import admission
from bb.coordination.holdings.admission import Grant
from bb.coordination.holdings.holdings import Reservation
from bb.coordination.holdings.reservations import InvalidArgs, ReservationConflict, Wanted
from bb.kernel import escaping, ids
from bb.kernel.errors import BbError
from bb.ledger.carrier.door import AppendUnknown
from bb.ledger.index.index import Index
from bb.ledger.journal import kinds
from bb.ledger.published.pins import Pins
from bb.ledger.travel import arbitration, remote, renamed_remotes
from bb.ledger.travel.git_carrier import GitCarrier
from bb.ledger.travel.sync import Sync
from bb.ledger.travel.sync_lock import FIRST_PAUSE, SyncLock, random_pause
from bb.ledger.views.holdings import Holdings
from bb.messaging.mail import mail
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.holdings import recording
from bb.ops.holdings.recording import GrantPending
from bb.ops.ledger.sync import ONLY_PULL, NotPublished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

PATIENCE = 30.0  # seconds for all attempts together


def refuse_incompatible_options(
    wanted: Wanted, fallback: str | None, *, is_global: bool, waits: bool, is_queued: bool, key: str | None
) -> None:
    """Refuse --fallback without --global, and options that --global does not support."""
    if not is_global:
        raise InvalidArgs(f"--fallback {fallback} needs --global", path="$.fallback")
    again = "repeat the command instead: repeating it is safe"
    for name, is_given, hint in (
        ("wait", waits, again),
        ("queue", is_queued, again),
        ("key", key is not None, again),
        ("allow-overlap", wanted.allow_overlap, "a global reservation cannot overlap another one"),
    ):
        if is_given:
            raise InvalidArgs(f"--global cannot be used with --{name}", hint=hint, path=f"$.{name.replace('-', '_')}")


def reserve(desk: Desk, wanted: Wanted, fallback: str | None, allow_secret: str | None) -> dict[str, Any]:
    """Reserve WANTED in every clone, or refuse."""
    store = desk.store
    known = renamed_remotes.pins_now(desk.place)
    if known.terms is not None:
        from bb.ledger.fleet.settings import NotInFleet  # noqa: PLC0415  (most ledgers have no fleet)

        raise NotInFleet("an engine decides about global reservations, and this clone has not joined its fleet")
    arbiter = _arbiter(desk, known)
    try:
        with SyncLock(store.path, PATIENCE), store.git:
            return _Attempts(desk, Sync(store, arbiter, desk.now(), PATIENCE), wanted, allow_secret).granted()
    except remote.unreachable() as offline:
        if fallback is None:
            offline.hint = "nothing was reserved; try again, or reserve in this clone only: --fallback local"
            raise
        here_only = recording.reserved(desk, wanted, None, allow_secret)
        return here_only | {"fallback": fallback, "why": offline.message}


def _arbiter(desk: Desk, known: Pins) -> str:
    """The remote that decides about global reservations. This clone must publish there."""
    if known.named is None:
        if known.publishes_to is None:
            raise NotPublished("a global reservation needs a remote that this clone publishes to")
        return known.publishes_to
    name = known.arbiter or arbitration.find(desk.place, known.named)
    if name is None:
        raise arbitration.refusal(desk.place, known.named, None)
    if not known.remote(name).publishes:
        message = f"a global reservation needs the arbiter, {name}, and this clone has not published there"
        raise NotPublished(message, hint=f"run `bb sync --publish --remote {name}` once; {ONLY_PULL}")
    return name


class _Attempts:
    """Looks, records and publishes, repeatedly while other clones publish first."""

    def __init__(self, desk: Desk, at_work: Sync, wanted: Wanted, allow_secret: str | None) -> None:
        self._desk = desk
        self._at_work = at_work
        self._carrier = GitCarrier(at_work)
        self._wanted = wanted
        self._allow_secret = allow_secret
        self._base = ""  # the published commit of the last attempt
        self._void: list[str] = []  # reservations that were recorded but not admitted
        self._deadline = time.monotonic() + PATIENCE

    def granted(self) -> dict[str, Any]:
        """The reservations, once they are admitted."""
        pause = FIRST_PAUSE
        try:
            while not (answer := self._once()):
                if time.monotonic() + pause > self._deadline:
                    raise remote.Contended("other clones published first on every attempt", remote=self._at_work.name)
                pause = random_pause(pause)
            return answer
        finally:
            if self._void:
                recording.give_up(self._desk, self._wanted.agent, self._void)

    def _once(self) -> dict[str, Any] | None:
        """One attempt. Returns the granted reservations; None if another clone published first.

        Nothing that affects other agents is recorded before the grant: a take-over is only named in the request, and
        recorded after it is admitted.
        """
        desk, at_work = self._desk, self._at_work
        self._carrier.look()
        if at_work.pin.tip is None:
            raise NotPublished(f"the ledger is not on {at_work.name} yet", hint="publish it first: `bb sync`")
        if at_work.base() == self._base:  # a push was refused, but there is nothing new
            remote.refuse_two_places(desk.place, at_work.name, at_work.pin.ref, at_work.left())
        self._base = at_work.base()
        if not at_work.decides and at_work.pins.named:
            raise arbitration.refusal(desk.place, at_work.pins.named, at_work.name)
        signs_of_life.record_remote_signs_of_life(desk, at_work.outcome().heard)
        wanted_request = self._wanted.replace(base=self._base)
        later: list[Any] = []

        def decide(index: Index, held: Holdings) -> list[Any]:
            facts = recording.decided(desk, wanted_request, index, held)
            takes = " ".join(fact.reservation for fact in facts if isinstance(fact, TakenOver)) or None
            requests = [fact.replace(takes=takes) for fact in facts if isinstance(fact, Reserved)]
            later[:] = [fact for fact in facts if not isinstance(fact, Reserved)]
            self._refuse_blocked(requests, held)
            return [*(Released(wanted_request.agent, name) for name in self._void), *requests]

        recorded = signs_of_life.act(desk, wanted_request.agent, decide, allow_secret=self._allow_secret)
        self._void = names = [event.id for event in recorded if event.kind == kinds.BY_FACT["Reserved"][0]]
        if not self._is_admitted(names):
            return None
        self._void = []
        if later:
            recorded += signs_of_life.act(
                desk, wanted_request.agent, lambda _, __: [*later, *mail.incursion_notifications(later)]
            )
            self._publish_later_facts()
        return recording.report(desk, wanted_request, recorded)

    def _publish_later_facts(self) -> None:
        """Publish take-overs and notices. If that fails, the next sync does it."""
        try:
            self._at_work.push(self._at_work.wanted())
        except (remote.Moved, BbError):
            return

    def _refuse_blocked(self, requests: Sequence[Reserved], held: Holdings) -> None:
        """Refuse a request that other clones would not admit, although no reservation here blocks it.

        A grant that was released here does not block, because its release is published in the same commit and counts
        first.
        """
        grants = self._at_work.pins.in_force.grants
        for fact in requests:
            grant = Grant(fact.agent, fact.scope, fact.is_file, fact.shared, 0)
            blockers = set(admission.in_way(grant, grants)) - set((fact.takes or "").split())
            if blockers := {name for name in blockers if not _was_given_back(held.by_id(name))}:
                holder = grants[min(blockers)]
                raise ReservationConflict(
                    f"{holder.agent} holds {escaping.name(holder.scope)} in every clone, with token {holder.token}",
                    conflicts=[{"reservation_id": name, "agent_id": grants[name].agent} for name in sorted(blockers)],
                )

    def _is_admitted(self, names: list[str]) -> bool:
        """Publish on top of the commit that was fetched. Whether the reservations NAMES are admitted."""
        try:
            place = self._carrier.append_on_tip()
        except AppendUnknown.error as unknown:
            self._void = []  # it may have been admitted, so it must not be released here
            raise GrantPending(unknown.message, reservation_ids=names) from None
        return place is not None and all(name in self._at_work.pins.in_force.grants for name in names)


def _was_given_back(reservation: Reservation | None) -> bool:
    return reservation is not None and reservation.ended_by in (reservation.agent, ids.PERSON)
