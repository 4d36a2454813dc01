"""The harnesses connected to `bb chat serve`: their lines in, and buffered output to them.

Reads and writes never block. Unsent output is buffered. A harness with too much unsent output is disconnected, and
receives its deliveries again when it reconnects.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator

from bb.ops.desk.desk import Desk
from bb.wire import jsonrpc
from bb.wire.harness_session import HarnessSession

BLOCK = 1 << 16
MOST_UNSENT = 8 << 20  # bytes; a harness with more unsent output is disconnected
ENOUGH_UNSENT = 1 << 20  # bytes of unsent output at which deliveries pause
LONG = 0.5  # seconds
AT_ONCE = getattr(select, "PIPE_BUF", 512)  # bytes that a writable pipe accepts without blocking


class Line:
    """A connection. `writes` is the file that select waits for; if `tells` is false, writes may block instead."""

    writes: int
    tells = True

    def fileno(self) -> int:
        raise NotImplementedError

    def read(self) -> bytes | None:
        """The bytes received; empty at the end, None if there are none yet."""
        raise NotImplementedError

    def write(self, octets: memoryview) -> int:
        """Write some of OCTETS; return the number of bytes written."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class Pipes(Line):
    """Stdin and stdout, or files in their place."""

    def __init__(self, reads: int, writes: int) -> None:
        self._reads = reads
        self.writes = writes

    def fileno(self) -> int:
        return self._reads

    def read(self) -> bytes | None:
        return os.read(self._reads, BLOCK)

    def write(self, octets: memoryview) -> int:
        return os.write(self.writes, octets[:AT_ONCE])

    def close(self) -> None:
        os.close(self.writes)


class PipesOfWindows(Pipes):
    """Stdin and stdout on Windows, where select supports only sockets: a thread copies stdin to one, writes block."""

    tells = False

    def __init__(self, reads: int, writes: int) -> None:
        super().__init__(reads, writes)
        self._socket, there = socket.socketpair()

        def copy() -> None:
            while octets := os.read(reads, BLOCK):
                there.sendall(octets)
            there.close()

        threading.Thread(target=copy, daemon=True).start()

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self) -> bytes | None:
        return self._socket.recv(BLOCK)


def pipes(reads: int, writes: int) -> Pipes:
    """Stdin and stdout, in the form for this system."""
    return (PipesOfWindows if os.name == "nt" else Pipes)(reads, writes)


class Socket(Line):
    """A connection."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._socket = sock
        self.writes = sock.fileno()

    def fileno(self) -> int:
        return self.writes

    def read(self) -> bytes | None:
        try:
            return self._socket.recv(BLOCK)
        except (BlockingIOError, InterruptedError):
            return None

    def write(self, octets: memoryview) -> int:
        try:
            return self._socket.send(octets[:BLOCK])
        except (BlockingIOError, InterruptedError):
            return 0

    def close(self) -> None:
        self._socket.close()


class Peer:
    """One harness and its line."""

    def __init__(
        self,
        line: Line,
        desk: Desk,
        agent: str | None,
        note: Callable[[str], None],
        report: Callable[[Exception], None],
        look: Callable[[], None],
    ) -> None:
        self.line = line
        self.seat = HarnessSession(desk, agent, self.say, note, report, look)
        self.unsent = bytearray()
        self.since = self.ending_since = time.monotonic()
        self.is_open = True
        self.is_waiting = False  # whether there may be deliveries
        self._rests_until = 0.0
        self._framer = jsonrpc.Framer()
        self._is_ending = False

    @property
    def agent(self) -> str:
        """The agent of the harness; empty until it has named the agent."""
        return self.seat.hosting.agent if self.seat.hosting else ""

    @property
    def is_ending(self) -> bool:
        """Whether the connection closes after its unsent output is written."""
        return self._is_ending

    @is_ending.setter
    def is_ending(self, is_ending: bool) -> None:
        self._is_ending, self.ending_since = is_ending, time.monotonic()

    def heard(self) -> Iterator[bytes | None]:
        """The complete lines received so far."""
        try:
            octets = self.line.read()
        except OSError:
            octets = b""
        if octets:
            try:
                yield from self._framer.feed(octets)
            except jsonrpc.FramingLost:
                self.is_ending = True
        elif octets is not None:
            self.is_ending = True  # an incomplete last line is ignored

    def say(self, octets: bytes) -> None:
        """Queue OCTETS for output."""
        if self.is_open:
            self.unsent += octets

    def hand_over_if_due(self) -> None:
        """Hand over deliveries if the harness reads its output. After a slow hand-over, pause, so that other harnesses
        get time."""
        began = time.monotonic()
        if not self.is_waiting or self.is_ending or len(self.unsent) >= ENOUGH_UNSENT or began < self._rests_until:
            return
        self.is_waiting = False
        self.seat.hand_over()
        took = time.monotonic() - began
        self._rests_until = began + 2 * took if took > LONG else 0.0

    def flush(self) -> None:
        """Write as much output as the connection accepts."""
        if not self.unsent:
            return
        try:
            written = self.line.write(memoryview(self.unsent))
        except OSError:
            self.close()
            return
        del self.unsent[:written]

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self.unsent.clear()
            self.line.close()
            self.seat.leave()
