"""Fixtures for every kind of test."""

from __future__ import annotations

import gc
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import engines, examples, grids, times, workers
from tests.attention import minimal
from tests.near import near
from tests.support import Scratch

examples.register()

# Where the tests run in the background of a shell, interrupts are ignored, and so they are in all that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Every command that a test starts would otherwise compile bb anew, and every worker all tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

FAILED = pytest.StashKey[bool]()
GARBAGE = 50_000  # allocations before the garbage collector runs; with the usual 700 it takes a sixth of the time


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--profile minimal`: what the first useful implementation of C2A has to pass (`tests/attention/minimal.py`)."""
    parser.addoption("--profile", choices=["minimal"], help="only the tests of C2A that this profile names")
    parser.addoption("--long", action="store_true", help="also the tests marked long, and three times the examples")
    parser.addoption("--quick", action="store_true", help="no slow tests, two parameters of each, few examples")
    group = parser.getgroup("workers")
    group._addoption("-n", dest="workers", default="1", help="how many tests run at a time, or `auto`")
    parser.addoption("--note-times", action="store_true", help="write down which tests take long (tests/times.py)")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Collect without the garbage collector, let it never look at what was collected, and let it run rarely.

    The tests are hundreds of thousands of objects, and none of them is garbage. Without this, a third of the time
    of the collection is lost, in each worker, and every full collection during the tests takes a second.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(GARBAGE)
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what this run is not about.

    Without `--long`, or `-m` with an opinion on it: what is marked long, and sets of parameters that there is no time
    for. Without `-m hosts`: what needs real agent programs. With `--quick`: slow tests, and all but two of the
    parameters of each test. With a profile: what it does not name.
    """
    wanted = items
    if not config.getoption("--long") and "long" not in config.option.markexpr:
        wanted = [item for item in wanted if not item.get_closest_marker("long")]
    if "hosts" not in config.option.markexpr:
        wanted = [item for item in wanted if not item.get_closest_marker("hosts")]
    if config.getoption("--quick"):
        wanted = grids.some_of_each(times.fast(wanted), lambda _: 2)
    elif not (config.getoption("--long") or config.getoption("--note-times") or _names_a_test(config)):
        wanted = times.affordable(wanted)
    wanted = times.longest_first(wanted)
    if config.getoption("--profile"):
        wanted = [item for item in wanted if not minimal.NUMBERS.isdisjoint(minimal.numbers(item.name))]
    if len(wanted) < len(items):
        kept = set(wanted)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = wanted


def _names_a_test(config: pytest.Config) -> bool:
    return any("::" in asked for asked in config.args)


MEMORY, PLENTY = Path("/dev/shm"), 8 << 30
OURS = "bb-tests-"


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Thousands of repositories are made and thrown away: in memory, where there is plenty of it. On a disk they take
    a third of all time."""
    if config.getoption("--long"):
        settings.load_profile("long")
        grids.is_whole = True
    elif config.getoption("--quick"):
        settings.load_profile("quick")
    if config.getoption("--note-times") and config.getoption("--quick"):
        raise pytest.UsageError("--note-times needs a run without --quick, which leaves slow tests out")
    if config.getoption("--note-times"):
        config.pluginmanager.register(times.Notes())
    is_decided = config.option.basetemp or "TMPDIR" in os.environ
    if not is_decided and _has_plenty(MEMORY):
        for left in MEMORY.glob(f"{OURS}*"):
            if not Path("/proc", left.name.removeprefix(OURS)).exists():
                _remove(left)
        config.option.basetemp = str(MEMORY / f"{OURS}{os.getpid()}")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """What failed is kept, to be looked at, until the next run."""
    session.config.stash[FAILED] = exitstatus != 0


def pytest_unconfigure(config: pytest.Config) -> None:
    made = config.option.basetemp or ""
    if made.startswith(str(MEMORY / OURS)) and not config.stash.get(FAILED, True):
        _remove(Path(made))


def _remove(folder: Path) -> None:
    """Remove what the tests of a run left. It is half a million files, for which `rm` needs a third of the time of
    `shutil.rmtree`; each worker has its own part."""
    parts = [each for each in folder.iterdir() if each.is_dir()] if folder.is_dir() else []
    for process in [subprocess.Popen(["rm", "-rf", "--", part]) for part in parts]:
        process.wait()
    shutil.rmtree(folder, ignore_errors=True)


def _has_plenty(folder: Path) -> bool:
    if not os.access(folder, os.W_OK):
        return False
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize > PLENTY and not found.f_flag & os.ST_NOEXEC


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in several processes, if that is asked for. With one, pytest does it itself."""
    number = workers.count(session.config.option.workers)
    if number < 2 or len(session.items) < 2 or session.config.option.collectonly or session.config.option.usepdb:
        return None
    if session.testsfailed and not session.config.option.continue_on_collection_errors:
        raise session.Interrupted(f"{session.testsfailed} errors during collection")
    workers.run(session, number)
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
    return True


@pytest.fixture(scope="session")
def _numbers() -> Iterator[int]:
    return itertools.count()


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory, _numbers: Iterator[int], request: pytest.FixtureRequest) -> Path:
    """A folder of the test's own. Pytest's own fixture reads the names of the folders of all tests before it."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = tmp_path_factory.getbasetemp() / f"{name}-{next(_numbers)}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def postgres() -> engines.Postgres:
    """A PostgreSQL server that the tests of this process share. Each makes a database of its own: `.database()`."""
    return engines.shared_postgres()


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """A repository with one commit and no ledger yet."""
    return near(tmp_path / "repo")
