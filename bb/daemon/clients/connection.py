"""One client: a line in, a line out, and the connection ends; or it is upgraded, and goes on as a stream.

A client that says nothing, or half a line, is left waiting at its own cost and sent away after a while. One that does
not read what it is sent is dropped when too much waits for it.

A client may still be speaking when it has been answered: its line was too long, or has others behind it. It is listened
to a little longer, and ignored. If its connection just ended, it would fail at speaking and never get to read the
answer; and over TCP the system would take back what of the answer is still on its way.
"""

from __future__ import annotations

import select
import socket
import time

from bb.daemon.loop.loop import READ, WRITE
from bb.wire import access, cccc, ndjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from bb.daemon.loop.loop import Loop
    from bb.kernel.errors import BbError

TO_SHOW = 5.0  # seconds for a client to show that it may ask
PATIENCE = 15.0  # seconds for a whole request to come, and for an answer to be taken
LINGER = 3.0  # seconds that a client may take to notice that all is said
LOCAL = getattr(socket, "AF_UNIX", None)  # of a client that is local: what was sent to it has arrived
BLOCK = 1 << 16
MOST_LAST_WORDS = 32  # blocks that are still read of a client that takes nothing more
MOST_UNSENT = 8 << 20  # bytes that may wait for a client; a stream has less


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
        self._token = token  # what the client is to show before anything else; None once it has
        self._known = known  # who wants to know that it has
        self._shown = bytearray()
        self._unsent = bytearray()
        self._is_last = False  # once all is sent, the connection ends
        self.typed: Callable[[bytes], None] | None = None  # who gets what comes after an upgrade
        self.ended: Callable[[], None] | None = None  # who wants to know that the client has left
        self.since = time.monotonic()
        self.is_open = True
        self.is_upgraded = False
        self._is_asked = self._is_watched = False
        self._may_say_more = not is_local
        if self._may_say_more:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # an event must not wait for the next one
        self._is_ignored = False  # all is said, and what the client still says is of no interest

    # -- what comes

    def start(self) -> None:
        """Read what may have come with the connection already."""
        self._ready(READ)  # most clients have sent it all by now
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
        except Exception:  # a bug of ours: nobody would see to this client any more
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
            self._may_say_more = True  # behind its request, which is being seen to

    def _token_came(self, octets: bytes, token: str) -> None:
        """The first line, which is to show the TOKEN. Behind it comes the request, unless of a stranger."""
        line, feed, rest = octets.partition(b"\n")
        self._shown += line
        if not octets and not self._shown:
            self.close()
        elif octets and not feed and len(self._shown) <= access.MOST_SHOWN:
            return
        elif feed and len(self._shown) <= access.MOST_SHOWN and access.shows(bytes(self._shown), token):
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
        """The client will send no more. It may still want its answer."""
        self._may_say_more = False
        rest = self._framer.rest if self._framer else b""
        if self._is_asked and _has_hung_up(self._socket):
            self.close()
        elif self._is_asked:
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

    def expect_leaving(self) -> None:
        """Its answer may take a while: notice when the client leaves meanwhile."""
        if self.is_open:
            self._watch(READ)

    # -- what goes

    def answer(self, octets: bytes) -> None:
        """The one answer there is; then the connection ends."""
        self._is_last, self.since = True, time.monotonic()
        self._push(octets)

    def refuse(self, error: BbError) -> None:
        self.answer(cccc.failure(error))

    def upgrade(self, octets: bytes) -> None:
        """Say OCTETS, and go on as a stream."""
        self.is_upgraded = True
        self.send(octets)

    def send(self, octets: bytes) -> int:
        """Send OCTETS as soon as the client takes them, unless all has been said; how many bytes now wait for it."""
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
        """The client has left, perhaps with something said that nobody has read yet. What it typed, it has typed."""
        self._is_last = True  # nothing can be sent any more
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
        """Wait for the client to take more, or end the connection where there is no more."""
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
        """Nothing more is to be said: the connection ends once the client has taken what waits."""
        self._is_last, self.since = True, time.monotonic()
        self._settle()

    def _finish(self) -> None:
        """All is said: end the connection as soon as that does no harm."""
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
        """Whether it is open, and has not shown yet that it may ask."""
        return self.is_open and self._token is not None

    def is_overdue(self, now: float) -> bool:
        """Whether the client has been waited for, for too long."""
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
    """Whether the other end is closed, as far as the system tells; a client that only sends no more still listens."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(sock, 0)
    return any(events & (select.POLLHUP | select.POLLERR) for _, events in poll.poll(0))
