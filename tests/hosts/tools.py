"""How a model of each host calls the host's own tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.hosts.model.turns import Call, Turn

PATCH = "*** Begin Patch\n*** Update File: {path}\n@@\n-x = 1\n+x = 2\n*** End Patch\n"


def edit(host: str, path: Path, old: str = "x = 1", new: str = "x = 2") -> list[Turn]:
    """The turns in which a model replaces lines of a file. Some hosts want it to read the file first."""
    name = str(path)
    if host == "codex":
        return [[Call("apply_patch", _patch(f"Update File: {name}", "@@", *_marked("-", old), *_marked("+", new)))]]
    if host == "opencode":
        change = Call("edit", {"filePath": name, "oldString": old, "newString": new})
        return [*read(host, path), [change]]
    if host == "copilot":
        return [*read(host, path), [Call("edit", {"path": name, "old_str": old, "new_str": new})]]
    strings = {"file_path": name, "old_string": old, "new_string": new}
    if host == "gemini":
        return [[Call("replace", strings | {"instruction": "Make x two."})]]
    return [*read(host, path), [Call("Edit", strings)]]


def read(host: str, path: Path) -> list[Turn]:
    """The turns in which a model reads a file. Codex has no tool for that."""
    found = {
        "claude": Call("Read", {"file_path": str(path)}),
        "codex": Call("exec_command", {"cmd": f"cat {path}"}),
        "gemini": Call("read_file", {"file_path": str(path)}),
        "opencode": Call("read", {"filePath": str(path)}),
        "copilot": Call("view", {"path": str(path)}),
    }
    return [[found[host]]]


def write(host: str, path: Path, text: str) -> list[Turn]:
    """The turns in which a model writes a whole file, without reading it."""
    name = str(path)
    found = {
        "claude": Call("Write", {"file_path": name, "content": text}),
        "codex": Call("apply_patch", _patch(f"Add File: {name}", *_marked("+", text.removesuffix("\n")))),
        "gemini": Call("write_file", {"file_path": name, "content": text}),
        "opencode": Call("write", {"filePath": name, "content": text}),
        "copilot": Call("create", {"path": name, "file_text": text}),
    }
    return [[found[host]]]


def _patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", "*** " + lines[0], *lines[1:], "*** End Patch", ""])


def _marked(mark: str, text: str) -> list[str]:
    return [mark + line for line in text.split("\n")]


def shell(host: str, command: str, folder: Path | None = None) -> Turn:
    """The turn in which a model runs a COMMAND, in a FOLDER if the host's tool takes one."""
    inside = {"codex": "workdir", "gemini": "dir_path", "opencode": "workdir"}
    where = {inside[host]: str(folder)} if folder and host in inside else {}
    if host == "codex":
        return [Call("exec_command", {"cmd": command, **where})]
    name = {"claude": "Bash", "gemini": "run_shell_command", "opencode": "bash", "copilot": "bash"}[host]
    return [Call(name, {"command": command, "description": "Run a command", **where})]


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
