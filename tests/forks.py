"""Running very many commands in little time.

A started interpreter costs most of what a command costs. So one process imports everything once and then forks for
every command: each is a process of its own with its own streams, arguments, directory, environment and exit status,
and is there in a few milliseconds. What an interpreter settles at its start (encodings, locale, time zone) cannot be
set for a fork, and a fork has imported what a started command might have forgotten to: tests about that start their
own.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from tests.support import ROOT, Ran, Scratch, environment

WHOLE, TYPER = "whole", "typer"  # the whole program, or Typer alone
AT_START = ("PYTHON", "LC_", "LANG", "TZ", "TMPDIR", "LD_PRELOAD")  # settings that only a fresh interpreter heeds
ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Call:
    """One command: its words, and what is set for it beside the repository's settings.

    With a SIZE, columns and lines, it runs on a terminal of that size, on which `stdin` is typed. Then all that it says
    is in `out`, as the terminal has it.
    """

    words: Sequence[str]
    settings: Mapping[str, str] = field(default_factory=dict)
    stdin: str | None = None
    size: tuple[int, int] | None = None

    def __str__(self) -> str:
        return " ".join([*(f"{name}={value}" for name, value in self.settings.items()), *map(repr, self.words)])


def may_run(settings: Mapping[str, str]) -> bool:
    """Whether a command with these SETTINGS may run in a fork."""
    return hasattr(os, "fork") and not any(name.startswith(AT_START) for name in settings)


def run_all(repo: Scratch, calls: Iterable[Call], way: str = WHOLE, *, keep: Path | None = None) -> list[Ran]:
    """What each of the CALLS does in REPO, one after the other.

    The files in the folder KEEP, when one is named, are put back after each call as they were before the first.
    """
    kept = {file: file.read_bytes() for file in keep.iterdir()} if keep else {}
    answers = []
    for call in calls:
        answers.append(run(repo.path, environment(COLUMNS="100") | repo.settings, call, way))
        for file, contents in kept.items():
            file.write_bytes(contents)
    return answers


def run(cwd: Path, settings: dict[str, str], call: Call, way: str = WHOLE) -> Ran:
    """What CALL does in the folder CWD. One call runs at a time."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    request = [str(cwd), settings | dict(call.settings), list(call.words), call.stdin, way, call.size]
    with ONE_AT_A_TIME:
        server.stdin.write(json.dumps(request).encode() + b"\n")
        server.stdin.flush()
        return Ran(*json.loads(server.stdout.readline()))


@functools.cache
def _server() -> subprocess.Popen[bytes]:
    """One for all tests."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.forks"],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    atexit.register(_stop, server)
    return server


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.communicate()


def _serve() -> None:
    from bb.cli import app
    from bb.ops import catalogue

    with contextlib.redirect_stdout(io.StringIO()):
        app.answer(["help"])  # which imports what is imported only when it is needed
    catalogue.all_ops()
    gc.freeze()  # so that no fork copies pages only because a collector has counted what is on them
    for line in sys.stdin.buffer:
        print(json.dumps(_fork(*json.loads(line))), flush=True)


def _fork(
    cwd: str, settings: dict[str, str], words: list[str], given: str | None, way: str, size: list[int] | None
) -> list[Any]:
    if size:
        return _fork_on_a_terminal(cwd, settings, words, given, way, size)
    with tempfile.TemporaryFile() as into, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        into.write((given or "").encode())
        into.seek(0)
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_RDONLY) if given is None else into.fileno(), 0)
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            _become(cwd, settings, words, way)
        _, status = os.waitpid(child, 0)
        out.seek(0)
        err.seek(0)
        said = out.read().decode(errors="surrogateescape"), err.read().decode(errors="surrogateescape")
    return [os.waitstatus_to_exitcode(status), *said]


def _fork_on_a_terminal(
    cwd: str, settings: dict[str, str], words: list[str], given: str | None, way: str, size: list[int]
) -> list[Any]:
    import fcntl
    import struct
    import termios

    screen, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    # The system echoes what is typed whenever it comes to it, before or after what the command writes.
    modes = termios.tcgetattr(theirs)
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    os.write(screen, (given or "").encode())
    child = os.fork()
    if child == 0:
        os.close(screen)
        # It is not the terminal that the command is controlled by: when such a command ends, what is unread is lost.
        for number in range(3):
            os.dup2(theirs, number)
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[attr-defined]  # as Python has it on a terminal
        _become(cwd, settings, words, way)
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # how a terminal says that nobody is at the other end any more
        while octets := os.read(screen, 1 << 16):
            said += octets
    os.close(screen)
    _, status = os.waitpid(child, 0)
    return [os.waitstatus_to_exitcode(status), said.decode(errors="surrogateescape"), ""]


def _become(cwd: str, settings: dict[str, str], words: list[str], way: str) -> None:
    """Be the command, and end as it ends."""
    from bb.cli import fast_parser
    from bb.cli.main import main

    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(settings)
    sys.argv = ["bb", *words]
    if way == TYPER:
        fast_parser.answer = lambda *_, **__: None
    run_and_end(main)


def run_and_end(main: Callable[[], int | None]) -> NoReturn:
    """Run MAIN, and end this fork as a program of its own would end."""
    status = 1
    try:
        status = main() or 0
    except SystemExit as ended:
        status = int(ended.code or 0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    _serve()
