"""The hook entries for bb in an editor's settings.

A command counts as bb's if it calls `hook` with one of bb's moments, whatever the program's name. For each moment, the
settings of Claude Code, Codex, Gemini CLI and Qwen Code list groups of hooks; those of Cursor and VS Code list the
hooks themselves. OpenCode has no such settings: its file is a plugin (`opencode_plugin`), and is all bb's.
"""

from __future__ import annotations

import itertools
from typing import Any

from bb.coordination.wiring import opencode_plugin
from bb.coordination.wiring.editors import (
    CLAUDE,
    CODEX,
    CURSOR,
    GEMINI,
    MOMENTS,
    OPENCODE,
    POST_TOOL,
    PRE_TOOL,
    QWEN,
    SESSION_END,
    SESSION_START,
    VSCODE,
    called_by,
)
from bb.kernel import json_text
from bb.kernel.escaping import quoted
from bb.kernel.json_edit import Member, member, members, put, root, without, without_member
from bb.kernel.json_text import NotJson
from bb.kernel.record import Record

FILES = {
    CLAUDE: ".claude/settings.json",
    CODEX: ".codex/hooks.json",
    GEMINI: ".gemini/settings.json",
    OPENCODE: ".opencode/plugins/bb.js",
    CURSOR: ".cursor/hooks.json",
    VSCODE: ".github/hooks/bb.json",
    QWEN: ".qwen/settings.json",
}
LOCAL_FILES = {CLAUDE: ".claude/settings.local.json"}  # settings that are not shared with other users

# The tools that the guard checks. Tools of MCP servers may edit files too.
GUARDED = {
    CLAUDE: "Bash|Edit|Monitor|MultiEdit|NotebookEdit|PowerShell|Write|mcp__.*",
    CODEX: "Bash|apply_patch|mcp__.*",
    GEMINI: "run_shell_command|replace|write_file|mcp_.*",
    QWEN: "run_shell_command|edit|write_file|notebook_edit|mcp__.*",
    CURSOR: "Shell|Write|StrReplace|Delete|EditNotebook|MCP:.*",
}
LISTS_HOOKS = (CURSOR, VSCODE)
COUNT_IN_MILLISECONDS = (GEMINI, QWEN)
VERSION = {"version": 1}
SECONDS = 10  # the editor's timeout for a hook
CODEX_AT_END = 3  # the longest timeout that Codex allows at the end of a session


class Wiring(Record):
    """The options for the hook commands."""

    editor: str
    program: str = "bb"
    agent: str | None = None
    auto_reserve: bool = False
    bead: str | None = None
    register: bool = False


def wired(text: str, wiring: Wiring) -> str:
    """TEXT, the settings of an editor, with exactly the hooks that WIRING describes."""
    if wiring.editor == OPENCODE:
        return _plugin(text, wiring)
    _refuse_what_is_odd(text)
    if _groups(text) == _wanted(wiring):
        return text
    text = unwired(text, wiring.editor)
    if member(text, root(text), "hooks") is None:
        text = _with_hooks(text, wiring.editor)
    for moment, group in _wanted(wiring):
        hooks = _hooks(text)
        if member(text, hooks, moment) is None:
            text = put(text, hooks, 1, [], moment)
        groups = member(text, _hooks(text), moment)
        text = put(text, groups.value if groups else 0, 2, group)
    return text


def _with_hooks(text: str, editor: str) -> str:
    """TEXT with an empty object for hooks. New settings of an editor that lists hooks begin with a version."""
    if editor in LISTS_HOOKS and not members(text, root(text))[0]:
        text = put(text, root(text), 0, 1, "version")
    return put(text, root(text), 0, {}, "hooks")


def _plugin(text: str, wiring: Wiring) -> str:
    if text.strip() not in ("", "{}") and not opencode_plugin.is_ours(text):
        raise NotJson("it was changed since, or bb did not write it")
    commands = {moment: command_words(wiring, moment) for moment, names in MOMENTS.items() if OPENCODE in names}
    return opencode_plugin.plugin(commands)


def _refuse_what_is_odd(text: str) -> None:
    hooks = json_text.loads(text[root(text) :]).get("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(groups, list) for groups in hooks.values()):
        raise NotJson("its hooks are not an object of lists")


def unwired(text: str, editor: str = CLAUDE) -> str:
    """TEXT, the settings of EDITOR, without our hooks, and without the lists and objects that become empty."""
    if editor == OPENCODE:
        return "" if opencode_plugin.is_ours(text) else text
    while (place := _first_of_ours(text)) is not None:
        text = without(text, *place)
    hooks = member(text, root(text), "hooks")
    if hooks and text[hooks.value] == "{" and not members(text, hooks.value)[0]:
        text = without_member(text, root(text), "hooks")
        if editor in LISTS_HOOKS and json_text.loads(text[root(text) :]) == VERSION:
            text = without_member(text, root(text), "version")
    return text


def moments(text: str, editor: str = CLAUDE) -> list[str]:
    """The moments at which EDITOR calls our hooks by its settings TEXT, in the editor's names."""
    if editor == OPENCODE:
        return [MOMENTS[moment][OPENCODE] for moment in opencode_plugin.moments(text)]
    return list(dict.fromkeys(moment for moment, _ in _groups(text)))


def _wanted(wiring: Wiring) -> list[tuple[str, Any]]:
    """The groups for all moments, each with one hook."""
    return [(name, _group(wiring, moment)) for name, moment in called_by(wiring.editor)]


def _group(wiring: Wiring, moment: str) -> dict[str, Any]:
    line = command(wiring, moment)
    if wiring.editor == CURSOR:
        matcher = {"matcher": GUARDED[CURSOR]} if moment == PRE_TOOL else {}
        return {"command": line, "timeout": SECONDS, **matcher}
    if wiring.editor == VSCODE:  # `bash`, `powershell` and `timeoutSec` are the names of Copilot CLI
        shells = {"command": line, "bash": line, "powershell": line}
        return {"type": "command", **shells, "timeout": SECONDS, "timeoutSec": SECONDS}
    seconds = CODEX_AT_END if wiring.editor == CODEX and moment == SESSION_END else SECONDS
    hook = {"type": "command", "command": line, "timeout": seconds}
    if wiring.editor in COUNT_IN_MILLISECONDS:
        hook = {"name": f"bb-{moment}", **hook, "timeout": seconds * 1000}
    tools = {PRE_TOOL: GUARDED[wiring.editor], POST_TOOL: ".*"}
    return ({"matcher": tools[moment]} if moment in tools else {}) | {"hooks": [hook]}


def command(wiring: Wiring, moment: str) -> str:
    """The command line for an editor to run at MOMENT."""
    return " ".join(map(quoted, command_words(wiring, moment)))


def command_words(wiring: Wiring, moment: str) -> list[str]:
    """The words of that command line."""
    words = [wiring.program, "hook", moment, "--host", wiring.editor]
    words += ["--agent", wiring.agent] if wiring.agent else []
    if moment == PRE_TOOL and wiring.auto_reserve:
        words.append("--auto-reserve")
    if moment in (PRE_TOOL, SESSION_END) and wiring.auto_reserve and wiring.bead:
        words += ["--bead", wiring.bead]
    if moment == SESSION_START and wiring.register:
        words.append("--register")
    return words


def is_ours(hook: object) -> bool:
    """Whether a hook in an editor's settings calls bb."""
    command = hook.get("command") if isinstance(hook, dict) else None
    words = command.split() if isinstance(command, str) else []
    return any(word == "hook" and following in MOMENTS for word, following in itertools.pairwise(words))


def _groups(text: str) -> list[tuple[str, Any]]:
    """The groups that contain one of our hooks, by moment."""
    hooks = json_text.loads(text[root(text) :]).get("hooks")
    return [
        (moment, group)
        for moment, groups in (hooks.items() if isinstance(hooks, dict) else ())
        for group in (groups if isinstance(groups, list) else ())
        if is_ours(group) or (isinstance(group, dict) and _has_ours(group.get("hooks")))
    ]


def _has_ours(hooks: object) -> bool:
    return isinstance(hooks, list) and any(map(is_ours, hooks))


def _first_of_ours(text: str) -> tuple[int, int] | None:
    """The first member to remove: the place of its container in TEXT, and its number in the container."""
    hooks = member(text, root(text), "hooks")
    if hooks is None or text[hooks.value] != "{":
        return None
    for number, moment in enumerate(members(text, hooks.value)[0]):
        groups = members(text, moment.value)[0] if text[moment.value] == "[" else []
        for place, group in enumerate(groups):
            inner = _ours_in(text, group)
            if inner and len(members(text, inner[0])[0]) > 1:
                return inner
            if inner or is_ours(json_text.scan(text, group.value)[0]):
                return (moment.value, place) if len(groups) > 1 else (hooks.value, number)
    return None


def _ours_in(text: str, group: Member) -> tuple[int, int] | None:
    """The place of the group's list of hooks, and the number of our first hook in it."""
    hooks = member(text, group.value, "hooks") if text[group.value] == "{" else None
    if hooks is None or text[hooks.value] != "[":
        return None
    for number, hook in enumerate(members(text, hooks.value)[0]):
        if is_ours(json_text.scan(text, hook.value)[0]):
            return hooks.value, number
    return None


def _hooks(text: str) -> int:
    hooks = member(text, root(text), "hooks")
    return hooks.value if hooks else 0
