"""The log of received lines: nobody looks at a journal that has not changed, and no change is missed."""

from pathlib import Path

import pytest

from bb.ledger.journal import received
from bb.ledger.journal.received import Changing, Mark, changes_since, mark_of, settle

ONE, TWO = "aaaabbbbcccc", "ddddeeeeffff"


def log(store: Path) -> Path:
    return store / "received" / "log"


def test_a_change_is_told_once_to_each_reader(tmp_path: Path):
    with Changing(str(tmp_path), [ONE, TWO, ONE]):
        assert changes_since(str(tmp_path), mark_of(str(tmp_path))).writers == (), "nothing has changed yet"

    told = changes_since(str(tmp_path), Mark(mark_of(str(tmp_path)).inode, 0))

    assert told.writers == (ONE, TWO)
    assert changes_since(str(tmp_path), told.mark).writers == ()


def test_without_a_log_nothing_was_received(tmp_path: Path):
    assert changes_since(str(tmp_path), Mark()).writers == ()


def test_who_does_not_know_the_log_looks_at_every_journal(tmp_path: Path):
    with Changing(str(tmp_path), [ONE]):
        pass

    assert changes_since(str(tmp_path), Mark()).writers is None
    assert changes_since(str(tmp_path), Mark(1, 5)).writers is None, "it was another log"


def test_a_lost_log_makes_every_reader_look_at_every_journal_once(tmp_path: Path):
    with Changing(str(tmp_path), [ONE]):
        pass
    before = mark_of(str(tmp_path))
    log(tmp_path).unlink()

    told = changes_since(str(tmp_path), before)

    assert told.writers is None
    assert changes_since(str(tmp_path), told.mark).writers == ()


def test_a_failed_change_is_told_too(tmp_path: Path):
    with pytest.raises(OSError, match="full"), Changing(str(tmp_path), [ONE]):
        raise OSError("full")

    assert changes_since(str(tmp_path), Mark(mark_of(str(tmp_path)).inode, 0)).writers == (ONE,)


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_change_of_a_killed_process_is_told_by_the_next_one(tmp_path: Path, cut: int):
    """Its second entry is missing, or torn at any byte."""
    with Changing(str(tmp_path), [ONE]):
        pass
    whole = log(tmp_path).read_bytes()
    first, second = whole.splitlines(keepends=True)
    log(tmp_path).write_bytes(first + second[: max(len(second) - cut, 0)])
    seen = changes_since(str(tmp_path), Mark(mark_of(str(tmp_path)).inode, 0)).mark

    settle(str(tmp_path))

    assert changes_since(str(tmp_path), seen).writers == (ONE,)
    settled = log(tmp_path).read_bytes()
    settle(str(tmp_path))
    assert log(tmp_path).read_bytes() == settled, "once is enough"


def test_a_first_entry_that_was_torn_announced_nothing(tmp_path: Path):
    with Changing(str(tmp_path), [ONE]):
        pass
    whole = log(tmp_path).read_bytes()
    log(tmp_path).write_bytes(whole + whole[:9])

    settle(str(tmp_path))
    with Changing(str(tmp_path), [TWO]):
        pass

    assert changes_since(str(tmp_path), Mark(mark_of(str(tmp_path)).inode, len(whole))).writers == (TWO,)


def test_a_long_log_is_begun_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(received, "LARGEST", 50)
    for _ in range(3):
        with Changing(str(tmp_path), [ONE]):
            pass

    assert log(tmp_path).stat().st_size < 100


def test_heads_are_kept_by_their_digest_and_a_spoilt_copy_is_not_believed(tmp_path: Path):
    name = received.keep_heads(str(tmp_path), {ONE: 3, TWO: 4})
    assert received.kept_heads(str(tmp_path), name) == {ONE: 3, TWO: 4}

    (tmp_path / "received" / "heads" / f"{name}.json").write_text('{"aaaabbbbcccc":9}')

    assert received.kept_heads(str(tmp_path), name) == {}
    assert received.kept_heads(str(tmp_path), "../../clone") == {}
