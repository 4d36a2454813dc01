"""The relays of a daemon: one for each clone on this machine that has joined a fleet and asked for it.

A clone asks once (`fleet_attend`), and the daemon remembers it: a daemon that starts again resumes its relay. A clone
that has left its fleet is forgotten. If a clone is deleted, its relay ends. It is remembered for another day, because
the clone may be on a network disk that is away.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from bb.daemon.fleet import clone_relay, remembered_clones
from bb.daemon.fleet.clone_relay import CloneRelay, RelayElsewhere
from bb.daemon.loop.log import Log
from bb.daemon.loop.loop import Loop
from bb.kernel.errors import BbError
from bb.ledger.files.lock import is_held
from bb.ledger.fleet.settings import NotInFleet
from bb.ledger.git import ownership
from bb.ledger.git.place import Place
from bb.ledger.local import fleet_files
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk

LOOK_AGAIN = 5.0  # seconds between looks at the clones: has one left its fleet, or another process let go of one?
TO_STOP = 3.0  # seconds for all relays to end
REMEMBERED = 24 * 3600.0  # seconds that a clone which is not there any more is remembered


class Relays:
    """The relays that run in this process."""

    def __init__(self, folder: str, loop: Loop, desk: Desk, log: Log) -> None:
        self._folder = folder
        self._loop = loop
        self._desk = desk
        self._log = log
        self._relays: dict[str, CloneRelay] = {}  # by store
        self._ending: list[CloneRelay] = []
        self._places: dict[str, Place] = {}  # that are remembered
        self._gone_since: dict[str, float] = {}  # remembered clones that are not there any more
        self._warned: dict[str, str] = {}  # what is wrong with a clone or its relay, as it was logged last

    def begin(self) -> None:
        """Resume the relays of the clones that the last daemon attended, and look after all from now on."""
        self._places = {place.store: place for place in remembered_clones.read(self._folder)}
        self._look()

    def attend(self, place: Place) -> dict[str, Any]:
        """Run the relay of the clone at PLACE from now on. Returns whether it is started by this."""
        ownership.refuse_foreign(place, self._desk.env)
        for running in [one for one in self._relays.values() if not one.is_in_place]:
            self._end(running)  # of a clone that was deleted and made anew, or moved, with its lock, to this PLACE
        self._close_ended()
        is_started = place.store not in self._relays
        if is_started:
            try:
                self._start(place)
            except RelayElsewhere.error:
                return {"attended": True, "started": False, "elsewhere": True, "store": place.store}
            self._remember({**self._places, place.store: place})
        else:
            self._relays[place.store].reconnect_if_moved()
            self._relays[place.store].be_found()
        return {"attended": True, "started": is_started, "elsewhere": False, "store": place.store}

    @property
    def has_work(self) -> bool:
        """Whether a command waits for an answer of a relay, or lines are not sent yet."""
        return any(one.has_work for one in self._relays.values())

    def wake(self, store: str) -> None:
        """The daemon has recorded something in this store: its relay sends it at once."""
        if store in self._relays:
            self._relays[store].wake()

    @property
    def all_relays(self) -> list[CloneRelay]:
        """The relays that run here."""
        return list(self._relays.values())

    def stop(self) -> None:
        """End all relays, and wait for a moment until they have ended. Nothing is lost by an early end: what is not
        sent yet is in the journals."""
        for one in self._relays.values():
            one.stop()
        ending = [*self._ending, *self._relays.values()]
        self._relays.clear()
        deadline = time.monotonic() + TO_STOP
        while time.monotonic() < deadline and not all(one.has_ended for one in ending):
            self._loop.later(0.01, lambda: None)
            self._loop.turn()  # the answers to the questions that wait
        for one in ending:
            if not one.has_ended:
                self._log.warning(f"the relay of {one.place.title} has not ended in time")
            one.close()

    # -- looking after them

    def _look(self) -> None:
        self._loop.later(LOOK_AGAIN, self._look)  # first, so that it looks again whatever happens
        self._close_ended()
        for place in list(self._places.values()):
            try:
                self._look_at(place)
            except Exception as error:  # the disk of one clone may fail: the others are looked at all the same
                why = error.message if isinstance(error, BbError) else repr(error)
                self._warn(place, f"{place.title} cannot be looked after now: {why}")

    def _look_at(self, place: Place) -> None:
        running = self._relays.get(place.store)
        if running and not running.is_in_place:
            self._log.info(f"{place.title} was deleted, or its disk is away")
            self._end(running)
        elif running and not running.is_wanted:
            self._log.info(f"{place.title} has left its fleet")
            self._end(running)
        elif running:
            self._look_after(running)
        else:
            self._resume(place)

    def _look_after(self, running: CloneRelay) -> None:
        try:
            running.be_found()
        except BbError as refusal:  # the disk may be full
            self._warn(running.place, f"commands do not find the relay of {running.place.title}: {refusal.message}")
            return
        running.reconnect_if_moved()
        self._warned.pop(running.place.store, None)

    def _close_ended(self) -> None:
        """Let go of the locks of relays that have ended."""
        for one in [one for one in self._ending if one.has_ended]:
            one.close()
            self._ending.remove(one)

    def _end(self, running: CloneRelay) -> None:
        """End a relay, without waiting for it."""
        running.stop()
        self._ending.append(self._relays.pop(running.place.store))

    def _resume(self, place: Place) -> None:
        """Start the relay of a remembered clone, unless that is not possible now."""
        if not os.path.isdir(place.common):
            if self._loop.now() - self._gone_since.setdefault(place.store, self._loop.now()) >= REMEMBERED:
                self._forget(place)
            return
        self._gone_since.pop(place.store, None)
        try:
            if is_held(fleet_files.path(place.store, fleet_files.LOCK)):
                raise RelayElsewhere()
            ownership.refuse_foreign(place, self._desk.env)
            self._start(place)
        except NotInFleet.error:
            self._forget(place)
        except BbError as refusal:
            self._warn(place, f"the relay of {place.title} does not run here: {refusal.message}")

    def _warn(self, place: Place, text: str) -> None:
        """Log a warning about a clone, unless it is the same as the last one."""
        if self._warned.get(place.store) != text:
            self._warned[place.store] = text
            self._log.warning(text)

    def _start(self, place: Place) -> None:
        heard = partial(self._heard, place)
        self._relays[place.store] = clone_relay.attend(place, self._loop, self._desk.env, self._log, heard)
        self._warned.pop(place.store, None)
        self._log.info(f"runs the relay of {place.title}, {place.store}")

    def _forget(self, place: Place) -> None:
        self._gone_since.pop(place.store, None)
        self._remember({store: one for store, one in self._places.items() if store != place.store})

    def _remember(self, places: dict[str, Place]) -> None:
        self._places = places
        try:
            remembered_clones.write(self._folder, places.values())
        except BbError as refusal:  # the next attend writes it
            self._log.error(f"the list of clones cannot be written: {refusal.message}")

    def _heard(self, place: Place, ages: Mapping[str, int]) -> None:
        """Agents on other machines gave signs of life. Called in the thread of the relay, which must know if they could
        not be recorded."""
        desk = Desk(place.work_tree or place.common, self._desk.env)
        try:
            desk.switch_to(desk.cwd, place)
            signs_of_life.record_remote_signs_of_life(desk, ages)
        finally:
            desk.close()
