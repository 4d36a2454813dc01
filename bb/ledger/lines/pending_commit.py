"""The commit that is being put on the branch: a note for whoever comes after a process that was killed meanwhile.

The note is written before the new index is put into git's lock, and removed when the index is in its place. If it is
still there, either the branch has the commit, and the index has to follow it, or nothing has happened.
"""

from __future__ import annotations

import os

from bb.coordination.lines import line_diff, staged
from bb.coordination.lines.authorship import is_binary
from bb.kernel import json_text
from bb.kernel.errors import BbError
from bb.ledger.files import disk
from bb.ledger.git import git, object_ids, real_index
from bb.ledger.git.loose_objects import LooseObjects
from bb.ledger.lines import work_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.ledger.git.trees import Entry
    from bb.ledger.lines.change_set import OwnChanges
    from bb.ledger.lines.lines_store import LinesStore

NOTE = "commit.json"


def prepare(store: LinesStore, commit: str, changes: OwnChanges) -> None:
    """Lock git's index, make the one that belongs to COMMIT, and write the note."""
    real_index.lock(store.place)
    try:
        now = real_index.staged(store.place, list(changes.entries))
        wanted = {path: _restaged(store, changes, path, now.get(path)) for path in changes.entries}
        changed = {path: entry for path, entry in wanted.items() if entry != now.get(path)}
        real_index.prepare(store.place, changed, store.id_length, lambda lock: _note(store, commit, lock))
    except BaseException:
        real_index.unlock(store.place, is_done=False)
        raise


def _note(store: LinesStore, commit: str, lock: Sequence[int]) -> None:
    text = json_text.dumps({"commit": commit, "lock": list(lock)})
    disk.replace(os.path.join(store.folder, NOTE), text.encode(), durable=True)


def end(store: LinesStore, *, is_made: bool) -> None:
    """The branch has moved to the commit, or (not IS_MADE) it has not."""
    real_index.unlock(store.place, is_done=is_made)
    disk.remove_if_there(os.path.join(store.folder, NOTE))


def finish(store: LinesStore) -> None:
    """End what a killed process began. The caller holds the lock of the lines, so no such process still runs."""
    real_index.remove_left_lock(store.place)
    path = os.path.join(store.folder, NOTE)
    if not os.path.exists(path):
        return
    commit, lock = _read(path)
    if commit and lock == real_index.identity(real_index.lock_path(store.place)):
        real_index.unlock(store.place, is_done=_is_on_branch(store, commit))
    disk.remove_if_there(path)


def _is_on_branch(store: LinesStore, commit: str) -> bool:
    if store.head == commit:
        return True
    return git.ask(["merge-base", "--is-ancestor", commit, "HEAD"], git_dir=store.place.git_dir).status == 0


def _restaged(store: LinesStore, changes: OwnChanges, path: str, now: Entry | None) -> Entry | None:
    """What the index says of a committed file, if it said NOW before. What others have staged stays staged."""
    state, after = changes.states[path], changes.entries[path]
    before = (state.base.mode, state.base.blob) if state.base.mode else None
    if now in (before, after) or state.owners <= changes.wanted[path]:  # then nobody else can have staged anything
        return after
    if state.is_whole and after is not None:  # what is staged is an earlier version of all that is committed
        return after
    if now is None or after is None or now[0] not in (work_files.FILE, work_files.PROGRAM):
        return now
    octets = store.content(now[1])
    if is_binary(octets):
        return now
    lines = staged.after_commit(
        state.weave, store.lines(state.base), store.lines(state.now), line_diff.split(octets), changes.wanted[path]
    )
    mode = after[0] if before and now[0] == before[0] else now[0]
    return mode, LooseObjects(store.place.common, store.id_length).keep("blob", b"".join(lines))


def _read(path: str) -> tuple[str, list[int]]:
    try:
        found: Any = json_text.read(disk.read_small(path) or b"")
        commit, lock = found["commit"], found["lock"]
    except (ValueError, TypeError, KeyError, BbError):
        return "", []
    return (commit, lock) if object_ids.is_object_id(commit) and isinstance(lock, list) and lock else ("", [])
