"""JSON-RPC 2.0, one object per line: parses and writes lines. The caller owns the stream.

A line that is not a request, a notification or an answer becomes `Invalid`, with the error to send. A line feed always
ends a line, so an invalid line does not affect the next one. Only a line without an end closes the session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bb.kernel import json_text
from bb.kernel.record import Record

Id = str | int | float

VERSION = "2.0"
MOST = 1 << 20  # bytes of a line, its line feed included
MOST_SKIPPED = 16 * MOST  # bytes of a line that is too long; after these the session is closed
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603


class FramingLost(Exception):
    """A line is far too long, so the start of the next message cannot be found."""


class Request(Record):
    """A request, which needs an answer."""

    id: Id
    method: str
    params: dict[str, Any]


class Notification(Record):
    """A notification, which gets no answer."""

    method: str
    params: dict[str, Any]


class Answer(Record):
    """The answer to a request of ours. The id is None if the other side could not read it."""

    id: Id | None
    result: Any = None
    error: Mapping[str, Any] | None = None


class Invalid(Record):
    """An invalid line, and the error to answer."""

    code: int
    reason: str
    id: Id | None = None


Message = Request | Notification | Answer | Invalid


class Framer:
    """Gathers bytes until they make lines."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, octets: bytes) -> Iterator[bytes | None]:
        """The lines that OCTETS complete, without their line feeds; None for one that was too long."""
        *ends, rest = octets.split(b"\n")
        for end in ends:
            self._add(end)
            line = b"".join(self._pieces) if self._size < self._most else None
            self._pieces, self._size = [], 0
            yield line
        self._add(rest)
        if self._size > MOST_SKIPPED:
            raise FramingLost

    def _add(self, octets: bytes) -> None:
        self._size += len(octets)
        if self._size >= self._most:
            self._pieces.clear()  # the line is too long
        elif octets:
            self._pieces.append(octets)


def read(line: bytes | None) -> Message | None:
    """The message on LINE; None for an empty line."""
    if line is None:
        return Invalid(PARSE_ERROR, f"the line is too long: a line has at most {MOST:,} bytes")
    if not line.strip():
        return None
    try:
        message = json_text.read(line)
    except json_text.NotJson:
        return Invalid(PARSE_ERROR, "the line is not valid JSON")
    if isinstance(message, list):
        return Invalid(INVALID_REQUEST, "batches are not supported: send one object per line")
    if not isinstance(message, dict):
        return Invalid(INVALID_REQUEST, "a message must be an object")
    return _answer(message) if "method" not in message and message.keys() & {"result", "error"} else _call(message)


def _call(found: dict[str, Any]) -> Message:
    """A request, or a notification if it has no id."""
    given_id = found.get("id")
    request_id = given_id if _is_id(given_id) else None
    if found.get("jsonrpc") != VERSION:
        return Invalid(INVALID_REQUEST, 'jsonrpc must be "2.0"', request_id)
    if "id" in found and request_id is None:
        return Invalid(INVALID_REQUEST, "id must be a string or a number")
    method, params = found.get("method"), found.get("params")
    if not isinstance(method, str):
        return Invalid(INVALID_REQUEST, "method must be a string", request_id)
    is_object = params is None or isinstance(params, dict)
    if request_id is None:
        return Notification(method, params if isinstance(params, dict) else {})
    if not is_object:
        return Invalid(INVALID_PARAMS, "params must be an object", request_id)
    return Request(request_id, method, params or {})


def _answer(found: dict[str, Any]) -> Message:
    """An answer. A malformed one is refused without its id, because that id belongs to our request."""
    request_id, error = found.get("id"), found.get("error")
    if "error" not in found and _is_id(request_id):
        return Answer(request_id, found["result"])
    is_error = isinstance(error, dict) and type(error.get("code")) is int and "result" not in found
    if is_error and (request_id is None or _is_id(request_id)):
        return Answer(request_id, error=error)
    return Invalid(INVALID_REQUEST, "an answer must have an id, and either a result or an error")


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


# -- writing


def request(id: Id, method: str, params: Mapping[str, Any]) -> bytes:  # noqa: A002
    """A request, as a line."""
    return _line({"id": id, "method": method, "params": params})


def notification(method: str, params: Mapping[str, Any]) -> bytes:
    """A notification, as a line."""
    return _line({"method": method, "params": params})


def result(id: Id, value: Any) -> bytes:  # noqa: A002
    """The answer to a request, as a line."""
    return _line({"id": id, "result": value})


def failure(id: Id | None, code: int, message: str, data: Mapping[str, Any]) -> bytes:  # noqa: A002
    """An error answer, as a line."""
    return _line({"id": id, "error": {"code": code, "message": message, "data": data}})


def _line(value: dict[str, Any]) -> bytes:
    return json_text.dumps({"jsonrpc": VERSION, **value}).encode("utf-8", "backslashreplace") + b"\n"
