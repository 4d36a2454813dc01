"""Running another program: told what to read, heard to the end, stopped when it takes too long.

`subprocess` costs more to import than git takes to answer, so where the system can start a process by itself it is not
used. A child gets a session of its own: it has no terminal to ask at, and what it starts in turn is stopped with it.
"""

from __future__ import annotations

import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BLOCK = 1 << 16
GRACE = 2.0  # seconds to end in, for a child that is told to
PAUSE = 0.002
SILENCE = 0.2  # seconds to hear nothing before asking whether it is still there
# By their numbers, which are the same everywhere: the module with the names makes enumerations of them.
SIGINT, SIGKILL, SIGPIPE, SIGTERM = 2, 9, 13, 15


class TooMuch(Exception):
    """A program says more than whoever listens wants to hear; it was stopped."""


def start(command: Sequence[str], env: Mapping[str, str]) -> Child:
    """Start COMMAND. FileNotFoundError when there is no such program."""
    if os.name == "posix":
        try:
            return Child(command, env)
        except NotImplementedError:  # an old macOS, which knows no sessions here
            pass
    from bb.ledger.files.windows_processes import PlainChild  # noqa: PLC0415

    return PlainChild(command, env)


class Child:
    """A program that was started; its three streams are pipes of ours."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        theirs_in, self._in = os.pipe()
        self._out, theirs_out = os.pipe()
        self._err, theirs_err = os.pipe()
        theirs = (theirs_in, theirs_out, theirs_err)
        try:
            moves = [(os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate(theirs)]
            self._pid = os.posix_spawnp(
                command[0], list(command), env, file_actions=moves, setsid=True, setsigdef=[SIGPIPE, SIGINT]
            )
        except BaseException:
            self._close(self._in, self._out, self._err)
            raise
        finally:
            self._close(*theirs)
        self._rest = b""
        self._status: int | None = None

    def finish(self, given: bytes, patience: float, most: int | None = None) -> tuple[int | None, bytes, bytes]:
        """Tell it what is GIVEN, and hear it to the end: its exit status and what it said on both streams. No status
        when it had to be stopped. TooMuch when it says more than so many bytes on one of them."""
        deadline = time.monotonic() + patience
        out, err = self._out, self._err
        said: dict[int, list[bytes]] = {out: [], err: []}
        heard = {out: 0, err: 0}
        listening, has_ended = [out, err], False
        os.set_blocking(self._in, False)
        telling = [self._in]
        try:
            while listening:
                left = deadline - time.monotonic()
                wait = 0 if has_ended else min(max(left, 0), SILENCE)
                readable, writable, _ = select.select(listening, telling, [], wait)
                if left <= 0:
                    self.stop()
                    return None, b"".join(said[out]), b"".join(said[err])
                if not readable:
                    if has_ended:  # all it said is heard; what it left running holds on to its streams
                        break
                    has_ended = self._has_ended()
                if writable:
                    given = self._tell(given)
                    if not given:
                        telling = []
                        self._close(self._in)
                        self._in = -1
                if most is not None and max(heard.values()) > most:
                    raise TooMuch
                for stream in readable:
                    if octets := os.read(stream, BLOCK):
                        said[stream].append(octets)
                        heard[stream] += len(octets)
                    else:
                        listening.remove(stream)
            return self._wait(), b"".join(said[out]), b"".join(said[err])
        finally:
            self.stop()

    def _tell(self, given: bytes) -> bytes:
        """What is left to be told; nothing when it does not listen any more."""
        try:
            return given[os.write(self._in, given[:BLOCK]) :] if given else b""
        except BlockingIOError:
            return given
        except BrokenPipeError:
            return b""

    # -- a conversation

    def say(self, octets: bytes) -> None:
        """Tell it OCTETS, which it reads as they come."""
        while octets:
            octets = octets[os.write(self._in, octets) :]

    def line(self) -> bytes:
        """The next line it says; less when it has ended."""
        while b"\n" not in self._rest and (octets := os.read(self._out, BLOCK)):
            self._rest += octets
        line, mark, self._rest = self._rest.partition(b"\n")
        return line + mark

    def read(self, length: int) -> bytes:
        """So many of the bytes it says; fewer when it has ended."""
        pieces, have = [self._rest], len(self._rest)
        while have < length and (octets := os.read(self._out, BLOCK)):
            pieces.append(octets)
            have += len(octets)
        whole = b"".join(pieces)
        self._rest = whole[length:]
        return whole[:length]

    def end(self) -> int:
        """Say no more, and wait until it has finished; its exit status."""
        if self._in >= 0:
            self._close(self._in)
            self._in = -1
        while os.read(self._out, BLOCK):
            continue
        return self._wait()

    def stop(self) -> None:
        """End it and what it has started, if it has not ended by itself; let go of the pipes."""
        if self._status is None and not self._has_ended():
            self._kill(SIGTERM)
            deadline = time.monotonic() + GRACE
            while not self._has_ended() and time.monotonic() < deadline:
                time.sleep(PAUSE)
            self._kill(SIGKILL)  # what it has started may be more stubborn than itself
            self._wait()
        self._close(*(stream for stream in (self._in, self._out, self._err) if stream >= 0))
        self._in = self._out = self._err = -1

    def _kill(self, how: int) -> None:
        try:
            os.killpg(self._pid, how)
        except (ProcessLookupError, PermissionError):  # nobody is left; macOS says so of those that have just ended
            return

    def _has_ended(self) -> bool:
        if self._status is not None:
            return True
        pid, status = os.waitpid(self._pid, os.WNOHANG)
        if pid:
            self._status = os.waitstatus_to_exitcode(status)
        return bool(pid)

    def _wait(self) -> int:
        if self._status is None:
            _, status = os.waitpid(self._pid, 0)
            self._status = os.waitstatus_to_exitcode(status)
        return self._status

    def _close(self, *streams: int) -> None:
        for stream in streams:
            os.close(stream)
