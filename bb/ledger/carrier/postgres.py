"""A repository's log on a PostgreSQL server. The rules are in the functions of the schema; this calls them.

Notifications only wake. Each reader selects the rows after its place, so a lost notification costs two seconds at most.
"""

from __future__ import annotations

import contextlib
from time import monotonic

from bb.kernel import json_text
from bb.kernel.escaping import harmless
from bb.ledger.carrier import beats
from bb.ledger.carrier.door import (
    MOST_READ,
    AnotherEngine,
    AppendUnknown,
    Denied,
    EngineNotDurable,
    EngineUnreachable,
    FleetEnded,
    Forked,
    Gap,
    Head,
    Machine,
    Pruned,
    Row,
)
from bb.ledger.carrier.postgres_keeper import PostgresKeeper
from bb.ledger.carrier.postgres_session import (
    PATIENCE,
    VERSION,
    Answer,
    EngineUnprepared,
    ServerError,
    Session,
    health_of,
    refused,
)

__all__ = ["PostgresCarrier", "PostgresKeeper"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

READING = 10.0  # seconds for the answer to a read, which may be a few MiB
LARGEST = 4 << 20  # bytes of the lines of one row
LOOK = 2.0  # seconds after which a reader looks by itself
SOON = 0.06  # after it has read something: the server leaves out notifications within 50 ms of another one
MUCH = 2 << 20  # bytes in an answer, after which there is probably more
LONGEST_BEAT = 60_000  # bytes of the agents in a beat
LOCK_CLASS = 0x62620000  # of the advisory lock of the machine that archives; the second number is the log

OPEN = "select bb.version(), h.log from (select 1) one left join bb.head($1, $2) h on true"
HEAD = "select place, digest, oldest, is_closed, now from bb.head($1, $2)"
APPEND = "select place, problem, expected from bb.append($1, $2, $3, $4, $5)"
READ = "select place, writer, first, at, digest, octets from bb.read($1, $2, $3, $4::integer)"
SAY_ALIVE = "select bb.beat($1, $2, $3, $4, $5)"
ALIVE = "select role, writer, place, agents, (age operator(pg_catalog.*) 1000)::bigint from bb.alive($1, $2)"
LEAD = "select pg_try_advisory_lock($1::integer, $2::integer)"
YIELD = "select pg_advisory_unlock($1::integer, $2::integer)"
PING = "select 1"
END_STUCK = "select bb.end_stuck()"
LOCKED = "55P03"  # PostgreSQL's code: a lock could not be had in time


class PostgresCarrier:
    """The log of one incarnation. It connects when it is used."""

    kind = "postgres"

    def __init__(self, conninfo: str, repo: str, incarnation: str, patience: float = PATIENCE) -> None:
        self.repo, self.incarnation, self.patience = repo, incarnation, patience
        self._conninfo = conninfo
        self._session: Session | None = None
        self._log = 0
        self._is_leader = False
        self._read_at, self._look = 0.0, 0.0  # when the last read was, and how long after it to look again

    def head(self) -> Head:
        found = self._ask(HEAD)
        if not found.count:
            raise self._another()
        place, oldest, now = found.number(0, 0), found.number(0, 2), found.number(0, 4)
        digest, is_closed = found.octets(0, 1) or b"", bool(found.number(0, 3))
        return Head(self.incarnation, place, digest.hex(), oldest, now, is_closed)

    def append(self, writer: str, first: int, lines: Sequence[bytes]) -> int:
        octets = b"".join([line + b"\n" for line in lines])
        if not lines or len(octets) > LARGEST or octets.count(b"\n") != len(lines):
            raise ValueError("a row has some whole lines, and at most four MiB")
        session = self._ready()  # until here, nothing was sent
        try:
            found = session.ask(APPEND, self.repo, self.incarnation, writer, first, octets)
        except EngineUnreachable.error as lost:
            raise AppendUnknown(f"the answer to an append was lost: {lost.message}") from lost
        except ServerError as error:
            if error.state == LOCKED:
                raise self._locked(session) from error
            raise refused(error) from error
        if (problem := found.text(0, 1)) is not None:
            raise self._problem(problem, writer, found.number(0, 2))
        if session.warnings:  # it was committed here, and the wait for a synchronous standby was given up
            raise AppendUnknown(f"the engine took the lines with a warning: {session.warnings[0]}")
        return found.number(0, 0)

    def read(self, since: int, most: int = MOST_READ) -> list[Row]:
        found = self._ask(READ, since, most, patience=max(READING, self.patience))
        if found.count == 1 and found.octets(0, 0) is None:
            if found.octets(0, 2) is None:
                raise self._another()
            oldest = found.number(0, 2)
            raise Pruned(f"the engine has no rows before place {oldest}", oldest=oldest)
        rows = _rows(found)
        self._read_at = monotonic()
        if rows:
            is_more = len(rows) >= most or sum(len(row.octets) for row in rows) > MUCH
            self._look = 0.0 if is_more else SOON
        else:
            self._look = min(LOOK, 4 * self._look or LOOK)
        return rows

    def wait(self, since: int, seconds: float, also: Sequence[int] = ()) -> bool:
        session = self._ready()
        now = monotonic()
        end = now + seconds
        look = max(now, self._read_at + self._look)
        while not _is_woken(session.notified(), since):
            now = monotonic()
            if now >= look:
                return True
            if now >= end:
                return False
            if session.listen(min(look, end) - now, also):
                return _is_woken(session.notified(), since)
        return True

    def beat(self, machine: Machine) -> None:
        agents = _agents_text(machine)
        if (problem := self._ask(SAY_ALIVE, machine.writer, machine.place, agents).text(0, 0)) is not None:
            raise self._problem(problem, machine.writer, 0)

    def alive(self) -> list[Machine]:
        found = self._ask(ALIVE)
        return [
            Machine(
                found.text(row, 0) or "",
                found.text(row, 1) or "",
                beats.place_in(found.number(row, 2)),
                _agents(found.text(row, 3)),
                found.number(row, 4) / 1000,
            )
            for row in range(found.count)
        ]

    def health(self) -> dict[str, Any]:
        return health_of(self._open())

    def lead(self) -> bool:
        session = self._ready()
        try:
            if self._is_leader and self._session is session:
                session.ask(PING)  # the lock is held as long as the connection lives
            else:
                self._is_leader = session.ask(LEAD, LOCK_CLASS, self._log).octets(0, 0) == b"\x01"
        except ServerError as error:
            raise refused(error) from error
        return self._is_leader

    def yield_lead(self) -> None:
        session, was_leader = self._session, self._is_leader
        self._is_leader = False
        if was_leader and session is not None:
            try:
                session.ask(YIELD, LOCK_CLASS, self._log)
            except ServerError as error:
                raise refused(error) from error

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
        self._session, self._is_leader = None, False

    def _ask(self, statement: str, *values: int | str | bytes, patience: float | None = None) -> Answer:
        """The answer to a statement about this log, whose first values are its repository and incarnation."""
        try:
            return self._ready().ask(statement, self.repo, self.incarnation, *values, patience=patience)
        except ServerError as error:
            raise refused(error) from error

    def _open(self) -> Session:
        """A connection that has not been lost, as far as this machine knows."""
        if self._session is None or self._session.is_lost():
            self.close()
            self._log = 0
            self._session = Session(self._conninfo, self.patience)
        return self._session

    def _ready(self) -> Session:
        """A connection to a sound server, which listens for new rows of the log."""
        session = self._open()
        if not self._log:
            session.must_be_sound()
            self._listen(session)
        return session

    def _listen(self, session: Session) -> None:
        try:
            found = session.ask(OPEN, self.repo, self.incarnation)
            if found.number(0, 0) != VERSION:
                raise EngineUnprepared()
            if not (log := found.number(0, 1)):
                raise self._another()
            session.ask(f"listen bb_{log}")
        except ServerError as error:
            raise refused(error) from error
        self._log, self._look = log, 0.0

    def _locked(self, session: Session) -> Exception:
        """The refusal of an append while another session keeps the log locked, after the server was asked to end that
        one if it does so for too long."""
        ended = None
        with contextlib.suppress(ServerError):  # an older schema, or an older role, may not have the function
            ended = session.ask(END_STUCK).text(0, 0)
        by = f", by a transaction of {harmless(ended)} that was ended now" if ended else ""
        return EngineUnreachable(f"the engine's log was kept locked{by}; nothing was changed")

    def _another(self) -> Exception:
        return AnotherEngine(
            f"the engine has no log {self.incarnation} of this repository", incarnation=self.incarnation
        )

    def _problem(self, problem: str, writer: str, expected: int) -> Exception:
        """The refusal for a PROBLEM that a function of the schema named."""
        if problem == "gap":
            return Gap(f"the engine expects line {expected} of {writer}", next=expected)
        if problem == "fsync":
            return EngineNotDurable("fsync is not on")
        if problem == "log":
            return self._another()
        known = {"closed": FleetEnded, "denied": Denied, "forked": Forked}
        return known[problem]() if problem in known else EngineUnprepared()


def _rows(found: Answer) -> list[Row]:
    octets, number = found.octets, found.number
    return [
        Row(
            number(row, 0),
            str(octets(row, 1) or b"", "utf-8", "replace"),
            number(row, 2),
            octets(row, 5) or b"",
            (octets(row, 4) or b"").hex(),
            number(row, 3),
        )
        for row in range(found.count)
    ]


def _is_woken(payloads: list[str], since: int) -> bool:
    """Whether one of the notifications says that there is a row after SINCE. Anybody may notify, so what is not a
    number is believed, which costs one read."""
    return any(not (text.isdigit() and len(text) < 20) or int(text) > since for text in payloads)


def _agents_text(machine: Machine) -> str:
    """The agents of a beat as JSON. Where there are too many, those that were seen last are kept."""
    agents = sorted(machine.agents.items(), key=lambda each: each[1])
    while len(text := json_text.canonical(dict(agents))) > LONGEST_BEAT:
        agents = agents[: len(agents) // 2]
    return text


def _agents(text: str | None) -> dict[str, int]:
    """The agents of a beat that another machine has written."""
    try:
        return beats.agents_in(json_text.loads(text or "{}"))
    except ValueError:
        return {}
