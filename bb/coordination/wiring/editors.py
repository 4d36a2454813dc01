"""The hook payloads of editors and the answers to them.

At certain moments an editor runs a command, writes one JSON object to its stdin, and reads one object or nothing from
its stdout. Claude Code, Codex, VS Code with Copilot CLI, and bb's plugin for OpenCode share a vocabulary; Gemini CLI
and Cursor have their own. docs/editor-hooks.md lists the examined versions. Answers use only members that all versions
of a host accept, because Codex refuses unknown members.

Payloads are untrusted. A payload that is not understood is reported as such; bb does not guess.
"""

from __future__ import annotations

from bb.coordination.wiring import editor_tools
from bb.coordination.wiring.editor_tools import member
from bb.kernel import escaping
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.coordination.guards.writes import Write

CLAUDE, CODEX, GEMINI, OPENCODE = "claude", "codex", "gemini", "opencode"
CURSOR, VSCODE, QWEN = "cursor", "vscode", "qwen"
HOSTS = (CLAUDE, CODEX, GEMINI, OPENCODE, CURSOR, VSCODE, QWEN)
OTHER = "other"  # an unknown host; all hosts accept exit status 2 as refusal of a tool

PRE_TOOL, POST_TOOL, PROMPT, STOP = "pre-tool", "post-tool", "prompt", "stop"
SESSION_START, SESSION_END = "session-start", "session-end"


def _names(shared: str, gemini: str, **others: str) -> dict[str, str]:
    """The hosts' names for a moment. Claude Code, Codex and Qwen Code share theirs."""
    return {CLAUDE: shared, CODEX: shared, QWEN: shared, GEMINI: gemini, **others}


# The hosts' names for our moments. A host without a name for a moment has no hook there, or one that can tell nothing.
MOMENTS = {
    PRE_TOOL: _names(
        "PreToolUse", "BeforeTool", opencode="tool.execute.before", cursor="preToolUse", vscode="PreToolUse"
    ),
    POST_TOOL: _names(
        "PostToolUse", "AfterTool", opencode="tool.execute.after", cursor="postToolUse", vscode="PostToolUse"
    ),
    SESSION_START: _names(
        *("SessionStart", "SessionStart"),
        opencode="experimental.chat.system.transform",
        cursor="sessionStart",
        vscode="SessionStart",
    ),
    PROMPT: _names("UserPromptSubmit", "BeforeAgent", opencode="chat.message"),
    STOP: _names("Stop", "AfterAgent", cursor="stop", vscode="Stop"),
    SESSION_END: _names("SessionEnd", "SessionEnd", opencode="dispose", cursor="sessionEnd", vscode="SessionEnd"),
}

# Hosts that have another name for the moment after a tool that has failed. A shell command that fails may have changed
# files.
AFTER_FAILURE = {CLAUDE: "PostToolUseFailure", VSCODE: "PostToolUseFailure"}  # of VS Code, only Copilot CLI has it

MOST_PATHS = 2000


def called_by(host: str) -> list[tuple[str, str]]:
    """The names of HOST for the moments at which it calls bb, each with our moment."""
    found = [(names[host], moment) for moment, names in MOMENTS.items() if host in names]
    at = next((place for place, (_, moment) in enumerate(found, 1) if moment == POST_TOOL), 0)
    return [*found[:at], (AFTER_FAILURE[host], POST_TOOL), *found[at:]] if host in AFTER_FAILURE else found


class NotUnderstood(ValueError):
    """The payload is not in the form of any known editor."""


class HookPayload(Record):
    """The relevant content of an editor's payload."""

    host: str
    moment: str
    named: str  # the host's name for the moment
    session: str
    cwd: str
    tool: str
    paths: tuple[str, ...]  # the files that the tool would change
    command: str  # the shell command of the tool
    written: tuple[Write, ...]  # the files that the command would write
    is_going_on: bool  # whether the agent stops after a hook has already made it continue
    source: str  # how the session started
    unknown_path: str = ""  # the file that a tool unknown to bb seems to change
    reason: str = ""  # why the session ended
    given: Mapping[str, Any] = {}  # the tool's input
    folder: str = ""  # where a shell tool runs its command, if not in `cwd`


# -- from the host


def parse_payload(payload: Any, moment: str, host: str | None = None) -> HookPayload:
    """The content of PAYLOAD at one of our moments. HOST is guessed from the payload if it is None."""
    if not isinstance(payload, dict):
        raise NotUnderstood("it is not a JSON object")
    event_name = _one_of(payload, "hook_event_name", "hookEventName")
    names = MOMENTS[moment]
    known = {*names.values(), *(AFTER_FAILURE.values() if moment == POST_TOOL else ())}
    if event_name and event_name not in known:
        raise NotUnderstood(f"its event {event_name[:40]!r} is not a {moment} event")
    sender = host or _host(payload, event_name)
    tool, tool_input = member(payload, "tool_name"), payload.get("tool_input")
    tool_input = tool_input if isinstance(tool_input, dict) else {}
    name = editor_tools.bare_name(tool)
    command = editor_tools.command(name, tool_input)
    return HookPayload(
        host=sender,
        moment=moment,
        named=event_name or names.get(sender, names[CLAUDE]),
        session=_one_of(payload, "session_id", "sessionId", "conversation_id"),
        cwd=member(payload, "cwd") or _first_root(payload),
        tool=tool,
        paths=editor_tools.paths(name, tool_input),
        command=command,
        written=_written(command) if command and moment == PRE_TOOL else (),
        is_going_on=payload.get("stop_hook_active") is True or payload.get("loop_count") not in (None, 0),
        source=member(payload, "source"),
        unknown_path=editor_tools.unknown_edit(tool, tool_input),
        reason=member(payload, "reason"),
        given=tool_input,
        folder=editor_tools.folder(name, tool_input),
    )


def _one_of(payload: dict[str, Any], *names: str) -> str:
    """The first of the members NAMES that is there. Cursor and VS Code have their own names for some."""
    return next(filter(None, (member(payload, name) for name in names)), "")


def _first_root(payload: dict[str, Any]) -> str:
    """The first workspace folder, which Cursor names if it names no directory."""
    roots = payload.get("workspace_roots")
    return roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""


def is_edit(heard: HookPayload) -> bool:
    """Whether the tool changes files, even if its input was not understood."""
    return editor_tools.changes_files(heard.tool.rpartition("__")[2])


def _host(payload: dict[str, Any], event_name: str) -> str:
    """The host. Codex sends a turn or at least a model. Gemini has its own event names and sends a timestamp. Cursor
    has its own event names. VS Code sends a timestamp with the event names of Claude Code."""
    if "hookEventName" in payload:
        return VSCODE
    shared = ("SessionStart", "SessionEnd")
    gemini = {names[GEMINI] for names in MOMENTS.values()} - {*shared}
    if event_name in {names.get(CURSOR) for names in MOMENTS.values()} or "cursor_version" in payload:
        return CURSOR
    if event_name in gemini or (event_name in shared and "timestamp" in payload):
        return GEMINI
    if not event_name:
        return OTHER
    if "timestamp" in payload:
        return VSCODE
    is_codex = "turn_id" in payload or ("model" in payload and "permission_mode" in payload)
    return CODEX if is_codex or payload.get("tool_name") == "apply_patch" else CLAUDE


def _written(command: str) -> tuple[Write, ...]:
    from bb.coordination.guards import writes  # noqa: PLC0415  (only needed for shell commands)

    return tuple(writes.find_writes(command))


# -- to the host


# bb composes these texts, with foreign values as names or quotations (`kernel/show`). As a last check, control
# characters are removed here, and line endings from single sentences.


def refused(heard: HookPayload, reason: str) -> dict[str, Any] | None:
    """The answer that refuses the tool for REASON. None if the host only understands an exit status."""
    if heard.host == OTHER:
        return None
    reason = _lines(reason)
    if heard.host == GEMINI:
        return {"decision": "deny", "reason": reason}
    if heard.host == CURSOR:
        return {"permission": "deny", "user_message": reason, "agent_message": reason}
    verdict = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    answer = {"hookSpecificOutput": {"hookEventName": heard.named, **verdict}}
    return verdict | answer if heard.host == VSCODE else answer  # Copilot CLI reads the one, VS Code the other


def context_answer(heard: HookPayload, text: str) -> dict[str, Any]:
    """The answer that gives TEXT to the agent."""
    if heard.host == CURSOR:
        return {"additional_context": _lines(text)}
    answer = {"hookSpecificOutput": {"hookEventName": heard.named, "additionalContext": _lines(text)}}
    return {"additionalContext": _lines(text), **answer} if heard.host == VSCODE else answer


def person_answer(text: str) -> dict[str, Any]:
    """The answer that shows TEXT to the person at the editor."""
    return {"systemMessage": escaping.sentence(text)}


def warning_answer(heard: HookPayload, text: str) -> dict[str, Any]:
    """The answer that tells TEXT to the agent and to the person at the editor. Gemini CLI and Cursor pass nothing on to
    the agent before a tool."""
    told = person_answer(text)
    return told if is_told_later(heard) else told | context_answer(heard, text)


def is_told_later(heard: HookPayload) -> bool:
    """Whether an answer at this moment cannot tell the agent anything while it lets the tool run."""
    return heard.host in (GEMINI, CURSOR) and heard.moment == PRE_TOOL


def continue_answer(heard: HookPayload, reason: str) -> dict[str, Any]:
    """The answer that makes the agent continue because of REASON."""
    if heard.host == CURSOR:
        return {"followup_message": _lines(reason)}
    verdict = {"decision": "deny" if heard.host == GEMINI else "block", "reason": _lines(reason)}
    if heard.host == VSCODE:
        return verdict | {"hookSpecificOutput": {"hookEventName": heard.named, **verdict}}
    return verdict


def _lines(text: str) -> str:
    return "\n".join(map(escaping.harmless, text.split("\n")))
