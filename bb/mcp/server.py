"""The MCP server on HTTP, built with the official SDK. Results are those of `answers`, which stdio sends itself.

It serves both versions of the protocol: with an `initialize` handshake, and with self-contained requests. The SDK
detects which one the host uses.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import mcp_types as types
from anyio import CapacityLimiter
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

import bb
from bb.mcp import answers, confirming, host_sessions
from bb.mcp.answers import INSTRUCTIONS, RequestError
from bb.mcp.dialogs import PATIENCE
from bb.mcp.stdio import AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.context import ServerRequestContext

    from bb.mcp.answers import Result
    from bb.mcp.tool_calls import Toolbox

    Context = ServerRequestContext[Any, Any]
    Paged = types.PaginatedRequestParams | None


def server(toolbox: Toolbox) -> Server[Any]:
    """A server for the tools of TOOLBOX."""
    face = _Face(toolbox)
    return Server(
        answers.NAME,
        version=bb.__version__,
        title=answers.TITLE,
        instructions=INSTRUCTIONS,
        on_list_tools=face.tools,
        on_call_tool=face.called,
        on_list_resources=_resources,
        on_list_resource_templates=_templates,
        on_read_resource=face.read,
    )


class _Face:
    """Passes requests on, and converts results to the SDK's types."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox
        self._limiter = CapacityLimiter(AT_ONCE)
        self._turns: dict[str, anyio.Lock] = {}  # the requests to the person that are being asked

    async def tools(self, context: Context, __: Paged) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate(answers.tools(self._toolbox, _client(context)))

    async def called(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        is_new = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        who, can_ask = _caller(context), confirming.can_ask(_capabilities(context))

        async def called(responses: Result) -> Result:
            asked = {"name": params.name, "arguments": params.arguments, confirming.RESPONSES: responses}
            return await self._in_thread(
                lambda is_gone: answers.called(self._toolbox, asked, who, is_gone, can_ask=can_ask)
            )

        given = (params.input_responses or {}) if is_new else {}
        result = await called({name: each.model_dump(mode="json") for name, each in given.items()})
        if not confirming.is_question(result):
            return types.CallToolResult.model_validate(result)
        if is_new:  # the host answers it with its next call
            return types.InputRequiredResult.model_validate(result)
        return types.CallToolResult.model_validate(await self._asked(context, result, called))

    async def _asked(self, context: Context, question: Result, called: Callable[[Result], Awaitable[Result]]) -> Result:
        """The result of a call that needs an answer of the person first."""
        request, dialog = confirming.asked_in(question)
        has_to_wait = request in self._turns
        turn = self._turns.setdefault(request, anyio.Lock())  # two calls at once show one dialog
        try:
            async with turn:
                if has_to_wait and not confirming.is_question(result := await called({})):
                    return result
                return await called({request: await _answer(context, dialog)})
        finally:
            if not turn.locked():
                self._turns.pop(request, None)

    async def read(self, context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        asked, caller = {"uri": str(params.uri)}, _caller(context)
        result = await self._in_thread(lambda is_gone: answers.read(self._toolbox, asked, caller, is_gone))
        return types.ReadResourceResult.model_validate(result)

    async def _in_thread(self, work: Callable[[Callable[[], bool]], Result]) -> Result:
        """The result of WORK, which runs in its own thread because it may wait long for a lock or a message.

        WORK can ask whether the caller has left. Events that it has recorded by then stay recorded.
        """
        is_client_gone = threading.Event()
        try:
            return await anyio.to_thread.run_sync(
                lambda: work(is_client_gone.is_set), abandon_on_cancel=True, limiter=self._limiter
            )
        except RequestError as error:
            raise MCPError(error.code, error.message, error.data) from error
        finally:
            is_client_gone.set()


def _client(context: Context) -> str:
    """The name that the client program gave at the handshake, or with the request."""
    params = context.session.client_params
    return params.client_info.name if params else ""


def _capabilities(context: Context) -> dict[str, Any]:
    capabilities = context.session.client_capabilities
    return capabilities.model_dump(exclude_none=True) if capabilities else {}


async def _answer(context: Context, dialog: dict[str, Any]) -> Any:
    """What the host answers to a DIALOG; None if it answers nothing in time, or cannot be asked."""
    with anyio.move_on_after(PATIENCE), contextlib.suppress(MCPError, ValidationError):
        answer = await context.session.elicit_form(dialog["message"], dialog["requestedSchema"], context.request_id)
        return answer.model_dump(mode="json")
    return None


def _caller(context: Context) -> host_sessions.Caller:
    meta = (context.params or {}).get("_meta")
    return host_sessions.caller(meta if isinstance(meta, dict) else {}, _client(context))


async def _resources(_: Context, __: Paged) -> types.ListResourcesResult:
    return types.ListResourcesResult.model_validate(answers.listed_resources())


async def _templates(_: Context, __: Paged) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult.model_validate(answers.templates())
