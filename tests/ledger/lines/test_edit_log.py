"""The log of a file's uncommitted changes: the last whole line is the state, and torn lines lose only themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.coordination.lines.file_state import FOUND, FileState
from bb.ledger.lines import edit_log
from bb.ledger.lines.edit_log import EditLog
from tests.coordination.lines.lines_support import HARBOR, OTTER, edits, state

WEAVE, _ = edits("x y", (OTTER, "x Y"))


def numbered(n: int, **more: object) -> FileState:
    return state(WEAVE, n=n, at=n, by=OTTER, **more)


@pytest.fixture
def log(tmp_path: Path) -> EditLog:
    return EditLog(str(tmp_path), "src/dates.py")


def file_of(folder: Path) -> Path:
    (found,) = folder.glob("*.jsonl")
    return found


def test_the_last_state_is_the_current_one_and_the_earlier_ones_are_there(log: EditLog, tmp_path: Path):
    assert (log.last(), log.recent()) == (None, [])
    for n in range(1, 4):
        log.append(numbered(n))

    assert log.last() == numbered(3)
    assert log.recent() == [numbered(3), numbered(2), numbered(1)]
    assert edit_log.names(str(tmp_path)) == ["src/dates.py"]


def test_a_log_torn_at_any_byte_has_the_state_before_and_goes_on(tmp_path: Path):
    whole = EditLog(str(tmp_path / "whole"), "src/dates.py")
    whole.append(numbered(1))
    first = len(file_of(tmp_path / "whole").read_bytes())
    whole.append(numbered(2, editing={HARBOR: 1}))
    octets = file_of(tmp_path / "whole").read_bytes()
    for end in range(first, len(octets), 7):
        folder = tmp_path / str(end)
        folder.mkdir()
        (folder / file_of(tmp_path / "whole").name).write_bytes(octets[:end])
        torn = EditLog(str(folder), "src/dates.py")

        assert torn.last() == numbered(1), end
        torn.append(numbered(3))
        assert torn.last() == numbered(3), end
        assert [one.n for one in torn.recent()] == [3, 1], end


def test_behind_a_damaged_line_no_edit_counts_as_going_on(log: EditLog, tmp_path: Path):
    log.append(numbered(1, editing={HARBOR: 1}))
    with file_of(tmp_path).open("ab") as file:
        file.write(b'{"path":"src/dates.py"}\n')

    found = log.last()

    assert found is not None
    assert (found.n, found.editing) == (1, {})


@pytest.mark.parametrize("junk", [b"", b"\n\n", b"junk\n", b"\xff\xfe\n", b"[]\n{}\nnull\n", b'{"path":1}\n'])
def test_a_log_of_junk_is_none(log: EditLog, tmp_path: Path, junk: bytes):
    log.append(numbered(1))
    file_of(tmp_path).write_bytes(junk)

    assert (log.last(), log.recent(), edit_log.names(str(tmp_path))) == (None, [], [])
    log.append(numbered(2))
    assert log.last() == numbered(2)


def test_a_line_about_another_file_is_not_of_this_one(log: EditLog, tmp_path: Path):
    log.append(numbered(1))
    log.append(numbered(2, path="other.py"))

    found = log.last()

    assert found is not None
    assert found.n == 1


def test_a_long_log_keeps_its_latest_part(log: EditLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(edit_log, "LONGEST", 20_000)
    monkeypatch.setattr(edit_log, "KEPT", 5_000)
    for n in range(1, 200):
        log.append(numbered(n))
        assert log.last() == numbered(n)

    assert file_of(tmp_path).stat().st_size < 21_000
    assert [one.n for one in log.recent()][:3] == [199, 198, 197]


def test_a_state_that_is_longer_than_the_end_that_is_read_first_is_found(log: EditLog):
    base = " ".join(f"l{n}" for n in range(2000))
    weave, _ = edits(base, (OTTER, " ".join(f"l{n}" if n % 2 else f"new{n}" for n in range(2000))))
    long = state(weave, n=1)

    log.append(long)

    assert log.last() == long


def test_the_name_of_a_file_may_be_anything(tmp_path: Path):
    names = ["a b", "-x", "üñ", b"caf\xe9".decode("utf-8", "surrogateescape"), "x" * 300, "new\nline"]
    for name in names:
        log = EditLog(str(tmp_path), name)
        log.append(numbered(1, path=name))
        assert log.last() == numbered(1, path=name)

    assert edit_log.names(str(tmp_path)) == sorted(names)


def test_a_log_that_is_removed_is_gone(log: EditLog, tmp_path: Path):
    log.append(numbered(1))
    log.remove()
    log.remove()

    assert (log.last(), edit_log.names(str(tmp_path))) == (None, [])


def test_what_the_log_names_are_its_versions_and_the_calls_of_tools(log: EditLog):
    log.append(numbered(1, editing={OTTER: 1}, tools={OTTER: "c" * 40}))
    log.append(numbered(2, editing={OTTER: 1}, tools={OTTER: FOUND}))

    assert log.contents() == {numbered(1).base.blob, numbered(1).now.blob, "c" * 40}
