"""The tree of the last commit with the changes of one agent only, for tests of its work."""

from __future__ import annotations

from bb.coordination.lines import own_part
from bb.ledger.files import disk
from bb.ledger.lines import own_changes, scan, uncommitted
from bb.ledger.lines.lines_store import LinesStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.git.place import Place


def tree_of(store: LinesStore, agent: str | None, now: int) -> str:
    """The id of the tree: HEAD with the changes of AGENT, or (None) with those that no agent is known to have made.

    Lines that the agent has changed together with another one are in it.
    """
    paths = own_changes.paths_of(store, agent) if agent else scan.changed(store)
    states = uncommitted.see(store, paths, now, agent or "")
    if agent is None:
        wanted = {path: own_changes.unattributed_in([state]) for path, state in states.items()}
    else:
        wanted = dict.fromkeys(states, frozenset({agent}))
        states = {
            path: state.replace(weave=own_part.taken_together(state.weave, frozenset({agent}), state.owners))
            for path, state in states.items()
        }
    return own_changes.tree_of(store, own_changes.of_owners(store, states, wanted))


def tree_without_ledger(place: Place, now: int) -> str:
    """The id of the tree of HEAD with all changes, in a repository without a ledger. Nothing is noted in it."""
    folder = disk.temporary_folder("bb-lines-")
    try:
        return tree_of(LinesStore(place, folder), None, now)
    finally:
        disk.remove_folder(folder)
