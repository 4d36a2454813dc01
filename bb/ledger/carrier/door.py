"""The door to an engine that orders and carries the lines of a ledger.

An engine keeps one log for each repository. A *row* of that log is an append by one writer: some consecutive lines of
its journal. Each row has a *place*. Places rise by one, in the order in which the engine committed the rows, so every
reader sees the same rows in the same order. Nobody compares and swaps: a row is appended without asking what else is
there, and each reader decides at the row's place what it means (`coordination/holdings/ordered_admission.py`).

A log belongs to one *incarnation* of the engine. If the engine loses history, a new incarnation begins, whose first
place is higher than every place before. Each row has a running digest over all rows of its incarnation, so a reader
that comes back can tell whether the log is still the one that it has read.

A row may be void: some engines (NATS) take every append of a machine that they know, and the readers compute which ones
continue the lines of their writer. A void row keeps its place, so that places have no gaps, and has no lines. Its
writer is VOID, the number of its first line is 0, and it counts in the running digest like each other row.

Every implementation refuses with the same refusals, which are declared here, and translates those of its library.
"""

from __future__ import annotations

from bb.kernel.digest import whole_digest
from bb.kernel.errors import Busy, Conflict, Forbidden, Refused
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Protocol

MOST_READ = 500  # rows in one answer of `read`
VOID = "-"  # the writer of a row without lines
BEAT, BEAT_IS_VALID = 10, 45  # seconds between two beats of a machine, and until the last one is too old

EngineUnreachable = Busy.declare(
    "ENGINE_UNREACHABLE",
    "The engine of the fleet cannot be reached",
    hint="nothing is lost, and local work goes on; `bb fleet status` shows the connection. To reserve in this clone "
    "only: --fallback local",
)
AppendUnknown = Busy.declare(
    "APPEND_UNKNOWN",
    "It is not known whether the engine took the lines, because its answer was lost",
    hint="the same lines are sent again, which is safe: the engine takes them once",
)
UNREACHABLE = frozenset([EngineUnreachable.code, AppendUnknown.code])  # the codes of a connection that failed
Gap = Conflict.declare(
    "APPEND_GAP",
    "The engine does not have the lines before these",
    hint="the lines are sent again from the last one that the engine has",
)
Forked = Conflict.declare(
    "APPEND_FORKED",
    "The engine has other lines with the same numbers from this writer",
    hint="two stores wrote under one id; `bb doctor` says what to do",
)
Denied = Forbidden.declare(
    "ENGINE_DENIED",
    "The engine does not let this machine append lines of that writer",
    hint="ask the person who runs the engine: `bb fleet enroll MACHINE` gives a machine its rights",
)
AnotherEngine = Refused.declare(
    "ANOTHER_ENGINE",
    "The engine has another log than the one that this repository's fleet uses",
    hint="global verdicts stop until the connection is right. If the fleet has moved to another engine: "
    "`bb fleet join ENGINE`",
)
EngineRewound = Refused.declare(
    "ENGINE_REWOUND",
    "The engine has lost history that it had acknowledged",
    hint="global verdicts stop; when the engine is as it will stay: `bb fleet begin --again --reason '…'`",
)
FleetEnded = Refused.declare(
    "FLEET_ENDED",
    "The engine's log is closed: the fleet has ended, or has moved on to another log",
    hint="fetch the new charter with `bb sync`, and try again; the relay does it within seconds. If this goes on, "
    "whoever ran `bb fleet end` or `bb fleet begin --again` must repeat it",
)
Pruned = Refused.declare(
    "ENGINE_PRUNED",
    "The engine no longer has the rows that follow",
    hint="the published ledger has them: `bb sync --pull`",
)
LogInUse = Refused.declare(
    "LOG_IN_USE",
    "The engine has a log of that incarnation already, with lines or with another beginning",
    hint="`bb fleet status` shows it",
)
EngineNotDurable = Refused.declare(
    "ENGINE_NOT_DURABLE",
    "The engine acknowledges lines that a power failure can lose",
    hint="`bb fleet status` shows the setting that must change",
)


class Row(Record):
    """One append: the PLACE it got, its WRITER, the number of its FIRST line, and the lines in OCTETS, each with its
    newline. DIGEST is the running digest up to here; AT is the engine's time in milliseconds. A row without lines is
    void: it changes nothing but the digest."""

    place: int
    writer: str
    first: int
    octets: bytes
    digest: str
    at: int = 0

    @property
    def last(self) -> int:
        """The number of the last line."""
        return self.first + self.octets.count(b"\n") - 1


class Head(Record):
    """The state of the log: its incarnation, the place and digest of its last row, the first place that it can still
    give, and the engine's time in milliseconds. Before the first row, PLACE is the one before the log begins. A closed
    log takes no more rows."""

    incarnation: str
    place: int
    digest: str
    oldest: int
    now: int
    is_closed: bool = False


class Log(Record):
    """A log as the person who runs the engine sees it: its repository, its FIRST place, its head, how many ROWS and
    OCTETS the engine still has of it, and how many WRITERS there are."""

    repo: str
    first: int
    head: Head
    rows: int
    octets: int
    writers: int


class Machine(Record):
    """A machine of the fleet, by its last beat: how far its relay has read, and the AGENTS on it, each with the
    seconds since its last sign of life then. AGE is the age of the beat in seconds, by the engine's clock."""

    name: str
    writer: str
    place: int
    agents: Mapping[str, int] = {}
    age: float = 0.0

    @property
    def is_alive(self) -> bool:
        return self.age < BEAT_IS_VALID


def first_digest(repo: str, incarnation: str) -> str:
    """The digest before the first row of an incarnation."""
    return whole_digest(f"{repo} {incarnation}".encode())


def next_digest(before: str, place: int, writer: str, first: int, octets: bytes) -> str:
    """The running digest after one more row."""
    return whole_digest(bytes.fromhex(before) + f"{place} {writer} {first} {len(octets)}\n".encode() + octets)


if TYPE_CHECKING:

    class Carrier(Protocol):
        """One repository's log on an engine, over one connection. Not for use by two threads at once.

        A lost connection is EngineUnreachable; the next call connects again.
        """

        kind: str  # "git", "postgres" or "nats"

        def head(self) -> Head:
            """The state of the log. Reads from the primary, never from a copy."""

        def append(self, writer: str, first: int, lines: Sequence[bytes]) -> int:
            """Append LINES of WRITER, without newlines, the first of which has the number FIRST. Returns the place
            once they are on the engine's disk. Lines that the engine has are not appended twice; if it has all of
            them, this is the place of the row with the last one. More lines than a row can have become several rows.

            Raises AppendUnknown, Gap (details: `next`, the number that the engine expects), Forked, Denied or
            FleetEnded. EngineUnreachable means that the engine has taken none of the lines.
            """

        def read(self, since: int, most: int = MOST_READ) -> list[Row]:
            """The rows after place SINCE, in order, at most MOST and a few MiB of them. Empty if there are none. Raises
            Pruned (details: `oldest`) if the engine has removed the one that follows SINCE.

            Places have no gaps: the first row has the place after SINCE. Rows without lines are void, and keep their
            place. Every reader gets the same rows, void ones included, with the same digests."""

        def wait(self, since: int, seconds: float, also: Sequence[int] = ()) -> bool:
            """Wait until there may be rows after SINCE, or one of the file descriptors ALSO can be read, or SECONDS are
            over. Returns whether there may be rows. May return too early, never more than two seconds too late."""

        def beat(self, machine: Machine) -> None:
            """Note that the machine is alive now. Its age is ignored."""

        def alive(self) -> list[Machine]:
            """Every machine that has beaten lately, those whose beat is too old included for an hour."""

        def health(self) -> dict[str, Any]:
            """What a person must know of the engine: `durable` (a bool), the settings that make it so, its version,
            its standbys."""

        def lead(self) -> bool:
            """Whether this connection is the one that archives. One connection of all machines holds that lock."""

        def yield_lead(self) -> None:
            """Let another connection archive. Harmless if this one does not hold the lock."""

        def close(self) -> None: ...

    class Keeper(Protocol):
        """An engine as the person who runs it uses it. The tables or streams are made when a log begins."""

        kind: str

        def begin(self, repo: str, incarnation: str, first: int, heads: Mapping[str, int]) -> Head:
            """Make the log of an incarnation, whose first place is FIRST. HEADS are the numbers of the last published
            lines of each writer: the next line has the number after it. Doing the same again is harmless; a log
            without rows gets the new FIRST and HEADS. Raises LogInUse if it has rows and would change."""

        def end(self, repo: str, incarnation: str) -> Head:
            """Close the log: the engine refuses every append from now on. Returns its last state."""

        def logs(self, repo: str = "") -> list[Log]:
            """The logs of REPO, or of all repositories, in the order of their first places."""

        def prune(self, repo: str, incarnation: str, upto: int) -> int:
            """Remove the rows of a log up to place UPTO, which the published ledger must have. The digests and the last
            numbers of the writers stay, and so does the last row. Returns how many rows were removed."""

        def last_lines(self, repo: str, incarnation: str) -> dict[str, int]:
            """The number of the last line of each writer, in a log or published before it."""

        def remove(self, repo: str, incarnation: str) -> None:
            """Remove a closed log with everything in it. Raises LogInUse if it is not closed."""

        def health(self) -> dict[str, Any]:
            """As that of a carrier."""

        def close(self) -> None: ...
