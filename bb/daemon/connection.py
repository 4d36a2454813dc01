"""One client: a line in, a line out, and the connection ends; or it is upgraded, and goes on as a stream.

A client that says nothing, or half a line, is left waiting at its own cost and sent away after a while. One that does
not read what it is sent is dropped when too much waits for it.
"""

from __future__ import annotations

import time

from bb.daemon.loop import READ, WRITE
from bb.wire import cccc, ndjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from bb.daemon.loop import Loop

PATIENCE = 15.0  # seconds for a whole request to come, and for an answer to be taken
BLOCK = 1 << 16
MOST_UNSENT = 8 << 20  # bytes that may wait for a client; a stream has less


class Connection:
    """A client's socket, in the daemon's loop."""

    def __init__(
        self,
        sock: socket.socket,
        loop: Loop,
        asked: Callable[[Connection, bytes], None],
        gone: Callable[[Connection], None],
    ) -> None:
        self._socket = sock
        self._loop = loop
        self._asked = asked
        self._gone = gone
        self._framer: ndjson.Framer | None = ndjson.Framer()
        self._unsent = bytearray()
        self._is_last = False  # once all is sent, the connection ends
        self.typed: Callable[[bytes], None] | None = None  # who gets what comes after an upgrade
        self.ended: Callable[[], None] | None = None  # who wants to know that the client has left
        self.since = time.monotonic()
        self.is_open = True
        self.is_upgraded = False
        self._is_asked = self._is_watched = False

    # -- what comes

    def start(self) -> None:
        """Read what may have come with the connection already."""
        self._read()  # most clients have sent it all by now
        if self.is_open and not self._is_asked and not self._is_last:
            self._watch(READ)

    def _watch(self, events: int) -> None:
        self._is_watched = True
        self._loop.watch(self._socket.fileno(), events, self._ready)

    def _unwatch(self) -> None:
        if self._is_watched:
            self._is_watched = False
            self._loop.forget(self._socket.fileno())

    def _ready(self, events: int) -> None:
        if events & WRITE:
            self._flush()
        if events & READ and self.is_open:
            self._read()

    def _read(self) -> None:
        try:
            octets = self._socket.recv(BLOCK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.close()
            return
        if self.is_upgraded:
            self._stream_came(octets)
        elif not octets:
            self._half_closed()
        elif self._framer is not None:
            self._request_came(octets)

    def _request_came(self, octets: bytes) -> None:
        try:
            line = self._framer.feed(octets) if self._framer else None
        except ndjson.TooLong:
            self._framer = None
            self.refuse(cccc.BadRequest(f"a request has at most {ndjson.MOST_REQUEST:,} bytes"))
            return
        if line is not None:
            self._ask(line)

    def _half_closed(self) -> None:
        """The client will send no more. It may still want its answer."""
        rest = self._framer.rest if self._framer else b""
        if self._is_asked:
            self._unwatch()  # or it would be ready for ever
            if self._unsent:
                self._watch(WRITE)
        elif rest:
            self._framer = None
            self.refuse(cccc.BadRequest("the request has no line feed at its end"))
        else:
            self.close()

    def _ask(self, line: bytes) -> None:
        self._framer, self._is_asked = None, True
        self._asked(self, line)

    def _stream_came(self, octets: bytes) -> None:
        if not octets:
            self.close()
        elif self.typed:
            self.typed(octets)

    # -- what goes

    def answer(self, octets: bytes) -> None:
        """The one answer there is; then the connection ends."""
        self._is_last = True
        self.send(octets)

    def refuse(self, error: cccc.BadRequest) -> None:
        self.answer(cccc.failure(error))

    def upgrade(self, octets: bytes) -> None:
        """Say OCTETS, and go on as a stream."""
        self.is_upgraded = True
        self.send(octets)

    def send(self, octets: bytes) -> int:
        """Send OCTETS as soon as the client takes them; how many bytes now wait for it."""
        if not self.is_open:
            return 0
        if self._unsent:
            self._unsent += octets
        else:
            try:
                sent = self._socket.send(octets)
            except (BlockingIOError, InterruptedError):
                sent = 0
            except OSError:
                self.close()
                return 0
            if sent < len(octets):
                self._unsent += memoryview(octets)[sent:]
        return self._settle()

    def _flush(self) -> None:
        try:
            sent = self._socket.send(memoryview(self._unsent)[: BLOCK * 4])
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.close()
            return
        del self._unsent[:sent]
        self.since = time.monotonic()
        self._settle()

    def _settle(self) -> int:
        """Wait for the client to take more, or end the connection where there is no more."""
        if not self._unsent and self._is_last:
            self.close()
        elif self._unsent:
            if len(self._unsent) > MOST_UNSENT:
                self.close()
            else:
                reading = 0 if self._is_last else READ
                self._watch(reading | WRITE)
        elif self.is_upgraded:
            self._watch(READ)
        return len(self._unsent)

    def end(self) -> None:
        """Nothing more is to be said: the connection ends once the client has taken what waits."""
        self._is_last = True
        self._settle()

    def is_overdue(self, now: float) -> bool:
        """Whether the client has been waited for, for too long."""
        is_waiting = not self.is_upgraded and (not self._is_asked or bool(self._unsent))
        return is_waiting and now - self.since > PATIENCE

    def close(self) -> None:
        if not self.is_open:
            return
        self.is_open = False
        self._unwatch()
        self._socket.close()
        self._unsent.clear()
        if self.ended:
            self.ended()
        self._gone(self)
