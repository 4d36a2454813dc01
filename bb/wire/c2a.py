"""C2A on JSON-RPC: method names, error objects for refusals, and descriptions of tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bb.attention.acts.tools import Tool
from bb.attention.refusals import NUMBERS
from bb.kernel import json_text
from bb.kernel.errors import BbError
from bb.wire import jsonrpc

INITIALIZE, PING, SHUTDOWN, RESUME = "initialize", "ping", "shutdown", "session/resume"
TOOLS_LIST, TOOLS_CALL = "tools/list", "tools/call"
DELIVER, INGEST = "chat/deliver", "chat/ingest"
INITIALIZED, CANCELLED = "notifications/initialized", "notifications/cancelled"
PROGRESS, MESSAGE = "notifications/progress", "notifications/message"
TURN, TYPING, NOW = "chat/turn", "chat/typing", "bb/now"

# Numbers for refusals without a number in C2A, by exit status: usage, not found, refused by a rule, not yours, busy,
# conflict.
BY_FAMILY = {2: jsonrpc.INVALID_PARAMS, 3: -32059, 4: -32050, 5: -32060, 6: -32061, 7: -32055}
CODES = {"NOT_INITIALIZED_SESSION": "not_initialized"}
STANDARD = {
    jsonrpc.PARSE_ERROR: "parse_error",
    jsonrpc.INVALID_REQUEST: "invalid_request",
    jsonrpc.METHOD_NOT_FOUND: "method_not_found",
    jsonrpc.INVALID_PARAMS: "invalid_params",
    jsonrpc.INTERNAL_ERROR: "internal_error",
}
POINTERS = ("pointer", "path")


def number_of(refusal: BbError) -> int:
    """The JSON-RPC error number of a refusal."""
    family = BY_FAMILY.get(refusal.exit_status, jsonrpc.INTERNAL_ERROR)
    return NUMBERS.get(refusal.code, family)


def data_of(refusal: BbError) -> dict[str, Any]:
    """The error data of a refusal: its stable code, hint, path in the parameters, and details."""
    pointer = next((refusal.details[name] for name in POINTERS if refusal.details.get(name)), None)
    details = {camel(name): value for name, value in refusal.details.items() if name not in POINTERS}
    code = CODES.get(refusal.code, refusal.code.lower())
    hint = {"hint": refusal.hint} if refusal.hint else {}
    return {"code": code, **hint, **({"path": pointer} if pointer else {}), **details}


def camel(name: str) -> str:
    """`expires_at` as `expiresAt`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def failure(id: Any, refusal: BbError) -> bytes:  # noqa: A002
    """The error answer for a refusal, as a line."""
    return jsonrpc.failure(id, number_of(refusal), refusal.message, data_of(refusal))


def invalid(found: jsonrpc.Invalid) -> bytes:
    """The error answer for an invalid line."""
    return jsonrpc.failure(found.id, found.code, found.reason, {"code": STANDARD[found.code]})


def tool(shown: Tool) -> dict[str, Any]:
    """A tool in the form of `tools/list`. The annotations say whether it is idempotent."""
    return {
        "name": shown.name,
        "description": shown.about,
        "inputSchema": shown.schema(),
        "annotations": shown.annotations(),
    }


def called(answer: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's answer in the form of `tools/call`: as text for a model, and as structured content."""
    text = {"type": "text", "text": json_text.dumps(answer)}
    return {"content": [text], "structuredContent": answer, "isError": False}
