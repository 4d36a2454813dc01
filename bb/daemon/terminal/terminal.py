"""A program on a pseudo-terminal. Its output is kept and sent to watchers; its input is buffered until it reads.

Nothing here blocks or sleeps. The daemon's loop says when the terminal is ready, polls the program's state, and keeps
the deadlines: `stop` asks the program to end, `kill` ends it.

A watcher gets the recent output, then new output. The first writer may type; when it leaves, the next one may.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from bb.daemon.terminal.processes import Ended, how_it_ended, ignores, set_size, signal_group, spawn
from bb.daemon.terminal.transcript import LIMIT, Transcript
from bb.ledger.files import disk
from bb.ops.groups.terminals import refuse_size


class Watcher(Protocol):
    """A connection that receives the terminal's output."""

    def send(self, octets: bytes, /) -> int:
        """Send OCTETS; the number of bytes that wait to be sent."""

    def end(self) -> None:
        """End the connection: the output has ended, or the watcher is too slow."""


COLS, ROWS = 120, 40
GRACE = 5000  # milliseconds between `stop` and `kill`
ASK_AGAIN = 0.5  # seconds until an idle shell is asked again to end
BLOCK = 1 << 16  # bytes read in a turn, so that a program with much output does not delay others
PIECE = 1 << 12  # bytes per read or write of the terminal
GLANCE = 4000  # characters
MOST_PENDING = 1 << 20  # bytes that the program has not read yet
MOST_UNSENT = 4 << 20  # waiting bytes above which a watcher is closed
LAST_WORDS = 1 << 20  # bytes that are still read at the end
BELL = b"\a"  # does not change the screen

PASTE_MODE = re.compile(rb"\x1b(?:\[\?([0-9;]{1,64})([hl])|c)")
PASTE, LONGEST_SEQUENCE = b"2004", 68


class Terminal:
    """One program on a pseudo-terminal."""

    def __init__(self, pid: int, fd: int, transcript: Transcript, rows: int = ROWS) -> None:
        self.pid = pid
        self.fd = fd
        self.rows = rows
        self.transcript = transcript
        self.wants_paste = False  # bracketed paste mode (`ESC [ ? 2004 h`)
        self.has_hung_up = False  # no process uses the terminal; the loop stops watching `fd`
        self._pending = bytearray()
        self._watchers: list[Watcher] = []
        self._sizes: dict[Watcher, tuple[int, int] | None] = {}  # the screen sizes of the writers
        self._writers: list[Watcher] = []  # watchers that want to type; the first one may
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
        """Start COMMAND in the folder CWD on a terminal of that size, keeping LIMIT bytes of its output."""
        refuse_size(cols=cols, rows=rows)
        pid, fd = spawn(command, cwd, env, cols, rows)
        return cls(pid, fd, Transcript(limit), rows)

    # -- output

    def read(self) -> bytes:
        """Read new output and send it to the watchers; called when the terminal is readable."""
        octets = self._available(BLOCK)
        if octets:
            self.transcript.append(octets)
            self._follow_paste_mode(octets)
            for watcher in list(self._watchers):
                self._show(watcher, octets)
        return octets

    def shown(self, max_chars: int = GLANCE) -> str:
        """The text on the screen, and some lines above it."""
        return self.transcript.tail(max_chars, height=self.rows)

    def _available(self, most: int) -> bytes:
        """Read until nothing is left or MOST is reached: each read returns at most a few kilobytes."""
        pieces, have = [], 0
        while have < most and not self.has_hung_up:
            try:
                piece = os.read(self.fd, PIECE)
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno != errno.EIO:  # Linux reports this instead of EOF
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
        for match in PASTE_MODE.finditer(octets):
            end = match.end()
            if match[1] is None:  # a full reset
                self.wants_paste = False
            elif PASTE in match[1].split(b";"):
                self.wants_paste = match[2] == b"h"
        rest = octets[end:][-LONGEST_SEQUENCE:]
        self._unparsed = rest[rest.rfind(b"\x1b") :] if b"\x1b" in rest else b""

    # -- input

    def write(self, octets: bytes) -> bool:
        """Buffer OCTETS as input, all or none of them; whether there was room."""
        if self.has_hung_up or self._ended or len(self._pending) + len(octets) > MOST_PENDING:
            return False
        self._pending += octets
        self.flush()
        return True

    @property
    def wants_write(self) -> bool:
        """Whether the loop should watch for writability."""
        return bool(self._pending)

    def flush(self) -> None:
        """Write as much buffered input as the terminal takes now."""
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
        """Set the size of the terminal; the system notifies the program."""
        refuse_size(cols=cols, rows=rows)
        if not self.has_hung_up:
            self.rows = rows
            set_size(self.fd, cols, rows)

    # -- watchers

    def attach(self, watcher: Watcher, *, only_watches: bool = False, size: tuple[int, int] | None = None) -> bool:
        """Send WATCHER the recent output and all new output; whether it may type. If it may, the terminal gets its
        SIZE."""
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
        """Remove WATCHER. If it was the one that may type, the next writer may, and gets a bell."""
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
        """Whether a client that may type is attached."""
        return bool(self._writers)

    def may_type(self, watcher: Watcher) -> bool:
        """Whether WATCHER is the first writer."""
        return self._writers[:1] == [watcher]

    def _show(self, watcher: Watcher, octets: bytes) -> None:
        if watcher.send(octets) > MOST_UNSENT:
            self.detach(watcher)
            watcher.end()

    # -- end

    def stop(self) -> None:
        """Ask the program and its foreground process group to end."""
        self._is_stopping = True
        self._signal(signal.SIGTERM)
        self._ask_idle_shell()
        self._signal(signal.SIGCONT)  # a suspended process handles no other signal

    def kill(self) -> None:
        """End the program."""
        self._is_killed = True
        self._signal(signal.SIGKILL)

    def poll(self) -> Ended | None:
        """How the program ended; None while it runs.

        After `stop`, it counts as ended only when every process on its terminal has ended, or after `kill`: a wrapper
        ends at once, while the program inside may still be saving its work.
        """
        if self._is_stopping and not self.has_hung_up and time.monotonic() - self._asked_at > ASK_AGAIN:
            self._ask_idle_shell()
        if self._ended is None and (self.has_hung_up or self._is_killed or not self._is_stopping):
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                self._ended = Ended(None)
            else:
                self._ended = how_it_ended(status) if pid else None
        return self._ended

    def close(self) -> None:
        """Read the last output and close the terminal. The system hangs up processes that still use it.

        If the program has not ended yet, `poll` keeps checking it.
        """
        if self.fd < 0:
            return
        left = LAST_WORDS
        while left > 0 and (octets := self.read()):
            left -= len(octets)
        self._hang_up()
        os.close(self.fd)
        self.fd = -1
        for watcher in list(self._watchers):  # a watcher that has everything leaves at once
            watcher.end()
        self._watchers.clear()
        self._writers.clear()
        self._sizes.clear()

    def _signal(self, number: int) -> None:
        """Send a signal to the program's process group, and to the foreground group if a shell has made another.

        The program's process number cannot be reused before the program has been waited for.
        """
        if self._ended is None:
            for group in {self.pid, self._foreground()} - {0, os.getpgrp()}:
                signal_group(group, number)

    def _ask_idle_shell(self) -> None:
        """Hang up a shell at its prompt. `poll` repeats this if the shell stays, since bash may get the first signal
        just before it waits for a key. It is not repeated at once: a second signal would make bash drop its history."""
        self._asked_at = time.monotonic()
        if self._is_idle_shell():
            self._signal(signal.SIGHUP)

    def _is_idle_shell(self) -> bool:
        """Whether the program is a shell at its prompt: it ignores SIGTERM and ends when its terminal hangs up. A shell
        that runs a command is not hung up, since the command would end before it has cleaned up."""
        return self._ended is None and self._foreground() == self.pid and ignores(self.pid, signal.SIGTERM)

    def _foreground(self) -> int:
        try:
            return os.tcgetpgrp(self.fd)
        except OSError:
            return 0
