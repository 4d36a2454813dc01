"""Time limits and a connection limit for HTTP, which uvicorn lacks: for the pages and for MCP over HTTP.

    the head of a request    must arrive within a time limit after the connection or its first byte
    the body                 must arrive within a time limit after its head
    an answer                is abandoned if the client does not read any of it for a while
    the rest of a body       is dropped once the request is answered, and the connection is closed
    connections              are counted; if there are too many, the least useful one is closed

A streaming answer, such as that of a live page, has no time limit. Only clients that send too slowly or do not read
are disconnected, so they cannot block other clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class Timer(Protocol):
        """A scheduled call of the event loop."""

        def cancel(self) -> None: ...


FOR_A_HEAD, FOR_A_BODY, FOR_READING = 5.0, 10.0, 30.0  # seconds
FOR_THE_REST = 1.0  # seconds in which a client that still sends can read its answer before the connection closes
MOST_OPEN = 256  # connections
TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Limited(H11Protocol):
    """One connection with time limits."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._waits_for: object = None  # the part of a request with a running deadline
        self._deadline: Timer | None = None
        self._unread: Timer | None = None
        self._is_over = False  # the request is answered; further input is dropped
        self.since = self.loop.time()

    def asks_nothing(self) -> bool:
        """Whether the connection has no current request."""
        is_idle = self.conn.their_state is h11.IDLE and (self.cycle is None or self.cycle.response_complete)
        return is_idle or self._is_over

    def owes_a_body(self) -> bool:
        """Whether the rest of its request body is still missing."""
        return self.conn.their_state is h11.SEND_BODY

    def does_not_read(self) -> bool:
        """Whether the client leaves an answer unread, or pipelines requests, which browsers do not do."""
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
        """Stop writing and drop further input. A client that still sends its body can read the answer first."""
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
        """Close one connection: the oldest without a request, else with a missing body, else with an unread answer.
        The new connection is closed only if all others are being served."""
        others = [other for other in self.connections if isinstance(other, Limited) and other is not self]
        oldest: Limited = self
        for is_such in (Limited.asks_nothing, Limited.owes_a_body, Limited.does_not_read):
            if candidates := [other for other in others if is_such(other)]:
                oldest = min(candidates, key=lambda each: each.since)
                break
        oldest.transport.abort()
        self.connections.discard(oldest)  # connection_lost is called only later

    def _heed(self) -> None:
        """Set the deadline for the current part of the request. More bytes of the same part do not extend it."""
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
