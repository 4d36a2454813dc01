"""The hook payloads of editors and the answers to them: Claude Code, Codex CLI, Gemini CLI.

At certain moments an editor runs a command, writes one JSON object to its stdin, and reads one object or nothing from
its stdout. Claude Code and Codex share a vocabulary; Gemini has its own. docs/editor-hooks.md lists the examined
versions. Answers use only members that all versions of a host accept, because Codex refuses unknown members.

Payloads are untrusted. A payload that is not understood is reported as such; bb does not guess.
"""

from __future__ import annotations

from bb.kernel import escaping
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.coordination.guards.writes import Write

CLAUDE, CODEX, GEMINI = "claude", "codex", "gemini"
HOSTS = (CLAUDE, CODEX, GEMINI)
OTHER = "other"  # an unknown host; all hosts accept exit status 2 as refusal of a tool

PRE_TOOL, POST_TOOL, SESSION_START, PROMPT, STOP = "pre-tool", "post-tool", "session-start", "prompt", "stop"

# The hosts' names for our moments.
MOMENTS = {
    PRE_TOOL: {CLAUDE: "PreToolUse", CODEX: "PreToolUse", GEMINI: "BeforeTool"},
    POST_TOOL: {CLAUDE: "PostToolUse", CODEX: "PostToolUse", GEMINI: "AfterTool"},
    SESSION_START: {CLAUDE: "SessionStart", CODEX: "SessionStart", GEMINI: "SessionStart"},
    PROMPT: {CLAUDE: "UserPromptSubmit", CODEX: "UserPromptSubmit", GEMINI: "BeforeAgent"},
    STOP: {CLAUDE: "Stop", CODEX: "Stop", GEMINI: "AfterAgent"},
}

# Tools that change files, and the members of their input that hold paths. For an MCP tool only the last part counts.
EDITS = {
    **dict.fromkeys(["Edit", "MultiEdit", "Write", "Update", "edit", "replace", "write_file"], ("file_path",)),
    "NotebookEdit": ("notebook_path", "file_path"),
    **dict.fromkeys(["edit_file", "create_file", "delete_file", "str_replace_editor"], ("path", "file_path")),
    "move_file": ("source", "destination"),
}
PATCHES = {"apply_patch": ("command", "input", "patch")}
SHELLS = {
    **dict.fromkeys(["Bash", "run_shell_command", "shell_command", "exec_command"], ("command", "cmd")),
    **dict.fromkeys(["shell", "local_shell"], ("command", "cmd")),
}
BEGIN_PATCH = "*** Begin Patch"
PATCH_HEADERS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
MOST_PATHS = 2000


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


# -- from the host


def parse_payload(payload: Any, moment: str, host: str | None = None) -> HookPayload:
    """The content of PAYLOAD at one of our moments. HOST is guessed from the payload if it is None."""
    if not isinstance(payload, dict):
        raise NotUnderstood("it is not a JSON object")
    event_name = _text(payload, "hook_event_name")
    names = MOMENTS[moment]
    if event_name and event_name not in names.values():
        raise NotUnderstood(f"its event {event_name[:40]!r} is not a {moment} event")
    sender = host or _host(payload, event_name)
    tool, tool_input = _text(payload, "tool_name"), payload.get("tool_input")
    tool_input = tool_input if isinstance(tool_input, dict) else {}
    name = tool.rpartition("__")[2] if tool.startswith("mcp__") else tool
    command = _command(name, tool_input)
    return HookPayload(
        host=sender,
        moment=moment,
        named=event_name or names.get(sender, names[CLAUDE]),
        session=_text(payload, "session_id"),
        cwd=_text(payload, "cwd"),
        tool=tool,
        paths=_paths(name, tool_input),
        command=command,
        written=_written(command) if command and moment == PRE_TOOL else (),
        is_going_on=payload.get("stop_hook_active") is True,
        source=_text(payload, "source"),
    )


def is_edit(heard: HookPayload) -> bool:
    """Whether the tool changes files, even if its input was not understood."""
    name = heard.tool.rpartition("__")[2]
    return name in EDITS or name in PATCHES


def _host(payload: dict[str, Any], event_name: str) -> str:
    """The host. Codex sends a turn or at least a model; Gemini has its own event names and sends a timestamp."""
    gemini = {names[GEMINI] for names in MOMENTS.values()} - {"SessionStart"}
    if event_name in gemini or (event_name == "SessionStart" and "timestamp" in payload):
        return GEMINI
    if not event_name:
        return OTHER
    is_codex = "turn_id" in payload or ("model" in payload and "permission_mode" in payload)
    return CODEX if is_codex or payload.get("tool_name") == "apply_patch" else CLAUDE


def _paths(name: str, given: dict[str, Any]) -> tuple[str, ...]:
    """The files that a tool would change, without duplicates."""
    paths = [path for member in EDITS.get(name, ()) if (path := _text(given, member))]
    for member in PATCHES.get(name, ()):
        paths += patched(_text(given, member))
    if name in SHELLS and BEGIN_PATCH in (command := _command(name, given)):
        paths += patched(command)  # Codex also accepts a patch in a shell command
    return tuple(dict.fromkeys(paths))


def patched(patch: str) -> Iterator[str]:
    """The files in the headers of a patch in Codex's format. Codex accepts indented headers."""
    for line in map(str.strip, patch.split("\n")):
        header = next((prefix for prefix in PATCH_HEADERS if line.startswith(prefix)), None)
        if header and (path := line[len(header) :].strip()):
            yield path


def _command(name: str, given: dict[str, Any]) -> str:
    """The command line of a shell tool. A list of words is joined, with each word quoted."""
    for member in SHELLS.get(name, ()):
        value = given.get(member)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and all(isinstance(word, str) for word in value):
            return " ".join("'" + word.replace("'", "'\\''") + "'" for word in value)
    return ""


def _written(command: str) -> tuple[Write, ...]:
    from bb.coordination.guards import writes  # noqa: PLC0415  (only needed for shell commands)

    return tuple(writes.find_writes(command))


def _text(given: dict[str, Any], member: str) -> str:
    value = given.get(member)
    return value if isinstance(value, str) else ""


# -- to the host


# bb composes these texts, with foreign values as names or quotations (`kernel/show`). As a last check, control
# characters are removed here, and line endings from single sentences.


def refused(heard: HookPayload, reason: str) -> dict[str, Any] | None:
    """The answer that refuses the tool for REASON. None if the host only understands an exit status."""
    if heard.host == OTHER:
        return None
    reason = escaping.sentence(reason)
    if heard.host == GEMINI:
        return {"decision": "deny", "reason": reason}
    verdict = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    return {"hookSpecificOutput": {"hookEventName": heard.named, **verdict}}


def context_answer(heard: HookPayload, text: str) -> dict[str, Any]:
    """The answer that gives TEXT to the agent."""
    return {"hookSpecificOutput": {"hookEventName": heard.named, "additionalContext": _lines(text)}}


def person_answer(text: str) -> dict[str, Any]:
    """The answer that shows TEXT to the person at the editor."""
    return {"systemMessage": escaping.sentence(text)}


def continue_answer(heard: HookPayload, reason: str) -> dict[str, Any]:
    """The answer that makes the agent continue because of REASON."""
    return {"decision": "deny" if heard.host == GEMINI else "block", "reason": _lines(reason)}


def _lines(text: str) -> str:
    return "\n".join(map(escaping.harmless, text.split("\n")))
