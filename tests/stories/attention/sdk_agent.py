"""An agent program on the published SDK of ACP for Python: it checks all that bb sends by the schema of the protocol.

It answers with what it was asked, and runs a tool with the person's permission.
"""

from __future__ import annotations

import asyncio
from typing import Any

from acp import (
    Agent,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    run_agent,
    text_block,
    update_agent_message,
)
from acp.helpers import start_tool_call
from acp.schema import PermissionOption, ToolCallUpdate

ALLOW = PermissionOption(option_id="yes", name="Allow", kind="allow_once")
REJECT = PermissionOption(option_id="no", name="Reject", kind="reject_once")


class Asking(Agent):
    """One session, one turn at a time."""

    def on_connect(self, conn: Any) -> None:
        self._client = conn
        self._cancelled = asyncio.Event()

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, mcp_servers: Any = None, **_: Any) -> NewSessionResponse:
        self._servers = [server.name for server in mcp_servers]
        return NewSessionResponse(session_id="one")

    async def prompt(self, session_id: str, prompt: Any, **_: Any) -> PromptResponse:
        self._cancelled.clear()
        text = "\n".join(block.text for block in prompt)
        if "Wait." in text:
            await self._cancelled.wait()
            return PromptResponse(stop_reason="cancelled")
        await self._client.session_update(session_id, start_tool_call("c1", "Count to three", kind="execute"))
        call = ToolCallUpdate(tool_call_id="c1", title="Count to three", kind="execute")
        answer = await self._client.request_permission(session_id=session_id, tool_call=call, options=[ALLOW, REJECT])
        option = getattr(answer.outcome, "option_id", "none")
        said = f"{option} {', '.join(self._servers)}"
        await self._client.session_update(session_id, update_agent_message(text_block(said)))
        return PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **_: Any) -> None:
        self._cancelled.set()


asyncio.run(run_agent(Asking()))
