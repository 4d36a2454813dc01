"""What editors tell their hooks, and what they understand in return: Claude Code, Codex CLI, Gemini CLI.

Each runs a command at certain moments, writes one JSON object to its stdin and reads one from its stdout, or nothing.
Claude Code and Codex share a vocabulary and Gemini has its own; docs/editor-hooks.md says which versions were looked
at. Answers use only what all versions of a host take, because Codex refuses members it does not know.

A payload is untrusted. What is not understood is said so, and never guessed.
"""

from __future__ import annotations

from bb.kernel import show
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.coordination.guards.writes import Write

CLAUDE, CODEX, GEMINI = "claude", "codex", "gemini"
HOSTS = (CLAUDE, CODEX, GEMINI)
OTHER = "other"  # nobody we know; that exit status 2 refuses a tool is understood by everybody

PRE_TOOL, POST_TOOL, SESSION_START, PROMPT, STOP = "pre-tool", "post-tool", "session-start", "prompt", "stop"

# Our moments, as the hosts call them.
MOMENTS = {
    PRE_TOOL: {CLAUDE: "PreToolUse", CODEX: "PreToolUse", GEMINI: "BeforeTool"},
    POST_TOOL: {CLAUDE: "PostToolUse", CODEX: "PostToolUse", GEMINI: "AfterTool"},
    SESSION_START: {CLAUDE: "SessionStart", CODEX: "SessionStart", GEMINI: "SessionStart"},
    PROMPT: {CLAUDE: "UserPromptSubmit", CODEX: "UserPromptSubmit", GEMINI: "BeforeAgent"},
    STOP: {CLAUDE: "Stop", CODEX: "Stop", GEMINI: "AfterAgent"},
}

# Tools that change files, and where in their input the path stands. Of an MCP tool only the last part counts.
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
    """A payload is not what any editor we know sends."""


class Heard(Record):
    """What an editor said, as far as it matters here."""

    host: str
    moment: str
    named: str  # the moment as the host called it
    session: str
    cwd: str
    tool: str
    paths: tuple[str, ...]  # of the files that the tool would change
    command: str  # what the tool would hand to a shell
    written: tuple[Write, ...]  # what that would write
    is_going_on: bool  # this stop comes of our having asked to go on
    source: str  # how a session starts


# -- from the host


def heard(payload: Any, moment: str, host: str | None = None) -> Heard:
    """What PAYLOAD says at one of our moments, from HOST where that is known."""
    if not isinstance(payload, dict):
        raise NotUnderstood("it is no JSON object")
    said = _text(payload, "hook_event_name")
    names = MOMENTS[moment]
    if said and said not in names.values():
        raise NotUnderstood(f"it is about {said[:40]!r}, which is no {moment}")
    speaks = host or _host(payload, said)
    tool, given = _text(payload, "tool_name"), payload.get("tool_input")
    given = given if isinstance(given, dict) else {}
    name = tool.rpartition("__")[2] if tool.startswith("mcp__") else tool
    command = _command(name, given)
    return Heard(
        host=speaks,
        moment=moment,
        named=said or names.get(speaks, names[CLAUDE]),
        session=_text(payload, "session_id"),
        cwd=_text(payload, "cwd"),
        tool=tool,
        paths=_paths(name, given),
        command=command,
        written=_written(command) if command and moment == PRE_TOOL else (),
        is_going_on=payload.get("stop_hook_active") is True,
        source=_text(payload, "source"),
    )


def is_edit(heard: Heard) -> bool:
    """Whether the tool changes files, understood or not."""
    name = heard.tool.rpartition("__")[2]
    return name in EDITS or name in PATCHES


def _host(payload: dict[str, Any], said: str) -> str:
    """Who speaks. Codex names a turn or at least a model; Gemini has words of its own, and the time of day."""
    gemini = {names[GEMINI] for names in MOMENTS.values()} - {"SessionStart"}
    if said in gemini or (said == "SessionStart" and "timestamp" in payload):
        return GEMINI
    if not said:
        return OTHER
    is_codex = "turn_id" in payload or ("model" in payload and "permission_mode" in payload)
    return CODEX if is_codex or payload.get("tool_name") == "apply_patch" else CLAUDE


def _paths(name: str, given: dict[str, Any]) -> tuple[str, ...]:
    """The files that a tool would change, each once."""
    found = [path for member in EDITS.get(name, ()) if (path := _text(given, member))]
    for member in PATCHES.get(name, ()):
        found += patched(_text(given, member))
    if name in SHELLS and BEGIN_PATCH in (command := _command(name, given)):
        found += patched(command)  # Codex takes a patch from a shell's command line as well
    return tuple(dict.fromkeys(found))


def patched(patch: str) -> Iterator[str]:
    """The files that a patch in Codex's format names in its headers, which may be indented as far as Codex cares."""
    for line in patch.split("\n"):
        found = line.strip()
        header = next((each for each in PATCH_HEADERS if found.startswith(each)), None)
        if header and (path := found[len(header) :].strip()):
            yield path


def _command(name: str, given: dict[str, Any]) -> str:
    """The command line of a shell tool; one given word by word is joined, whatever was quoted quoted again."""
    for member in SHELLS.get(name, ()):
        value = given.get(member)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and all(isinstance(word, str) for word in value):
            return " ".join("'" + word.replace("'", "'\\''") + "'" for word in value)
    return ""


def _written(command: str) -> tuple[Write, ...]:
    from bb.coordination.guards import writes  # noqa: PLC0415  (an edit is no shell command)

    return tuple(writes.found(command))


def _text(given: dict[str, Any], member: str) -> str:
    value = given.get(member)
    return value if isinstance(value, str) else ""


# -- to the host


# What comes in here is put together by bb: in it, each value of somebody else's is a name or a quotation
# (`kernel/show`). This is the last gate. It lets no control character through, and from a sentence no line end.


def refused(heard: Heard, reason: str) -> dict[str, Any] | None:
    """The tool must not run, and why. None where the host only understands an exit status."""
    if heard.host == OTHER:
        return None
    reason = show.sentence(reason)
    if heard.host == GEMINI:
        return {"decision": "deny", "reason": reason}
    verdict = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    return {"hookSpecificOutput": {"hookEventName": heard.named, **verdict}}


def told(heard: Heard, text: str) -> dict[str, Any]:
    """TEXT for the agent to know."""
    return {"hookSpecificOutput": {"hookEventName": heard.named, "additionalContext": _lines(text)}}


def shown(text: str) -> dict[str, Any]:
    """TEXT for the person at the editor to see."""
    return {"systemMessage": show.sentence(text)}


def go_on(heard: Heard, reason: str) -> dict[str, Any]:
    """The agent is to go on, with REASON as what to see to."""
    return {"decision": "deny" if heard.host == GEMINI else "block", "reason": _lines(reason)}


def _lines(text: str) -> str:
    return "\n".join(map(show.harmless, text.split("\n")))
