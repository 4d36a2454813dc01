"""Serves one host on stdin and stdout: a JSON-RPC message a line.

Requests that may wait for a lock or a message run in threads. Requests read before EOF are answered, or given up after
a short time: a script that pipes its requests closes stdin while the last one is still running, and a host that stops
the server does not wait long.
"""

from __future__ import annotations

import os
import threading

from bb.kernel import json_text
from bb.mcp.answers import RequestError
from bb.mcp.dialogs import Dialogs
from bb.mcp.log import report
from bb.mcp.protocol import Connection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

    from bb.mcp.protocol import Work
    from bb.mcp.tool_calls import Toolbox

AT_ONCE = 32  # concurrent calls; most of them wait for a lock or a message
LONGEST = 1 << 25  # bytes of a request
LAST_WORDS = 1.5  # seconds; hosts kill the server after two
MAY_WAIT = ("tools/call", "resources/read")
INTERNAL_ERROR = -32603
CANCELLED, INITIALIZED = "notifications/cancelled", "notifications/initialized"


def serve(toolbox: Toolbox, *, has_channel: bool = False) -> None:
    """Serve the host until it closes stdin, and push messages to it if HAS_CHANNEL. Raises BrokenPipeError if it stops
    reading."""
    reading, writing = _claimed(0, "rb", os.open(os.devnull, os.O_RDONLY)), _claimed(1, "wb", os.dup(2))
    host = Host(Connection(toolbox, has_channel=has_channel), writing)
    hear_all(reading, host.hear)
    host.settle()


def hear_all(reading: IO[bytes], hear: Callable[[bytes], None]) -> None:
    """HEAR each line. A line that is longer than LONGEST is skipped, without keeping it in memory."""
    is_rest = False
    while part := reading.readline(LONGEST):
        is_end = part.endswith(b"\n") or len(part) < LONGEST
        if is_end and not is_rest:
            hear(part)
        is_rest = not is_end


def _claimed(number: int, mode: str, instead: int) -> IO[bytes]:
    """A private copy of a standard stream. INSTEAD takes its number, so that nothing else reads or writes the
    protocol."""
    private = os.dup(number)
    os.set_inheritable(private, False)
    os.dup2(instead, number)
    os.close(instead)
    return open(private, mode, closefd=False)


class Host:
    """The host at the other end, and its unanswered requests."""

    def __init__(self, connection: Connection, writing: IO[bytes]) -> None:
        self._connection, self._writing = connection, writing
        self._running: dict[Any, threading.Event] = {}  # the requests in threads; each event tells that nobody waits
        self._free = threading.Semaphore(AT_ONCE)
        self._changed = threading.Condition()
        self._dialogs = connection.dialogs = Dialogs(self._send)
        self._is_over = threading.Event()
        self._is_pushing = False
        self.is_gone = False

    def hear(self, line: bytes) -> None:
        """Handle one line from the host. A line that is no message is ignored."""
        if self.is_gone:
            raise BrokenPipeError
        try:
            message = json_text.loads(line.decode("utf-8", "replace"))
        except json_text.NotJson:
            return
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return
        if not isinstance(message.get("method"), str):
            self._dialogs.hear(message)
            return
        params = message.get("params", {})
        if not isinstance(params, dict):
            return
        if type(message.get("id")) in (int, str):
            self._request(message["id"], message["method"], params)
        elif message["method"] == CANCELLED and type(params.get("requestId")) in (int, str):
            self._cancel(params["requestId"])
        elif message["method"] == INITIALIZED:
            self._push()

    def _request(self, name: int | str, method: str, params: dict[str, Any]) -> None:
        try:
            work = self._connection.work(method, params)
        except RequestError as error:
            self._send({"jsonrpc": "2.0", "id": name, "error": _error(error)})
            return
        if method not in MAY_WAIT:
            self._answer(name, method, work, threading.Event())
            return
        with self._changed:
            is_unwanted = self._running[name] = threading.Event()
        threading.Thread(target=self._in_thread, args=(name, method, work, is_unwanted), daemon=True).start()

    def _in_thread(self, name: int | str, method: str, work: Work, is_unwanted: threading.Event) -> None:
        with self._free:
            self._answer(name, method, work, is_unwanted)
        with self._changed:
            if self._running.get(name) is is_unwanted:
                del self._running[name]
            self._changed.notify_all()

    def _answer(self, name: int | str, method: str, work: Work, is_unwanted: threading.Event) -> None:
        if is_unwanted.is_set():
            return
        try:
            answer = {"result": work(is_unwanted.is_set)}
        except RequestError as error:
            answer = {"error": _error(error)}
        except Exception as error:  # a bug: report it and keep serving
            report(method, error)
            answer = {"error": {"code": INTERNAL_ERROR, "message": f"{type(error).__name__} in {method}"}}
        if not is_unwanted.is_set():
            self._send({"jsonrpc": "2.0", "id": name, **answer})

    def _cancel(self, name: int | str) -> None:
        with self._changed:
            if is_unwanted := self._running.pop(name, None):
                is_unwanted.set()

    def _push(self) -> None:
        """Begin to push messages, if this server has a channel and the host has completed the handshake."""
        if self._is_pushing or not self._connection.is_ready_for_pushes:
            return
        self._is_pushing = True
        from bb.mcp.channel import Channel  # noqa: PLC0415  (off unless asked for)

        channel = Channel(self._connection.desk, self._send)
        threading.Thread(target=channel.run, args=(self._is_over,), daemon=True).start()

    def _send(self, message: dict[str, Any]) -> None:
        octets = json_text.dumps(message).encode("utf-8", "replace") + b"\n"
        with self._changed:
            try:
                self._writing.write(octets)
                self._writing.flush()
            except OSError:
                self.is_gone = True
                self._is_over.set()

    def settle(self) -> None:
        """Wait until the requests are answered, at most LAST_WORDS; then nobody waits for the others."""
        self._is_over.set()
        with self._changed:
            self._changed.wait_for(lambda: not self._running, LAST_WORDS)
            for is_unwanted in self._running.values():
                is_unwanted.set()
        if self.is_gone:
            raise BrokenPipeError


def _error(error: RequestError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, **({} if error.data is None else {"data": error.data})}
