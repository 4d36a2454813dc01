"""Run another program: write its input, read its output, and stop it if it takes too long.

Importing `subprocess` takes longer than a call of git, so it is used only on systems without `posix_spawn`. A child
runs in its own session: it has no terminal to prompt at, and the processes that it starts are stopped with it.
"""

from __future__ import annotations

import os
import time

from bb.ledger.files import readiness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BLOCK = 1 << 16
GRACE = 2.0  # seconds between SIGTERM and SIGKILL
PAUSE = 0.002
SILENCE = 0.2  # seconds without output before checking whether the child still runs
# Signal numbers are the same on every POSIX system. Importing `signal` builds enumerations and takes longer.
SIGINT, SIGKILL, SIGPIPE, SIGTERM = 2, 9, 13, 15


class TooMuch(Exception):
    """A program printed more than the caller accepts; it was stopped."""


class Child:
    """A running program; its three standard streams are pipes."""

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

    def communicate(self, given: bytes, patience: float, most: int | None = None) -> tuple[int | None, bytes, bytes]:
        """Write GIVEN to its standard input, and read until it ends: its exit status, its output, its errors.

        The status is None if it was stopped after PATIENCE seconds. TooMuch if a stream exceeds MOST bytes.
        """
        deadline = time.monotonic() + patience
        out, err = self._out, self._err
        pieces: dict[int, list[bytes]] = {out: [], err: []}
        lengths = {out: 0, err: 0}
        open_outputs, has_ended = [out, err], False
        os.set_blocking(self._in, False)
        open_inputs = [self._in]
        try:
            while open_outputs:
                left = deadline - time.monotonic()
                wait = 0 if has_ended else min(max(left, 0), SILENCE)
                readable, writable = readiness.ready(open_outputs, open_inputs, wait)
                if left <= 0:
                    self.stop()
                    return None, b"".join(pieces[out]), b"".join(pieces[err])
                if not readable:
                    if has_ended:  # all its output was read; a process that it left running keeps the streams open
                        break
                    has_ended = self._has_ended()
                if writable:
                    given = self._write_some(given)
                    if not given:
                        open_inputs = []
                        self._close(self._in)
                        self._in = -1
                if most is not None and max(lengths.values()) > most:
                    raise TooMuch
                for stream in readable:
                    if octets := os.read(stream, BLOCK):
                        pieces[stream].append(octets)
                        lengths[stream] += len(octets)
                    else:
                        open_outputs.remove(stream)
            return self._wait(), b"".join(pieces[out]), b"".join(pieces[err])
        finally:
            self.stop()

    def _write_some(self, given: bytes) -> bytes:
        """Write a part of GIVEN; return the rest, or nothing if the child has closed its standard input."""
        try:
            return given[os.write(self._in, given[:BLOCK]) :] if given else b""
        except BlockingIOError:
            return given
        except BrokenPipeError:
            return b""

    # -- a conversation

    def write(self, octets: bytes) -> None:
        """Write OCTETS to its standard input."""
        while octets:
            octets = octets[os.write(self._in, octets) :]

    def read_line(self) -> bytes:
        """Read the next line of its output; an incomplete line or nothing if it has ended."""
        while b"\n" not in self._rest and (octets := os.read(self._out, BLOCK)):
            self._rest += octets
        line, mark, self._rest = self._rest.partition(b"\n")
        return line + mark

    def read(self, length: int) -> bytes:
        """Read LENGTH bytes of its output; fewer if it has ended."""
        pieces, have = [self._rest], len(self._rest)
        while have < length and (octets := os.read(self._out, BLOCK)):
            pieces.append(octets)
            have += len(octets)
        whole = b"".join(pieces)
        self._rest = whole[length:]
        return whole[:length]

    def read_until(self, mark: bytes, most: int) -> bytes:
        """Read its output up to a MARK, with which it ends for now; all that is left if it has ended. TooMuch if more
        than MOST bytes come before the mark."""
        octets, self._rest = bytearray(self._rest), b""
        while not octets.endswith(mark) and (block := self._block()):
            octets += block
            if len(octets) > most + len(mark):
                raise TooMuch
        return bytes(octets)

    def _block(self) -> bytes:
        """What it has printed since; nothing if it has ended."""
        return os.read(self._out, BLOCK)

    def end(self) -> int:
        """Close its standard input and wait until it ends; its exit status."""
        if self._in >= 0:
            self._close(self._in)
            self._in = -1
        while os.read(self._out, BLOCK):
            continue
        return self._wait()

    def errors(self) -> bytes:
        """What it has written to its standard error, after it has ended."""
        os.set_blocking(self._err, False)
        try:
            return os.read(self._err, BLOCK)
        except BlockingIOError:  # a process that it left running keeps the stream open
            return b""

    def stop(self) -> None:
        """Stop it and the processes that it started, if it still runs; close the pipes."""
        if self._status is None and not self._has_ended():
            self._kill(SIGTERM)
            deadline = time.monotonic() + GRACE
            while not self._has_ended() and time.monotonic() < deadline:
                time.sleep(PAUSE)
            self._kill(SIGKILL)  # processes that it started may have ignored SIGTERM
            self._wait()
        self._close(*(stream for stream in (self._in, self._out, self._err) if stream >= 0))
        self._in = self._out = self._err = -1

    def _kill(self, how: int) -> None:
        try:
            os.killpg(self._pid, how)
        except (ProcessLookupError, PermissionError):  # all have ended; macOS reports that as a permission error
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
