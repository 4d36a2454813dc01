"""Git hooks: install them, take them away, see which are there."""

from __future__ import annotations

from bb.ledger import hooks
from bb.ops.catalogue import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.hooks import Folder
    from bb.ops.desk import Desk

ANYWHERE = "Also in a folder that is part of the work tree, or that other repositories use too."
REWRITTEN = "{} writes its hooks anew now and then; run `bb hooks install` again when `bb hooks status` shows `foreign`"


@op(
    "hooks.install",
    examples=("bb hooks install", "bb hooks install --dry-run --json"),
    dry_run="Say what would be done, and do nothing.",
    anywhere=ANYWHERE,
)
def install(desk: Desk, *, dry_run: bool = False, anywhere: bool = False) -> dict[str, Any]:
    """Have git ask `bb` before a commit, and tell it afterwards. Running it again changes nothing.

    The hooks go where git looks for them: core.hooksPath where it is set, else the hooks folder of this clone, for all
    its worktrees. A hook that is there already is kept beside ours, runs first, and still has its say. pre-commit
    judges the commit (`bb check --staged`), prepare-commit-msg adds a `BB-Agent:` trailer for an agent, and the others
    let the ledger travel once it has travelled before (`bb sync`).
    """
    at = _folder(desk, anywhere=anywhere)
    return _shown(at, hooks.install(at, dry_run=dry_run), is_done=not dry_run)


@op(
    "hooks.uninstall",
    examples=("bb hooks uninstall", "bb hooks uninstall --dry-run"),
    dry_run="Say what would be done, and do nothing.",
    anywhere=ANYWHERE,
)
def uninstall(desk: Desk, *, dry_run: bool = False, anywhere: bool = False) -> dict[str, Any]:
    """Take our hooks away, and put back exactly what was there before.

    A hook of ours that somebody has changed since is left, and so is one that has come in its place.
    """
    at = _folder(desk, anywhere=anywhere)
    return _shown(at, hooks.uninstall(at, dry_run=dry_run), is_done=not dry_run)


@op("hooks.status", examples=("bb hooks status", "bb hooks status --json"))
def status(desk: Desk) -> dict[str, Any]:
    """Which hooks are ours, which are somebody else's, and which of ours somebody has changed."""
    at = hooks.folder(desk.place)
    shown = [
        {"hook": hook.name, "state": hook.state, "kept": hook.aside if hook.kept is not None else None}
        for hook in at.hooks()
    ]
    return {"folder": at.path, "hooks": shown, "note": _note(at)}


def _folder(desk: Desk, *, anywhere: bool) -> Folder:
    at = hooks.folder(desk.place)
    if at.why_not and not anywhere:
        raise hooks.HooksShared(f"hooks are looked for in {at.path}, which {at.why_not}", folder=at.path)
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
