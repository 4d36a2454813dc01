"""The relay of one clone in this daemon: its lock, its thread and its socket."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bb.daemon.fleet.closing_logs import ClosingLogs
from bb.daemon.fleet.follow_up import FollowUp
from bb.daemon.fleet.question_socket import Answer, QuestionSocket
from bb.daemon.loop.log import Log
from bb.daemon.loop.loop import Loop
from bb.kernel.errors import BbError, Busy
from bb.ledger.files import disk
from bb.ledger.files.lock import is_replaced, is_still_at, taken_for_good
from bb.ledger.fleet import engines, relay, settings
from bb.ledger.fleet.asking import RelayStopped
from bb.ledger.fleet.relay import Relay
from bb.ledger.fleet.settings import EngineAddress, NotInFleet
from bb.ledger.git.place import Place
from bb.ledger.local import fleet_files
from bb.ledger.published import pins

if TYPE_CHECKING:
    from bb.ledger.carrier.door import Carrier

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds before a relay that failed starts again

RelayElsewhere = Busy.declare(
    "RELAY_ELSEWHERE",
    "Another process runs the relay of this clone",
    hint="nothing needs to be done: that process answers the commands of this clone",
)


class CloneRelay:
    """Runs the relay of the clone at PLACE until it is stopped."""

    def __init__(
        self, place: Place, loop: Loop, env: Mapping[str, str], log: Log, heard: Callable[[Mapping[str, int]], None]
    ) -> None:
        self.place = place
        self._loop, self._env, self._log, self._heard = loop, env, log, heard
        lock = taken_for_good(fleet_files.path(place.store, fleet_files.LOCK))
        if lock is None:
            raise RelayElsewhere()
        self._lock = lock
        self._engine: EngineAddress | None = None  # the one that the relay connects to
        self._is_moving = False  # whether it is being stopped, to connect to another engine
        self._is_stopping = False
        self._pause = FIRST_PAUSE
        self.asked = 0  # questions since the start
        self.waiting = 0  # questions without an answer yet
        with contextlib.ExitStack() as if_this_fails:
            if_this_fails.callback(os.close, self._lock)
            self._follow_up = FollowUp(place, loop, env, log, lambda: (self.asked, self.has_work))
            if_this_fails.callback(self._follow_up.close)
            self._closing_logs = ClosingLogs(place, loop, log)
            if_this_fails.callback(self._closing_logs.close)
            self._socket = QuestionSocket(loop, place.store, env, self.ask)
            if_this_fails.callback(self._socket.close)
            self._begin()  # last, because nothing ends a thread. Questions come in the loop, so not before this
            if_this_fails.pop_all()

    def ask(self, question: dict[str, Any], answer: Answer) -> None:
        """Ask the relay. ANSWER is called once, from any thread."""
        self.asked += 1
        self.waiting += 1

        def answered(found: dict[str, Any]) -> None:
            self._loop.call_from_thread(self._count_answer)
            answer(found)

        if not self.is_in_place:  # another relay can answer, where the clone is now
            self.stop()
        if self._is_moving or self._is_stopping:
            answered(relay.refused(RelayStopped()))
            return
        try:
            self._relay.ask(question, answered)
        except BbError as refusal:
            answered(relay.refused(refusal))
        except Exception as error:  # a bug must not leave the command without an answer
            answered(relay.refused(self._log.bug(f"the relay, asked {question['ask'][:40]}", error)))

    def status(self, answer: Answer) -> None:
        """What the relay says of itself. This is no question of a command, so it is not counted."""
        self._relay.ask({"ask": "status"}, answer)

    def wake(self) -> None:
        """Something was recorded in this process: send it at once."""
        self._relay.ask({"ask": "wake"}, lambda _: None)

    def _count_answer(self) -> None:
        self.waiting -= 1

    @property
    def has_work(self) -> bool:
        """Whether a command waits for an answer, or lines of this clone have no place yet."""
        return self.waiting > 0 or bool(getattr(self._relay, "has_work", False))

    @property
    def is_in_place(self) -> bool:
        """Whether the clone is still there. If it is not, it was deleted (and perhaps made anew), or is on a disk that
        is away."""
        return is_still_at(fleet_files.path(self.place.store, fleet_files.LOCK), self._lock)

    def be_found(self) -> None:
        """Make the socket or its address anew if they were removed, since commands do not find the relay then."""
        if not self._socket.is_in_place:
            self._socket.listen_again()
            self._say("its socket was removed, and is made anew")

    @property
    def is_wanted(self) -> bool:
        """Whether the clone still has an engine."""
        return settings.is_joined(self.place.store)

    def reconnect_if_moved(self) -> None:
        """Connect again, if the clone has another engine by now (`bb fleet join`, `bb fleet begin --again`)."""
        engine = settings.read(self.place.store)
        if engine is not None and engine != self._engine:
            self._engine = engine
            self._is_moving = True
            self._say(f"connects to {engine.carrier} at another address")
            self._relay.stop()  # it begins again at once

    def stop(self) -> None:
        """Stop listening, and end the relay soon. It answers the questions that wait."""
        self._is_stopping = True
        self._follow_up.close()
        self._closing_logs.close()
        lock = fleet_files.path(self.place.store, fleet_files.LOCK)
        self._socket.stop_listening(leaves_files=is_replaced(lock, self._lock))
        self._relay.stop()

    @property
    def has_ended(self) -> bool:
        """Whether the thread of the relay has ended."""
        return not self._thread.is_alive()

    def close(self) -> None:
        """Close the connections. Once the thread has ended, the lock is free for another process."""
        self._socket.close()
        if self.has_ended and self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    # -- the thread

    def _begin(self) -> None:
        self._engine, self._is_moving = settings.read(self.place.store), False
        self._began_at = self._loop.now()
        begun = Relay(self.place, self._env, self._open_carrier, self._say, self._heard)
        thread = threading.Thread(target=self._run, args=[begun], name="bb-relay", daemon=True)
        thread.start()
        # Not before: a relay without its thread would answer nothing, and the one that has ended says that it has.
        self._relay, self._thread = begun, thread

    def _run(self, begun: Relay) -> None:
        try:
            begun.run()
        except Exception as error:
            self._log.bug(f"the relay of {self.place.title}", error)
        self._loop.call_from_thread(self._start_later)

    def _start_later(self) -> None:
        """The relay has ended: start it again, unless it was stopped. If it has failed, later, and each time in a row
        after a longer pause."""
        if self._is_stopping:
            return
        if self._is_moving:
            self._begin_again()
            return
        if self._loop.now() - self._began_at > LONGEST_PAUSE:
            self._pause = FIRST_PAUSE
        self._begin_after_a_pause()

    def _begin_after_a_pause(self) -> None:
        self._loop.later(self._pause, self._begin_again)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def _begin_again(self) -> None:
        if self._is_stopping:
            return
        try:
            self._begin()
        except Exception as error:  # for example, the system has no file handle or no thread left now
            self._log.bug(f"starting the relay of {self.place.title} again", error)
            self._begin_after_a_pause()

    def _say(self, text: str) -> None:
        self._log.info(f"relay of {self.place.title}: {text}")

    def _open_carrier(self) -> Carrier:
        """Connect to the engine of this clone, as the charter names it now."""
        known, engine = pins.read(self.place.store), settings.read(self.place.store)
        tip = known.remote(known.home).tip if known.home else None
        if tip is None or tip.charter.fleet is None or engine is None:
            raise NotInFleet()
        self._engine = engine
        return engines.open_carrier(engine, tip.charter.repo, tip.charter.fleet)


def attend(
    place: Place, loop: Loop, env: Mapping[str, str], log: Log, heard: Callable[[Mapping[str, int]], None]
) -> CloneRelay:
    """Start the relay of a clone. Refused if the clone has no engine, or another process runs its relay."""
    if not settings.is_joined(place.store):
        raise NotInFleet()
    disk.make_folder(os.path.join(place.store, fleet_files.FOLDER))
    return CloneRelay(place, loop, env, log, heard)
