"""Looks whether the relay of a clone has brought lines or another charter, and then applies them in a thread of its own
(`ops/ledger/applying.py`)."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Mapping

from bb.daemon.loop.log import Log
from bb.daemon.loop.loop import Loop
from bb.kernel.errors import BbError
from bb.ledger.git.place import Place
from bb.ledger.journal import received
from bb.ledger.published import pins
from bb.ops.desk.desk import Desk
from bb.ops.ledger import applying

GLANCE = 1.0  # seconds between two looks, which cost two `stat`
SHARE = 1000  # applying may take a thousandth of a processor: where lines come all the time, it is done less often
LONGEST = 600.0  # seconds between two times at most; up to twice as long, see `_spread`
QUIET = 5.0  # seconds in which nothing comes and nobody asks: then it is done. A busy relay imports once a second
LONGEST_WAIT = 60.0  # seconds that it waits for such a moment; up to twice as long, too
# While all processors of the machine are busy, it waits up to LONGEST instead. Fifty relays on two processors began to
# apply what had come after a minute, and left no processor for verdicts.


class FollowUp:
    """Applies what comes to the clone at PLACE, until it is closed. USE tells how many questions commands have asked,
    and whether any waits for an answer, or lines are not sent. Meanwhile the processor is needed for them."""

    def __init__(
        self, place: Place, loop: Loop, env: Mapping[str, str], log: Log, use: Callable[[], tuple[int, bool]]
    ) -> None:
        self._place, self._loop, self._env, self._log, self._use = place, loop, env, log, use
        self._applied: object = None  # the state of the files when everything was last applied
        self._is_working = False
        self._not_before = 0.0
        self._seen: object = None  # the questions and the state at the last look
        self._busy_at = 0.0  # when something came, or somebody asked
        self._waits_since: float | None = None  # for a quiet moment
        self._spread = 1 + random.random()  # noqa: S311  (so that not all clones of a machine do it at once)
        self._timer = loop.later(0, self._look)

    def close(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        self._timer = self._loop.later(GLANCE, self._look)
        now, state = time.monotonic(), self._state()
        asked, is_busy = self._use()
        seen = asked, state
        if is_busy or seen != self._seen:
            self._seen, self._busy_at = seen, now
        if self._is_working or now < self._not_before or state == self._applied:
            return
        self._waits_since = self._waits_since or now
        patience = self._spread * (LONGEST if no_processor_is_free() else LONGEST_WAIT)
        if now - self._busy_at >= QUIET or now - self._waits_since >= patience:
            before, self._is_working, self._applied, self._waits_since = self._applied, True, state, None
            try:
                threading.Thread(target=self._work, name="bb-follow-up", daemon=True).start()
            except RuntimeError:  # the system has no thread left now
                self._is_working, self._applied = False, before

    def _state(self) -> object:
        """A value that changes with every import, and with every change of the pins."""
        try:
            found = os.stat(os.path.join(self._place.store, pins.NAME))
        except OSError:
            return received.mark_of(self._place.store), None
        return received.mark_of(self._place.store), (found.st_ino, found.st_mtime_ns)

    def _work(self) -> None:
        began = time.thread_time()
        desk = Desk(self._place.work_tree or self._place.common, self._env)
        try:
            desk.switch_to(desk.cwd, self._place)
            applying.apply(desk)
        except BbError as refusal:
            self._log.warning(f"{self._place.title}: lines of the fleet are applied later: {refusal.message}")
            self._applied = None
        except Exception as error:
            self._log.bug(f"applying lines of the fleet in {self._place.title}", error)
        finally:
            desk.close()
            pause = min(SHARE * (time.thread_time() - began), LONGEST)
            self._not_before = time.monotonic() + self._spread * pause
            self._is_working = False


def no_processor_is_free() -> bool:
    """Whether at least as many threads as there are processors wanted to run, in the last minute. False where the
    system does not count them."""
    try:
        return os.getloadavg()[0] >= (os.cpu_count() or 1)
    except (AttributeError, OSError):
        return False
