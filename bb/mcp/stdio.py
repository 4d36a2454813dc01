"""Stream wrappers that answer requests read before EOF.

A script that pipes its requests closes stdin while the last one is still running. The SDK would cancel it at EOF. Here
EOF is passed on when all requests are answered, or after a short time: a host that stops the server does not wait long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

if TYPE_CHECKING:
    import contextvars
    from types import TracebackType
    from typing import Self

    from mcp.shared._stream_protocols import ReadStream, WriteStream

    Read = SessionMessage | Exception

LAST_WORDS = 1.5  # seconds; hosts kill the server after two


def wrap_streams(reading: ReadStream[Read], writing: WriteStream[SessionMessage]) -> tuple[Reading, Writing]:
    """The two streams, wrapped so that they share the set of unanswered requests."""
    unanswered = Unanswered()
    return Reading(reading, unanswered), Writing(writing, unanswered)


class Unanswered:
    """The requests without an answer."""

    def __init__(self) -> None:
        self._ids: set[Any] = set()
        self._fewer = anyio.Event()

    def asked(self, item: Read) -> None:
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, JSONRPCRequest):
            self._ids.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._drop((message.params or {}).get("requestId"))

    def answered(self, item: SessionMessage) -> None:
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self._drop(item.message.id)

    def _drop(self, name: Any) -> None:
        self._ids.discard(name)
        self._fewer.set()

    async def settled(self) -> None:
        """Wait until all requests are answered, at most LAST_WORDS."""
        with anyio.move_on_after(LAST_WORDS):
            while self._ids:
                self._fewer = anyio.Event()
                await self._fewer.wait()


class _Wrapped:
    """The methods common to both streams."""

    def __init__(self, inner: Any, unanswered: Unanswered) -> None:
        self._inner = inner
        self._unanswered = unanswered

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        await self.aclose()
        return None


class Reading(_Wrapped):
    """Messages from the host."""

    @property
    def last_context(self) -> contextvars.Context | None:
        context: contextvars.Context | None = self._inner.last_context
        return context

    async def receive(self) -> Read:
        try:
            item: Read = await self._inner.receive()
        except anyio.EndOfStream:
            await self._unanswered.settled()
            raise
        self._unanswered.asked(item)
        return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Read:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class Writing(_Wrapped):
    """Messages to the host."""

    async def send(self, item: SessionMessage, /) -> None:
        await self._inner.send(item)
        self._unanswered.answered(item)
