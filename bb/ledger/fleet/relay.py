"""The relay of one clone: it sends our lines to the engine of the fleet, and brings those of the other machines.

One relay serves all processes of a clone. They record lines in the journal as always, and ask the relay what the engine
made of them. A request is a dict, and so is its answer:

    {"ask": "settle", "events": [ID, …], "patience": SECONDS}
        Send our lines up to these, and say of each what it is, once the rows up to it are read:
        {"place": P, "imported": P, "events": {ID: VERDICT}}, where VERDICT is one of
            {"state": "admitted", "token": N, "place": P}
            {"state": "refused", "place": P, "by": [{"reservation_id", "agent_id", "scope", "token"}, …]}
            {"state": "void", "reason": TEXT}       a reservation that this log of the engine cannot admit
            {"state": "sent", "place": P}           a line that is no global reservation; it has a place
    {"ask": "flush", "patience": SECONDS}
        Wait until every line that is recorded now has a place: {"place": P, "imported": P, "sent": LINES}
    {"ask": "fresh", "patience": SECONDS, "signs": BOOLEAN}
        Read up to the engine's last row of now, and import the lines: {"place": P, "imported": P, "came": LINES}. With
        `signs`, also record the last sign of life of every agent that the engine knows of.
    {"ask": "status"}
        What the relay knows, at once: the members are in `status.py`.
    {"ask": "archive", "patience": SECONDS}
        Publish every row up to the engine's last row of now, by whichever relay archives: {"place": P, "archived": P}
    {"ask": "wake"}
        Look for new lines now, instead of within a second: {}

    {"ok": True, "result": RESULT}
    {"ok": False, "error": {"code", "message", "exit_status", "hint", "details"}}

The codes: GRANT_PENDING (`settle`: the lines may be on the engine, and what they are now is not known in time; their
reservations must not be given up because of it), ENGINE_UNREACHABLE (nothing was sent), ENGINE_DENIED, ANOTHER_ENGINE,
ENGINE_REWOUND, ENGINE_NOT_DURABLE, FLEET_ENDED, RELAY_STOPPED, RELAY_REQUEST (the request is not understood). If the
patience ends in `flush`, `fresh` or `archive`, the code is FLEET_BEHIND, or ENGINE_UNREACHABLE if the engine is away.

Before an answer is given, the results that it depends on are in `results.sqlite` (`published/fleet_results.py`).
"""

from __future__ import annotations

import threading
import time

from bb.coordination.facts import Released, Reserved
from bb.coordination.holdings.admission import Grant
from bb.coordination.holdings.ordered_admission import Changes, Refusal
from bb.coordination.holdings.scopes import Scope
from bb.kernel import clock
from bb.kernel.errors import BbError, Busy
from bb.kernel.record import quicken
from bb.ledger.carrier.door import Row
from bb.ledger.fleet import background_jobs, status
from bb.ledger.fleet.asking import RelayStopped
from bb.ledger.fleet.engine_loop import EngineLoop
from bb.ledger.fleet.moments import moment
from bb.ledger.fleet.outbox import PENDING as PENDING  # noqa: PLC0414  (clients know these from here)
from bb.ledger.fleet.outbox import UNKNOWN, Ask, Outbox
from bb.ledger.fleet.outbox import FleetBehind as FleetBehind  # noqa: PLC0414
from bb.ledger.fleet.outbox import RelayRequest as RelayRequest  # noqa: PLC0414
from bb.ledger.fleet.outbox import refused as refused  # noqa: PLC0414
from bb.ledger.fleet.row_fold import FoldedRow
from bb.ledger.fleet.shared import Shared
from bb.ledger.journal.line import Link

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bb.ledger.carrier.door import Carrier
    from bb.ledger.git.place import Place

STATUS, WAKE = "status", "wake"
LONGEST_REST = 0.25  # seconds between two looks at the asks that wait: the engine may have become silent
LATE = 0.05  # seconds; a thread that goes on later than this did not get to run
BUG_PAUSE = 5.0  # seconds until the loop is tried again after a bug


class Relay:
    """The relay of the clone at PLACE. ENV is the environment (BB_NOW, the settings of git); OPEN_CARRIER connects to
    the engine; LOG is given lines of text. HEARD is told the agents of other machines that gave a sign of life, each
    with the milliseconds since then."""

    def __init__(
        self,
        place: Place,
        env: Mapping[str, str],
        open_carrier: Callable[[], Carrier],
        log: Callable[[str], None],
        heard: Callable[[Mapping[str, int]], None] | None = None,
    ) -> None:
        self._env, self._log = env, log
        self._shared = Shared(place.store, self._verdict, log)
        self._loop = EngineLoop(place, self.now, open_carrier, log, heard, self._shared)
        self._statuses: list[Callable[[dict[str, Any]], None]] = []
        self._failure = ""  # why something could not be answered, the last time

    @property
    def has_work(self) -> bool:
        """Whether somebody waits, or lines have no place yet."""
        outbox = self._shared.outbox
        with self._shared.lock:
            return bool(outbox.asks) or outbox.unsent > 0

    def _verdict(self, event: str) -> dict[str, Any]:
        """What became of an event. If it cannot be looked up, who asks waits on, and all others get their answers."""
        try:
            return self._loop.state.verdict(event)
        except Exception as error:
            self._note_failure(error)
            return {"state": UNKNOWN}

    def _note_failure(self, error: Exception) -> None:
        """Log why something could not be answered, once until it is something else: it is tried again and again."""
        if (text := background_jobs.text_of(error)) != self._failure:
            self._failure = text
            self._log(f"an answer could not be found: {text}")

    def now(self) -> int:
        """The time in milliseconds, or the fixed one in BB_NOW."""
        fixed = self._env.get("BB_NOW")
        return clock.parse(fixed) if fixed else time.time_ns() // 1_000_000

    def run(self) -> None:
        """Work until `stop` is called. For a thread of its own."""
        quicken(Reserved, Released, Grant, Scope, Changes, Refusal, Link, Row, FoldedRow)  # some for each row
        answering = threading.Thread(target=self._answer, name="bb-relay-answers", daemon=True)
        answering.start()
        try:
            self._loop.run()
        finally:
            self.stop()
            answering.join()
            self._shared.close()

    def stop(self) -> None:
        """End `run` soon. What waits is answered: with GRANT_PENDING what may have been sent, the rest with
        RELAY_STOPPED. Any thread may call this."""
        with self._shared.lock:
            self._shared.is_stopping = True
            self._shared.has_news.notify_all()
        self._shared.wake()

    def ask(self, request: Mapping[str, Any], answer: Callable[[dict[str, Any]], None]) -> None:
        """Handle a request. ANSWER is called once, from a thread of the relay, or from this one if the request is
        refused at once. Any thread may call this."""
        kind = request.get("ask")
        if kind == WAKE:
            self._shared.wake()
            answer({"ok": True, "result": {}})
            return
        shared = self._shared
        try:
            with shared.lock:
                if shared.is_stopping:
                    raise RelayStopped()
                if kind == STATUS:
                    self._statuses.append(answer)
                else:
                    ask = Ask(request, answer, moment())
                    for writer, n in shared.lines.recorded().items():
                        shared.outbox.has_recorded(writer, n)
                    shared.outbox.add(ask)
                # If others wait, the answering thread looks again soon, and the other one answers before that.
                if kind == STATUS or len(shared.outbox.asks) == 1 or not shared.outbox.is_connected:
                    shared.has_news.notify_all()
        except BbError as refusal:
            answer(refused(refusal))
            return
        if kind != STATUS:
            shared.wake()

    def status(self) -> dict[str, Any]:
        """What the relay knows, without asking the engine."""
        with self._shared.lock:
            return status.of(self._loop, self._shared)

    def _answer(self) -> None:
        """Answer what is due, until the relay has ended."""
        shared, is_over = self._shared, False
        while not is_over:
            is_over = shared.is_stopping  # then everything is looked at once more
            try:
                self._answer_once()
            except Exception as error:  # whoever asks later must get an answer all the same
                self._note_failure(error)
                time.sleep(LONGEST_REST)
        with shared.lock:
            rest = shared.outbox.end(RelayStopped())
        for ask, found in rest:
            self._give(ask.answer, found)

    def _answer_once(self) -> None:
        """Wait until something is to be answered, and answer it."""
        shared = self._shared
        with shared.lock:
            if not shared.is_stopping and not shared.outbox.has_news and not self._statuses:
                self._rest(shared.outbox)
            statuses, self._statuses = self._statuses, []
        for answer in statuses:
            self._give(answer, self._status_answer())
        shared.answer_due()

    def _status_answer(self) -> dict[str, Any]:
        try:
            return {"ok": True, "result": self.status()}
        except Exception as error:
            self._note_failure(error)
            return refused(Busy(f"the relay cannot tell its status: {background_jobs.text_of(error)}"))

    def _rest(self, outbox: Outbox) -> None:
        """Wait for news, or until something is due. If that lasts longer than it should, the machine is busy, and the
        thread that reads what the engine says does not get to run either."""
        if outbox.asks:
            left = outbox.next_deadline(began := moment()) - began
            rest = max(min(left, LONGEST_REST), 0.001)
            self._shared.has_news.wait(rest)
        else:
            self._shared.has_news.wait()
            began, rest = outbox.asks[0].made_at if outbox.asks else moment(), 0.0
        if (woke := moment()) > began + rest + LATE:
            outbox.has_stalled(began, woke)

    def _give(self, answer: Callable[[dict[str, Any]], None], found: dict[str, Any]) -> None:
        try:
            answer(found)
        except Exception as error:  # who asked is gone
            self._log(f"an answer could not be given: {error!r}")
