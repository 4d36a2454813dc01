"""Ops that install, remove and list bb's hooks in git and in editors."""

from __future__ import annotations

import os
from typing import Any

from bb.kernel.errors import Usage
from bb.ledger.files import work_tree_files
from bb.ledger.wiring import git_hooks
from bb.ledger.wiring.git_hooks import Folder
from bb.ops.catalogue import op
from bb.ops.desk.desk import Desk
from bb.ops.guards.editor_hook import AutoBead
from bb.ops.params import AgentId
from bb.ops.setup import editor_hooks
from bb.ops.setup.editor_hooks import Editor, Program

REWRITTEN = "{} rewrites its hooks from time to time; run `bb hooks install` again if `bb hooks status` shows `foreign`"

EditorNeeded = Usage.declare(
    "EDITOR_NEEDED",
    "These options do not fit: some are only for editors, others only for git",
    hint="git hooks: `bb hooks install`; an editor's: `bb hooks install --editor EDITOR`, see its --help",
)


@op(
    "hooks.install",
    screen="guards",
    examples=(
        "bb hooks install",
        "bb hooks install --dry-run --json",
        "bb hooks install --editor claude --register --auto-reserve",
        "bb hooks install --editor codex --agent amber-otter",
    ),
)
def install(
    desk: Desk,
    *,
    editor: Editor | None = None,
    agent: AgentId | None = None,
    register: bool = False,
    auto_reserve: bool = False,
    bead: AutoBead | None = None,
    program: Program | None = None,
    local: bool = False,
    dry_run: bool = False,
    anywhere: bool = False,
) -> dict[str, Any]:
    """Install hooks in git or an editor that call `bb` before changes. Running it again changes nothing.

    Without --editor, git's hooks are installed in git's hooks folder (core.hooksPath if set, else the folder of this
    clone, for all its worktrees). An existing hook is kept, runs first, and can still refuse. pre-commit checks the
    commit (`bb check --staged`), prepare-commit-msg adds a `BB-Agent:` trailer for an agent, and the other hooks sync
    the ledger if it has been synced before (`bb sync`).

    With --editor, the editor calls bb around every edit, command, prompt and stop, and at the start and the end of a
    session. The hooks are added to the project's settings: .claude/settings.json, .codex/hooks.json,
    .gemini/settings.json, .qwen/settings.json, .cursor/hooks.json, or for VS Code and Copilot CLI
    .github/hooks/bb.json. Other settings stay; earlier hooks of bb with other options are replaced. For OpenCode a
    plugin is written: .opencode/plugins/bb.js.

    Parameters:
        register: With --editor: register a session under an unused name if its agent is unknown.
        auto_reserve: With --editor: reserve a free file when the agent first edits it.
        local: With --editor: write the personal settings, if the editor has them: .claude/settings.local.json.
        dry_run: Show what would be done, without doing it.
        anywhere: Also allow a hooks folder in the work tree or one that other repositories share.
    """
    editor_only = [agent, bead, program, register or None, auto_reserve or None, local or None]
    if (editor is None and any(option is not None for option in editor_only)) or (editor and anywhere):
        raise EditorNeeded()
    if editor:
        return editor_hooks.install(
            desk,
            editor=editor,
            agent=agent,
            register=register,
            auto_reserve=auto_reserve,
            bead=bead,
            program=program or Program("bb"),
            local=local,
            dry_run=dry_run,
        )
    at = _folder(desk, anywhere=anywhere)
    return _shown(at, git_hooks.install(at, dry_run=dry_run), is_done=not dry_run)


@op(
    "hooks.uninstall",
    screen="guards",
    examples=("bb hooks uninstall", "bb hooks uninstall --dry-run", "bb hooks uninstall --editor claude"),
)
def uninstall(
    desk: Desk, *, editor: Editor | None = None, local: bool = False, dry_run: bool = False, anywhere: bool = False
) -> dict[str, Any]:
    """Remove bb's hooks from git or from an editor's settings, and restore the earlier hooks exactly.

    A hook of bb that was changed or replaced since is left in place.

    Parameters:
        local: With --editor: remove them from the personal settings.
        dry_run: Show what would be done, without doing it.
        anywhere: Also allow a hooks folder in the work tree or one that other repositories share.
    """
    if (editor is None and local) or (editor and anywhere):
        raise EditorNeeded()
    if editor:
        return editor_hooks.uninstall(desk, editor=editor, local=local, dry_run=dry_run)
    at = _folder(desk, anywhere=anywhere)
    return _shown(at, git_hooks.uninstall(at, dry_run=dry_run), is_done=not dry_run)


@op("hooks.status", reads=True, screen="guards", examples=("bb hooks status", "bb hooks status --json"))
def status(desk: Desk) -> dict[str, Any]:
    """List the hooks of git and of editors: bb's own, changed or foreign, with their moments.

    For each hook of an editor, the time of its last call in this clone is shown, to the minute.
    """
    at = git_hooks.folder(desk.place)
    rows = [
        {"hook": hook.name, "state": hook.state, "kept": hook.aside if hook.kept is not None else None}
        for hook in at.hooks()
    ]
    return {"folder": at.path, "hooks": rows, "note": _note(at), "editors": editor_hooks.status(desk)}


def _folder(desk: Desk, *, anywhere: bool) -> Folder:
    at = git_hooks.folder(desk.place)
    if at.why_shared and not anywhere:
        raise git_hooks.HooksShared(f"git's hooks folder is {at.path}, which {at.why_shared}", folder=at.path)
    work_tree = desk.place.work_tree
    if work_tree and os.path.join(at.path, "").startswith(os.path.join(work_tree, "")):
        inside = os.path.relpath(at.path, work_tree).replace(os.sep, "/")
        if not inside.startswith(".git/"):  # a hooks folder inside the repository must not link to a place outside
            work_tree_files.refuse_links(work_tree, f"{inside}/pre-commit-of-bb")
    return at


def _shown(at: Folder, done: dict[str, str], *, is_done: bool) -> dict[str, Any]:
    hooks = [{"hook": name, "outcome": outcome} for name, outcome in done.items()]
    return {"folder": at.path, "is_done": is_done, "hooks": hooks, "note": _note(at)}


def _note(at: Folder) -> str | None:
    """A note if another hook manager also writes into this folder."""
    if at.is_husky:
        return REWRITTEN.format("husky")
    kept = b"".join((hook.kept or b"") + (hook.octets or b"") for hook in at.hooks())
    return REWRITTEN.format("lefthook") if b"lefthook" in kept else None
