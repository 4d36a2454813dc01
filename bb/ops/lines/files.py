"""The files that a command about uncommitted lines is about, and what is said of one."""

from __future__ import annotations

import os

from bb.coordination.lines import own_part
from bb.coordination.lines import weave as weaves
from bb.kernel.errors import NotFound
from bb.kernel.escaping import name
from bb.ledger.git import work_tree
from bb.ledger.git.place import NoWorkTree
from bb.ledger.lines import scan, work_files
from bb.ledger.lines.lines_store import LinesStore
from bb.ops.params import UncheckedText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from bb.coordination.lines.file_state import FileState
    from bb.ops.desk.desk import Desk

NoSuchFile = NotFound.declare(
    "FILE_NOT_FOUND",
    "There is no such file, neither in the work tree nor in the last commit",
    hint="check the path; it is relative to the current directory",
)


class File(UncheckedText):
    """A file, or a directory for all changed files in it."""

    metavar = "PATH"


class UncommittedAgent(UncheckedText):
    """Only changes of this agent. `-` stands for changes that no agent is known to have made."""

    metavar = "ID"
    is_agent = True


def store_of(desk: Desk) -> LinesStore:
    """The uncommitted lines of the caller's work tree. Without a ledger, nothing is kept of a repository."""
    if desk.place.work_tree is None:
        raise NoWorkTree()
    desk.store.require_ledger()
    return LinesStore(desk.place)


def paths(desk: Desk, store: LinesStore, written: Sequence[str]) -> list[str]:
    """The files that the texts WRITTEN name. A directory stands for the changed files in it."""
    found: list[str] = []
    for text in written:
        path = path_of(desk, text)
        if path == "." or os.path.isdir(os.path.join(desk.place.work_tree or "", path)):
            found += [one for one in scan.changed(store) if path == "." or one.startswith(f"{path}/")]
        else:
            if not (exists(desk, path) or store.state(path) or store.base(path).mode):
                raise NoSuchFile(f"there is no file {name(path)}", path=path)
            found.append(path)
    return list(dict.fromkeys(found))


def path_of(desk: Desk, text: str) -> str:
    """The path that TEXT names, relative to the root of the work tree."""
    scope = work_tree.scope_of(desk.place, desk.cwd, text, is_path=True, is_exact=True)
    return scope.path or scope.text


def files_to_edit(desk: Desk, written: Sequence[str]) -> list[str]:
    """The files that the texts WRITTEN name. They need not exist yet. A folder may be named with files in it, because a
    file will take its place."""
    found = [path_of(desk, text) for text in written]
    for path in found:
        if work_files.is_folder(desk.place, path) and not any(other.startswith(f"{path}/") for other in found):
            raise work_files.NotAFile(f"{name(path)} is a folder", path=path)
    return found


def exists(desk: Desk, path: str) -> bool:
    return os.path.lexists(os.path.join(desk.place.work_tree or "", path))


def row(state: FileState) -> dict[str, Any]:
    """What is said of one file: who has changed how many of its lines. `agent_id` is null if no agent is known."""
    changes_by_owners: dict[tuple[str, ...], list[int]] = {}
    for run in state.weave:
        if run.owners:
            count = changes_by_owners.setdefault(names_of(run.owners), [0, 0])
            count[run.kind == weaves.DELETED] += run.count
    rows = [
        {"agents": list(owners), "added": added, "deleted": deleted}
        for owners, (added, deleted) in sorted(changes_by_owners.items())
    ]
    answer: dict[str, Any] = {"path": state.path, "change": _kind(state), "lines": rows}
    if state.mode_owner:
        answer["mode"] = {"from": state.base.mode or None, "to": state.now.mode or None}
        answer["mode"]["agents"] = list(names_of((state.mode_owner,)))
    if state.is_whole:
        answer["is_binary"] = True
    return answer


def _kind(state: FileState) -> str:
    if not state.base.mode:
        return "new" if state.now.mode else "none"
    return "deleted" if not state.now.mode else "changed" if state.is_changed else "none"


def names_of(owners: Iterable[str]) -> tuple[str, ...]:
    """The agents among OWNERS; none of them stands for a change that no agent is known to have made."""
    return tuple(sorted(owner for owner in owners if not weaves.is_unattributed(owner)))


def own_counts(state: FileState, who: str) -> tuple[int, int]:
    return own_part.counts(state.weave, frozenset({who}))
