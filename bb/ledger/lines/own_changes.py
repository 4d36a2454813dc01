"""The changes of some owners as git stores them: which files they change in HEAD's tree, and to what."""

from __future__ import annotations

from bb.coordination.lines import own_part
from bb.coordination.lines.weave import is_unattributed
from bb.ledger.git import git, trees
from bb.ledger.git.loose_objects import LooseObjects
from bb.ledger.lines import going_commands, uncommitted, work_files
from bb.ledger.lines.change_set import OwnChanges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bb.coordination.lines.file_state import FileState
    from bb.ledger.git.trees import Entry
    from bb.ledger.lines.lines_store import LinesStore


def of_owners(store: LinesStore, states: Mapping[str, FileState], wanted: Mapping[str, frozenset[str]]) -> OwnChanges:
    """The changes of the owners that are WANTED of each file of STATES. Their contents are put into git's store."""
    entries: dict[str, Entry | None] = {}
    for path, state in states.items():
        lines = [[], []] if state.is_whole else [store.lines(state.base), store.lines(state.now)]
        part = own_part.part(state, wanted[path], *lines)
        if part is None:
            continue
        entry = (part.mode, _blob(store, state, part)) if part.mode else None
        if entry != ((state.base.mode, state.base.blob) if state.base.mode else None):
            entries[path] = entry
    return OwnChanges(store.head, entries, states, wanted)


def _blob(store: LinesStore, state: FileState, part: own_part.Part) -> str:
    if part.lines is not None:
        return LooseObjects(store.place.common, store.id_length).keep("blob", b"".join(part.lines))
    octets = store.contents.read(state.now.blob)
    if octets is None:  # the file is too large to be kept
        path = work_files.full_path(store.place, state.path)
        return git.run(["hash-object", "-w", "--", path], at=store.place.work_tree).strip()
    return LooseObjects(store.place.common, store.id_length).keep("blob", octets)


def with_changes_by_hooks(
    store: LinesStore, changes: OwnChanges, differing: Mapping[str, Entry | None], now: int
) -> OwnChanges:
    """CHANGES if hooks have changed the files DIFFERING in the commit. They are taken whole."""
    states = {
        **changes.states,
        **uncommitted.see(store, [path for path in differing if path not in changes.states], now),
    }
    wanted = {**changes.wanted, **{path: states[path].owners for path in differing}}
    return changes.replace(
        entries={**changes.entries, **differing}, states=states, wanted=wanted, by_hooks=frozenset(differing)
    )


def tree_of(store: LinesStore, changes: OwnChanges) -> str:
    """The id of the tree of HEAD with CHANGES."""
    return trees.changed(store.place, changes.head, changes.entries, store.id_length)


def paths_of(store: LinesStore, agent: str) -> list[str]:
    """The files that may have changes of AGENT."""
    states = ((path, store.state(path)) for path in store.paths())
    command = going_commands.read(store.folder, agent)
    if command and command.is_open:  # it may have changed any file
        return [path for path, state in states if state]
    return [path for path, state in states if state and (agent in state.owners or agent in state.editing)]


def unattributed_in(states: Iterable[FileState]) -> frozenset[str]:
    """The marks of unattributed changes in STATES."""
    return frozenset(owner for state in states for owner in state.owners if is_unattributed(owner))
