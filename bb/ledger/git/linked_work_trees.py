"""The worktrees of a clone and their checked-out branches, read from git's own files without starting git."""

from __future__ import annotations

import os

from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bb.ledger.git.place import Place

REF = b"ref: refs/heads/"


def branches(place: Place) -> dict[str, str]:
    """The folder of each checked-out branch, by branch."""
    return {branch: folder for folder, branch in _checked_out(place.common) if branch}


def folders(place: Place) -> list[str]:
    """The folder of each worktree."""
    return [folder for folder, _ in _checked_out(place.common)]


def _checked_out(common: str) -> Iterator[tuple[str, str]]:
    """Each worktree and its branch; the branch is empty if HEAD is detached."""
    if os.path.basename(common) == ".git":
        yield os.path.dirname(common), _branch(common)
    linked = os.path.join(common, "worktrees")
    for name in disk.names(linked):
        git_dir = os.path.join(linked, name)
        back = os.fsdecode((disk.read_small(os.path.join(git_dir, "gitdir")) or b"").strip())
        if back:
            yield os.path.dirname(os.path.normpath(os.path.join(git_dir, back))), _branch(git_dir)


def _branch(git_dir: str) -> str:
    head = (disk.read_small(os.path.join(git_dir, "HEAD")) or b"").strip()
    return os.fsdecode(head.removeprefix(REF)) if head.startswith(REF) else ""
