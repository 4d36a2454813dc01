"""What tests of the commands around the daemon share: a repository that is a group, and a daemon with its own home.

The daemon is started and ended as a user does it, by `bb daemon`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.near import Near, near
from tests.support import Scratch, environment, is_running
from tests.waiting import PATIENCE

SHELL = ["--runtime", "custom", "--command", "sh", "--command", "-i"]


def station(path: Path, **settings: str) -> Scratch:
    """A repository with a ledger, known as a group in a home beside it. No daemon runs yet."""
    made = near_station(path, **settings)
    return Scratch(made.path, made.settings)


def near_station(path: Path, **settings: str) -> Near:
    """The same, and its commands run in the process of the test. None of them may become a program."""
    made = near(path / "repo", CCCC_HOME=str(path / "home"), **settings)
    assert made.bb("init").status == 0
    assert made.bb("group", "attach", ".").status == 0
    return made


@contextlib.contextmanager
def served(path: Path, **settings: str) -> Iterator[Scratch]:
    """The same, with a daemon."""
    made = station(path, **settings)
    with ended(made):
        assert made.json("daemon", "start").data["started"] is True
        yield made


@contextlib.contextmanager
def ended(made: Scratch) -> Iterator[None]:
    """Whatever daemon is started in between ends at the end."""
    try:
        yield
    finally:
        pid = pid_of(made)
        made.bb("daemon", "stop")
        if pid and is_running(pid):
            os.kill(pid, signal.SIGKILL)


def pid_of(made: Scratch) -> int | None:
    """The process of the daemon, should one run."""
    found: int | None = made.json("daemon", "status").data["pid"]
    return found


def home(made: Scratch) -> Path:
    return Path(made.settings["CCCC_HOME"])


def spawned(made: Scratch, words: Sequence[str], **how: Any) -> subprocess.Popen[str]:
    """`bb WORDS`, which goes on."""
    settings = how.pop("settings", {})
    return subprocess.Popen(
        [sys.executable, "-m", "bb", *words],
        cwd=made.path,
        env=environment(**(made.settings | settings)),
        text=True,
        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how,
    )


def stopped(child: subprocess.Popen[str]) -> tuple[str, str]:
    """What CHILD still says, once it has been interrupted."""
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
    return child.communicate(timeout=PATIENCE)
