"""The changes that the coming commit introduces itself, and the ignore file that applies to it.

A commit is judged by its index, not by the work tree. The index is compared with every source of its files: the parent
commit, the commits being merged and, during a rebase, the commit being replayed. A file that is the same in one of them
was committed, and judged, before.
"""

from __future__ import annotations

import os

from bb.coordination.guards import changes
from bb.ledger.files import disk
from bb.ledger.git import program
from bb.ledger.git.commit_index import CommitIndex
from bb.ledger.git.place import NoWorkTree
from bb.ledger.git.work_tree import IGNORE_FILE, LARGEST_IGNORE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from bb.coordination.guards.changes import Change
    from bb.coordination.guards.ignore_files import Ignoring
    from bb.ledger.git.place import Place

HEAD, REPLAYED = "HEAD", "REBASE_HEAD"
LARGEST_MESSAGE = 1 << 26  # bytes; it includes the diff that `git commit -v` adds
REBASING = ("rebase-merge", os.path.join("rebase-apply", "rebasing"))  # `git am` has rebase-apply without rebasing
SCISSORS = b"------------------------ >8 ------------------------"  # what follows is no part of the message


class StagedCommit:
    """The commit that is about to be made in a place, in the environment of its hooks."""

    def __init__(self, place: Place, env: Mapping[str, str]) -> None:
        if place.work_tree is None:
            raise NoWorkTree()
        index = env.get("GIT_INDEX_FILE")  # a relative path starts at the top of the work tree
        here = {"GIT_INDEX_FILE": os.path.join(place.work_tree, index)} if index else {}
        self._folder = place.git_dir
        self._git = CommitIndex(place.git_dir, {**env, **here})

    def changes(self) -> list[Change]:
        """Its changes, by path."""
        try:
            diffs = [self._git.changes(HEAD)]
        except program.GitFailed:
            if self._git.has(HEAD):
                raise
            diffs = [self._git.changes(self._git.empty_tree())]
        merged = self._merged()
        if diffs[0]:
            diffs += [self._git.changes(commit) for commit in [*merged, *self._replayed()]]
        own = changes.of_commit(diffs)
        return self._without_automatic_merges(own, merged[0]) if own and len(merged) == 1 else own

    def ignoring(self, *, ignore_case: bool) -> Ignoring:
        """The rules of the committed ignore file: a commit cannot exempt itself by changing that file."""
        from bb.coordination.guards import ignore_files  # noqa: PLC0415  (needed only when a change is refused)

        name = f"{HEAD if self._git.has(HEAD) else ''}:{IGNORE_FILE}"
        written = self._git.blob(name, LARGEST_IGNORE) if self._git.has(name) else None
        return ignore_files.read(written or b"", ignore_case=ignore_case)

    def staged_blob(self, path: str) -> str:
        """The id of a file's staged content; empty if the commit does not have the file."""
        return self._git.staged_blob(path)

    def versions(self, path: str, most: int) -> tuple[list[bytes | None], bytes | None]:
        """The contents of PATH in each commit that this one is based on, and in the index; empty where it is not
        there. None where it is larger than MOST bytes, or no file."""
        sources = [HEAD] if self._git.has(HEAD) else []
        before = [self._content(f"{source}:{path}", most) for source in [*sources, *self._merged(), *self._replayed()]]
        return before or [b""], self._content(f":{path}", most)

    def _content(self, name: str, most: int) -> bytes | None:
        try:
            return self._git.blob(name, most) if self._git.has(name) else b""
        except program.GitFailed:  # a submodule
            return None

    def sign(self, message: str, trailer: str) -> bool:
        """Add a TRAILER to the file MESSAGE; return whether it was added.

        It is not added to an empty message, or in a rebase or a cherry-pick.
        """
        is_again = self._is_rebasing() or os.path.exists(os.path.join(self._folder, "CHERRY_PICK_HEAD"))
        octets = disk.read_small(message, LARGEST_MESSAGE) or b""
        written = octets.partition(SCISSORS)[0].split(b"\n")
        if is_again or not any(line.strip() and not line.startswith(b"#") for line in written):
            return False
        if not octets.endswith(b"\n"):  # as in a merge; git would put the trailer into the first paragraph
            disk.replace(message, octets + b"\n")
        self._git.sign(message, trailer)
        return True

    def _merged(self) -> list[str]:
        """The commits that are being merged into HEAD."""
        return (disk.read_small(os.path.join(self._folder, "MERGE_HEAD")) or b"").decode("ascii", "replace").split()

    def _replayed(self) -> list[str]:
        return [REPLAYED] if self._is_rebasing() and self._git.has(REPLAYED) else []

    def _is_rebasing(self) -> bool:
        return any(os.path.exists(os.path.join(self._folder, name)) for name in REBASING)

    def _without_automatic_merges(self, found: list[Change], merged: str) -> list[Change]:
        """The changes in FOUND, without files that git has merged by itself and that were not edited since."""
        tree = self._git.merged(HEAD, merged)
        if tree is None:
            return found
        edited = {change.path for change in changes.of_commit([self._git.changes(tree)])}
        return [change for change in found if change.path in edited]
