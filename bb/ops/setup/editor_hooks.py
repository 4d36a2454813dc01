"""Installs, removes and lists bb's hooks in an editor's project settings."""

from __future__ import annotations

import os
from typing import Any

from bb.coordination.holdings import reservations
from bb.coordination.wiring import editors
from bb.coordination.wiring.editor_hooks import Wiring, command
from bb.kernel import clock, ids
from bb.kernel.escaping import harmless
from bb.ledger.git.place import NoWorkTree
from bb.ledger.local import hook_calls
from bb.ledger.wiring import editor_settings as files
from bb.ops.agent_params import Name
from bb.ops.desk.desk import Desk
from bb.ops.guards.editor_hook import AutoBead
from bb.ops.guards.editor_requests import Host
from bb.ops.params import AgentId, invalid

REVIEW = (
    "review them in Codex: /hooks. Until then `codex exec` skips them in silence; "
    "in CI: codex exec --dangerously-bypass-hook-trust"
)
NOTES = {
    editors.CLAUDE: "Claude Code uses the hooks at once; /hooks lists them",
    editors.CODEX: f"Codex uses the hooks once you trust the project and {REVIEW}",
    editors.GEMINI: "Gemini CLI uses the hooks from its next session on, in a trusted folder; /hooks panel lists them",
    editors.OPENCODE: "OpenCode loads the plugin at its next start",
    editors.CURSOR: "Cursor uses the hooks at once in a trusted workspace; its settings list them under Hooks",
    editors.VSCODE: "VS Code and Copilot CLI use the hooks from the next session on. They also call those in "
    ".claude/settings.json, so install only one of the two",
    editors.QWEN: "Qwen Code uses the hooks from its next session on",
}
# What to do if an editor has not called its hooks.
UNUSED = {
    editors.CLAUDE: "start a session of Claude Code; /hooks lists them",
    editors.CODEX: REVIEW,
    editors.GEMINI: "start a session of Gemini CLI in a trusted folder; /hooks panel lists them",
    editors.OPENCODE: "restart OpenCode",
    editors.CURSOR: "start a session of Cursor in a trusted workspace; its settings list them under Hooks",
    editors.VSCODE: "start a session in VS Code or Copilot CLI; VS Code lists them with /hooks",
    editors.QWEN: "start a session of Qwen Code",
}


class Editor(Host):
    """The editor: claude, codex, gemini, opencode, cursor, vscode or qwen."""

    metavar = "EDITOR"


class Program(Name):
    """The program name or path for bb, if another program is named bb: beadboard, or a path."""

    metavar = "PROGRAM"
    longest = 500

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        if harmless(text) != text:  # it becomes part of a shell command
            raise invalid(f"{name} must be one plain line", name)
        return super().checked(text, name)


def install(
    desk: Desk,
    *,
    editor: Editor,
    agent: AgentId | None = None,
    register: bool = False,
    auto_reserve: bool = False,
    bead: AutoBead | None = None,
    program: Program,
    local: bool = False,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Add bb's hooks to an editor's project settings. Other settings stay; earlier hooks of bb are replaced."""
    wiring = Wiring(
        editor=editor,
        program=program,
        agent=None if agent is None else ids.actor_id(agent),
        auto_reserve=auto_reserve,
        bead=None if bead is None else reservations.bead(bead),
        register=register,
    )
    path, is_changed = files.install(_work_tree(desk), wiring, is_local=local, dry_run=dry_run)
    commands = {name: command(wiring, moment) for name, moment in editors.called_by(editor)}
    done = {"editor": editor, "path": path, "changed": is_changed, "is_done": not dry_run}
    return done | {"commands": commands, "note": NOTES[editor]}


def uninstall(desk: Desk, *, editor: Editor, local: bool = False, dry_run: bool = False) -> dict[str, Any]:
    """Remove bb's hooks from an editor's settings. Other settings stay."""
    path, is_changed = files.uninstall(_work_tree(desk), editor, is_local=local, dry_run=dry_run)
    return {"editor": editor, "path": path, "changed": is_changed, "is_done": not dry_run}


def status(desk: Desk) -> list[dict[str, Any]]:
    """The settings files of all editors, with the hooks of bb in each."""
    if desk.place.work_tree is None:
        return []
    root = desk.place.work_tree
    rows = []
    for editor, is_local in [(editor, is_local) for editor in editors.HOSTS for is_local in (False, True)]:
        if not is_local or files.file_of(root, editor, is_local=True) != files.file_of(root, editor, is_local=False):
            path, moments = files.installed(root, editor, is_local=is_local)
            rows.append({"editor": editor, "path": path, "moments": moments} | use_of(desk, editor, path, moments))
    return rows


def use_of(desk: Desk, editor: str, path: str, moments: list[str]) -> dict[str, Any]:
    """When EDITOR last called each of its hooks, and what to do if it has called none since they were installed.

    Codex asks for a new review of hooks that were changed, so calls before the last change of the file do not count.
    """
    if not moments:
        return {}
    called = hook_calls.last_calls(desk.place.store)
    ours = {names[editor]: moment for moment, names in editors.MOMENTS.items() if editor in names}
    calls = {name: called.get((editor, ours[name])) for name in moments if name in ours}
    last = max((at for at in calls.values() if at is not None), default=None)
    note = None
    if last is None or last < os.stat(path).st_mtime_ns // 1_000_000 - hook_calls.RARELY:
        note = f"{'never called' if last is None else 'not called since they were changed'}: {UNUSED[editor]}"
    return {"calls": {name: at and clock.text(at) for name, at in calls.items()}, "note": note}


def _work_tree(desk: Desk) -> str:
    if desk.place.work_tree is None:
        raise NoWorkTree()
    return desk.place.work_tree
