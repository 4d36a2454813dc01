"""`fleet/results.sqlite`: what this clone's relay has computed from the rows of its fleet's engine.

Only the relay writes the file, and every command may read it at any time. It is disposable: without it, the relay
starts again from the results of the archive (`pins.json`) and reads the rows after it from the engine again.

The results are read lazily. The state of one reservation is one query, however many there are.
"""

from __future__ import annotations

import os
from _collections_abc import Mapping  # `collections.abc` imports a package that takes longer than reading most files
from abc import abstractmethod

from bb.coordination.agents.hearing import Hearing
from bb.coordination.holdings import admission
from bb.coordination.holdings.admission import Admitted
from bb.kernel import json_text
from bb.kernel.errors import Busy, Refused
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, Protocol

    from bb.coordination.holdings.admission import Grant
    from bb.ledger.files.sqlite import sqlite3

    class Asked(Protocol):
        """A file of results."""

        def ask(self, query: str, *values: object) -> list[Any]: ...


FOLDER = "fleet"
NAME = "results.sqlite"
ENGINE = "engine.json"  # exists in a clone that has joined a fleet
VERSION = 4  # of the tables; the relay makes a file of another version anew
PATIENCE = 5.0  # seconds to wait for the relay's transaction
NO_TABLES = "no such table"  # SQLite's words; the relay has just made the file
LATER = ("locked", "busy")  # and those for what passes: the file is written
# Those for files beside this one that cannot be made or opened. The file itself may be well, or is just made anew.
SHUT_OUT = ("unable to open", "readonly database", "disk I/O error", "is full")
ATTEMPTS = 3
ALL, COUNTED = "every", "counted"  # the two results: from all lines, and from those that count

ResultsBusy = Busy.declare(
    "FLEET_RESULTS_BUSY",
    "The results of the fleet cannot be read, because another process is writing them",
    hint="try again in a few seconds",
)
ResultsDamaged = Refused.declare(
    "FLEET_RESULTS_DAMAGED",
    "The file with the results of the fleet is damaged",
    hint="remove this file: the relay computes the results again, from the published ledger and the engine",
)
ResultsNotSaved = Busy.declare(
    "FLEET_RESULTS_NOT_SAVED",
    "The results of the fleet cannot be saved or read on this disk",
    hint="make room on the disk; it goes on by itself",
)


class FleetResults(Record):
    """The results up to a PLACE of one INCARNATION, whose running digest is DIGEST there. The lines of the rows up to
    IMPORTED are in the journals. CURRENT_AT is this machine's time, in milliseconds, at which these were last known to
    be all rows of the engine; 0 if never. COUNTED has the results from the lines that count; None if all lines count.
    HEARING says since when the signs of life of other machines are heard."""

    incarnation: str
    place: int
    imported: int
    digest: str
    current_at: int
    admitted: Admitted
    counted: Admitted | None = None
    hearing: Hearing = Hearing()

    @property
    def in_force(self) -> Admitted:
        """The results from the lines that count here."""
        return self.admitted if self.counted is None else self.counted


def folder_of(store: str) -> str:
    """The folder of a clone's files about its fleet."""
    return os.path.join(store, FOLDER)


def path_of(store: str) -> str:
    return os.path.join(store, FOLDER, NAME)


def has_joined(store: str) -> bool:
    """Whether this clone has joined a fleet. One look at the disk, for commands that must be fast."""
    try:
        os.stat(os.path.join(store, FOLDER, ENGINE))
    except OSError:
        return False
    return True


# The open file of the last store that was read, with its inode. A long-lived process reads it again and again.
_open: dict[str, tuple[int, Reading]] = {}


def read(store: str) -> FleetResults | None:
    """The saved results; None if there are none. Their mappings show what the relay saved last, which may be more than
    there was at this call."""
    file = _reading(path_of(store))
    return file.results() if file else None


def _reading(path: str) -> Reading | None:
    """The open file; None if there is none. Another thread may open that of another store meanwhile, so nobody else
    looks into `_open`."""
    try:
        inode = os.stat(path).st_ino
    except OSError:
        return None
    known = _open.get(path)
    if known is None or known[0] != inode:
        _open.clear()
        known = _open[path] = inode, Reading(path)
    return known[1]


def counted(store: str, incarnation: str, places: Iterable[int]) -> list[int]:
    """Those of PLACES whose rows count, as the relay of this clone has read them. Rows that it has not read are left
    out."""
    file = _reading(path_of(store))
    if file is None or file.results() is None:
        return []
    known = dict(file.ask("select name, value from about"))
    if known.get("incarnation") != incarnation or "began" not in known:
        return []
    began, last = int(known["began"]), int(known["place"])
    flawed = {place for (place,) in file.ask("select place from flawed")}
    return [place for place in sorted(places) if began < place <= last and place not in flawed]


def damage_in(store: str) -> str:
    """What is wrong with the file of results; empty if nothing is, or if there is none. It reads all of the file."""
    path = path_of(store)
    if not os.path.exists(path):
        return ""
    reading = Reading(path)
    try:
        found = reading.ask("pragma quick_check(1)")
        return "" if found == [("ok",)] else f"{path} is damaged: {found[0][0] if found else 'it cannot be checked'}"
    except ResultsBusy.error:
        return ""
    except ResultsDamaged.error as refusal:
        return refusal.message
    finally:
        reading.close()


class Reading:
    """One connection that reads the results."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._process = 0

    def ask(self, query: str, *values: object) -> list[Any]:
        """The rows that a QUERY finds; none if the file has no such tables. Several threads may ask."""
        from bb.ledger.files.sqlite import sqlite3  # noqa: PLC0415  (needed only in a fleet)

        try:
            return self._rows(query, values)
        except sqlite3.DatabaseError as error:
            why = str(error)
            if NO_TABLES in why:
                return []
            if any(words in why for words in LATER):
                raise ResultsBusy() from error
            # No answer must not look like an empty one: then nobody would hold anything.
            raise ResultsDamaged(f"the file with the results of the fleet, {self._path}, is damaged: {why}") from error

    def _rows(self, query: str, values: Sequence[object]) -> list[Any]:
        """The rows that a QUERY finds. Raises the errors of SQLite."""
        from bb.ledger.files.sqlite import sqlite3  # noqa: PLC0415  (needed only in a fleet)

        for _ in range(ATTEMPTS):
            try:
                return self._rows_through_sqlite(query, values)
            except sqlite3.OperationalError as error:
                why = str(error)
                if not any(words in why for words in SHUT_OUT):
                    raise
            self._connection = None  # not closed: another thread may use it
            from bb.ledger.published import resting_results  # noqa: PLC0415  (most disks can be written)

            if (found := resting_results.rows(self._path, query, values)) is not None:
                return found
        if not resting_results.has_log(self._path):
            raise ResultsBusy()
        log = f"some are in {self._path}-wal, and {self._path}-shm cannot be made"
        hint = "make that folder writable, and make room if its disk is full"
        raise ResultsNotSaved(f"the results of the fleet cannot be read: {log}: {why}", hint=hint)

    def _rows_through_sqlite(self, query: str, values: Sequence[object]) -> list[Any]:
        """The same, with SQLite's locks. The connection is kept if it can be used."""
        from bb.ledger.files.sqlite import in_uri, sqlite3  # noqa: PLC0415  (needed only in a fleet)

        kept = self._connection
        if kept is not None and self._process == os.getpid():  # a fork must not use its parent's connection
            return kept.execute(query, values).fetchall()
        connection = sqlite3.connect(
            f"file:{in_uri(self._path)}?mode=rw",
            timeout=PATIENCE,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
        )
        try:
            found = connection.execute(query, values).fetchall()
        except BaseException:
            connection.close()
            raise
        self._connection, self._process = connection, os.getpid()
        return found

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def results(self) -> FleetResults | None:
        """The results as of now."""
        if self.ask("pragma user_version") != [(VERSION,)]:
            return None
        known = dict(self.ask("select name, value from about"))
        if not known.get("incarnation"):
            return None
        numbers = int(known["place"]), int(known["imported"])
        counted = admitted_in(self, COUNTED) if known.get("law") else None
        current_at = int(known.get("current_at", 0))
        hearing = Hearing(*[int(known.get(f"hears_{name}", 0)) for name in ("since", "last", "engine")])
        every = admitted_in(self, ALL)
        return FleetResults(known["incarnation"], *numbers, known["digest"], current_at, every, counted, hearing)


def admitted_in(file: Asked, which: str) -> Admitted:
    """One of the two results in a file. It is read when it is needed."""
    grants = SavedGrants(file, which)
    return Admitted(grants, SavedPlaces(file, which), SavedNames(file, which), grants.floor())


class _Saved(Mapping[str, "Any"]):
    """The entries that a condition selects of one table of WHICH results."""

    TABLE = ""
    CONDITION = "true"
    COLUMNS = "value"

    def __init__(self, file: Asked, which: str) -> None:
        self._file = file
        self._which = which

    def __getitem__(self, key: str) -> Any:
        return self._those(f"{self.CONDITION} and key = ?", key)[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._those(self.CONDITION))

    def __len__(self) -> int:
        return len(self._those(self.CONDITION))

    def items(self) -> Any:
        return self._those(self.CONDITION).items()

    def values(self) -> Any:
        return self._those(self.CONDITION).values()

    def _those(self, condition: str, *values: object) -> dict[str, Any]:
        """The entries under a CONDITION with these VALUES."""
        table = self.TABLE.format(self._which)
        query = f"select key, {self.COLUMNS} from {table} where {condition} order by key"  # noqa: S608
        return {key: self._value(key, *written) for key, *written in self._file.ask(query, *values)}

    @abstractmethod
    def _value(self, key: str, *written: Any) -> Any:
        """The entry of KEY, from its columns."""


class SavedNames(_Saved):
    """The registrations of each name."""

    TABLE = "{0}_name"

    def _value(self, _key: str, *written: Any) -> Sequence[str]:
        return tuple(json_text.loads(written[0]))


class SavedPlaces(_Saved):
    """The place of each reservation."""

    TABLE = "{0}_reservation"
    CONDITION = "place is not null"
    COLUMNS = "place"

    def _value(self, _key: str, *written: Any) -> int:
        return int(written[0])


class SavedGrants(_Saved):
    """The grants by the id of their reservation. The place at which a holder was last seen is saved once, for all its
    open grants."""

    TABLE = "{0}_reservation left join {0}_seen on holder = agent"
    CONDITION = "token is not null"
    COLUMNS = "agent, scope, is_file, shared, token, ended, seen, holder_seen"

    def open(self) -> dict[str, Grant]:
        """The grants that have not ended. There are few of them, and any number of others."""
        return self._those("token is not null and ended is null")

    def floor(self) -> int:
        """The place before which ended grants are forgotten."""
        found = self._file.ask("select value from about where name = ?", f"{self._which}_floor")
        return int(found[0][0]) if found else 0

    def since(self, token: int) -> list[Grant]:
        """The grants with this token or a later one."""
        return list(self._those("token >= ?", token).values())

    def _value(self, key: str, *written: Any) -> Grant:
        *grant, holder_seen = written
        return saved_grant(key, *grant).seen_at(holder_seen or 0)


def saved_grant(
    key: str, agent: str, scope: str, is_file: int, shared: int, token: int, ended: int | None, seen: int
) -> Grant:
    """A grant as it is saved. Raises ValueError if it is not one."""
    return admission.grants_from({key: (agent, scope, is_file == 1, shared == 1, token, ended, seen)})[key]
