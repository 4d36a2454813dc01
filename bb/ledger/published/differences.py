"""Which files commits change, found out folder by folder.

git goes through a tree as deep as it is, and keeps all it finds until it is done: of two kilobytes that repeat
themselves it makes a billion paths. So it is asked about one level after the other, each folder once however often it
occurs, and only about folders that a ledger has.
"""

from __future__ import annotations

from bb.ledger.git import git
from bb.ledger.published import bounds, layout
from bb.ledger.published.charter import NotALedger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bb.ledger.published.layout import Change

    Pair = tuple[bytes, bytes]  # a folder before and after
    Ask = Callable[[list[str], bytes], bytes]
    Entry = tuple[bytes, bytes]  # what git says of a change, and its name

AT_ONCE = 2048  # commits
DEEPEST = 200  # folders, one in the other, of any repository
LEVELS = {b"w": 3, b"snap": 2, b"archive": 1}  # of folders, one in the other
FOLDER = b"040000"
LONGEST_NAME = 255  # bytes
# A tree with nothing in it, which git knows without having it, by how long names of objects are.
EMPTY = {40: b"4b825dc642cb6eb9a060e54bf8d69288fbee4904"}
EMPTY[64] = b"6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
HOW = ("diff-tree", "--stdin", "-z", "--no-renames", "--always", "--root")


def of(git_dir: str, commits: Sequence[str]) -> Iterator[tuple[str, list[Change]]]:
    """What each of COMMITS changes, one after the other."""
    for start in range(0, len(commits), AT_ONCE):
        several = commits[start : start + AT_ONCE]
        try:
            found = _Changes(git_dir, several)
        except git.SaidTooMuch:
            for name in several:
                yield name, _alone(git_dir, name).of(name)
        else:
            for name in several:
                yield name, found.of(name)


def _alone(git_dir: str, name: str) -> _Changes:
    try:
        return _Changes(git_dir, [name])
    except git.SaidTooMuch as error:
        raise _too_large(name) from error


def _too_large(name: str) -> bounds.LedgerTooLarge:
    return bounds.LedgerTooLarge(f"commit {name[:12]} changes more files than a ledger has")


def many(ask: Ask, commits: Sequence[str], most: int) -> bool:
    """Whether COMMITS change more than MOST paths in any folders whatever; ASK asks git. Nothing is asked that git
    would need more memory for than the folders themselves take."""
    roots = _read(ask([*HOW, "-m"], b"".join(each.encode() + b"\n" for each in commits)), None)
    inside: dict[Pair, tuple[int, list[Pair]]] = {}  # files that differ in a folder, and folders that do
    tops = [_counted(entries) for entries in roots.values()]
    wanted = {pair for _, pairs in tops for pair in pairs}
    for _ in range(DEEPEST):
        if not wanted:
            break
        asked = {b" ".join(pair): pair for pair in wanted}
        found = _read(ask(list(HOW), b"".join(name + b"\n" for name in asked)), None)
        inside |= {pair: _counted(found.get(name, ())) for name, pair in asked.items()}
        wanted = {pair for each in wanted for pair in inside[each][1]} - inside.keys()
    known: dict[Pair, int] = {}
    return bool(wanted) or sum(files + _within(pairs, inside, known, most) for files, pairs in tops) > most


def _counted(entries: Sequence[Entry]) -> tuple[int, list[Pair]]:
    pairs = [pair for about, _ in entries if (pair := _pair(about, is_strict=False))]
    return len(entries), pairs


def _within(
    pairs: Sequence[Pair], inside: Mapping[Pair, tuple[int, list[Pair]]], known: dict[Pair, int], most: int
) -> int:
    """How many paths differ in folders and all that lies in them; each folder is gone through once."""
    total = 0
    for pair in pairs:
        if pair not in known:
            files, deeper = inside[pair]
            known[pair] = min(files + _within(deeper, inside, known, most), most + 1)
        total += known[pair]
    return total


class _Changes:
    """What some commits change, level by level."""

    def __init__(self, git_dir: str, commits: Sequence[str]) -> None:
        self._git_dir = git_dir
        self._roots = self._asked([name.encode() for name in commits])
        self._folders: dict[Pair, list[Entry]] = {}
        wanted = {pair for entries in self._roots.values() for pair in _folders_of(entries)}
        for _ in range(max(LEVELS.values())):  # what lies deeper is refused when the paths are put together
            if wanted:
                self._folders |= self._compared(wanted)
                inside = {pair for each in wanted for pair in _folders_of(self._folders[each])}
                wanted = inside - self._folders.keys()

    def of(self, name: str) -> list[Change]:
        """The files that a commit changes."""
        found: list[Change] = []
        for about, path in self._roots[name.encode()]:
            self._gather(name, about, path, LEVELS.get(path, 0), found)
        return found

    def _gather(self, name: str, about: bytes, path: bytes, levels: int, found: list[Change]) -> None:
        pair = _pair(about)
        if pair is None:
            found.append(layout.change_of(about, path))
            if len(found) > bounds.MOST_FILES:
                raise _too_large(name)
        elif levels:
            for inner, inside in self._folders[pair]:
                self._gather(name, inner, path + b"/" + inside, levels - 1, found)
        else:
            raise NotALedger(f"{path[:200].decode('utf-8', 'backslashreplace')!r} has no place in a ledger")

    def _asked(self, names: Sequence[bytes]) -> dict[bytes, list[Entry]]:
        listed = git.output(
            HOW, git_dir=self._git_dir, given=b"".join(each + b"\n" for each in names), most=bounds.MOST_SAID
        )
        found = _read(listed, LONGEST_NAME)
        if found.keys() != set(names):
            raise NotALedger("an object of the branch is missing, or is no folder")
        return found

    def _compared(self, pairs: set[Pair]) -> dict[Pair, list[Entry]]:
        asked = {b" ".join(pair): pair for pair in pairs}
        return {asked[name]: entries for name, entries in self._asked(list(asked)).items()}


def _folders_of(entries: Sequence[Entry]) -> Iterator[Pair]:
    for about, _ in entries:
        if pair := _pair(about):
            yield pair


def _pair(about: bytes, *, is_strict: bool = True) -> Pair | None:
    """The folder that a change is about, before and after; None where it is about a file."""
    old_mode, mode, old, new, _ = about[1:].split(b" ")
    if FOLDER not in (old_mode, mode):
        return None
    if is_strict and not {old_mode, mode} <= {FOLDER, layout.NO_FILE}:
        raise NotALedger("a folder has become a file, or a file a folder")
    nothing = EMPTY[len(new)]
    return (old if old_mode == FOLDER else nothing, new if mode == FOLDER else nothing)


def _read(listed: bytes, longest: int | None) -> dict[bytes, list[Entry]]:
    """What git lists: the name of what it was asked about, and its changes. Behind the name of a commit there is a
    zero, and behind those of two folders a line feed."""
    found: dict[bytes, list[Entry]] = {}
    current: list[Entry] = []
    entries = iter(listed.split(b"\0"))
    for entry in entries:
        names, mark, about = entry.rpartition(b":")
        for name in (names if mark else entry).split(b"\n"):
            if name:
                current = found.setdefault(name, [])
        if mark:
            path = next(entries, b"")
            if longest and len(path) > longest:
                raise NotALedger("a name on that branch is longer than any of a ledger")
            current.append((b":" + about, path))
    return found
