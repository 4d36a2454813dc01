"""Requests and answers of the CCCC daemon (IPC §5, §6): a strict envelope, tolerant arguments.

Error codes are lower-case there. Otherwise a refusal keeps its code. Its hint, and the exit status for a command line,
are in the details.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bb.kernel import json_text
from bb.kernel.errors import BbError, Usage
from bb.ledger.journal.line import DEEPEST

VERSION = 1
MEMBERS = frozenset(["v", "op", "args"])
UPGRADES = frozenset(["events_stream", "term_attach"])  # ops that turn the connection into a stream
SHOWN = 200  # characters of a wrong value that an error repeats
# Codes of bb that CCCC clients know under another name.
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

BadRequest = Usage.declare(
    "BAD_REQUEST", "The request is not valid", hint='send one line of JSON: {"v": 1, "op": "ping", "args": {}}'
)


def request(line: bytes) -> tuple[str, dict[str, Any]]:
    """The op and the arguments of the request in LINE."""
    parsed = _read(line)
    if type(parsed) is not dict:
        raise BadRequest("a request must be a JSON object")
    if unknown := parsed.keys() - MEMBERS:
        raise BadRequest(f"a request has no member {min(unknown)[:SHOWN]!r}", path=f"$.{min(unknown)[:SHOWN]}")
    if type(parsed.get("v")) is not int or parsed["v"] != VERSION:
        raise BadRequest(f"v must be {VERSION}", path="$.v")
    op, args = parsed.get("op"), parsed.get("args", {})
    if type(op) is not str or not op.strip():
        raise BadRequest("op must be the name of an operation", path="$.op")
    if args is None:
        args = {}
    if type(args) is not dict:
        raise BadRequest("args must be an object", path="$.args")
    return op.strip(), args


def _read(line: bytes) -> Any:
    if line.count(b"[") + line.count(b"{") > DEEPEST:
        from bb.ledger.journal.line import depth  # noqa: PLC0415  (rarely needed)

        if depth(line) > DEEPEST:
            raise BadRequest("the request is nested too deeply")
    try:
        return json_text.read(line)
    except json_text.NotJson as error:
        raise BadRequest(f"the request is not valid JSON: {str(error)[:SHOWN]}") from error


def request_line(op: str, args: Mapping[str, Any]) -> bytes:
    """A request, as a line."""
    return _line({"v": VERSION, "op": op, "args": args})


def success(result: dict[str, Any]) -> bytes:
    return _line({"v": VERSION, "ok": True, "result": result, "error": None})


def failure(error: BbError, *, is_lower: bool = True) -> bytes:
    """The error answer for a refusal. For bb's own ops, IS_LOWER is false and the code is kept unchanged."""
    code = RENAMED.get(error.code) or error.code.lower() if is_lower else error.code
    details = {**error.details, **({"hint": error.hint} if error.hint else {}), "exit_status": error.exit_status}
    described = {"code": code, "message": error.message, "details": details}
    return _line({"v": VERSION, "ok": False, "result": {}, "error": described})


def event_item(event: dict[str, Any]) -> bytes:
    """One event of a stream."""
    return _line({"t": "event", "event": event})


def heartbeat(ts: str) -> bytes:
    """A heartbeat of the stream, which is not recorded."""
    return _line({"t": "heartbeat", "ts": ts})


def _line(value: Any) -> bytes:
    return (json_text.dumps_ascii(value) + "\n").encode()
