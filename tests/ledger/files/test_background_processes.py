"""What is started and not waited for is not left in the system's table by a process that goes on."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from bb.ledger.files import background_processes
from bb.ledger.fleet import starting
from bb.ledger.git import place
from bb.ledger.local import last_sync
from bb.ledger.travel import background
from tests.support import Scratch, environment, scratch
from tests.waiting import until

pytestmark = pytest.mark.skipif(not background_processes.IS_POSSIBLE, reason="needs posix_spawn")

NO_PYTHON = shutil.which("true") or ""
QUIET = os.WEXITED | os.WNOWAIT | os.WNOHANG


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes that are started from now on."""
    pids: list[int] = []

    def spawned(*words: object, **how: object) -> int:
        pids.append(spawn(*words, **how))  # type: ignore[arg-type]
        return pids[-1]

    spawn = os.posix_spawn
    monkeypatch.setattr(os, "posix_spawn", spawned)
    return pids


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    """A clone in which a sync was tried before."""
    made = scratch(tmp_path_factory.mktemp("clone") / "repo")
    made.store.mkdir()
    (made.store / last_sync.NAME).write_text("{}")
    return made


def has_ended(pid: int) -> bool:
    """Whether the process has ended, and is in the table of the system still. Asking does not change that."""
    return os.waitid(os.P_PID, pid, QUIET) is not None


def is_in_table(pid: int) -> bool:
    try:
        os.waitid(os.P_PID, pid, QUIET)
    except ChildProcessError:
        return False
    return True


def sync(repo: Scratch, env: Mapping[str, str]) -> bool:
    return background.start_if_due(place.find(str(repo.path), env), str(repo.path), env, 0.0)


def daemon(repo: Scratch, env: Mapping[str, str]) -> bool:
    return starting.start_aside(str(repo.path), env)


@pytest.mark.parametrize("start", [sync, daemon])
def test_the_next_start_collects_what_has_ended(
    repo: Scratch,
    started: list[int],
    monkeypatch: pytest.MonkeyPatch,
    start: Callable[[Scratch, Mapping[str, str]], bool],
):
    env = environment() | {background.SETTING: "on", starting.SETTING: ""}
    monkeypatch.setattr(sys, "executable", NO_PYTHON)
    assert start(repo, env)
    until(lambda: has_ended(started[0]), "its end")

    assert start(repo, env)

    assert not is_in_table(started[0])
    until(lambda: has_ended(started[1]), "the end of the second one")
    os.waitpid(started[1], 0)


def test_what_still_runs_is_collected_later(started: list[int], monkeypatch: pytest.MonkeyPatch):
    env = dict(os.environ)
    assert background_processes.start([sys.executable, "-c", "import time; time.sleep(1000)"], env)
    monkeypatch.setattr(sys, "executable", NO_PYTHON)
    assert background_processes.start(["true"], env)
    assert is_in_table(started[0])

    os.kill(started[0], signal.SIGKILL)
    for pid in started:
        until(lambda pid=pid: has_ended(pid), "its end")
    assert background_processes.start(["true"], env)

    assert [is_in_table(pid) for pid in started] == [False, False, True]
    os.waitpid(started[2], 0)


def test_a_program_that_is_not_there_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))

    assert background_processes.start(["nothing"], {}) is False
