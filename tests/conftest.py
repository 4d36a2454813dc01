"""Fixtures for every kind of test."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.attention import minimal
from tests.forks import quick
from tests.support import Scratch

# How fast examples come depends on how busy the machine is, and no test is about that.
settings.register_profile("calm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("calm")

# Where the tests run in the background of a shell, interrupts are ignored, and so they are in all that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

FAILED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--profile minimal`: what the first useful implementation of C2A has to pass (`tests/attention/minimal.py`)."""
    parser.addoption("--profile", choices=["minimal"], help="only the tests of C2A that this profile names")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With a profile, only what it names."""
    if not config.getoption("--profile"):
        return
    is_wanted = [not minimal.NUMBERS.isdisjoint(minimal.numbers(item.name)) for item in items]
    others = [item for item, wanted in zip(items, is_wanted, strict=True) if not wanted]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item, wanted in zip(items, is_wanted, strict=True) if wanted]


MEMORY, PLENTY = Path("/dev/shm"), 8 << 30
OURS = "bb-tests-"


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Thousands of repositories are made and thrown away: in memory, where there is plenty of it. On a disk they take
    a third of all time."""
    is_decided = config.option.basetemp or hasattr(config, "workerinput") or "TMPDIR" in os.environ
    if not is_decided and _has_plenty(MEMORY):
        for left in MEMORY.glob(f"{OURS}*"):
            if not Path("/proc", left.name.removeprefix(OURS)).exists():
                shutil.rmtree(left, ignore_errors=True)
        config.option.basetemp = str(MEMORY / f"{OURS}{os.getpid()}")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """What failed is kept, to be looked at, until the next run."""
    session.config.stash[FAILED] = exitstatus != 0


def pytest_unconfigure(config: pytest.Config) -> None:
    made = config.option.basetemp or ""
    if (
        made.startswith(str(MEMORY / OURS))
        and not hasattr(config, "workerinput")
        and not config.stash.get(FAILED, True)
    ):
        shutil.rmtree(made, ignore_errors=True)


def _has_plenty(folder: Path) -> bool:
    if not os.access(folder, os.W_OK):
        return False
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize > PLENTY and not found.f_flag & os.ST_NOEXEC


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: many a test waits for a process, or for time to pass."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """A repository with one commit and no ledger yet."""
    return quick(tmp_path / "repo")
