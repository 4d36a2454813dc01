"""The trial of a hook: the payload that a host would send before an edit, and how a refusal looks to that host.

`bb setup --check` sends such a payload to the very command line in the host's settings, about a file that another agent
holds in a repository made for the trial, and expects the refusal.
"""

from __future__ import annotations

from typing import Any

from bb.coordination.wiring import hosts
from bb.coordination.wiring.editor_tools import BEGIN_PATCH
from bb.coordination.wiring.editors import CODEX, GEMINI
from bb.kernel import json_text
from bb.kernel.json_text import NotJson

SESSION = "trial-of-bb-setup"
BLOCKED = 2  # the exit status that stops a tool in every host
# How each host starts a hook: the shell and its option. Codex CLI 0.169 starts hooks without a login shell.
SHELLS = {CODEX: ("bash", "-c"), GEMINI: ("bash", "-c")}
SHELL = ("sh", "-c")  # of the other hosts; OpenCode's plugin starts the words without a shell
INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bb setup", "version": "1"}}
MCP_REQUESTS = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)


def payload(host: str, folder: str, path: str) -> dict[str, Any]:
    """What HOST sends before it writes the file PATH in FOLDER."""
    common = {"session_id": SESSION, "cwd": folder, "hook_event_name": "PreToolUse"}
    whole = f"{folder}/{path}"
    if host == CODEX:
        patch = f"{BEGIN_PATCH}\n*** Update File: {path}\n@@\n-before\n+after\n*** End Patch\n"
        turn = {"turn_id": "1", "model": "trial", "permission_mode": "default"}
        return common | turn | {"tool_name": "apply_patch", "tool_input": {"command": patch}}
    edit = {"file_path": whole, "content": "after\n"}
    if host == GEMINI:
        moment = {"hook_event_name": "BeforeTool", "timestamp": "2026-01-05T12:00:00.000Z"}
        return common | moment | {"tool_name": "write_file", "tool_input": edit}
    if host == hosts.CURSOR:
        about = {"conversation_id": SESSION, "workspace_roots": [folder], "hook_event_name": "preToolUse"}
        return about | {"tool_name": "Write", "tool_input": edit}
    if host == hosts.VSCODE:
        about = {"hookEventName": "PreToolUse", "sessionId": SESSION, "cwd": folder}
        return about | {"tool_name": "replace_string_in_file", "tool_input": {"filePath": whole}}
    if host == hosts.OPENCODE:
        return common | {"tool_name": "edit", "tool_input": {"filePath": whole}}
    return common | {"permission_mode": "default", "tool_name": "Write", "tool_input": edit}


def is_refusal(status: int, out: bytes) -> bool:
    """Whether a host takes this exit STATUS and output of a hook as a refusal."""
    if status == BLOCKED:
        return True
    reply = _object(out)
    verdict = reply.get("hookSpecificOutput")
    inner = verdict.get("permissionDecision") if isinstance(verdict, dict) else None
    return "deny" in (reply.get("decision"), reply.get("permission"), inner)


def tools(out: bytes) -> int:
    """The number of tools that an MCP server lists in its output."""
    for line in out.splitlines():
        answer = _object(line)
        result = answer.get("result")
        listed = result.get("tools") if isinstance(result, dict) else None
        if answer.get("id") == 2 and isinstance(listed, list):
            return len(listed)
    return 0


def _object(octets: bytes) -> dict[str, Any]:
    try:
        found = json_text.loads(octets.decode("utf-8", "replace"))
    except NotJson:
        return {}
    return found if isinstance(found, dict) else {}
