"""Two processes check the segments of a journal: what is folded and which damage is found does not depend on them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bb.ledger.files import forked
from bb.ledger.index import checked_segments, reader
from bb.ledger.journal import journal as journals
from bb.ledger.journal import line as lines
from bb.ledger.journal import rewriting
from tests.ledger.ledger_support import ADA, BO, damage_line, flip, kept, make, note, opened, repository, segments
from tests.support import ROOT, environment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux only")

EVERYTHING = 1 << 60


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger whose journal has many small segments."""
    monkeypatch.setattr(journals, "SEGMENT_SIZE", 1500)
    path = repository(tmp_path / "here")
    make(path, ADA, BO, "coral-heron")
    with opened(path) as store:
        for turn in range(60):
            note(store, (ADA, BO)[turn % 2], role=f"role {turn}")
    monkeypatch.undo()
    assert len(files(path)) > 10
    return path


def files(path: Path) -> list[Path]:
    (folder,) = (kept(path) / "j").iterdir()
    return segments(folder)


def state(path: Path | str) -> list[Any]:
    """Everything in the index, after a rebuild."""
    with opened(path) as store:
        store.index.rebuild(store.sources())
        tables = ("cursor", "state", "term", "idempotency", "merged", "signature", "counted")
        return [sorted(map(repr, store.index.ask(f"select * from {table}"))) for table in tables]


class Processes:
    """How often processes were copied, and how many are left."""

    def __init__(self) -> None:
        self.started = 0

    def count(self) -> None:
        start = forked.Forked.__init__

        def counted(second: forked.Forked, answer: Callable[[int], bytes]) -> None:
            self.started += 1
            start(second, answer)

        forked.Forked.__init__ = counted  # type: ignore[method-assign]


def compare(path: str) -> None:
    """Rebuild with one process and line by line, then with two; both must give the same."""
    reader.BULK = EVERYTHING
    before = state(path)
    reader.BULK = checked_segments.MUCH = checked_segments.WHOLE = 0
    os.sched_getaffinity = lambda _: {0, 1}
    processes = Processes()
    processes.count()
    after = state(path)
    assert processes.started == 1, "a second process checks segments"
    assert after == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def compare_with_a_second_process_that_dies(path: str) -> None:
    us, check, answered = os.getpid(), checked_segments._check, 0

    def dying(*words: Any) -> checked_segments.CheckedSegment:
        nonlocal answered
        answered += 1
        if os.getpid() != us and answered > 3:
            os._exit(9)
        return check(*words)

    checked_segments._check = dying
    compare(path)


def compare_with_a_second_process_that_does_everything(path: str) -> None:
    """This process never checks a segment while the other one can."""
    forked.Forked.has_answer = lambda _: True  # type: ignore[method-assign]
    compare(path)


def ran(function: Callable[[str], None], path: Path) -> None:
    """Run FUNCTION in a process of its own, which has one thread."""
    program = f"import tests.ledger.index.test_checked_segments as test; test.{function.__name__}({str(path)!r})"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "way", [compare, compare_with_a_second_process_that_dies, compare_with_a_second_process_that_does_everything]
)
def test_two_processes_give_what_one_gives(here: Path, way: Callable[[str], None]):
    ran(way, here)


def test_blanked_payloads_are_checked_by_both(here: Path):
    with opened(here) as store:
        (journal,) = store.journals()
        for n in (5, 20, 40):
            assert rewriting.blank(journal, n)

    ran(compare, here)


@pytest.mark.parametrize("which", [0, 1, 5, -2, -1])
def test_a_damaged_line_is_found_at_its_place(here: Path, which: int):
    damage_line(files(here)[which], 2)

    ran(compare, here)


@pytest.mark.parametrize("which", [1, 5, -1])
def test_a_segment_that_does_not_follow_the_one_before_it_is_found(here: Path, which: int):
    """Each of the two is sound by itself."""
    file = files(here)[which]
    raws = file.read_bytes().splitlines(keepends=True)
    flip(file, len(raws[0].partition(lines.DATA)[0]) + lines.P_START)

    ran(compare, here)


@pytest.mark.parametrize("which", [0, 3, -2])
def test_a_missing_segment_is_found(here: Path, which: int):
    files(here)[which].unlink()

    ran(compare, here)


@pytest.mark.parametrize("which", [0, 3, -2, -1])
def test_a_segment_that_is_cut_off_is_found(here: Path, which: int):
    file = files(here)[which]
    file.write_bytes(file.read_bytes()[:-20])

    ran(compare, here)


def test_a_process_with_threads_is_not_copied():
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        assert not forked.is_useful()
    finally:
        end.set()
        thread.join()
