"""The hook entries for bb in an editor's settings.

A command counts as bb's if it calls `hook` with one of bb's moments, whatever the program's name.
"""

from __future__ import annotations

import itertools
from typing import Any

from bb.coordination.wiring.editors import CLAUDE, CODEX, GEMINI, MOMENTS, POST_TOOL, PRE_TOOL, SESSION_START
from bb.kernel import json_text
from bb.kernel.escaping import quoted
from bb.kernel.json_edit import Member, member, members, put, root, without, without_member
from bb.kernel.json_text import NotJson
from bb.kernel.record import Record

FILES = {CLAUDE: ".claude/settings.json", CODEX: ".codex/hooks.json", GEMINI: ".gemini/settings.json"}
LOCAL_FILES = {CLAUDE: ".claude/settings.local.json"}  # settings that are not shared with other users

# The tools that the guard checks. Tools of MCP servers may edit files too.
GUARDED = {
    CLAUDE: "Bash|Edit|MultiEdit|NotebookEdit|Write|mcp__.*",
    CODEX: "Bash|apply_patch|mcp__.*",
    GEMINI: "run_shell_command|replace|write_file|mcp_.*",
}
SECONDS = 10  # the editor's timeout for a hook


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
    _refuse_what_is_odd(text)
    if _groups(text) == _wanted(wiring):
        return text
    text = unwired(text)
    at = root(text)
    if member(text, at, "hooks") is None:
        text = put(text, at, 0, {}, "hooks")
    for moment, group in _wanted(wiring):
        hooks = _hooks(text)
        if member(text, hooks, moment) is None:
            text = put(text, hooks, 1, [], moment)
        groups = member(text, _hooks(text), moment)
        text = put(text, groups.value if groups else 0, 2, group)
    return text


def _refuse_what_is_odd(text: str) -> None:
    hooks = json_text.loads(text[root(text) :]).get("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(groups, list) for groups in hooks.values()):
        raise NotJson("its hooks are not an object of lists")


def unwired(text: str) -> str:
    """TEXT without our hooks, and without the lists and objects that become empty."""
    while (place := _first_of_ours(text)) is not None:
        text = without(text, *place)
    hooks = member(text, root(text), "hooks")
    if hooks and text[hooks.value] == "{" and not members(text, hooks.value)[0]:
        text = without_member(text, root(text), "hooks")
    return text


def moments(text: str) -> list[str]:
    """The moments at which the editor calls our hooks, in the editor's names."""
    return list(dict.fromkeys(moment for moment, _ in _groups(text)))


def _wanted(wiring: Wiring) -> list[tuple[str, Any]]:
    """The groups for all moments, each with one hook."""
    return [(names[wiring.editor], _group(wiring, moment)) for moment, names in MOMENTS.items()]


def _group(wiring: Wiring, moment: str) -> dict[str, Any]:
    hook = {"type": "command", "command": command(wiring, moment), "timeout": SECONDS}
    if wiring.editor == GEMINI:
        hook = {"name": f"bb-{moment}", **hook, "timeout": SECONDS * 1000}
    tools = {PRE_TOOL: GUARDED[wiring.editor], POST_TOOL: ".*"}
    return ({"matcher": tools[moment]} if moment in tools else {}) | {"hooks": [hook]}


def command(wiring: Wiring, moment: str) -> str:
    """The command for an editor to run at MOMENT."""
    words = [wiring.program, "hook", moment, "--host", wiring.editor]
    words += ["--agent", wiring.agent] if wiring.agent else []
    if moment == PRE_TOOL and wiring.auto_reserve:
        words += ["--auto-reserve", *(["--bead", wiring.bead] if wiring.bead else [])]
    if moment == SESSION_START and wiring.register:
        words.append("--register")
    return " ".join(map(quoted, words))


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
        if isinstance(group, dict) and isinstance(group.get("hooks"), list) and any(map(is_ours, group["hooks"]))
    ]


def _first_of_ours(text: str) -> tuple[int, int] | None:
    """The first member to remove: the place of its container in TEXT, and its number in the container."""
    hooks = member(text, root(text), "hooks")
    if hooks is None or text[hooks.value] != "{":
        return None
    for number, moment in enumerate(members(text, hooks.value)[0]):
        groups = members(text, moment.value)[0] if text[moment.value] == "[" else []
        for place, group in enumerate(groups):
            if (inner := _ours_in(text, group)) is not None:
                handlers, first = inner
                if len(members(text, handlers)[0]) > 1:
                    return handlers, first
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
