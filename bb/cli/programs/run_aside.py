"""`bb run`: runs a command in a throw-away tree, and ends with its exit status.

The command gets the standard streams and the terminal of bb as they are. Signals that are sent to bb alone are passed
on; those of the terminal reach the command anyway.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from types import FrameType

from bb.cli.calls import output
from bb.kernel.errors import BbError, NotFound, Refused, Usage
from bb.kernel.escaping import harmless, quoted
from bb.ops.desk import desk as desks
from bb.ops.lines import run as ops
from bb.ops.lines.run import Surroundings
from bb.wire import envelope

WORDS = "run"
NOT_FOUND, NOT_STARTED = 127, 126  # as in a shell
SIGNALLED = 128  # and the number of the signal
STDERR = 2
PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
OF_THE_TERMINAL = ("SIGINT", "SIGQUIT")  # the terminal sends them to all processes in its foreground

NoCommand = Usage.declare("NO_COMMAND", "`bb run` needs a command", hint="for example `bb run -- pytest tests`")
CommandNotFound = NotFound.declare(
    "COMMAND_NOT_FOUND",
    "The command to run was not found",
    hint="check the spelling; a program of the work tree must be committed, be a change of yours, or be ignored by git",
)
CommandNotStarted = Refused.declare(
    "COMMAND_NOT_STARTED",
    "The command to run cannot be started",
    hint="make it executable, or name its interpreter: `bb run -- sh SCRIPT`",
)
CommandFailed = Refused.declare("COMMAND_FAILED", "The command ended with an error", hint="its own output is on stderr")


def run(words: Sequence[str] | None, caller: str | None, *, is_clean: bool, is_kept: bool, as_json: bool) -> int:
    """Run the command WORDS aside; its exit status."""
    if not words or not words[0]:
        raise NoCommand()
    desk = desks.desk_here()
    desk.act_as(caller)
    began = time.monotonic()
    try:
        with ops.surroundings(desk, is_clean=is_clean) as around:
            desk.close()
            if is_kept and around.tree:
                around.tree.keep()
            ready = time.monotonic()
            try:
                status = _ran(words, around, out=STDERR if as_json else None)
            finally:
                if is_kept and around.tree:
                    _tell_where(around.tree.folder)
    except (CommandNotFound.error, CommandNotStarted.error) as error:
        output.refusal(WORDS, error, as_json=as_json)
        return NOT_FOUND if isinstance(error, CommandNotFound.error) else NOT_STARTED
    if as_json:
        folder = around.tree.folder if is_kept and around.tree else None
        _answer(status, round((ready - began) * 1000), folder)
    return status


def _answer(status: int, setup_ms: int, folder: str | None) -> None:
    """Print how the command ended, how long its tree took, and the FOLDER of a tree that is kept."""
    if status == 0:
        found = {"status": status, "setup_ms": setup_ms, "folder": folder}
        output.document(envelope.success(WORDS, found))
    else:
        message = f"the command ended with status {status}"
        failed: BbError = CommandFailed(message, status=status, setup_ms=setup_ms, folder=folder)
        output.document(envelope.failure(WORDS, failed))


def _tell_where(folder: str) -> None:
    output.lines(
        [f"The tree is kept: {harmless(folder)}", f"To delete it: rm -rf {quoted(harmless(folder))}"], sys.stderr
    )


def _ran(words: Sequence[str], around: Surroundings, out: int | None) -> int:
    """Run WORDS and wait for the end; the exit status, or 128 and the signal that ended the command."""
    output.flush()
    received: list[int] = []
    with _noting_signals(received) as children:
        child = _started(words, around, out)
        children.append(child)
        for number in received:  # before the command was there
            child.send_signal(number)
        status = child.wait()
    return SIGNALLED - status if status < 0 else status


def _started(words: Sequence[str], around: Surroundings, out: int | None) -> subprocess.Popen[bytes]:
    program = words[0]
    if os.name == "nt":  # there, only `which` knows about scripts such as `npm.cmd`
        program = shutil.which(program, path=around.env.get("PATH")) or program
    try:
        return subprocess.Popen(  # noqa: S603  (the caller's own command)
            [program, *words[1:]], cwd=around.folder, env=around.env, stdout=out, close_fds=False
        )
    except (FileNotFoundError, NotADirectoryError) as error:
        raise CommandNotFound(f"{words[0]} was not found", command=words[0]) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise CommandNotStarted(f"{words[0]} cannot be started: {why}", command=words[0]) from error


@contextlib.contextmanager
def _noting_signals(received: list[int]) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Pass the signals that bb gets on to the processes that the block adds to its list; before that, note them."""
    children: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, _: FrameType | None) -> None:
        if signal.Signals(number).name in OF_THE_TERMINAL and _is_in_foreground():
            return
        for child in children:
            child.send_signal(number)
        if not children:
            received.append(number)

    numbers = [getattr(signal, name) for name in PASSED_ON if hasattr(signal, name)]
    # A signal that is ignored here, such as SIGHUP under nohup, is ignored by the command as well.
    before = {number: signal.getsignal(number) for number in numbers}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, pass_on)
    try:
        yield children
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_in_foreground() -> bool:
    """Whether bb and the command are in the foreground of a terminal, which then sends its signals to both."""
    if not hasattr(os, "tcgetpgrp"):
        return True
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
