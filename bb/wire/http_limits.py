"""A web server that waits for nobody for ever: what uvicorn leaves out, for the pages and for MCP over HTTP.

    the head of a request    must be there soon after the connection, or after its first byte
    the body                 must be there soon after its head, however slowly it comes
    an answer                is given up when the client has not read any of it for a while
    the rest of a body       interests nobody once the request is answered: it is dropped, and the connection closed
    connections              are counted; when there are too many, the one goes that can be missed most easily

An answer that goes on, as the stream of a live page does, may go on: only a client that keeps us waiting, or that does
not read what it asked for, is sent away. Whoever asks at once is served whatever others do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class Timer(Protocol):
        """What the loop of the server gives out for something that is to be done later."""

        def cancel(self) -> None: ...


FOR_A_HEAD, FOR_A_BODY, FOR_READING = 5.0, 10.0, 30.0  # seconds
FOR_THE_REST = 1.0  # seconds for a client to read its answer while it still sends; closed at once, it might not get it
MOST_OPEN = 256  # connections
TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Limited(H11Protocol):
    """One connection of a client whose patience is not taken for granted, nor ours."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._waits_for: object = None  # for which part of a request a time is set
        self._deadline: Timer | None = None
        self._unread: Timer | None = None
        self._is_over = False  # it is answered, and what it still sends is dropped
        self.since = self.loop.time()

    def asks_nothing(self) -> bool:
        """Whether no request of it is being answered, and none is known yet."""
        is_idle = self.conn.their_state is h11.IDLE and (self.cycle is None or self.cycle.response_complete)
        return is_idle or self._is_over

    def owes_a_body(self) -> bool:
        """Whether the rest of its request is still to come."""
        return self.conn.their_state is h11.SEND_BODY

    def does_not_read(self) -> bool:
        """Whether it leaves an answer unread, or asks for more before it has the answer, as no browser does."""
        return self._unread is not None or bool(self.conn.trailing_data[0])

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._heed()
        if len(self.connections) > MOST_OPEN:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        self._stop_waiting_to_be_read()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        super().data_received(data)
        self._heed()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.owes_a_body() and not self.transport.is_closing():
            self._end_early()
        else:
            self._heed()

    def _end_early(self) -> None:
        """Say no more, and drop what comes: a client that sends first and reads later still gets its answer."""
        self._forget()
        self._is_over = True
        self.transport.write_eof()
        self._deadline = self._later(FOR_THE_REST, self.transport.close)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self._unread or self._later(FOR_READING, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_waiting_to_be_read()

    def _stop_waiting_to_be_read(self) -> None:
        if self._unread:
            self._unread.cancel()
            self._unread = None

    def _make_room(self) -> None:
        """Send one away: of those that ask for nothing the oldest, else of those that owe a body, else of those that do
        not read. The newcomer goes only where all others are being served."""
        others = [each for each in self.connections if isinstance(each, Limited) and each is not self]
        oldest: Limited = self
        for is_such in (Limited.asks_nothing, Limited.owes_a_body, Limited.does_not_read):
            if found := [each for each in others if is_such(each)]:
                oldest = min(found, key=lambda each: each.since)
                break
        oldest.transport.abort()
        self.connections.discard(oldest)  # what is aborted is only told of it later

    def _heed(self) -> None:
        """Set the time for what is waited for now. More of the same is no reason to wait longer."""
        state = self.conn.their_state
        if state is self._waits_for:
            return
        self._forget()
        self.since = self.loop.time()
        if state is h11.IDLE:
            self._deadline = self._later(FOR_A_HEAD, self._no_head)
        elif state is h11.SEND_BODY:
            self._deadline = self._later(FOR_A_BODY, self.transport.close)
        self._waits_for = state

    def _no_head(self) -> None:
        if self.asks_nothing() and self.conn.trailing_data[0] and not self.transport.is_closing():
            self.transport.write(TOO_SLOW)
        self.transport.close()

    def _later(self, seconds: float, do: Callable[[], object]) -> Timer:
        return self.loop.call_later(seconds, do)

    def _forget(self) -> None:
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None
        self._waits_for = None
