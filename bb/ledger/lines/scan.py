"""Looks at the whole work tree, before and after a shell command that may change any file."""

from __future__ import annotations

from bb.coordination.guards import changes
from bb.coordination.lines import line_diff
from bb.coordination.lines.file_state import SEEN
from bb.ledger.git import git
from bb.ledger.lines import going_commands, uncommitted, work_files
from bb.ledger.lines.look import Act

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from bb.coordination.lines.file_state import FileState
    from bb.ledger.lines.lines_store import LinesStore

MOST = 2000  # changed files in one work tree; with more of them, a command's changes stay unattributed
ALIKE = 0.5  # the part of a deleted file's lines that a new file has if the file was moved there


def changed(store: LinesStore) -> list[str]:
    """All files that differ from the last commit, and those of which changes are known."""
    by_git = changes.changed_paths(git.status_porcelain(store.place.work_tree or ""))
    known = [path for path in store.paths() if (state := store.state(path)) and state.is_changed]
    # A folder is a submodule or a nested repository.
    return sorted({path for path in [*by_git, *known] if not work_files.is_folder(store.place, path)})


def begin(store: LinesStore, agent: str, now: int, *, is_rewriting: bool) -> None:
    """A command of AGENT begins: what has changed until now is not its work."""
    paths = changed(store)
    if len(paths) <= MOST:
        with store:
            _see(store, paths, now)
            going_commands.begin(store.folder, agent, now, is_rewriting=is_rewriting)


def end(store: LinesStore, agent: str, now: int) -> list[FileState]:
    """The command of AGENT has ended; the files that it changed."""
    if not going_commands.is_going(store.folder, agent):
        return []
    try:
        with store:
            return _see(store, changed(store), now)
    finally:
        going_commands.end(store.folder, agent)


def _see(store: LinesStore, paths: Iterable[str], now: int) -> list[FileState]:
    """Look at files; those that have changed since the last look. A new file may be a deleted one that was moved."""
    named = list(paths)
    before = {path: store.state(path) for path in named}
    if None in before.values() or any(state.head != store.head for state in before.values() if state):
        store.read_bases(named)
    had_content = [path for path, state in before.items() if state is None or state.now.blob]
    gone = [path for path in had_content if not _is_there(store, path)]
    found = []
    for path in sorted(named, key=lambda path: path not in gone):
        known = before[path]
        is_new = known is None and bool(gone) and _is_there(store, path) and not store.base(path).blob
        donor = _donor(store, path, gone) if is_new else None
        state = uncommitted.look(store, path, Act(SEEN, from_path=donor), now)
        if known is None or known.now != state.now:
            found.append(state)
    return found


def _is_there(store: LinesStore, path: str) -> bool:
    return bool(work_files.read(store.place, path).mode)


def _donor(store: LinesStore, path: str, gone: Iterable[str]) -> str | None:
    """The deleted file that was probably moved to PATH."""
    octets = work_files.read(store.place, path).octets
    if not octets:
        return None
    lines = set(line_diff.split(octets))
    for other in gone:
        states = store.log(other).recent()
        last = next((state.now for state in states if state.now.blob), None) or store.base(other)
        there = set(store.lines(last))
        if there and len(there & lines) >= ALIKE * len(there):
            return other
    return None
