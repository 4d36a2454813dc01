"""A process that ends at once leaves the index's write-ahead log, if it is short, to the next process."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.ledger.index import database
from tests.ledger.ledger_support import ADA, audited, forget_index, kept, make, note, opened, problems, repository
from tests.support import Scratch, scratch


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    made = scratch(tmp_path / "repo")
    made.bb("agent", "register", "--name", ADA, "--role", "builder")
    return made


def log_of(path: Path) -> Path:
    return kept(path) / "index.sqlite-wal"


def scopes(repo: Scratch) -> set[str]:
    status = repo.started("agent", "status", "--json", "--agent", ADA).data
    return {each["scope"] for each in status["reservations"]}


def test_a_verb_leaves_a_short_log_and_the_next_one_reads_it(repo: Scratch):
    assert repo.started("agent", "reserve", "--agent", ADA, "--scope", "lib", "--bead", "bb-1").status == 0

    assert 0 < log_of(repo.path).stat().st_size <= database.SHORT_LOG
    assert scopes(repo) == {"lib"}


def test_however_many_verbs_leave_it_the_log_stays_short(repo: Scratch):
    sizes = []
    for turn in range(30):
        assert repo.bb("agent", "reserve", "--agent", ADA, "--scope", f"lib/{turn}", "--bead", "bb-1").status == 0
        sizes.append(log_of(repo.path).stat().st_size if log_of(repo.path).exists() else 0)

    assert max(sizes) <= database.SHORT_LOG
    assert 0 in sizes, "a log that was longer went into the file"
    assert scopes(repo) == {f"lib/{turn}" for turn in range(30)}


def test_a_log_that_is_lost_or_cut_is_made_up_for_by_the_journals(repo: Scratch):
    for turn in range(3):
        repo.bb("agent", "reserve", "--agent", ADA, "--scope", f"lib/{turn}", "--bead", "bb-1")
        whole = log_of(repo.path).read_bytes()
        log_of(repo.path).write_bytes(whole[: len(whole) // 2])
    assert scopes(repo) == {"lib/0", "lib/1", "lib/2"}
    assert problems(audited(repo.path)) == []

    log_of(repo.path).unlink(missing_ok=True)
    assert scopes(repo) == {"lib/0", "lib/1", "lib/2"}
    assert problems(audited(repo.path)) == []


def test_a_log_whose_index_was_deleted_is_not_believed(repo: Scratch):
    for turn in range(3):
        repo.bb("agent", "reserve", "--agent", ADA, "--scope", f"lib/{turn}", "--bead", "bb-1")
    assert log_of(repo.path).exists()

    (kept(repo.path) / "index.sqlite").unlink()

    assert scopes(repo) == {"lib/0", "lib/1", "lib/2"}
    assert problems(audited(repo.path)) == []


def test_a_process_that_goes_on_moves_the_log_into_the_file(tmp_path: Path):
    path = repository(tmp_path / "here")
    make(path, ADA)
    forget_index(path)
    with opened(path) as store:
        note(store, ADA)

    assert not log_of(path).exists()


def test_a_long_log_is_moved_into_the_file_even_at_the_end(tmp_path: Path):
    path = tmp_path / "index.sqlite"
    made = database.Database(str(path), 5.0, lambda: None)
    log = Path(f"{path}-wal")
    with made.changes():
        made.connection.executemany(
            "insert into state values (?, ?, ?)", [("x", str(n), "y" * 1000) for n in range(database.SHORT_LOG // 1000)]
        )
    assert log.stat().st_size > database.SHORT_LOG

    made.close(at_exit=True)

    assert database.LEFT_OPEN == []
    assert not log.exists()
