"""The files that commits change, read folder by folder.

git walks a tree to its full depth and keeps every path in memory, so two repetitive kilobytes become a billion paths.
Therefore git is asked about one level at a time, about each distinct folder once, and only about folders that a ledger
can have.
"""

from __future__ import annotations

import os

from bb.ledger.git import git
from bb.ledger.published import bounds, layout
from bb.ledger.published.charter import NotALedger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bb.kernel.errors import BbError
    from bb.ledger.published.layout import Change

    Pair = tuple[bytes, bytes]  # a folder before and after
    Ask = Callable[[list[str], bytes], bytes]
    Compare = Callable[[Sequence[bytes]], bytes]  # git's list of changes for commits and pairs of folders
    Entry = tuple[bytes, bytes]  # git's description of a change, and its file name

AT_ONCE = 2048  # commits
FEW = 30  # requests: they fit into the buffer of any pipe, so git can be asked again and again without a deadlock
DEEPEST = 200  # nested folders in any repository
LEVELS = {b"w": 3, b"snap": 2, b"archive": 1}  # nested folders
FOLDER = b"040000"
LONGEST_NAME = 255  # bytes
# The empty tree, which git knows without storing it, by length of object names.
EMPTY = {40: b"4b825dc642cb6eb9a060e54bf8d69288fbee4904"}
EMPTY[64] = b"6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
HOW = ("diff-tree", "--stdin", "-z", "--no-renames", "--always", "--root")


def changed_files(git_dir: str, commits: Sequence[str]) -> Iterator[tuple[str, list[Change]]]:
    """The files that each of COMMITS changes, commit by commit."""
    for start in range(0, len(commits), AT_ONCE):
        batch = commits[start : start + AT_ONCE]
        try:
            changes = _all_of(git_dir, batch)
        except git.TooMuchOutput.error:
            for name in batch:
                yield name, _alone(git_dir, name).of(name)
        else:
            for name in batch:
                yield name, changes.of(name)


def _all_of(git_dir: str, commits: Sequence[str]) -> _Changes:
    """The changes of COMMITS. One git process is enough for a few commits, which most syncs bring."""
    if len(commits) > FEW:
        return _Changes(_at_once(git_dir), commits)
    with _Comparison(git_dir) as one_process:
        return _Changes(one_process.of, commits)


def _alone(git_dir: str, name: str) -> _Changes:
    try:
        return _Changes(_at_once(git_dir), [name])
    except git.TooMuchOutput.error as error:
        raise _too_large(name) from error


def _too_large(name: str) -> BbError:
    return bounds.LedgerTooLarge(f"commit {name[:12]} changes more files than a ledger can have")


def changes_more_than(ask: Ask, commits: Sequence[str], most: int) -> bool:
    """Whether COMMITS change more than MOST paths, in any folder; ASK runs git. git never needs more memory for this
    than the folders themselves take."""
    roots = _read(ask([*HOW, "-m"], b"".join(commit.encode() + b"\n" for commit in commits)), None)
    inside: dict[Pair, tuple[int, list[Pair]]] = {}  # number of differing entries in a folder, and differing subfolders
    tops = [_counted(entries) for entries in roots.values()]
    unread = {pair for _, pairs in tops for pair in pairs}
    for _ in range(DEEPEST):
        if not unread:
            break
        by_name = {b" ".join(pair): pair for pair in unread}
        compared = _read(ask(list(HOW), b"".join(name + b"\n" for name in by_name)), None)
        inside |= {pair: _counted(compared.get(name, ())) for name, pair in by_name.items()}
        unread = {pair for folder in unread for pair in inside[folder][1]} - inside.keys()
    measured: dict[Pair, int] = {}
    return bool(unread) or sum(files + _within(pairs, inside, measured, most) for files, pairs in tops) > most


def _counted(entries: Sequence[Entry]) -> tuple[int, list[Pair]]:
    pairs = [pair for about, _ in entries if (pair := _pair(about, is_strict=False))]
    return len(entries), pairs


def _within(
    pairs: Sequence[Pair], inside: Mapping[Pair, tuple[int, list[Pair]]], known: dict[Pair, int], most: int
) -> int:
    """The number of paths that differ in these folders and below. Each folder is walked once."""
    total = 0
    for pair in pairs:
        if pair not in known:
            files, deeper = inside[pair]
            known[pair] = min(files + _within(deeper, inside, known, most), most + 1)
        total += known[pair]
    return total


def _at_once(git_dir: str) -> Compare:
    """Compares any number of things, with a process for each call."""

    def compare(names: Sequence[bytes]) -> bytes:
        given = b"".join(name + b"\n" for name in names)
        return git.output(HOW, git_dir=git_dir, given=given, most=bounds.MAX_GIT_OUTPUT)

    return compare


class _Comparison(git.Conversation):
    """`git diff-tree`, asked several times. It repeats a line that names no object, and then prints at once."""

    def __init__(self, git_dir: str) -> None:
        super().__init__(HOW, git_dir=git_dir)
        self._at_once = _at_once(git_dir)
        self._mark = b"%s?\n" % os.urandom(8).hex().encode()  # no file name on the branch can contain it

    def of(self, names: Sequence[bytes]) -> bytes:
        """git's list of changes for NAMES."""
        if len(names) > FEW:
            return self._at_once(names)
        self.write(b"".join(name + b"\n" for name in names) + self._mark)
        return self.read_until(self._mark, bounds.MAX_GIT_OUTPUT)


class _Changes:
    """The changes of some commits, read level by level."""

    def __init__(self, compare: Compare, commits: Sequence[str]) -> None:
        self._compare = compare
        self._roots = self._asked([name.encode() for name in commits])
        self._folders: dict[Pair, list[Entry]] = {}
        unread = {pair for entries in self._roots.values() for pair in _folders_of(entries)}
        for _ in range(max(LEVELS.values())):  # deeper folders are refused when the paths are assembled
            if unread:
                self._folders |= self._compared(unread)
                inside = {pair for folder in unread for pair in _folders_of(self._folders[folder])}
                unread = inside - self._folders.keys()

    def of(self, name: str) -> list[Change]:
        """The files that a commit changes."""
        changes: list[Change] = []
        for about, path in self._roots[name.encode()]:
            self._gather(name, about, path, LEVELS.get(path, 0), changes)
        return changes

    def _gather(self, name: str, about: bytes, path: bytes, levels: int, changes: list[Change]) -> None:
        pair = _pair(about)
        if pair is None:
            changes.append(layout.change_of(about, path))
            if len(changes) > bounds.MOST_FILES:
                raise _too_large(name)
        elif levels:
            for inner, inside in self._folders[pair]:
                self._gather(name, inner, path + b"/" + inside, levels - 1, changes)
        else:
            raise NotALedger(f"{path[:200].decode('utf-8', 'backslashreplace')!r} does not belong in a ledger")

    def _asked(self, names: Sequence[bytes]) -> dict[bytes, list[Entry]]:
        changes = _read(self._compare(names), LONGEST_NAME)
        if changes.keys() != set(names):
            raise NotALedger("an object of the branch is missing, or is not a folder")
        return changes

    def _compared(self, pairs: set[Pair]) -> dict[Pair, list[Entry]]:
        by_name = {b" ".join(pair): pair for pair in pairs}
        return {by_name[name]: entries for name, entries in self._asked(list(by_name)).items()}


def _folders_of(entries: Sequence[Entry]) -> Iterator[Pair]:
    for about, _ in entries:
        if pair := _pair(about):
            yield pair


def _pair(about: bytes, *, is_strict: bool = True) -> Pair | None:
    """The folder that changed, before and after; None if a file changed."""
    old_mode, mode, old, new, _ = about[1:].split(b" ")
    if FOLDER not in (old_mode, mode):
        return None
    if is_strict and not {old_mode, mode} <= {FOLDER, layout.NO_FILE}:
        raise NotALedger("a folder was replaced by a file, or a file by a folder")
    nothing = EMPTY[len(new)]
    return (old if old_mode == FOLDER else nothing, new if mode == FOLDER else nothing)


def _read(listed: bytes, longest: int | None) -> dict[bytes, list[Entry]]:
    """Parse git's list: each commit or pair of folders with its changes. The name of a commit ends with a NUL, the
    names of two folders end with a line feed."""
    changes: dict[bytes, list[Entry]] = {}
    current: list[Entry] = []
    entries = iter(listed.split(b"\0"))
    for entry in entries:
        names, mark, about = entry.rpartition(b":")
        for name in (names if mark else entry).split(b"\n"):
            if name:
                current = changes.setdefault(name, [])
        if mark:
            path = next(entries, b"")
            if longest and len(path) > longest:
                raise NotALedger("a file name on that branch is longer than a ledger can have")
            current.append((b":" + about, path))
    return changes
