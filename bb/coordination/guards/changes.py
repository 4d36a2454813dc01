"""What git says has changed, as paths from the repository's root."""

from __future__ import annotations

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OURS = frozenset([".beads", ".beadboard", ".bb"])  # a tool's own files are nobody's work, wherever they lie
MOVED = "RC"  # renamed and copied: the entry is followed by the old path
SUBMODULE = "160000"


class Change(Record):
    """A path that a commit changes. A submodule is a folder, and whatever lies in it changes with it."""

    path: str
    is_submodule: bool = False


def of_commit(diffs: Sequence[bytes]) -> list[Change]:
    """What a commit changes of itself, from `git diff-index --raw -z` against each commit its files may come from.

    Where there are several, in a merge, only what differs from all of them is the commit's own doing: whatever is as
    one of them has it, somebody has committed before.
    """
    first, *others = [{change.path: change for change in _raw(octets)} for octets in diffs]
    return [change for path, change in first.items() if all(path in other for other in others)]


def _raw(octets: bytes) -> Iterator[Change]:
    """The entries `:100644 160000 <old> <new> M`, each followed by its path."""
    entries = iter(octets.decode("utf-8", "surrogateescape").split("\0"))
    for entry in entries:
        if entry.startswith(":"):
            yield Change(next(entries), SUBMODULE in entry[1:].split(" ")[:2])


def changed_paths(octets: bytes) -> list[str]:
    """The paths in `git status --porcelain=v1 -z -uall`; both sides of what was renamed."""
    return [path for _, path in changed(octets)]


def changed(octets: bytes) -> list[tuple[bool, str]]:
    """The same, each path with whether git tracks it."""
    return [(is_tracked, path) for is_tracked, path in _paths(octets) if OURS.isdisjoint(path.split("/"))]


def _paths(octets: bytes) -> Iterator[tuple[bool, str]]:
    entries = iter(octets.decode("utf-8", "surrogateescape").split("\0"))
    for entry in entries:
        if len(entry) < 4 or entry[2] != " " or entry[:2] == "!!":
            continue
        is_tracked = entry[:2] != "??"
        yield is_tracked, entry[3:]
        if (entry[0] in MOVED or entry[1] in MOVED) and (before := next(entries, "")):
            yield is_tracked, before
