"""Hooks in git and in editors: install them, take them away, see which are there."""

from __future__ import annotations

import os

from bb.kernel.errors import Usage
from bb.ledger.files import work_tree_files
from bb.ledger.wiring import git_hooks
from bb.ops.catalogue import op
from bb.ops.guards.editor_hook import AutoBead
from bb.ops.params import AgentId
from bb.ops.setup import editor_hooks
from bb.ops.setup.editor_hooks import Editor, Program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.wiring.git_hooks import Folder
    from bb.ops.desk.desk import Desk

DRY_RUN = "Say what would be done, and do nothing."
ANYWHERE = "Also in a folder that is part of the work tree, or that other repositories use too."
REWRITTEN = "{} writes its hooks anew now and then; run `bb hooks install` again when `bb hooks status` shows `foreign`"


class EditorNeeded(Usage):
    """These options are about an editor, or about git, and the other one was meant."""

    code = "EDITOR_NEEDED"
    hint = "git hooks: `bb hooks install`; an editor's: `bb hooks install --editor claude|codex|gemini`"


@op(
    "hooks.install",
    screen="guards",
    examples=(
        "bb hooks install",
        "bb hooks install --dry-run --json",
        "bb hooks install --editor claude --register --auto-reserve",
        "bb hooks install --editor codex --agent amber-otter",
    ),
    dry_run=DRY_RUN,
    anywhere=ANYWHERE,
    auto_reserve="With --editor: reserve a file when its agent first edits it, if nobody holds it.",
    register="With --editor: register a session under a free name when nobody says who works in it.",
    local="With --editor: write the settings of one person, where the editor has such: .claude/settings.local.json.",
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
    """Have git, or an editor, ask `bb` before something is changed. Running it again changes nothing.

    Without --editor it is git: the hooks go where git looks for them (core.hooksPath where it is set, else the hooks
    folder of this clone, for all its worktrees). A hook that is there already is kept beside ours, runs first, and
    still has its say. pre-commit judges the commit (`bb check --staged`), prepare-commit-msg adds a `BB-Agent:` trailer
    for an agent, and the others let the ledger travel once it has travelled before (`bb sync`).

    With --editor it is an editor around every edit, command, prompt and stop, by the project's settings
    (.claude/settings.json, .codex/hooks.json or .gemini/settings.json), beside what they say already. With other
    options than before, what was there of ours is replaced.
    """
    about_editors = [agent, bead, program, register or None, auto_reserve or None, local or None]
    if (editor is None and any(each is not None for each in about_editors)) or (editor and anywhere):
        raise EditorNeeded
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
    dry_run=DRY_RUN,
    anywhere=ANYWHERE,
    local="With --editor: of the settings of one person.",
)
def uninstall(
    desk: Desk, *, editor: Editor | None = None, local: bool = False, dry_run: bool = False, anywhere: bool = False
) -> dict[str, Any]:
    """Take our hooks out of git, or out of an editor's settings, and put back exactly what was there before.

    A hook of ours that somebody has changed since is left, and so is one that has come in its place.
    """
    if (editor is None and local) or (editor and anywhere):
        raise EditorNeeded
    if editor:
        return editor_hooks.uninstall(desk, editor=editor, local=local, dry_run=dry_run)
    at = _folder(desk, anywhere=anywhere)
    return _shown(at, git_hooks.uninstall(at, dry_run=dry_run), is_done=not dry_run)


@op("hooks.status", reads=True, screen="guards", examples=("bb hooks status", "bb hooks status --json"))
def status(desk: Desk) -> dict[str, Any]:
    """Which git hooks are ours, somebody else's, or ours and changed since; and which editors call bb, and when."""
    at = git_hooks.folder(desk.place)
    shown = [
        {"hook": hook.name, "state": hook.state, "kept": hook.aside if hook.kept is not None else None}
        for hook in at.hooks()
    ]
    return {"folder": at.path, "hooks": shown, "note": _note(at), "editors": editor_hooks.status(desk)}


def _folder(desk: Desk, *, anywhere: bool) -> Folder:
    at = git_hooks.folder(desk.place)
    if at.why_not and not anywhere:
        raise git_hooks.HooksShared(f"hooks are looked for in {at.path}, which {at.why_not}", folder=at.path)
    work_tree = desk.place.work_tree
    if work_tree and os.path.join(at.path, "").startswith(os.path.join(work_tree, "")):
        inside = os.path.relpath(at.path, work_tree).replace(os.sep, "/")
        if not inside.startswith(".git/"):  # a folder that the repository brings must not lead elsewhere
            work_tree_files.refuse_links(work_tree, f"{inside}/pre-commit-of-bb")
    return at


def _shown(at: Folder, done: dict[str, str], *, is_done: bool) -> dict[str, Any]:
    told = [{"hook": name, "outcome": outcome} for name, outcome in done.items()]
    return {"folder": at.path, "is_done": is_done, "hooks": told, "note": _note(at)}


def _note(at: Folder) -> str | None:
    """What a person should know about who else writes into this folder."""
    if at.is_husky:
        return REWRITTEN.format("husky")
    kept = b"".join((hook.kept or b"") + (hook.octets or b"") for hook in at.hooks())
    return REWRITTEN.format("lefthook") if b"lefthook" in kept else None
