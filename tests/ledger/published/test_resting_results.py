"""The results of a fleet where SQLite may make no file beside them: all of them are read, or none.

A link to nowhere in place of the file that SQLite must make (`-shm`) shuts it out, as a read-only disk does.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bb.coordination.holdings.admission import Admitted
from bb.ledger.files.sqlite import sqlite3
from bb.ledger.fleet.results_file import ResultsFile
from bb.ledger.fleet.row_fold import Base
from bb.ledger.published import fleet_results, resting_results

ONE, TWO = "a" * 12 + ".1", "b" * 12 + ".1"


def relay(store: Path, places: dict[str, int]) -> ResultsFile:
    """A relay that has made the file of results, and is still there."""
    file = ResultsFile(str(store))
    file.make(
        Base("0" * 16, 4, "0" * 64, Admitted(generations=places)), {"imported": 4, "repo": "r", "law": ""}, [], {}
    )
    return file


def places(store: Path) -> dict[str, int]:
    found = fleet_results.read(str(store))
    assert found is not None
    return dict(found.admitted.generations.items())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    """A store whose relay has ended."""
    fleet_results._open.clear()
    relay(tmp_path, {ONE: 2}).close()
    yield tmp_path
    fleet_results._open.clear()


@pytest.fixture
def barrier(store: Path) -> Path:
    path = Path(fleet_results.path_of(str(store)) + "-shm")
    path.symlink_to(store / "nowhere" / "at-all")
    return path


@pytest.mark.usefixtures("barrier")
@pytest.mark.parametrize("has_empty_log", [False, True])
def test_the_file_of_a_relay_that_has_ended_is_read_although_nothing_can_be_written(store: Path, has_empty_log: bool):
    if has_empty_log:
        Path(fleet_results.path_of(str(store)) + "-wal").touch()

    assert places(store) == {ONE: 2}
    assert fleet_results.damage_in(str(store)) == ""


@pytest.mark.parametrize("log", ["-wal", "-journal"])
def test_a_file_with_a_log_is_not_read_without_it(store: Path, log: str):
    path = fleet_results.path_of(str(store))
    assert resting_results.rows(path, "select key from every_reservation", ()) == [(ONE,)]

    Path(path + log).write_bytes(b"the last reservations")

    assert resting_results.rows(path, "select key from every_reservation", ()) is None


@pytest.mark.usefixtures("barrier")
def test_a_log_that_cannot_be_read_is_refused_and_the_refusal_names_the_cause(store: Path):
    Path(fleet_results.path_of(str(store)) + "-wal").write_bytes(b"the last reservations")

    with pytest.raises(fleet_results.ResultsNotSaved.error) as refused:
        places(store)
    assert "-shm cannot be made: unable to open database file" in refused.value.message
    with pytest.raises(fleet_results.ResultsNotSaved.error):
        fleet_results.damage_in(str(store))


def still_runs(store: Path) -> None:
    """Another relay saves something, and still has its log."""
    relay(store, {TWO: 3}).note(imported=9)


def has_ended(store: Path) -> None:
    """Another relay saves something and ends, so that there is no log again."""
    relay(store, {TWO: 3}).close()


def changes_in_place(store: Path) -> None:
    """A relay changes something in the same file, and ends."""
    path = fleet_results.path_of(str(store))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("update every_reservation set key = ?, place = 3", (TWO,))
    assert not Path(path + "-wal").exists()


@pytest.mark.parametrize("writes", [still_runs, has_ended, changes_in_place])
def test_what_a_relay_writes_while_the_file_is_read_is_never_missed(
    store: Path, barrier: Path, writes: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
):
    opened, seen = resting_results._opened, []

    class Slow:
        """A connection between whose opening and whose query a relay writes."""

        def __init__(self, path: str) -> None:
            self._connection = opened(path)

        def execute(self, query: str, values: object) -> object:
            if "reservation" in query and not seen:
                barrier.unlink()
                writes(store)
                seen.append(query)
            return self._connection.execute(query, values)  # type: ignore[arg-type]

        def close(self) -> None:
            self._connection.close()

    monkeypatch.setattr(resting_results, "_opened", Slow)

    assert places(store) == {TWO: 3}
    assert seen


def test_the_results_of_another_store_may_be_read_meanwhile(store: Path, monkeypatch: pytest.MonkeyPatch):
    """A daemon with two clones: the relay of one archives, in a thread, while that of the other reads."""
    other = store / "other"
    (other / fleet_results.FOLDER).mkdir(parents=True)
    relay(other, {TWO: 3}).close()
    results = fleet_results.Reading.results

    def results_while_another_thread_reads(file: fleet_results.Reading) -> fleet_results.FleetResults | None:
        with monkeypatch.context() as once:
            once.setattr(fleet_results.Reading, "results", results)
            reading = threading.Thread(target=fleet_results.read, args=[str(other)])
            reading.start()
            reading.join()
        return results(file)

    monkeypatch.setattr(fleet_results.Reading, "results", results_while_another_thread_reads)

    assert fleet_results.counted(str(store), "0" * 16, [2]) == []
    assert places(store) == {ONE: 2}
