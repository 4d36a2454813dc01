"""Which session of a host calls a tool: by the metadata of the call, or by the server's environment.

Claude Code starts a server with its session id in the environment. The server keeps that id when the session goes on
under another one (`/clear`, `/resume`), so the id names the caller only if the call does not. Codex starts a server
without an id and sends it with each call: its thread, and the session that the thread shares with its subagents.
"""

from __future__ import annotations

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

CLIENT_INFO = "io.modelcontextprotocol/clientInfo"  # in the metadata of a self-contained request
THREAD = "threadId"
SESSION = "sessionId"
TURN, TURN_MEMBERS = "x-codex-turn-metadata", ("thread_id", "session_id")
CODEX = "codex"
# Words in the names that clients give themselves, and the variables that are their own.
CLIENTS = {
    "claude": ("CLAUDE_CODE_SESSION_ID",),
    CODEX: ("CODEX_THREAD_ID", "CODEX_SESSION_ID"),
    "gemini": ("GEMINI_SESSION_ID", "GEMINI_CLI"),
    "opencode": ("OPENCODE_SESSION_ID",),
    "copilot": ("COPILOT_AGENT_SESSION_ID",),
    "qwen": ("QWEN_CODE_SESSION_ID",),
    **dict.fromkeys(["antigravity", "cursor", "visual studio code", "vscode", "windsurf", "zed"], ()),
}


class Caller(Record):
    """What a call tells about its caller: its client program, and its sessions if the program names them."""

    client: str = ""
    sessions: tuple[str, ...] = ()


UNKNOWN = Caller()


def caller(meta: Mapping[str, Any], client: str = "") -> Caller:
    """The caller that the metadata of a call names. CLIENT is the name that the program gave at the handshake."""
    info = meta.get(CLIENT_INFO)
    client = _text(info, "name") or client
    if CODEX not in client.lower() and TURN not in meta:  # another program may call anything a thread
        return Caller(client)
    said = (_text(meta, THREAD), _text(meta, SESSION), *(_text(meta.get(TURN), member) for member in TURN_MEMBERS))
    return Caller(client, tuple(dict.fromkeys(session for session in said if session)))


def own_variables(env: Mapping[str, str], client: str, variables: tuple[str, ...]) -> dict[str, str]:
    """ENV without those of the VARIABLES that are not CLIENT's own: they belong to a program in whose shell it was
    started. An unknown program may be a bridge that its host has started, so it keeps all."""
    own = next((names for word, names in CLIENTS.items() if word in client.lower()), variables)
    return {name: value for name, value in env.items() if name not in variables or name in own}


def _text(value: object, member: str) -> str:
    text = value.get(member) if isinstance(value, dict) else None
    return text if isinstance(text, str) else ""
