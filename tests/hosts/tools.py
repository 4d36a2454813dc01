"""How a model of each host calls the host's own tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.hosts.model.turns import Call, Turn

PATCH = "*** Begin Patch\n*** Update File: {path}\n@@\n-x = 1\n+x = 2\n*** End Patch\n"


def edit(host: str, path: Path) -> list[Turn]:
    """The turns in which a model changes the x of a file from 1 to 2. Some hosts want it to read the file first."""
    name, old, new = str(path), "x = 1", "x = 2"
    if host == "codex":
        return [[Call("apply_patch", PATCH.format(path=name))]]
    if host == "opencode":
        change = Call("edit", {"filePath": name, "oldString": old, "newString": new})
        return [[Call("read", {"filePath": name})], [change]]
    if host == "copilot":
        return [[Call("view", {"path": name})], [Call("edit", {"path": name, "old_str": old, "new_str": new})]]
    strings = {"file_path": name, "old_string": old, "new_string": new}
    if host == "gemini":
        return [[Call("replace", strings | {"instruction": "Make x two."})]]
    return [[Call("Read", {"file_path": name})], [Call("Edit", strings)]]


def shell(host: str, command: str) -> Turn:
    """The turn in which a model runs a COMMAND."""
    if host == "codex":
        return [Call("exec_command", {"cmd": command})]
    name = {"claude": "Bash", "gemini": "run_shell_command", "opencode": "bash", "copilot": "bash"}[host]
    return [Call(name, {"command": command, "description": "Run a command"})]


def mcp(host: str, tool: str, **given: Any) -> list[Turn]:
    """The turns in which a model calls a TOOL of bb's MCP server."""
    name = {
        "claude": f"mcp__bb__{tool}",
        "codex": f"mcp__bb/{tool}",
        "gemini": f"mcp_bb_{tool}",
        "opencode": f"bb_{tool}",
        "copilot": f"bb-{tool}",
    }
    return [[Call(name[host], given)]]
