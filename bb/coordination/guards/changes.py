"""Parsers for git's lists of changed paths, relative to the repository's root."""

from __future__ import annotations

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OURS = frozenset([".beads", ".beadboard", ".bb"])  # folders of tools: their files are not checked, at any depth
MOVED = "RC"  # renamed or copied: the old path follows the entry
SUBMODULE = "160000"


class Change(Record):
    """A path that a commit changes. A submodule is a folder; everything in it changes with it."""

    path: str
    is_submodule: bool = False


def of_commit(diffs: Sequence[bytes]) -> list[Change]:
    """The commit's own changes, from `git diff-index --raw -z` against each parent.

    In a merge, only paths that differ from all parents are the commit's own changes. The others were committed before.
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
    """The paths in `git status --porcelain=v1 -z -uall`, with the old and the new path of a rename."""
    return [path for _, path in changed(octets)]


def changed(octets: bytes) -> list[tuple[bool, str]]:
    """The same paths, each with a flag whether git tracks it."""
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
