"""One client connection: one request line, one answer line, then the end; or an upgrade to a stream.

A client that sends no complete line is closed after a while. A client that does not read is closed when too many bytes
wait for it.

A client may still be sending after its answer, if its line was too long or has others behind it. The rest is then read
and ignored for a short time. Closing at once would make the client's write fail before it reads the answer, and over
TCP the system would discard the part of the answer that is still on its way.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable

from bb.daemon.loop.loop import READ, WRITE, Loop
from bb.kernel.errors import BbError
from bb.wire import access, cccc, ndjson

TO_SHOW = 5.0  # seconds for a client to show the token
PATIENCE = 15.0  # seconds for a complete request to arrive, and for an answer to be read
LINGER = 3.0  # seconds for a client to close its side after the answer
LOCAL = getattr(socket, "AF_UNIX", None)  # for a local client, sent data has arrived
BLOCK = 1 << 16
MOST_LAST_WORDS = 32  # blocks that are still read from a client that has left
MOST_UNSENT = 8 << 20  # bytes that may wait for a client; the limit of a stream is lower


class Connection:
    """A client's socket, in the daemon's loop."""

    def __init__(
        self,
        sock: socket.socket,
        loop: Loop,
        asked: Callable[[Connection, bytes], None],
        gone: Callable[[Connection], None],
        *,
        is_local: bool,
        token: str | None = None,
        known: Callable[[Connection], None] | None = None,
    ) -> None:
        self._socket = sock
        self._loop = loop
        self._asked = asked
        self._gone = gone
        self._framer: ndjson.Framer | None = ndjson.Framer()
        self._token = token  # what the client must show first; None afterwards
        self._known = known  # called when the client has shown the token
        self._shown = bytearray()
        self._unsent = bytearray()
        self._is_last = False  # whether the connection ends when all is sent
        self.typed: Callable[[bytes], None] | None = None  # receives input after an upgrade
        self.ended: Callable[[], None] | None = None  # called when the client has left
        self.since = time.monotonic()
        self.is_open = True
        self.is_upgraded = False
        self._is_asked = self._is_watched = False
        self._may_say_more = not is_local
        if self._may_say_more:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # an event must not wait for the next one
        self._is_ignored = False  # whether further input is discarded

    # -- input

    def start(self) -> None:
        """Read data that has arrived already."""
        self._ready(READ)  # most clients have sent their request by now
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
        try:
            if events & WRITE:
                self._flush()
            if events & READ and self.is_open:
                self._read()
        except Exception:  # a bug: the client would get no answer
            self.close()
            raise

    def _read(self) -> None:
        try:
            octets = self._socket.recv(BLOCK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.close()
            return
        if self._is_ignored:
            if not octets:
                self.close()
        elif self.is_upgraded:
            self._stream_came(octets)
        elif self._token is not None and self._framer is not None:
            self._token_came(octets, self._token)
        elif not octets:
            self._half_closed()
        elif self._framer is not None:
            self._request_came(octets)
        else:
            self._may_say_more = True  # data behind the request

    def _token_came(self, octets: bytes, token: str) -> None:
        """Read the first line, which must show the TOKEN. The request follows it."""
        line, feed, rest = octets.partition(b"\n")
        self._shown += line
        if not octets and not self._shown:
            self.close()
        elif octets and not feed and len(self._shown) <= access.MOST_SHOWN:
            return
        elif feed and len(self._shown) <= access.MOST_SHOWN and access.has_token(bytes(self._shown), token):
            self._token = None
            if self._known:
                self._known(self)
            self._request_came(rest)
        else:
            self._framer = None
            self.refuse(access.Unauthorized())

    def _request_came(self, octets: bytes) -> None:
        try:
            line = self._framer.feed(octets) if self._framer else None
        except ndjson.TooLong:
            self._framer, self._may_say_more = None, True
            self.refuse(cccc.BadRequest(f"a request has at most {ndjson.MOST_REQUEST:,} bytes"))
            return
        if line is not None:
            self._may_say_more |= octets.find(b"\n") + 1 < len(octets)
            self._ask(line)

    def _half_closed(self) -> None:
        """The client has closed its sending side. It may still read its answer."""
        self._may_say_more = False
        rest = self._framer.rest if self._framer else b""
        if self._is_asked and _has_hung_up(self._socket):
            self.close()
        elif self._is_asked:
            self._unwatch()  # the socket would always be ready
            if self._unsent:
                self._watch(WRITE)
        elif rest:
            self._framer = None
            self.refuse(cccc.BadRequest("the request does not end with a line feed"))
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

    def expect_leaving(self) -> None:
        """Watch whether the client leaves before its answer."""
        if self.is_open:
            self._watch(READ)

    # -- output

    def answer(self, octets: bytes) -> None:
        """Send the answer, then end the connection."""
        self._is_last, self.since = True, time.monotonic()
        self._push(octets)

    def refuse(self, error: BbError) -> None:
        self.answer(cccc.failure(error))

    def upgrade(self, octets: bytes) -> None:
        """Send OCTETS and continue as a stream."""
        self.is_upgraded = True
        self.send(octets)

    def send(self, octets: bytes) -> int:
        """Send OCTETS unless the connection is ending; the number of bytes that wait for the client."""
        return len(self._unsent) if self._is_last else self._push(octets)

    def _push(self, octets: bytes) -> int:
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
                self._hear_the_rest()
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
            self._hear_the_rest()
            return
        del self._unsent[:sent]
        self.since = time.monotonic()
        self._settle()

    def _hear_the_rest(self) -> None:
        """The client has left. Input that it typed before is still delivered."""
        self._is_last = True  # sending is no longer possible
        self._unsent.clear()
        for _ in range(MOST_LAST_WORDS):
            octets = self._last_words() if self.typed else b""
            if not octets or self.typed is None:
                break
            self.typed(octets)
        self.close()

    def _last_words(self) -> bytes:
        try:
            return self._socket.recv(BLOCK)
        except OSError:
            return b""

    def _settle(self) -> int:
        """Wait until the client can take more, or end the connection if all is sent."""
        if not self._unsent and self._is_last:
            self._finish()
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
        """End the connection when all waiting bytes are sent."""
        self._is_last, self.since = True, time.monotonic()
        self._settle()

    def _finish(self) -> None:
        """Close the connection, or first discard the client's further input."""
        if not self._may_say_more:
            self.close()
        elif not self._is_ignored:
            self._is_ignored, self.since = True, time.monotonic()
            try:
                self._socket.shutdown(socket.SHUT_WR)
            except OSError:
                self.close()
            else:
                self._watch(READ)

    @property
    def is_stranger(self) -> bool:
        """Whether it is open and has not shown the token yet."""
        return self.is_open and self._token is not None

    def is_overdue(self, now: float) -> bool:
        """Whether the client has exceeded a time limit."""
        if self._is_ignored:
            return now - self.since > LINGER
        is_waiting = (self._is_last or not self.is_upgraded) and (not self._is_asked or bool(self._unsent))
        return is_waiting and now - self.since > (PATIENCE if self._token is None else TO_SHOW)

    def close(self) -> None:
        if not self.is_open:
            return
        self.is_open = False
        self._unwatch()
        self._socket.close()
        self._unsent.clear()
        self._gone(self)
        if self.ended:
            self.ended()


def _has_hung_up(sock: socket.socket) -> bool:
    """Whether the other end is closed. A client that has closed only its sending side still listens."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(sock, 0)
    return any(events & (select.POLLHUP | select.POLLERR) for _, events in poll.poll(0))
