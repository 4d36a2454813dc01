"""MCP's requests and answers on one connection, in both versions of the protocol. Nothing here reads or writes.

The older version begins with an `initialize` handshake (up to 2025-11-25). In the newer one (2026-07-28) each request
stands for itself: its metadata has the version and the client. The first request decides which version a connection
speaks.

The official SDK speaks the same, but importing it takes three times as long as everything else that happens until the
first tool call is answered (docs/decisions/0047). A test compares the answers of both.
"""

from __future__ import annotations

from bb.mcp import answers, confirming, host_sessions
from bb.mcp.answers import INVALID_PARAMS, RequestError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from bb.mcp.answers import Result
    from bb.mcp.dialogs import Dialogs
    from bb.mcp.host_sessions import Caller
    from bb.mcp.tool_calls import Toolbox
    from bb.ops.desk.desk import Desk

    Work = Callable[[Callable[[], bool]], Result]

OLD = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
NEW = "2026-07-28"
META, VERSION = "_meta", "io.modelcontextprotocol/protocolVersion"
CAPABILITIES, SERVER = "io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/serverInfo"
INVALID_REQUEST, METHOD_NOT_FOUND, UNSUPPORTED_VERSION = -32600, -32601, -32022
OFFERED: dict[str, Any] = {
    "capabilities": {
        "tools": {"listChanged": False},
        "resources": {"listChanged": False, "subscribe": False},
    },
    "instructions": answers.INSTRUCTIONS,
}
ONLY_OLD, ONLY_NEW = ("initialize", "ping"), ("server/discover",)
NOT_KEPT = {"ttlMs": 0, "cacheScope": "private"}  # tells a host not to keep a result that it might keep
MAY_KEEP = ("server/discover", "tools/list", "resources/list", "resources/templates/list", "resources/read")
# The parameters that a method needs, and those that it takes, with their types.
NEEDED: dict[str, dict[str, type]] = {
    "initialize": {"protocolVersion": str, "capabilities": dict, "clientInfo": dict},
    "tools/call": {"name": str},
    "resources/read": {"uri": str},
}
TAKEN: dict[str, dict[str, type]] = {"tools/call": {"arguments": dict, confirming.RESPONSES: dict}}


class Connection:
    """What a server must remember of the host that it is connected to: the version and the client."""

    def __init__(self, toolbox: Toolbox, *, has_channel: bool = False) -> None:
        self._toolbox, self._has_channel = toolbox, has_channel
        self._client = ""
        self.dialogs: Dialogs | None = None  # set by the transport, if it can ask the host something during a call
        self._can_ask = False  # whether the host said at the handshake that it shows forms to its person
        self._speaks = ""  # the version of the protocol; empty before the first request

    def work(self, method: str, params: Mapping[str, Any]) -> Work:
        """What answers a request. Refused with RequestError if it is not valid."""
        meta = params.get(META)
        meta = meta if isinstance(meta, dict) else {}
        is_new = self._is_new(method, params, meta)
        found = self._found(method, params, host_sessions.caller(meta, self._client), is_new=is_new)
        if found is None or method in (ONLY_OLD if is_new else ONLY_NEW):
            raise RequestError(METHOD_NOT_FOUND, "Method not found", method)
        if not is_new and not self._speaks and method not in ONLY_OLD:
            raise RequestError(INVALID_PARAMS, "initialize comes first")
        _check(method, params)
        return (lambda is_gone: _complete(method, found(is_gone))) if is_new else found

    def _is_new(self, method: str, params: Mapping[str, Any], meta: Mapping[str, Any]) -> bool:
        """Whether a request is in the newer version. A connection does not change its version."""
        is_new = VERSION in meta
        if is_new and self._has_channel:  # a server cannot push anything in the newer version
            raise _unsupported(meta[VERSION], OLD)
        if is_new and self._speaks in OLD:
            raise RequestError(INVALID_REQUEST, "this connection began with initialize and stays with that version")
        if not is_new and self._speaks == NEW:
            if method == "initialize":
                raise _unsupported(params.get("protocolVersion"))
            raise RequestError(INVALID_PARAMS, f"params.{META} must have {VERSION} and {CAPABILITIES}")
        if is_new and not isinstance(meta.get(CAPABILITIES), dict):
            raise RequestError(INVALID_PARAMS, f"params.{META} must have {CAPABILITIES}")
        if is_new and meta[VERSION] != NEW:
            raise _unsupported(meta[VERSION])
        if is_new and method == "initialize":
            raise _unsupported(params.get("protocolVersion"))
        if is_new:
            self._speaks = NEW
        return is_new

    def _found(self, method: str, params: Mapping[str, Any], caller: Caller, *, is_new: bool) -> Work | None:
        """What answers a request of this METHOD; None if there is no such method."""
        toolbox = self._toolbox
        called = self._called_at_once if is_new else self._called
        work: dict[str, Work] = {
            "initialize": lambda _: self._initialized(params),
            "server/discover": lambda _: {**OFFERED, "supportedVersions": [NEW]},
            "ping": lambda _: {},
            "tools/list": lambda _: answers.tools(toolbox, caller.client),
            "tools/call": lambda is_gone: called(params, caller, is_gone),
            "resources/list": lambda _: answers.listed_resources(),
            "resources/templates/list": lambda _: answers.templates(),
            "resources/read": lambda is_gone: answers.read(toolbox, params, caller, is_gone),
        }
        return work.get(method)

    def _called_at_once(self, params: Mapping[str, Any], caller: Caller, is_gone: Callable[[], bool]) -> Result:
        """The result of a tool call in the newer version. It may be a question, which the next call answers."""
        can_ask = confirming.can_ask(params[META][CAPABILITIES])
        return answers.called(self._toolbox, params, caller, is_gone, can_ask=can_ask)

    def _called(self, params: Mapping[str, Any], caller: Caller, is_gone: Callable[[], bool]) -> Result:
        """The result of a tool call in the older version: a question is asked meanwhile."""
        dialogs, params = self.dialogs, {**params, confirming.RESPONSES: {}}

        def called() -> Result:
            can_ask = self._can_ask and dialogs is not None
            return answers.called(self._toolbox, params, caller, is_gone, can_ask=can_ask)

        result = called()
        if dialogs is None or not confirming.is_question(result):
            return result
        request, asked = confirming.asked_in(result)
        with dialogs.turn(request, is_gone) as has_waited:
            if has_waited:  # the person may have answered the same question
                result = called()
            if confirming.is_question(result):
                params[confirming.RESPONSES] = {request: dialogs.ask(confirming.METHOD, asked, is_gone)}
                result = result if is_gone() else called()
        return result

    def _initialized(self, params: Mapping[str, Any]) -> Result:
        info, wanted = params["clientInfo"], params["protocolVersion"]
        name = info.get("name")
        self._client = name if isinstance(name, str) else ""
        self._can_ask = confirming.can_ask(params["capabilities"])
        self._speaks = wanted if wanted in OLD else OLD[-1]
        offered = _with_channel() if self._has_channel else OFFERED
        return {"protocolVersion": self._speaks, **offered, "serverInfo": answers.SERVER_INFO}

    @property
    def is_ready_for_pushes(self) -> bool:
        """Whether messages may be pushed to the host."""
        return self._has_channel and self._speaks in OLD

    def desk(self) -> Desk:
        """A desk for what this connection does on its own."""
        return self._toolbox.desk(caller=host_sessions.Caller(self._client))


def _check(method: str, params: Mapping[str, Any]) -> None:
    needed, taken = NEEDED.get(method, {}), TAKEN.get(method, {})
    for name, kind in needed.items():
        if not isinstance(params.get(name), kind):
            raise RequestError(INVALID_PARAMS, f"params.{name} is missing or has another type")
    for name, kind in taken.items():
        if params.get(name) is not None and not isinstance(params[name], kind):
            raise RequestError(INVALID_PARAMS, f"params.{name} has another type")


def _complete(method: str, result: Result) -> Result:
    """RESULT as the newer version has it."""
    more: Result = NOT_KEPT if method in MAY_KEEP else {}
    return {confirming.KIND: "complete", **result, **more, META: {SERVER: answers.SERVER_INFO}}


def _with_channel() -> Result:
    """What a server with a channel offers."""
    from bb.mcp import channel  # noqa: PLC0415  (off unless asked for)

    capabilities = {**OFFERED["capabilities"], "experimental": {channel.CAPABILITY: {}}}
    return {"capabilities": capabilities, "instructions": f"{answers.INSTRUCTIONS} {channel.INSTRUCTIONS}"}


def _unsupported(version: object, supported: Sequence[str] = (NEW,)) -> RequestError:
    requested = {"requested": version[:60]} if isinstance(version, str) else {}
    return RequestError(UNSUPPORTED_VERSION, "Unsupported protocol version", {"supported": [*supported], **requested})
