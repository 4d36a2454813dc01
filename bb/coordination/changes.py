"""What git says has changed, as paths from the repository's root."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

OURS = frozenset([".beads", ".beadboard", ".bb"])  # a tool's own files are nobody's work, wherever they lie
MOVED = "RC"  # renamed and copied: the entry is followed by the old path


def changed_paths(octets: bytes) -> list[str]:
    """The paths in `git status --porcelain=v1 -z -uall`; both sides of what was renamed."""
    return [path for path in _paths(octets) if OURS.isdisjoint(path.split("/"))]


def _paths(octets: bytes) -> Iterator[str]:
    entries = iter(octets.decode("utf-8", "surrogateescape").split("\0"))
    for entry in entries:
        if len(entry) < 4 or entry[2] != " " or entry[:2] == "!!":
            continue
        yield entry[3:]
        if (entry[0] in MOVED or entry[1] in MOVED) and (before := next(entries, "")):
            yield before
