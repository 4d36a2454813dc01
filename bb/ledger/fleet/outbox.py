"""What a relay has sent, what the engine made of it, and what each ask waits for. No I/O: the caller tells what has
happened and what time it is, sends what `batch` says, and gives the answers that `due` finds.

A line of a writer of this store goes through these states, and each of them is a number, because lines go in order:

    recorded      it is in the journal
    sent          it was given to the engine, perhaps by an earlier process: it may be there
    acknowledged  the engine said that it is on its disk
    placed        it is in a row that was read back and folded: what every other reader sees too

Only placed lines are answered with a verdict. That a reservation is admitted is told only while the results are known
to be current: another agent may have taken it over in rows that are not read yet. What was not admitted never will be,
so that is told at any time.

A line that may have been sent is never called unsent, also after a lost
answer, a lost connection or a restart: its ask ends with GRANT_PENDING. The same lines are sent again until they are
placed, which is harmless, because the engine takes them once.
"""

from __future__ import annotations

from bb.kernel import ids
from bb.kernel.errors import BbError, Busy, Usage
from bb.kernel.record import Record
from bb.ledger.carrier.door import UNREACHABLE, AppendUnknown, EngineUnreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    Answer = dict[str, Any]

PENDING = "GRANT_PENDING"  # the code of `ops/holdings/global_reservations.py`, which raises it in the command
RECENT = 45.0  # seconds; as of so long ago, a grant is still called a grant: nobody is taken over that soon
SOON = 1.0  # seconds until an ask is refused whose lines were not sent, while the engine does not answer
LONG = 20.0  # seconds of patience; with less, the time until a refusal is kept, however busy this machine is
REMEMBERED = 60.0  # seconds for which it is known when this process did not get to run
LONGEST_PATIENCE = 3600.0
MOST_EVENTS = 1000  # in one ask
MOST_LINES = 400  # in one append
UNKNOWN = "unknown"  # the state of an event that cannot be looked up now
SETTLE, FLUSH, FRESH, ARCHIVE = "settle", "flush", "fresh", "archive"

FleetBehind = Busy.declare(
    "FLEET_BEHIND",
    "The engine did not answer within the time that was allowed",
    hint="`bb fleet status` shows what is not sent or read yet; it goes on by itself",
)
RelayRequest = Usage.declare("RELAY_REQUEST", "The relay does not understand the request")


class Batch(Record):
    """Lines to send in one append: those of WRITER from FIRST to LAST."""

    writer: str
    first: int
    last: int


class Ask:
    """A request that waits. LINES are the last lines that it is about, of each writer; PLACE is the one that must be
    read, once it is known."""

    __slots__ = ("answer", "deadline", "events", "kind", "lines", "made_at", "place", "since", "waits_for_signs")

    def __init__(self, request: Mapping[str, Any], answer: Callable[[Answer], None], now: float) -> None:
        kind, patience, events = request.get("ask"), request.get("patience", 10.0), request.get("events", ())
        if kind not in (SETTLE, FLUSH, FRESH, ARCHIVE):
            raise RelayRequest(f"the relay does not know the request {str(kind)[:40]!r}")
        if type(patience) not in (int, float) or not 0 <= patience <= LONGEST_PATIENCE:
            raise RelayRequest("`patience` is a number of seconds, at most an hour")
        if not isinstance(events, list | tuple) or len(events) > MOST_EVENTS or not all(map(_is_event, events)):
            raise RelayRequest(f"`events` is a list of at most {MOST_EVENTS} ids of events")
        if kind == SETTLE and not events:
            raise RelayRequest("`settle` needs the ids of events")
        self.kind: str = kind
        self.answer = answer
        self.made_at, self.deadline = now, now + patience
        self.events: Sequence[str] = tuple(dict.fromkeys(events))
        self.lines: dict[str, int] = {}
        self.place: int | None = None
        self.waits_for_signs = kind == FRESH and request.get("signs") is True
        self.since = 0  # what was placed or imported when it was asked

    def needs(self, writer: str, n: int) -> None:
        """The ask is about the lines of WRITER up to N."""
        self.lines[writer] = max(n, self.lines.get(writer, 0))


def _is_event(text: object) -> bool:
    return type(text) is str and ids.is_event_id(text)


class Outbox:
    """The lines of the writers of this store, and the asks. VERDICT tells what became of an event whose line is placed,
    as the fold has it. It refuses nothing: what cannot be looked up is UNKNOWN for now."""

    def __init__(self, verdict: Callable[[str], Answer]) -> None:
        self._verdict = verdict
        self.recorded: dict[str, int] = {}
        self.sent: dict[str, int] = {}
        self.acknowledged: dict[str, int] = {}
        self.placed: dict[str, int] = {}
        self.left: dict[str, str] = {}  # writers that send nothing any more, and why
        self.denied: dict[str, BbError] = {}  # writers that the engine refuses, for now
        self.place = self.imported = self.archived = 0
        self.acknowledged_place = 0  # the highest place that the engine has told of
        self.current_as_of = float("-inf")  # when the results were last known to have everything that the engine had
        self.has_begun = False  # before that, any line may have been sent by an earlier process
        self.is_connected = False
        self.silent_since: float | None = None  # when the engine was asked something that it has not answered yet
        self._tried_at = float("-inf")  # when the last attempt to connect began that has failed
        self._stalls: list[tuple[float, float]] = []  # times in which this process did not get to run
        self.trouble: BbError | None = None  # why the last connection failed
        self.stop: BbError | None = None  # why there are no verdicts at all
        self.asks: list[Ask] = []
        self.was_told = False  # whether anything was told since `due` was last called
        self._new: list[Ask] = []  # the asks since then
        self._looks_again_at = float("inf")  # when a verdict that was unknown is looked up again

    # -- what happened

    def begin(self, placed: Mapping[str, int], recorded: Mapping[str, int], place: int) -> None:
        """A log of the engine is read from PLACE on. The lines of each writer up to PLACED are in it or were published
        before. All others may have been sent by an earlier process."""
        self.has_begun = True
        self.placed, self.acknowledged = dict(placed), {}
        self.recorded = dict(recorded)
        self.sent = dict(recorded)
        self.denied.clear()
        self.place = self.imported = place
        self.acknowledged_place = 0
        self.current_as_of = float("-inf")
        self.was_told = True

    def has_recorded(self, writer: str, n: int) -> None:
        """The lines of WRITER up to N are in its journal."""
        self.recorded[writer] = n

    def batch(self) -> Batch | None:
        """The next lines to send; None if none wait."""
        for writer, n in self.recorded.items():
            if writer in self.left or writer in self.denied:
                continue
            done = max(self.placed.get(writer, 0), self.acknowledged.get(writer, 0))
            if n > done:
                return Batch(writer, done + 1, min(n, done + MOST_LINES))
        return None

    def sends(self, batch: Batch) -> int:
        """The BATCH is about to be given to the engine. Returns the last line of its writer that may have been sent
        before."""
        before = self.sent.get(batch.writer, 0)
        self.sent[batch.writer] = max(batch.last, before)
        return before

    def has_not_sent(self, batch: Batch, before: int) -> None:
        """The BATCH did not leave this machine: only the lines up to BEFORE may have been sent."""
        self.sent[batch.writer] = before
        self.was_told = True

    def was_acknowledged(self, batch: Batch, place: int) -> None:
        """The engine has the lines on its disk, the last one in the row at PLACE."""
        self.acknowledged[batch.writer] = max(batch.last, self.acknowledged.get(batch.writer, 0))
        self.acknowledged_place = max(place, self.acknowledged_place)

    def expects(self, writer: str, n: int) -> None:
        """The engine has the lines of WRITER before N, whoever sent them."""
        self.acknowledged[writer] = max(n - 1, self.acknowledged.get(writer, 0))
        self.sent[writer] = max(n - 1, self.sent.get(writer, 0))

    @property
    def forgotten(self) -> str:
        """A writer whose lines the engine has acknowledged and does not have; empty if there is none. Then it has lost
        history, although it may have as many rows as before."""
        if self.place < self.acknowledged_place:
            return ""
        lacking = (writer for writer, n in self.acknowledged.items() if n > self.placed.get(writer, 0))
        return next((writer for writer in lacking if writer not in self.left), "")

    def lost_connection(self, trouble: BbError, tried_at: float = float("-inf")) -> None:
        """The connection is lost, or an attempt to connect that began at TRIED_AT has failed. What was sent stays
        uncertain."""
        self.is_connected, self.trouble = False, trouble
        self._tried_at = max(tried_at, self._tried_at)
        self.was_told = True

    def leaves(self, writer: str, reason: str) -> None:
        """WRITER is retired: its lines that are not placed are recorded again under another one."""
        self.left[writer] = reason
        self.was_told = True

    def has_folded(self, place: int, placed: Mapping[str, int]) -> None:
        """The rows up to PLACE are folded, with the lines of writers up to PLACED."""
        self.place = place
        for writer, n in placed.items():
            self.placed[writer] = max(n, self.placed.get(writer, 0))
        self.was_told = True

    def has_imported(self, place: int) -> None:
        """The lines of the rows up to PLACE are in the journals."""
        self.imported = place
        self.was_told = True

    def has_archived(self, place: int) -> None:
        """The rows up to PLACE are published."""
        self.archived = place
        self.was_told = True

    def was_current(self, moment: float) -> None:
        """At that MOMENT, the engine had no row after the current place."""
        self.current_as_of = moment
        self.was_told = True

    def has_read_everything(self, asked_at: float) -> None:
        """At ASKED_AT or later, the engine had no row after the current place."""
        for ask in self.asks:
            if ask.place is None and ask.kind in (FRESH, ARCHIVE) and ask.made_at <= asked_at:
                ask.place = self.place
                self.was_told = True

    def has_heard_signs(self) -> None:
        """Every sign of life that the engine knows of is recorded, after the current place was read."""
        for ask in self.asks:
            if self._is_read(ask):
                ask.waits_for_signs = False
                self.was_told = True

    def _is_read(self, ask: Ask) -> bool:
        """Whether everything that the engine had when it was asked is in the journals."""
        return ask.place is not None and self.imported >= ask.place

    # -- what waits

    @property
    def unsent(self) -> int:
        """The number of lines that are not placed yet."""
        return sum(
            max(n - self.placed.get(writer, 0), 0) for writer, n in self.recorded.items() if writer not in self.left
        )

    @property
    def waits_for_reading(self) -> bool:
        """Whether an ask wants to know what the engine has now."""
        return any(ask.place is None and ask.kind in (FRESH, ARCHIVE) for ask in self.asks)

    @property
    def waits_for_import(self) -> bool:
        """Whether an ask waits for lines to be in the journals."""
        return any(ask.place is not None and ask.place > self.imported for ask in self.asks if ask.kind == FRESH)

    @property
    def waits_for_signs(self) -> bool:
        """Whether an ask wants to know who is alive, and waits for nothing else."""
        return any(ask.waits_for_signs and self._is_read(ask) for ask in self.asks)

    @property
    def waits_for_archive(self) -> bool:
        return any(ask.place is not None and ask.place > self.archived for ask in self.asks if ask.kind == ARCHIVE)

    def add(self, ask: Ask) -> None:
        """Let ASK wait. What is recorded must be known by now."""
        if ask.kind == SETTLE:
            for event in ask.events:
                ask.needs(*ids.split_event_id(event))
        elif ask.kind == FLUSH:
            ask.lines = {writer: n for writer, n in self.recorded.items() if n > self.placed.get(writer, 0)}
            ask.since = sum(n - self.placed.get(writer, 0) for writer, n in ask.lines.items())
        elif ask.kind == FRESH:
            ask.since = self.imported
        self.asks.append(ask)
        self._new.append(ask)

    @property
    def has_news(self) -> bool:
        """Whether `due` may find something, although no time has passed."""
        return bool(self.asks) and (self.was_told or bool(self._new))

    def next_deadline(self, now: float) -> float:
        """When `due` must be called next, if nothing happens before."""
        soonest: float = min([self._looks_again_at, *(ask.deadline for ask in self.asks)])
        for ask in self.asks if self._is_silent else ():
            due = self._refused_at(ask)
            if due < soonest and not self._is_uncertain(ask, now):
                soonest = due
        return soonest

    @property
    def _is_silent(self) -> bool:
        return not self.is_connected or self.silent_since is not None

    @property
    def _silent_from(self) -> float:
        return self.silent_since if self.is_connected and self.silent_since is not None else float("-inf")

    def has_stalled(self, since: float, until: float) -> None:
        """This process was to go on at SINCE, and did not get to run before UNTIL: the machine is busy, or slept. The
        engine may have answered meanwhile, and nobody has read it."""
        self._stalls = [stall for stall in self._stalls if stall[1] > until - REMEMBERED]
        self._stalls.append((since, until))

    def _refused_at(self, ask: Ask) -> float:
        """When ASK is refused because the engine is silent. For those who have the patience, time in which nobody could
        read what it says is not its silence."""
        begun = max(ask.made_at, self._silent_from)
        if ask.deadline - ask.made_at < LONG:
            return begun + SOON
        return begun + SOON + sum(max(until - max(since, begun), 0.0) for since, until in self._stalls)

    def due(self, now: float) -> list[tuple[Ask, Answer]]:
        """The asks that can be answered now, or must be, with their answers. They wait no more."""
        asks = self._new
        if self.was_told or now >= self.next_deadline(now):
            asks, self._looks_again_at = self.asks, float("inf")
        self.was_told, self._new = False, []
        found = [(ask, answer) for ask in asks if (answer := self._answer(ask, now)) is not None]
        if found:
            answered = {id(ask) for ask, _ in found}
            self.asks = [ask for ask in self.asks if id(ask) not in answered]
        return found

    def end(self, refusal: BbError) -> list[tuple[Ask, Answer]]:
        """The answers when the relay ends. Lines that may have been sent are pending; `ended` says that another relay
        can tell what they are."""
        asks, self.asks, self._new = self.asks, [], []
        never = float("inf")
        uncertain = pending(refusal.message, ended=True)
        return [(ask, uncertain if self._is_uncertain(ask, never) else refused(refusal)) for ask in asks]

    def _answer(self, ask: Ask, now: float) -> Answer | None:
        if self.stop is not None:
            return refused(self.stop)
        if (done := self._done(ask, now)) is not None:
            return {"ok": True, "result": done}
        if denied := next((self.denied[writer] for writer in ask.lines if writer in self.denied), None):
            return refused(denied)
        is_late = now >= ask.deadline
        if self._is_uncertain(ask, now):
            return pending(self._why()) if is_late else None
        is_away = not self.is_connected and self._tried_at >= ask.made_at  # somebody has looked since it was asked
        is_silent = self._is_silent and self.has_begun
        if is_away or (is_silent and now >= self._refused_at(ask)):
            return refused(self._unreachable())
        return refused(FleetBehind() if self.is_connected else self._unreachable()) if is_late else None

    def _unreachable(self) -> BbError:
        """A refusal that says why the engine cannot be reached."""
        if self.trouble is not None and not self.is_connected:
            # The answer to an append was lost. The ask is about other lines, which were not sent.
            is_lost = self.trouble.code == AppendUnknown.code
            return EngineUnreachable(self.trouble.message) if is_lost else self.trouble
        return EngineUnreachable("the engine of the fleet does not answer")

    def _why(self) -> str:
        if self.is_connected:
            return "the lines were sent, and what the engine made of them is not read yet"
        if self.trouble is None or self.trouble.code in UNREACHABLE:
            return "the lines may have been sent, and the engine cannot be reached"
        # The engine may be well: something on this machine fails, such as a full disk.
        return f"the lines may have been sent, and the relay of this clone cannot go on: {self.trouble.message}"

    def _is_uncertain(self, ask: Ask, now: float) -> bool:
        """Whether the engine may have any of the lines that an ask for a verdict is about, and what they are NOW is not
        known."""
        if ask.kind != SETTLE or not self.has_begun:
            return ask.kind == SETTLE
        for event in ask.events:
            writer, n = ids.split_event_id(event)
            if n <= self.placed.get(writer, 0):
                if not self._is_certain(self._verdict(event), now):
                    return True
            elif n <= self.sent.get(writer, 0) and writer not in self.left:
                return True
        return False

    def _is_certain(self, verdict: Answer, now: float) -> bool:
        """Whether a verdict holds NOW. A grant may have ended in rows that are not read yet."""
        if verdict.get("state") == UNKNOWN:
            self._looks_again_at = min(self._looks_again_at, now + SOON)
            return False
        return verdict.get("state") != "admitted" or now - self.current_as_of <= RECENT

    def _done(self, ask: Ask, now: float) -> dict[str, Any] | None:
        """The result of an ask, if it has one."""
        about = {"place": self.place, "imported": self.imported}
        if ask.kind == SETTLE:
            verdicts = dict(self._verdicts(ask, now))
            return about | {"events": verdicts} if len(verdicts) == len(ask.events) else None
        if ask.kind == FLUSH:
            is_placed = all(
                n <= self.placed.get(writer, 0) for writer, n in ask.lines.items() if writer not in self.left
            )
            return about | {"sent": ask.since} if is_placed else None
        if ask.place is None:
            return None
        if ask.kind == FRESH:
            is_done = self._is_read(ask) and not ask.waits_for_signs
            return about | {"came": max(self.imported - ask.since, 0)} if is_done else None
        return {"place": ask.place, "archived": self.archived} if self.archived >= ask.place else None

    def _verdicts(self, ask: Ask, now: float) -> Iterator[tuple[str, Answer]]:
        for event in ask.events:
            writer, n = ids.split_event_id(event)
            if self.placed.get(writer, 0) >= n:
                if self._is_certain(verdict := self._verdict(event), now):
                    yield event, verdict
            elif writer in self.left:
                yield event, {"state": "void", "reason": self.left[writer]}
            elif n > self.recorded.get(writer, 0):
                yield event, {"state": "void", "reason": "this clone has not recorded such a line"}


def pending(why: str, **details: Any) -> Answer:
    """The answer about lines that may have been sent."""
    message = f"it is not known yet whether the reservation is admitted in every clone: {why}"
    hint = "ask again: `bb sync` settles it; the reservation stays recorded until then"
    about = {"code": PENDING, "message": message, "exit_status": Busy.exit_status, "hint": hint, "details": details}
    return {"ok": False, "error": about}


def refused(error: BbError) -> Answer:
    """The answer that carries a refusal."""
    about: dict[str, Any] = {"code": error.code, "message": error.message, "exit_status": error.exit_status}
    about |= {"hint": error.hint} if error.hint else {}
    about |= {"details": error.details} if error.details else {}
    return {"ok": False, "error": about}
