"""Looks at several files that one edit or command may have changed, and finds those that it has moved.

A new file that has most lines of a file that is gone was moved there, so uncommitted lines of others keep their owners.
"""

from __future__ import annotations

from bb.coordination.lines import line_diff
from bb.ledger.lines import uncommitted, work_files
from bb.ledger.lines.lines_store import ContentLost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bb.coordination.lines.file_state import FileState
    from bb.ledger.lines.act import Act
    from bb.ledger.lines.lines_store import LinesStore

ALIKE = 0.5  # the part of a file's lines that a new file has if the file was moved there


def looks(store: LinesStore, paths: Iterable[str], act: Callable[[str], Act], now: int) -> list[FileState]:
    """Look at files, each with its act; the states of those whose content has changed."""
    with store:
        named = list(dict.fromkeys(paths))
        before = {path: store.state(path) for path in named}
        if None in before.values() or any(state.head != store.head for state in before.values() if state):
            store.read_bases(named)
        had_content = [path for path, state in before.items() if state is None or state.now.blob]
        gone = [path for path in had_content if not _is_there(store, path)]
        found = []
        for path in sorted(named, key=lambda path: path not in gone):  # first what is gone, then what came of it
            known = before[path]
            is_new = bool(gone) and not (known and known.now.blob) and _is_there(store, path)
            donor = _donor(store, path, gone) if is_new and not store.base(path).blob else None
            state = uncommitted.look(store, path, act(path).replace(from_path=donor), now)
            if known is None or known.now != state.now:
                found.append(state)
        return found


def _is_there(store: LinesStore, path: str) -> bool:
    return bool(work_files.read(store.place, path).mode)


def _donor(store: LinesStore, path: str, gone: Sequence[str]) -> str | None:
    """The file among those that are GONE that was probably moved to PATH."""
    octets = work_files.read(store.place, path).octets
    lines = set(line_diff.split(octets)) if octets else set()
    for other in gone if lines else ():
        states = store.log(other).recent()
        last = next((state.now for state in states if state.now.blob), None) or store.base(other)
        try:
            there = set(store.lines(last))
        except ContentLost.error:
            continue
        if there and len(there & lines) >= ALIKE * len(there):
            return other
    return None
