"""What a commit of another agent changed in a file in which one has uncommitted lines, as a few words."""

from __future__ import annotations

from bb.coordination.lines.symbol_changes import changed_symbols
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST = 3  # symbols named of each kind
LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
ONLY_WORDS = bytes(octet if octet in LETTERS or octet > 127 else 32 for octet in range(256))


class WhatChanged(Record):
    """The symbols that were RENAMED (old and new name), REMOVED, and otherwise MOVED or CHANGED; and those of them that
    one's own lines USE."""

    renamed: tuple[tuple[str, str], ...] = ()
    removed: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    used: tuple[str, ...] = ()


def between(path: str, old: bytes, new: bytes, own: Iterable[bytes]) -> WhatChanged:
    """What changed from OLD to NEW, for the agent whose uncommitted lines are OWN."""
    found = changed_symbols(path, old, new)
    words = {word for line in own for word in line.translate(ONLY_WORDS).split()}
    touched = [*(name for name, _ in found.renamed), *found.removed, *found.changed]
    used = [name for name in dict.fromkeys(touched) if _last(name) in words]
    pairs = dict(found.renamed)
    return WhatChanged(
        tuple((name, pairs[name]) for name in _first(pairs, used)),
        _first(found.removed, used),
        _first(found.moved, used),
        _first(found.changed, used),
        tuple(used[:MOST]),
    )


def _first(names: Iterable[str], used: Sequence[str]) -> tuple[str, ...]:
    """The first of the names; those that are used come before the others."""
    return tuple(sorted(names, key=lambda name: name not in used)[:MOST])


def _last(name: str) -> bytes:
    """The name by which code calls a symbol."""
    return name.rpartition(".")[2].encode("utf-8", "surrogateescape")
