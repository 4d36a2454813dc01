"""Global reservations: granted by the remote's own order of publication, so that they hold against every clone.

    look      bring in all that is published; what is held by others refuses, as always
    record    the reservation, naming the published commit it was checked against
    publish   on exactly that commit; if somebody was faster, it was for nothing, and all of it is done again

Whether it was admitted is read off the remote's history, never guessed. When the answer to a push is lost and the
remote cannot be asked, the reservation is pending: not granted, and settled by the next sync.
"""

from __future__ import annotations

import time

from bb.coordination.facts import Released, Reserved, TakenOver
from bb.coordination.holdings import admission
from bb.coordination.holdings.admission import Grant
from bb.coordination.holdings.reservations import InvalidArgs, ReservationConflict
from bb.kernel import ids, show
from bb.kernel.errors import BbError, Busy
from bb.ledger.journal import kinds
from bb.ledger.published import pins
from bb.ledger.travel import remote
from bb.ledger.travel.sync import Sync
from bb.ledger.travel.turns import FIRST_PAUSE, Turn, wait
from bb.messaging.mail import mail
from bb.ops.desk import signs_of_life
from bb.ops.holdings import reservations
from bb.ops.ledger.sync import NotPublished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.holdings.holdings import Reservation
    from bb.coordination.holdings.reservations import Wanted
    from bb.ledger.index.index import Index
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

PATIENCE = 30.0  # seconds for all of it


class GrantPending(Busy):
    """It cannot be told whether the reservation was admitted."""

    code = "GRANT_PENDING"
    hint = "you do not hold it yet; `bb sync` finds out, `bb agent status` shows it, `bb agent release` gives it up"


def refuse_what_means_nothing(
    wanted: Wanted, fallback: str | None, *, is_global: bool, waits: bool, key: str | None
) -> None:
    """Refuse options that do not go with --global, and what goes with it alone."""
    if not is_global:
        raise InvalidArgs(f"--fallback {fallback} goes with --global", path="$.fallback")
    again = "ask again instead: that is harmless"
    for name, is_given, hint in (
        ("wait", waits, again),
        ("key", key is not None, again),
        ("allow-overlap", wanted.allow_overlap, "a global reservation shares nothing by accident"),
    ):
        if is_given:
            raise InvalidArgs(f"--global does not go with --{name}", hint=hint, path=f"$.{name.replace('-', '_')}")


def reserve(desk: Desk, wanted: Wanted, fallback: str | None, allow_secret: str | None) -> dict[str, Any]:
    """Reserve what is WANTED against every clone, or be refused."""
    store = desk.store
    arbiter = pins.read(store.path).publishes_to
    if arbiter is None:
        raise NotPublished("a global reservation needs a remote that this clone publishes to")
    try:
        with Turn(store.path, PATIENCE):
            return _Attempts(desk, Sync(store, arbiter, desk.now(), PATIENCE), wanted, allow_secret).granted()
    except remote.Offline as offline:
        if fallback is None:
            offline.hint = "nothing was reserved; try again, or hold it in this clone only: --fallback local"
            raise
        here_only = reservations.reserved(desk, wanted, None, allow_secret)
        return here_only | {"fallback": fallback, "why": offline.message}


class _Attempts:
    """Looking, recording and publishing, again and again while others are faster."""

    def __init__(self, desk: Desk, at_work: Sync, wanted: Wanted, allow_secret: str | None) -> None:
        self._desk = desk
        self._at_work = at_work
        self._wanted = wanted
        self._allow_secret = allow_secret
        self._void: list[str] = []  # what was recorded and came to nothing
        self._deadline = time.monotonic() + PATIENCE

    def granted(self) -> dict[str, Any]:
        """The reservations, once they are admitted."""
        pause = FIRST_PAUSE
        try:
            while not (answer := self._once()):
                if time.monotonic() + pause > self._deadline:
                    raise remote.Contended("others were faster, again and again", remote=self._at_work.name)
                pause = wait(pause)
            return answer
        finally:
            if self._void:
                reservations.give_up(self._desk, self._wanted.agent, self._void)

    def _once(self) -> dict[str, Any] | None:
        """What was granted; None when somebody was faster.

        Before it is granted nothing is recorded that would touch anybody else: a take-over is only named, and carried
        out once it is admitted.
        """
        desk, at_work = self._desk, self._at_work
        at_work.look()
        signs_of_life.heard(desk, at_work.outcome().heard)
        wanted = self._wanted.but(base=at_work.base())
        later: list[Any] = []

        def decide(index: Index, held: Holdings) -> list[Any]:
            facts = reservations.decided(desk, wanted, index, held)
            takes = " ".join(fact.reservation for fact in facts if isinstance(fact, TakenOver)) or None
            asked = [fact.but(takes=takes) for fact in facts if isinstance(fact, Reserved)]
            later[:] = [fact for fact in facts if not isinstance(fact, Reserved)]
            self._refuse_what_is_in_way(asked, held)
            return [*(Released(wanted.agent, name) for name in self._void), *asked]

        recorded = signs_of_life.act(desk, wanted.agent, decide, allow_secret=self._allow_secret)
        self._void = names = [event.id for event in recorded if event.kind == kinds.BY_FACT["Reserved"][0]]
        if not self._is_admitted(names):
            return None
        self._void = []
        if later:
            recorded += signs_of_life.act(desk, wanted.agent, lambda _, __: [*later, *mail.about(later)])
            self._tell()
        return reservations.report(desk, wanted, recorded)

    def _tell(self) -> None:
        """Publish what the others should know; if that is not possible now, the next sync does it."""
        try:
            self._at_work.push(self._at_work.wanted())
        except (remote.Moved, BbError):
            return

    def _refuse_what_is_in_way(self, asked: Sequence[Reserved], held: Holdings) -> None:
        """Refuse what no reader would admit, although here nothing seems to be in its way.

        What was given back here, by whoever may, is in nobody's way: that comes out in the same commit, and counts
        first.
        """
        grants = self._at_work.pins.in_force.grants
        for fact in asked:
            grant = Grant(fact.agent, fact.scope, fact.is_file, fact.shared, 0)
            blockers = set(admission.in_way(grant, grants)) - set((fact.takes or "").split())
            if blockers := {name for name in blockers if not _was_given_back(held.one(name))}:
                holder = grants[min(blockers)]
                raise ReservationConflict(
                    f"{holder.agent} holds {show.name(holder.scope)} in every clone, by token {holder.token}",
                    conflicts=[{"reservation_id": name, "agent_id": grants[name].agent} for name in sorted(blockers)],
                )

    def _is_admitted(self, names: list[str]) -> bool:
        """Publish on the commit that was looked at; whether the reservations of those names are admitted."""
        at_work = self._at_work
        try:
            at_work.push(at_work.wanted())
        except remote.Moved:
            return False
        except remote.Offline as offline:
            try:
                at_work.look()  # perhaps it has arrived, and only the answer was lost
            except remote.Offline:
                self._void = []  # it may have been admitted, so it is not ours to say that it was not
                raise GrantPending(f"it may have been published: {offline.message}", reservation_ids=names) from None
        return all(name in at_work.pins.in_force.grants for name in names)


def _was_given_back(reservation: Reservation | None) -> bool:
    return reservation is not None and reservation.ended_by in (reservation.agent, ids.PERSON)
