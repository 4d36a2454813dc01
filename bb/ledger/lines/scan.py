"""Looks at the whole work tree, before and after a shell command that may change any file."""

from __future__ import annotations

import os

from bb.coordination.guards import changes
from bb.coordination.lines.file_state import ENDED, SEEN
from bb.ledger.git import git
from bb.ledger.lines import going_commands, moves, work_files
from bb.ledger.lines.act import Act

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.coordination.lines.file_state import FileState
    from bb.ledger.lines.going_commands import Command
    from bb.ledger.lines.lines_store import LinesStore

MOST = 2000  # changed files in one work tree; with more of them, a command's changes stay unattributed


def changed(store: LinesStore) -> list[str]:
    """All files that differ from the last commit, and those of which changes are known."""
    by_git = changes.changed_paths(git.status_porcelain(store.place.work_tree or ""))
    known = [path for path in store.paths() if (state := store.state(path)) and state.is_changed]
    # A folder is a submodule or a nested repository. The folder of a submodule may be gone.
    found = {path for path in [*by_git, *known] if not work_files.is_folder(store.place, path)}
    gone = sorted(path for path in found if not os.path.lexists(work_files.full_path(store.place, path)))
    links = work_files.entries(store.place, store.head, gone)
    return sorted(path for path in found if path not in links or links[path].mode != work_files.SUBMODULE)


def begin(store: LinesStore, agent: str, command: Command) -> None:
    """A command of AGENT begins: what has changed until now is not its work."""
    paths = changed(store) if command.is_open else []
    if len(paths) <= MOST:
        with store:
            moves.looks(store, paths, lambda _: Act(SEEN), command.at)
            going_commands.begin(store.folder, agent, command.replace(head=store.head))


def end(store: LinesStore, agent: str, now: int) -> list[FileState]:
    """The command of AGENT has ended; the files that it changed."""
    command = going_commands.read(store.folder, agent)
    if command is None:
        return []
    ended, seen = Act(ENDED, agent, command_of=agent), Act(SEEN, command_of=agent)
    try:
        with store:
            paths = [*command.paths, *(changed(store) if command.is_open else ())]
            return moves.looks(store, paths, lambda path: ended if path in command.paths else seen, now)
    finally:
        going_commands.end(store.folder, agent)
