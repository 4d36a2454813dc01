"""Where CI reads the history of the code: in the clone, or in a temporary copy that has what the clone lacks.

A checkout of depth 1 is deepened in the copy, step by step, until the change is complete. The clone stays as it is.
"""

from __future__ import annotations

import os

from bb.kernel.errors import BbError
from bb.ledger.files import disk
from bb.ledger.git import git
from bb.ledger.travel.code_copy import DEPTHS, CodeCopy, NotFetched
from bb.ledger.travel.transport import without_password
from bb.ledger.views import commits, revisions
from bb.ledger.views.commits import Change, HistoryCut, Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from bb.ledger.git.place import Place
    from bb.ledger.git.program import Done

LARGEST_LIST = 1 << 24  # bytes of git's list of commits without parents (`shallow`)
LENGTHS = (40, 64)  # of the id of a commit


class CodeSource:
    """The code of one clone. `with CodeSource(place, remote) as code:` deletes the copy at the end.

    REMOTE is where missing history comes from if the clone names none. If MAY_FETCH is false, nothing is fetched.
    """

    def __init__(self, place: Place, remote: str | None, *, may_fetch: bool) -> None:
        self._at = place.work_tree or place.common
        self._common = place.common
        self._may_fetch = may_fetch
        self._copy = CodeCopy(place, remote)
        self._is_deepened = False
        self._entries: dict[tuple[str, str], bytes | None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._copy.close()

    def change(self, base: str, head: str) -> Change:
        """The change from BASE to HEAD."""
        named = {"--base": base, "--head": head}
        revisions.refuse_invalid(named)
        reader = Reader(self._ask, _cuts(self._common))
        found = {option: reader.commit_named(name) for option, name in named.items()}
        lacking = next((option for option, commit in found.items() if commit is None), None)
        try:
            if lacking:
                raise self._not_found(lacking, named[lacking], reader)
            return commits.between(reader, found["--base"] or "", found["--head"] or "")
        except (revisions.RevisionNotFound.error, HistoryCut.error) as refusal:
            if not self._may_fetch or self._copy.remote is None:
                raise
            return self._deepened(reader, named, found, refusal)

    def commit(self, name: str) -> Change:
        """The change by one commit of the clone."""
        revisions.refuse_invalid({"COMMIT": name})
        reader = Reader(self._ask, _cuts(self._common))
        commit = reader.commit_named(name)
        if commit is None:
            raise self._not_found("COMMIT", name, reader)
        return commits.one(reader, commit)

    def _deepened(
        self, reader: Reader, named: dict[str, str], found: dict[str, str | None], refusal: BbError
    ) -> Change:
        """The change, read in the copy. REFUSAL is why it cannot be read in the clone."""
        wanted, names = [], {}
        try:
            for option, name in named.items():
                names[option], remote = (found[option] or "", None) if found[option] else self._elsewhere(reader, name)
                wanted += [remote] if remote else []
            here = [commit for name in names.values() if (commit := reader.commit_named(revisions.root(name)))]
            wanted = [*dict.fromkeys([*wanted, *(commits.cuts_below(reader, here) if here and reader.cuts else ())])]
            if not wanted:
                raise refusal
            return self._fetched(wanted, named, names)
        except NotFetched.error as failed:
            refusal.message = f"{refusal.message}; {failed.message}"
            raise refusal from failed

    def _elsewhere(self, reader: Reader, name: str) -> tuple[str, str | None]:
        """A name in the copy for a commit that the clone does not have, and what to fetch for it."""
        root = revisions.root(name)
        rest = name[len(root) :]
        if known := reader.commit_named(root):
            return known + rest, None
        if len(root) in LENGTHS and not root.strip("0123456789abcdef") and root.strip("0"):
            return name, root
        ref = self._copy.ref_named(root)
        return (self._copy.kept(ref) + rest if ref else name), ref

    def _fetched(self, wanted: Sequence[str], named: dict[str, str], names: dict[str, str]) -> Change:
        """The change, after the copy has fetched as much as is needed. NAMES are the names in the copy."""
        for depth in (*DEPTHS, None):
            self._copy.fetch(wanted, depth)
            copied = Reader(self._copy.ask, _cuts(self._copy.path))
            found = {option: copied.commit_named(name) for option, name in names.items()}
            lacking = next((option for option, commit in found.items() if commit is None), None)
            try:
                if lacking:
                    raise self._not_found(lacking, named[lacking], copied, names[lacking])
                change = commits.between(copied, found["--base"] or "", found["--head"] or "")
            except (revisions.RevisionNotFound.error, HistoryCut.error):
                if depth is None or not copied.cuts:
                    raise
                continue
            self._is_deepened = True
            return change
        raise AssertionError("the last depth has no limit")

    def _not_found(self, option: str, name: str, reader: Reader, known_as: str | None = None) -> BbError:
        remote = self._copy.remote
        return revisions.not_found(option, name, reader, remote and without_password(remote), known_as)

    def parents(self, commit: str) -> list[str]:
        """The parents of a commit."""
        return commits.parents(self._reader, commit)

    def file_at(self, commit: str, path: str, most: int) -> bytes | None:
        """The contents of PATH in COMMIT; None if it is not a file, is too large, or cannot be had."""
        if self._entry(commit, path) is None:
            return None
        words = [commits.NO_REPLACE_OBJECTS, *git.IN_PIECES, "cat-file", "blob", f"{commit}:{path}"]
        try:
            done = self._reader.ask(words, most=most)
            if done.status != 0 and self._may_fetch:
                done = self._copy.ask(words, most=most, fetches=True)
        except git.TooMuchOutput.error:
            return None
        return done.out if done.status == 0 else None

    def is_file_missing(self, commit: str, path: str) -> bool:
        """Whether there is a file at PATH in COMMIT whose contents cannot be had. Then rules in it are unknown."""
        return self._entry(commit, path) is not None and self._size(f"{commit}:{path}") is None

    def versions(self, commit: str, path: str, most: int) -> tuple[list[bytes | None], bytes | None]:
        """The contents of PATH in each parent of COMMIT and in COMMIT: empty where it is not there, None if unknown."""
        before = commits.parents(self._reader, commit)
        return [self._content(each, path, most) for each in before] or [b""], self._content(commit, path, most)

    def makes_merge(self, commit: str) -> bool:
        """Whether git makes the same merge from the parents of COMMIT. If that cannot be told, it does not. The copy
        gets the objects that git makes for this."""
        before = commits.parents(self._reader, commit)
        if len(before) != 2:
            return False
        words = [commits.NO_REPLACE_OBJECTS, "merge-tree", "--write-tree", "--no-messages", *before]
        made = self._copy.ask(words, most=commits.MOST_SAID, fetches=self._may_fetch)
        if made.status != 0:  # a conflict, contents that are missing, or a git before 2.38
            return False
        tree = self._reader.said(["rev-parse", "--verify", f"{commit}^{{tree}}"])
        return made.out.strip() == tree.strip()

    def _content(self, commit: str, path: str, most: int) -> bytes | None:
        octets = self.file_at(commit, path, most)
        return octets if octets is not None or self._entry(commit, path) else b""

    @property
    def _reader(self) -> Reader:
        return Reader(self._copy.ask if self._is_deepened else self._ask, frozenset())

    def _entry(self, commit: str, path: str) -> bytes | None:
        """The entry of PATH in the tree of COMMIT."""
        if (commit, path) not in self._entries:
            name = os.fsdecode(path.encode("utf-8", "surrogateescape"))
            words = ["--literal-pathspecs", "ls-tree", "--full-tree", "-z", commit, "--", name]
            self._entries[commit, path] = self._reader.said(words) or None
        return self._entries[commit, path]

    def _size(self, name: str) -> int | None:
        done = self._reader.ask([commits.NO_REPLACE_OBJECTS, "cat-file", "-s", name])
        if done.status != 0 and self._may_fetch:
            done = self._copy.ask([commits.NO_REPLACE_OBJECTS, "cat-file", "-s", name], fetches=True)
        return int(done.out) if done.status == 0 else None

    def _ask(self, words: Sequence[str], given: bytes = b"", most: int | None = None) -> Done:
        # git before 2.45 has no other way to leave missing objects missing: it must not fetch into the clone.
        return git.ask(words, at=self._at, given=given, most=most, env={**os.environ, "GIT_ALLOW_PROTOCOL": "none"})


def _cuts(repository: str) -> frozenset[str]:
    """The commits whose parents are missing in a shallow repository."""
    written = disk.read_small(os.path.join(repository, "shallow"), LARGEST_LIST)
    return frozenset((written or b"").decode("ascii", "replace").split())
