"""Having an editor call our hooks: its project settings written, put back, looked at."""

from __future__ import annotations

from bb.coordination.holdings import reservations
from bb.coordination.wiring import editors
from bb.coordination.wiring.editor_hooks import Wiring, command
from bb.kernel import ids
from bb.kernel.show import harmless
from bb.ledger.git.place import NoWorkTree
from bb.ledger.wiring import editor_settings as files
from bb.ops.guards.editor_hook import AutoBead
from bb.ops.guards.editor_requests import Host
from bb.ops.params import AgentId, Name, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ops.desk.desk import Desk

NOTES = {
    editors.CLAUDE: "Claude Code takes it up at once; /hooks shows it",
    editors.CODEX: "Codex runs it once the project is trusted and the hooks are reviewed: /hooks",
    editors.GEMINI: "Gemini CLI takes it up in its next session; /hooks panel shows it",
}


class Editor(Host):
    """The editor: claude, codex or gemini."""

    metavar = "EDITOR"


class Program(Name):
    """What the editor is to call bb by, where another program has that name: beadboard, or a path."""

    metavar = "PROGRAM"
    longest = 500

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        if harmless(text) != text:  # it becomes a line for a shell
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
    """Have an editor call bb around every edit, command, prompt and stop, beside what its settings say already.

    Writes the project's settings: .claude/settings.json, .codex/hooks.json or .gemini/settings.json. Repeating it
    changes nothing; with other options it replaces what was there of ours.
    """
    wanted = Wiring(
        editor=editor,
        program=program,
        agent=None if agent is None else ids.actor_id(agent),
        auto_reserve=auto_reserve,
        bead=None if bead is None else reservations.bead(bead),
        register=register,
    )
    path, is_changed = files.install(_work_tree(desk), wanted, is_local=local, dry_run=dry_run)
    commands = {names[editor]: command(wanted, moment) for moment, names in editors.MOMENTS.items()}
    done = {"editor": editor, "path": path, "changed": is_changed, "is_done": not dry_run}
    return done | {"commands": commands, "note": NOTES[editor]}


def uninstall(desk: Desk, *, editor: Editor, local: bool = False, dry_run: bool = False) -> dict[str, Any]:
    """Take out of an editor's settings what `bb hooks install` put in, and nothing else."""
    path, is_changed = files.uninstall(_work_tree(desk), editor, is_local=local, dry_run=dry_run)
    return {"editor": editor, "path": path, "changed": is_changed, "is_done": not dry_run}


def status(desk: Desk) -> list[dict[str, Any]]:
    """Which editors call bb, and at which moments."""
    if desk.place.work_tree is None:
        return []
    root = desk.place.work_tree
    found = [(editor, is_local) for editor in editors.HOSTS for is_local in (False, True)]
    shown = []
    for editor, is_local in found:
        if not is_local or files.file_of(root, editor, is_local=True) != files.file_of(root, editor, is_local=False):
            path, moments = files.installed(root, editor, is_local=is_local)
            shown.append({"editor": editor, "path": path, "moments": moments})
    return shown


def _work_tree(desk: Desk) -> str:
    if desk.place.work_tree is None:
        raise NoWorkTree
    return desk.place.work_tree
