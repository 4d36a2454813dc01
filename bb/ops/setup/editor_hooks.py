"""Installs, removes and lists bb's hooks in an editor's project settings."""

from __future__ import annotations

from typing import Any

from bb.coordination.holdings import reservations
from bb.coordination.wiring import editors
from bb.coordination.wiring.editor_hooks import Wiring, command
from bb.kernel import ids
from bb.kernel.escaping import harmless
from bb.ledger.git.place import NoWorkTree
from bb.ledger.wiring import editor_settings as files
from bb.ops.agent_params import Name
from bb.ops.desk.desk import Desk
from bb.ops.guards.editor_hook import AutoBead
from bb.ops.guards.editor_requests import Host
from bb.ops.params import AgentId, invalid

NOTES = {
    editors.CLAUDE: "Claude Code uses the hooks at once; /hooks lists them",
    editors.CODEX: "Codex uses the hooks once you trust the project and review them: /hooks",
    editors.GEMINI: "Gemini CLI uses the hooks from its next session on; /hooks panel lists them",
}


class Editor(Host):
    """The editor: claude, codex or gemini."""

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
    commands = {names[editor]: command(wiring, moment) for moment, names in editors.MOMENTS.items()}
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
            rows.append({"editor": editor, "path": path, "moments": moments})
    return rows


def _work_tree(desk: Desk) -> str:
    if desk.place.work_tree is None:
        raise NoWorkTree()
    return desk.place.work_tree
