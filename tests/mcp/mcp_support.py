"""What tests of the MCP server share: a repository, a toolbox at it, and the official SDK's client in both eras."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from mcp import Client

from bb.mcp.server import server
from bb.mcp.tool_calls import Answer, Toolbox
from tests.near import Near, near
from tests.support import NOON, environment

AMBER, COBALT = "amber-otter", "cobalt-harbor"
OLD, NEW = "legacy", "2026-07-28"  # the eras: one begins with `initialize`, in the other each request stands for itself
ERAS = (OLD, NEW)
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


class Here:
    """A repository, and whoever works in it over MCP."""

    def __init__(self, path: Path) -> None:
        self.repo: Near = near(path / "repo", BB_NOW=NOON)
        self.bugs: list[tuple[str, Exception]] = []

    def toolbox(self, agent: str | None = None, directory: Path | None = None, **settings: str) -> Toolbox:
        env = environment(**{**self.repo.settings, **settings}, **({"BB_AGENT": agent} if agent else {}))
        return Toolbox(str(directory or self.repo.path), env, lambda what, error: self.bugs.append((what, error)))

    def joined(self, *agents: str) -> None:
        for agent in agents:
            self.repo.json("agent", "register", "--name", agent, "--role", "builder")


def call(box: Toolbox, name: str, **given: Any) -> Answer:
    """What a tool answers. `from` and `as` are no names in Python: `from_`, `as_`."""
    return box.call(name, {key.rstrip("_"): value for key, value in given.items()})


def got(box: Toolbox, name: str, **given: Any) -> dict[str, Any]:
    """What a tool answers that is not to refuse."""
    answer = call(box, name, **given)
    assert not answer.is_error, answer.data
    return answer.data


def code(box: Toolbox, name: str, **given: Any) -> str:
    """With what code a tool refuses."""
    answer = call(box, name, **given)
    assert answer.is_error, answer.data
    assert list(answer.data) == ["code", "message", "hint", "details"]
    return str(answer.data["code"])


def over_mcp(box: Toolbox, era: str, talk: Callable[[Client], Awaitable[Any]]) -> Any:
    """What comes of a TALK between the SDK's client, of one era, and a server with that toolbox, in this process."""

    async def run() -> Any:
        async with Client(server(box), mode=era) as client:
            return await talk(client)

    return anyio.run(run)
