"""What a relay does now and then: signs of life, the engine's settings, the charter, and the archive in git."""

from __future__ import annotations

from contextlib import suppress

from bb.coordination.agents.hearing import Hearing
from bb.kernel.errors import BbError
from bb.ledger.carrier.door import BEAT, BEAT_IS_VALID, FleetEnded
from bb.ledger.fleet import background_jobs, machines
from bb.ledger.fleet.archiving import Archiving
from bb.ledger.fleet.background_jobs import BackgroundThread
from bb.ledger.fleet.freshness import Freshness
from bb.ledger.fleet.moments import moment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bb.ledger.carrier.door import Head, Machine
    from bb.ledger.fleet.clone_state import CloneState
    from bb.ledger.fleet.connection import Connection
    from bb.ledger.fleet.shared import Shared
    from bb.ledger.git.place import Place

CHARTER = 2.0  # seconds between two looks at the charter
LOOK_AGAIN = 10.0  # seconds between two looks at the git remote, while the engine is wrong
LOOK_WHILE_AWAY = 60.0  # seconds between two of them while the engine is away: the fleet may have ended, or moved on
HEALTH = 60.0  # seconds between two questions about the engine's settings
RECORD_AGAIN = 0.5  # seconds until signs of life are asked for again that could not be recorded
NEVER = float("-inf")


class Anew(Exception):
    """The charter names another log, or other lines count: everything begins again."""


class Housekeeping:
    """The regular work of the clone at PLACE. HEARD is told of agents of other machines that gave a sign of life."""

    def __init__(
        self,
        place: Place,
        now: Callable[[], int],
        state: CloneState,
        shared: Shared,
        connection: Connection,
        log: Callable[[str], None],
        heard: Callable[[Mapping[str, int]], None] | None,
    ) -> None:
        self._place, self._now, self._state, self._log, self._heard = place, now, state, log, heard
        self._shared, self._outbox, self._connection = shared, shared.outbox, connection
        self.git = BackgroundThread("bb-relay-git", shared.wake)
        self.archiving = Archiving(state, self.git, place, now)
        self.machines: list[Machine] = []
        self._others = machines.Others()
        self._away_since: float | None = None
        self._hearing = Hearing()
        self._hears_again_at = NEVER
        self._log_of = ""  # the incarnation of the log whose machines are heard
        self._beaten_at = self._looked_at = self._compared_charter_at = NEVER

    def next_beat(self) -> float:
        """The time at which this machine must say again that it is alive."""
        return self._beaten_at + BEAT

    @property
    def hears_since(self) -> int:
        """Since when the signs of life of other machines are heard, in milliseconds."""
        return self._hearing.since

    def tend(self, *, may_archive: bool) -> None:
        """Do what is due. Archiving waits until it MAY: who waits for a long log to be read would wait twice as
        long."""
        now = moment()
        if now - self._connection.asked_health_at >= HEALTH:
            self._connection.ask_health()
        if now - self._compared_charter_at >= CHARTER:
            self._compared_charter_at = now
            if not self._state.is_current():
                raise Anew
        if may_archive:
            self._archive(now)

    # -- signs of life

    def begin(self) -> bool:
        """Begin to hear the machines that use the log of the charter. Returns whether it is another one than before:
        other machines may use that."""
        terms = self._state.terms
        if terms is None or terms.incarnation == self._log_of:
            return False
        self._log_of = terms.incarnation
        self._hearing, current_at = self._state.noted()
        self._connection.freshness = Freshness(current_at)
        return True

    @property
    def must_hear(self) -> bool:
        """Whether somebody waits to know who is alive."""
        return self._outbox.waits_for_signs and moment() >= self._hears_again_at

    def hear_if_due(self) -> None:
        """Beat, and hear who is alive, if it is time, or if somebody waits for it."""
        self._tell_newcomers()
        if self.must_hear:
            self.hear()
        elif moment() >= self.next_beat():
            self.hear(everything=False)

    def hear_again(self) -> None:
        """Hear who is alive after a connect. After a short pause, the beats tell all that is new."""
        self.hear(everything=moment() - self._beaten_at >= BEAT_IS_VALID)

    def hear(self, *, everything: bool = True) -> None:
        """Say that this machine is alive, and record who else is: EVERYTHING that is known, or the news of the beats.
        What agents record is a sign of life, too. It is only looked at with everything, when somebody may take over
        from them: to record a sign costs as much as to fold all new lines into the index."""
        self._beaten_at = moment()
        connection, state, asked_at = self._connection, self._state, self._now()
        if writer := state.writer():  # without one, this machine has recorded nothing, and has no agents
            ours = machines.own(state.path, writer, state.must_fold().place, asked_at)
            connection.call(lambda: connection.engine.beat(ours))
        head = connection.compare()
        self._leave_closed_log(head)
        self.machines = connection.call(connection.engine.alive)
        if everything:
            self._others.forget()
        # What was read before this head is not younger than its time says.
        recorded = {agent: age for agent, at in state.signs.items() if (age := max(head.now - at, 0)) < machines.WITHIN}
        state.signs = {agent: at for agent, at in state.signs.items() if agent in recorded}
        looked_at = recorded if everything else {}
        news = self._others.news(self.machines, state.own_writers(), moment() * 1000, looked_at)
        if self._record(news):
            self._hearing = self._hearing.again(asked_at, head.now)
            if everything:
                with self._shared.lock:
                    self._outbox.has_heard_signs()
        else:
            self._others.forget()
        self._note()

    def _tell_newcomers(self) -> None:
        """Record that agents elsewhere have just registered, as soon as their lines are here. Until then, others judge
        them by the time on these lines, which may be an hour wrong. Beats tell of all who registered earlier."""
        if not self._state.newcomers or self._state.waits or moment() < self._hears_again_at:
            return
        now, newcomers = self._connection.time_of_engine(), self._state.newcomers
        ages = {agent: max(now - at, 0) for agent, at in newcomers.items() if now - at < BEAT_IS_VALID * 1000}
        if self._record(ages):
            newcomers.clear()

    def _record(self, news: Mapping[str, int]) -> bool:
        """Record signs of life of other machines; whether that was possible."""
        try:
            if news and self._heard:
                self._heard(news)
        except BbError as refusal:
            self._hears_again_at = moment() + RECORD_AGAIN
            self._log(f"signs of life of other machines were not recorded: {refusal.message}")
            return False
        return True

    def _note(self) -> None:
        """Save since when other machines are heard, and, without new rows, too, how old the results are."""
        state, freshness, hearing = self._state, self._connection.freshness, self._hearing
        about = {"hears_since": hearing.since, "hears_last": hearing.last, "hears_engine": hearing.engine}
        if not state.waits:
            freshness.has_read(state.must_fold().place)
            about["current_at"] = freshness.at
            with self._shared.lock:
                self._outbox.was_current(freshness.moment)
        with suppress(BbError):
            state.note(**about)

    # -- the rest

    def _leave_closed_log(self, head: Head) -> None:
        """Refuse a log that is closed and read to its end, so that the charter is looked for before anybody sends."""
        if head.is_closed and head.place <= self._state.must_fold().place:
            raise FleetEnded()

    def _archive(self, now: float) -> None:
        self.archiving.tend(self._connection.engine, self._outbox, self._connection.call, now)
        with self._shared.lock:
            if self._outbox.archived != self.archiving.known:
                self._outbox.has_archived(self.archiving.known)
        if self.git.failure is not None:
            self._log(f"git: {background_jobs.text_of(self.git.failure)}")
            self.archiving.has_failed(self.git.failure)
            self.git.failure = None

    def has_connected(self) -> None:
        """The engine answers again."""
        self._away_since = None

    def look_while_away(self) -> None:
        """The engine does not answer. If that lasts, look now and then whether the ledger still has this fleet."""
        now = moment()
        if self._away_since is None:
            self._away_since = now
        elif now - max(self._away_since, self._looked_at) >= LOOK_WHILE_AWAY:
            self.look_for_charter()

    def look_for_charter(self) -> None:
        """Fetch the published ledger, if that was not done just now: it may have another charter."""
        if moment() - self._looked_at >= LOOK_AGAIN and not self.git.is_busy:
            self._looked_at = moment()
            self.git.start(lambda: background_jobs.look(self._place, self._now))
