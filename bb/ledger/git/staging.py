"""What the coming commit changes of itself, and which ignore file holds for it.

A commit is judged by what is in its index, never by the work tree, against what its files may come from: the commit
it follows, all that is being merged, and, in the middle of a rebase, the commit that is being replayed. Whatever is
as one of those has it was committed before, by somebody who was judged then.
"""

from __future__ import annotations

import os

from bb.coordination.guards import changes
from bb.ledger.files import disk
from bb.ledger.git import git
from bb.ledger.git.place import NoWorkTree
from bb.ledger.git.work_tree import IGNORE_FILE, LARGEST_IGNORE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from bb.coordination.guards.changes import Change
    from bb.coordination.guards.ignore_files import Ignoring
    from bb.ledger.git.place import Place

HEAD, REPLAYED = "HEAD", "REBASE_HEAD"
LARGEST_MESSAGE = 1 << 26  # with the diff that `git commit -v` shows in it
REBASING = ("rebase-merge", "rebase-apply")


class Coming:
    """The commit that is about to be made in a place, seen in the environment that its hooks get."""

    def __init__(self, place: Place, env: Mapping[str, str]) -> None:
        if place.work_tree is None:
            raise NoWorkTree
        index = env.get("GIT_INDEX_FILE")  # if it is relative, then to the top of the work tree
        here = {"GIT_INDEX_FILE": os.path.join(place.work_tree, index)} if index else {}
        self._folder = place.git_dir
        self._git = git.Coming(place.git_dir, {**env, **here})

    def changes(self) -> list[Change]:
        """What it changes, by path."""
        try:
            diffs = [self._git.changes(HEAD)]
        except git.GitFailed:
            if self._git.has(HEAD):
                raise
            diffs = [self._git.changes(self._git.empty_tree())]
        merged = self._merged()
        if diffs[0]:
            diffs += [self._git.changes(commit) for commit in [*merged, *self._replayed()]]
        found = changes.of_commit(diffs)
        return self._not_by_git_itself(found, merged[0]) if found and len(merged) == 1 else found

    def ignoring(self, *, ignore_case: bool) -> Ignoring:
        """What the ignore file says, as it was committed before: what is judged does not choose its judge."""
        from bb.coordination.guards import ignore_files  # noqa: PLC0415  (only once something is in the way)

        name = f"{HEAD if self._git.has(HEAD) else ''}:{IGNORE_FILE}"
        written = self._git.blob(name, LARGEST_IGNORE) if self._git.has(name) else None
        return ignore_files.read(written or b"", ignore_case=ignore_case)

    def sign(self, message: str, trailer: str) -> bool:
        """Add a TRAILER to a MESSAGE, unless that is empty, or of a commit that is made again; whether we did."""
        is_again = self._is_rebasing() or os.path.exists(os.path.join(self._folder, "CHERRY_PICK_HEAD"))
        octets = disk.read_small(message, LARGEST_MESSAGE) or b""
        if is_again or not any(line.strip() and not line.startswith(b"#") for line in octets.split(b"\n")):
            return False
        if not octets.endswith(b"\n"):  # as a merge's does not; git would put the trailer into the first paragraph
            disk.replace(message, octets + b"\n")
        self._git.sign(message, trailer)
        return True

    def _merged(self) -> list[str]:
        """The commits that are being merged into the one we are on."""
        return (disk.read_small(os.path.join(self._folder, "MERGE_HEAD")) or b"").decode("ascii", "replace").split()

    def _replayed(self) -> list[str]:
        return [REPLAYED] if self._is_rebasing() and self._git.has(REPLAYED) else []

    def _is_rebasing(self) -> bool:
        return any(os.path.isdir(os.path.join(self._folder, name)) for name in REBASING)

    def _not_by_git_itself(self, found: list[Change], merged: str) -> list[Change]:
        """FOUND without the files that git has put together from both sides, and nobody has touched since."""
        tree = self._git.merged(HEAD, merged)
        if tree is None:
            return found
        touched = {change.path for change in changes.of_commit([self._git.changes(tree)])}
        return [change for change in found if change.path in touched]
