"""Requests and answers of the CCCC daemon (IPC §5, §6): strict about what surrounds a request, tolerant within.

Codes are lower-case there. A refusal keeps its code otherwise; its hint, and the exit status of its family, which a
command line wants to end with, go into the details.
"""

from __future__ import annotations

from bb.kernel import json_text
from bb.kernel.errors import BbError, Usage
from bb.ledger.journal.line import DEEPEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

VERSION = 1
MEMBERS = frozenset(["v", "op", "args"])
SHOWN = 200  # characters of a wrong value that an error repeats
# What a client can do nothing with, by the name it knows.
RENAMED = {
    "INVALID_VALUE": "invalid_request",
    "UNKNOWN_FIELD": "invalid_request",
    "MISSING_OPTION": "invalid_request",
    "USAGE": "invalid_request",
    "BAD_REQUEST": "invalid_request",
    "LEDGER_BUSY": "busy",
    "INDEX_BUSY": "busy",
    "NOT_INITIALIZED": "group_not_found",
}


class BadRequest(Usage):
    """That is no request."""

    code = "BAD_REQUEST"
    hint = 'one line of JSON: {"v": 1, "op": "ping", "args": {}}'


def request(line: bytes) -> tuple[str, dict[str, Any]]:
    """The op and the arguments that LINE asks for."""
    found = _read(line)
    if type(found) is not dict:
        raise BadRequest("a request is a JSON object")
    if strange := found.keys() - MEMBERS:
        raise BadRequest(f"a request has no {min(strange)[:SHOWN]!r}", path=f"$.{min(strange)[:SHOWN]}")
    if type(found.get("v")) is not int or found["v"] != VERSION:
        raise BadRequest(f"v is {VERSION}", path="$.v")
    op, args = found.get("op"), found.get("args", {})
    if type(op) is not str or not op.strip():
        raise BadRequest("op is the name of an operation", path="$.op")
    if args is None:
        args = {}
    if type(args) is not dict:
        raise BadRequest("args is an object", path="$.args")
    return op.strip(), args


def _read(line: bytes) -> Any:
    if line.count(b"[") + line.count(b"{") > DEEPEST:
        from bb.ledger.journal.line import depth  # noqa: PLC0415  (almost nobody sends such a thing)

        if depth(line) > DEEPEST:
            raise BadRequest("the request is nested too deeply")
    try:
        return json_text.read(line)
    except json_text.NotJson as error:
        raise BadRequest(f"the request is no JSON: {str(error)[:SHOWN]}") from error


def asking(op: str, args: Mapping[str, Any]) -> bytes:
    """A request, as a client sends it."""
    return _line({"v": VERSION, "op": op, "args": args})


def success(result: dict[str, Any]) -> bytes:
    return _line({"v": VERSION, "ok": True, "result": result, "error": None})


def failure(error: BbError, *, is_lower: bool = True) -> bytes:
    """What a refusal is answered with; codes of bb's own ops stay as they are."""
    code = RENAMED.get(error.code) or error.code.lower() if is_lower else error.code
    details = {**error.details, **({"hint": error.hint} if error.hint else {}), "exit_status": error.exit_status}
    described = {"code": code, "message": error.message, "details": details}
    return _line({"v": VERSION, "ok": False, "result": {}, "error": described})


def event_item(event: dict[str, Any]) -> bytes:
    """One event of a stream."""
    return _line({"t": "event", "event": event})


def heartbeat(ts: str) -> bytes:
    """A sign that the stream is there, recorded nowhere."""
    return _line({"t": "heartbeat", "ts": ts})


def _line(value: Any) -> bytes:
    return (json_text.dumps_ascii(value) + "\n").encode()
