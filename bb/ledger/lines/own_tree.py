"""The tree of the last commit with the changes of one agent only, for tests of its work."""

from __future__ import annotations

from bb.coordination.lines import own_part
from bb.ledger.lines import own_changes, scan, uncommitted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.lines.lines_store import LinesStore


def tree_of(store: LinesStore, agent: str | None, now: int) -> str:
    """The id of the tree: HEAD with the changes of AGENT, or (None) with those that no agent is known to have made.

    Lines that the agent has changed together with another one are in it.
    """
    paths = own_changes.paths_of(store, agent) if agent else scan.changed(store)
    states = uncommitted.see(store, paths, now)
    if agent is None:
        wanted = {path: own_changes.unattributed_in([state]) for path, state in states.items()}
    else:
        wanted = dict.fromkeys(states, frozenset({agent}))
        states = {
            path: state.replace(weave=own_part.taken_together(state.weave, frozenset({agent}), state.owners))
            for path, state in states.items()
        }
    return own_changes.tree_of(store, own_changes.of_owners(store, states, wanted))
