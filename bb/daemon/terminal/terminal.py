"""A program on a terminal of its own: what it shows is kept and passed on, what it is told waits until it reads.

Nothing here blocks, sleeps or looks at a clock. The daemon's loop says when the terminal can be read or written, asks
what became of the program, and keeps the deadlines: `stop` asks the program to end, `kill` ends it.

Those who watch get what was shown so far, and then what comes. The first of them may type; when it leaves, the next.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import time

from bb.daemon.terminal.transcript import LIMIT, Transcript
from bb.kernel.errors import BbError, Refused
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ops.groups.terminals import refuse_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Protocol

    class Watcher(Protocol):
        """A connection of the loop's that shows the terminal to somebody."""

        def send(self, octets: bytes, /) -> int:
            """Take OCTETS to be sent; how many bytes now wait to be."""

        def end(self) -> None:
            """There will be no more, or it is too far behind to get more."""


COLS, ROWS = 120, 40
GRACE = 5000  # milliseconds that the loop gives a program to end in, after `stop`
ASK_AGAIN = 0.5  # seconds until an idle shell that stays is asked once more
BLOCK = 1 << 16  # bytes read in a turn, so that a talkative program leaves one to the others
PIECE = 1 << 12  # bytes that a terminal gives at a time
GLANCE = 4000  # characters
MOST_PENDING = 1 << 20  # bytes that the program has not read yet
MOST_UNSENT = 4 << 20  # bytes; a watcher that is further behind has stopped looking
LAST_WORDS = 1 << 20  # bytes to be read at the end, from those who may go on talking
BELL = b"\a"  # shows nothing, so whatever the program shows stays as it is
SHELL = "/bin/sh"
# The system's call knows no folder to start in. A shell goes there and becomes the program.
TRAMPOLINE = 'cd -- "$0" && exec "$@"'
TERM = "xterm-256color"
SIZE_NAMES = ("COLUMNS", "LINES")  # would go before the size of the terminal itself
# What is ignored, by Python or by whoever started the daemon, would be ignored by the program too.
UNCHANGEABLE = ("SIGKILL", "SIGSTOP")

PASTE_MODE = re.compile(rb"\x1b(?:\[\?([0-9;]{1,64})([hl])|c)")
PASTE, LONGEST_SEQUENCE = b"2004", 68


class NoTerminal(Refused):
    """This system provides no terminals."""

    code = "NO_TERMINAL"
    hint = "run the actor headless (`runner: headless`); terminals need Linux or macOS"


class ActorStartFailed(Refused):
    """The actor's program cannot be started."""

    code = "ACTOR_START_FAILED"
    hint = "check the actor's command, its environment and the folder of its scope"


class Ended(Record):
    """How a program ended: with an exit status, or by a signal; with neither if somebody else was told."""

    status: int | None
    signal: str | None = None


class Terminal:
    """One program on a terminal."""

    def __init__(self, pid: int, fd: int, transcript: Transcript, rows: int = ROWS) -> None:
        self.pid = pid
        self.fd = fd
        self.rows = rows
        self.transcript = transcript
        self.wants_paste = False  # whether the program asked to be told what is pasted (`ESC [ ? 2004 h`)
        self.has_hung_up = False  # nobody is left to read from; the loop lets go of `fd`
        self._pending = bytearray()
        self._watchers: list[Watcher] = []
        self._sizes: dict[Watcher, tuple[int, int] | None] = {}  # of those who would type, theirs
        self._writers: list[Watcher] = []  # those of them who would type; the first does
        self._unparsed = b""
        self._is_stopping = self._is_killed = False
        self._asked_at = 0.0
        self._ended: Ended | None = None

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        cols: int = COLS,
        rows: int = ROWS,
        *,
        limit: int = LIMIT,
    ) -> Terminal:
        """Start COMMAND in the folder CWD, on a terminal of that size, keeping LIMIT bytes of what it shows."""
        refuse_size(cols=cols, rows=rows)
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
            os.close(theirs)  # it is open in the child by now, so that what we read does not end
        os.set_blocking(ours, False)
        return cls(pid, ours, Transcript(limit), rows)

    # -- what it shows

    def read(self) -> bytes:
        """What has been shown, when the loop says that there is something."""
        octets = self._available(BLOCK)
        if octets:
            self.transcript.append(octets)
            self._follow_paste_mode(octets)
            for watcher in list(self._watchers):
                self._show(watcher, octets)
        return octets

    def shown(self, max_chars: int = GLANCE) -> str:
        """What can be seen on the screen, and some lines above it."""
        return self.transcript.tail(max_chars, height=self.rows)

    def _available(self, most: int) -> bytes:
        """A terminal gives a few kilobytes at a time, so it is asked until it has no more, or we have enough."""
        pieces, have = [], 0
        while have < most and not self.has_hung_up:
            try:
                piece = os.read(self.fd, PIECE)
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno != errno.EIO:  # what Linux says instead of an end
                    raise disk.refusal(error) from error
                piece = b""
            if not piece:
                self._hang_up()
            pieces.append(piece)
            have += len(piece)
        return b"".join(pieces)

    def _hang_up(self) -> None:
        self.has_hung_up = True
        self._pending.clear()

    def _follow_paste_mode(self, octets: bytes) -> None:
        if b"\x1b" not in octets and not self._unparsed:
            return
        octets = self._unparsed + octets
        end = 0
        for found in PASTE_MODE.finditer(octets):
            end = found.end()
            if found[1] is None:  # a full reset
                self.wants_paste = False
            elif PASTE in found[1].split(b";"):
                self.wants_paste = found[2] == b"h"
        rest = octets[end:][-LONGEST_SEQUENCE:]
        self._unparsed = rest[rest.rfind(b"\x1b") :] if b"\x1b" in rest else b""

    # -- what it is told

    def write(self, octets: bytes) -> bool:
        """Tell it OCTETS, as soon as it reads; whether there was room for them. It is all of them or none."""
        if self.has_hung_up or self._ended or len(self._pending) + len(octets) > MOST_PENDING:
            return False
        self._pending += octets
        self.flush()
        return True

    @property
    def wants_write(self) -> bool:
        """Whether the loop should say when the terminal can be written."""
        return bool(self._pending)

    def flush(self) -> None:
        """Pass on what it can take now."""
        while self._pending and not self.has_hung_up:
            try:
                written = os.write(self.fd, self._pending[:PIECE])
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != errno.EIO:
                    raise disk.refusal(error) from error
                self._hang_up()
                return
            del self._pending[:written]

    def resize(self, cols: int, rows: int) -> None:
        """Give the terminal that size; the system tells the program."""
        refuse_size(cols=cols, rows=rows)
        if not self.has_hung_up:
            self.rows = rows
            _set_size(self.fd, cols, rows)

    # -- who watches

    def attach(self, watcher: Watcher, *, only_watches: bool = False, size: tuple[int, int] | None = None) -> bool:
        """Show WATCHER the last of what was shown so far, and what comes; whether it may type. When it may, the
        terminal gets the SIZE that it has, if that is known."""
        self._watchers.append(watcher)
        if not only_watches:
            self._writers.append(watcher)
            self._sizes[watcher] = size
            if self.may_type(watcher):
                self._fit(watcher)
        if octets := self.transcript.recent(MOST_UNSENT // 2):
            self._show(watcher, octets)
        if self.fd < 0:
            self.detach(watcher)
            watcher.end()
        return self.may_type(watcher)

    def detach(self, watcher: Watcher) -> None:
        """WATCHER has left; if it was the one who types, the next one is, and hears the bell."""
        was_typing = self.may_type(watcher)
        self._sizes.pop(watcher, None)
        for waiting in (self._watchers, self._writers):
            if watcher in waiting:
                waiting.remove(watcher)
        if was_typing and self._writers and self.fd >= 0:
            self._fit(self._writers[0])
            self._show(self._writers[0], BELL)

    def _fit(self, watcher: Watcher) -> None:
        if size := self._sizes.get(watcher):
            self.resize(*size)

    @property
    def has_writer(self) -> bool:
        """Whether somebody is here who types."""
        return bool(self._writers)

    def may_type(self, watcher: Watcher) -> bool:
        """Whether WATCHER is the first of those who are here to type."""
        return self._writers[:1] == [watcher]

    def _show(self, watcher: Watcher, octets: bytes) -> None:
        if watcher.send(octets) > MOST_UNSENT:
            self.detach(watcher)
            watcher.end()

    # -- how it ends

    def stop(self) -> None:
        """Ask it to end, and what it has in the foreground."""
        self._is_stopping = True
        self._signal(signal.SIGTERM)
        self._ask_idle_shell()
        self._signal(signal.SIGCONT)  # who is suspended hears nothing else

    def kill(self) -> None:
        """End it."""
        self._is_killed = True
        self._signal(signal.SIGKILL)

    def poll(self) -> Ended | None:
        """How it ended; None while it runs.

        One that was asked to end has done so when all who use its terminal have, or when it was killed: a wrapper is
        gone at once, and what it wrapped may still be saving its work.
        """
        if self._is_stopping and not self.has_hung_up and time.monotonic() - self._asked_at > ASK_AGAIN:
            self._ask_idle_shell()
        if self._ended is None and (self.has_hung_up or self._is_killed or not self._is_stopping):
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                self._ended = Ended(None)
            else:
                self._ended = _how(status) if pid else None
        return self._ended

    def close(self) -> None:
        """Read its last words and let go of the terminal; who still uses it is told so by the system.

        One that has not ended yet goes on being asked by `poll` until it has.
        """
        if self.fd < 0:
            return
        left = LAST_WORDS
        while left > 0 and (octets := self.read()):
            left -= len(octets)
        self._hang_up()
        os.close(self.fd)
        self.fd = -1
        for watcher in list(self._watchers):  # who has had all of it leaves at once
            watcher.end()
        self._watchers.clear()
        self._writers.clear()
        self._sizes.clear()

    def _signal(self, number: int) -> None:
        """Send it to the program's process group, and to the one in the foreground if a shell has made another.

        Until the program has been waited for, nobody else can have its number.
        """
        if self._ended is None:
            for group in {self.pid, self._foreground()} - {0, os.getpgrp()}:
                signal_group(group, number)

    def _ask_idle_shell(self) -> None:
        """Tell a shell at its prompt that its terminal goes; again if it stays, for bash may hear the first a moment
        before it waits for a key. Not at once: asked twice while it saves its history, it would drop that."""
        self._asked_at = time.monotonic()
        if self._is_idle_shell():
            self._signal(signal.SIGHUP)

    def _is_idle_shell(self) -> bool:
        """Whether it ignores being asked to end, as a shell at its prompt does; that ends when its terminal does. One
        that runs something would let that end before it has tidied up."""
        return self._ended is None and self._foreground() == self.pid and _ignores(self.pid, signal.SIGTERM)

    def _foreground(self) -> int:
        try:
            return os.tcgetpgrp(self.fd)
        except OSError:
            return 0


def signal_group(group: int, number: int) -> None:
    """Send a signal to a process group that may be gone."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # macOS says the latter of those that have just ended
        return


def _ignores(pid: int, number: int) -> bool:
    """Whether a process ignores a signal, as far as the system tells."""
    for line in (disk.read_small(f"/proc/{pid}/status") or b"").splitlines():
        name, _, mask = line.partition(b":")
        if name == b"SigIgn":
            return bool(int(mask, 16) >> (number - 1) & 1)
    return False


def _how(status: int) -> Ended:
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return Ended(code)
    try:
        return Ended(None, signal.Signals(-code).name)
    except ValueError:  # a real-time signal
        return Ended(None, f"SIG{-code}")


def _program(command: Sequence[str], cwd: str, path: str) -> str:
    """Where the program is that COMMAND names."""
    name = command[0] if command else ""
    folders = [""] if os.path.dirname(name) else path.split(os.pathsep)
    for folder in folders if name else []:
        found = os.path.join(cwd, folder, name)
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return found
    raise ActorStartFailed(f"no executable program {name!r} was found", reason="no_program", command=name)


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    """The actor's environment, on this terminal and not on the one the daemon was started from."""
    theirs = {name: value for name, value in env.items() if name not in SIZE_NAMES}
    return theirs if theirs.get("TERM", "dumb") != "dumb" else {**theirs, "TERM": TERM}


def _spawn(words: list[str], env: dict[str, str], tty: str) -> int:
    """Start the program as the leader of a session that has TTY for its terminal: the first one it opens."""
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
    except NotImplementedError:  # an old macOS, which knows no sessions here
        raise NoTerminal from None
    except OSError as error:
        raise _refusal(error) from error
    except ValueError as error:  # a word or a variable that cannot be passed on
        raise ActorStartFailed(f"the actor's program cannot be started: {error}", reason="invalid_words") from error


def _signals() -> set[int]:
    """Those that may be set back to what they usually do."""
    return {each for each in signal.valid_signals() if getattr(each, "name", "") not in UNCHANGEABLE}


def _handed_down() -> list[int]:
    """Files that whoever started the daemon left open for its children. Those that the daemon opens are not."""
    return [int(name) for name in disk.names("/dev/fd") if int(name) > 2 and _is_handed_down(int(name))]


def _is_handed_down(fd: int) -> bool:
    try:
        return os.get_inheritable(fd)
    except OSError:  # that the names were read from, or another thread's, and closed again
        return False


def _refusal(error: OSError) -> BbError:
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return disk.refusal(error)
    return ActorStartFailed(f"the actor's program cannot be started: {error.strerror}", reason="system")


def _pair(cols: int, rows: int) -> tuple[int, int]:
    """Our end of a new terminal, and the program's. Neither is passed on to any other child."""
    if not (hasattr(os, "openpty") and hasattr(os, "posix_spawn")):
        raise NoTerminal
    try:
        ours, theirs = os.openpty()
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise disk.refusal(error) from error
        raise NoTerminal(f"the system provides no terminal: {error.strerror}") from error
    _set_size(ours, cols, rows)
    return ours, theirs


def _set_size(fd: int, cols: int, rows: int) -> None:
    import termios  # noqa: PLC0415  (there is none on Windows)

    try:
        termios.tcsetwinsize(fd, (rows, cols))
    except (OSError, termios.error):
        return  # its program has just ended, and nobody is there to whom it matters
