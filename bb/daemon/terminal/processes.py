"""Starts a program on a new pseudo-terminal, and deals with its process: signals, end, size of the terminal."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Mapping, Sequence

from bb.kernel.errors import BbError, Refused
from bb.kernel.record import Record
from bb.ledger.files import disk

SHELL = "/bin/sh"
# `posix_spawn` cannot set the working directory, so a shell changes it and executes the program.
TRAMPOLINE = 'cd -- "$0" && exec "$@"'
TERM = "xterm-256color"
SIZE_NAMES = ("COLUMNS", "LINES")  # would override the size of the terminal
# Signals whose handling cannot be reset. All others are reset, since a program inherits ignored signals.
UNCHANGEABLE = ("SIGKILL", "SIGSTOP")

NoTerminal = Refused.declare(
    "NO_TERMINAL",
    "This system provides no terminals",
    hint="run the actor headless (`runner: headless`); terminals need Linux or macOS",
)

ActorStartFailed = Refused.declare(
    "ACTOR_START_FAILED",
    "The actor's program cannot be started",
    hint="check its command, environment and folder: `bb actor list --json`",
)


class Ended(Record):
    """How a program ended: exit status or signal; neither if another process collected its status."""

    status: int | None
    signal: str | None = None


def spawn(command: Sequence[str], cwd: str, env: Mapping[str, str], cols: int, rows: int) -> tuple[int, int]:
    """Start COMMAND in the folder CWD on a new terminal of that size; its process and our end of the terminal."""
    cwd = os.path.abspath(cwd)
    if not os.path.isdir(cwd):
        raise ActorStartFailed(f"there is no folder {cwd}", reason="no_folder", cwd=cwd)
    words = [_program(command, cwd, env.get("PATH", os.defpath)), *command[1:]]
    ours, theirs = _pair(cols, rows)
    try:
        pid = _spawn([SHELL, "-c", TRAMPOLINE, cwd, *words], _environment(env), os.ttyname(theirs))
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)  # the child has it open by now, so reading does not end
    os.set_blocking(ours, False)
    return pid, ours


def signal_group(group: int, number: int) -> None:
    """Send a signal to a process group that may have ended."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # macOS raises the latter for a group that has just ended
        return


def ignores(pid: int, number: int) -> bool:
    """Whether a process ignores a signal; False if the system does not tell."""
    for line in (disk.read_small(f"/proc/{pid}/status") or b"").splitlines():
        name, _, mask = line.partition(b":")
        if name == b"SigIgn":
            return bool(int(mask, 16) >> (number - 1) & 1)
    return False


def how_it_ended(status: int) -> Ended:
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return Ended(code)
    try:
        return Ended(None, signal.Signals(-code).name)
    except ValueError:  # a real-time signal
        return Ended(None, f"SIG{-code}")


def _program(command: Sequence[str], cwd: str, path: str) -> str:
    """The path of COMMAND's program."""
    name = command[0] if command else ""
    folders = [""] if os.path.dirname(name) else path.split(os.pathsep)
    for folder in folders if name else []:
        file = os.path.join(cwd, folder, name)
        if os.path.isfile(file) and os.access(file, os.X_OK):
            return file
    raise ActorStartFailed(f"no executable program {name!r} was found", reason="no_program", command=name)


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    """The actor's environment, without the settings of the terminal that started the daemon."""
    theirs = {name: value for name, value in env.items() if name not in SIZE_NAMES}
    return theirs if theirs.get("TERM", "dumb") != "dumb" else {**theirs, "TERM": TERM}


def _spawn(words: list[str], env: dict[str, str], tty: str) -> int:
    """Start the program as a session leader. The first terminal that it opens, TTY, is its controlling terminal."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, tty, os.O_RDWR, 0),
        (os.POSIX_SPAWN_DUP2, 0, 1),
        (os.POSIX_SPAWN_DUP2, 0, 2),
        *((os.POSIX_SPAWN_CLOSE, fd) for fd in _handed_down()),
    ]
    try:
        return os.posix_spawn(
            SHELL,
            words,
            env,
            file_actions=actions,
            setsid=True,
            setsigdef=_signals(),
            setsigmask=[],
        )
    except NotImplementedError:  # an old macOS, whose posix_spawn has no setsid
        raise NoTerminal() from None
    except OSError as error:
        raise _refusal(error) from error
    except ValueError as error:  # an invalid argument or variable
        raise ActorStartFailed(f"the actor's program cannot be started: {error}", reason="invalid_words") from error


def _signals() -> set[int]:
    """The signals whose handling can be reset."""
    return {number for number in signal.valid_signals() if getattr(number, "name", "") not in UNCHANGEABLE}


def _handed_down() -> list[int]:
    """Inheritable files that the daemon got from its parent process. The daemon's own files are not inheritable."""
    return [int(name) for name in disk.names("/dev/fd") if int(name) > 2 and _is_handed_down(int(name))]


def _is_handed_down(fd: int) -> bool:
    try:
        return os.get_inheritable(fd)
    except OSError:  # closed meanwhile: the listing's own file, or another thread's
        return False


def _refusal(error: OSError) -> BbError:
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return disk.refusal(error)
    return ActorStartFailed(f"the actor's program cannot be started: {error.strerror}", reason="system")


def _pair(cols: int, rows: int) -> tuple[int, int]:
    """Both ends of a new terminal, ours first. Other children inherit neither."""
    if not (hasattr(os, "openpty") and hasattr(os, "posix_spawn")):
        raise NoTerminal()
    try:
        ours, theirs = os.openpty()
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise disk.refusal(error) from error
        raise NoTerminal(f"the system provides no terminal: {error.strerror}") from error
    set_size(ours, cols, rows)
    return ours, theirs


def set_size(fd: int, cols: int, rows: int) -> None:
    import termios  # noqa: PLC0415  (there is none on Windows)

    try:
        termios.tcsetwinsize(fd, (rows, cols))
    except (OSError, termios.error):
        return  # the program has just ended
