"""What state the work on a bead is in, as people are shown it.

The first that holds, read from the top: what is closed is completed whatever else is true of it, and what needs an
answer is shown as that even when its owner has gone.
"""

from __future__ import annotations

from bb.coordination.agents import liveness
from bb.coordination.agents.beads import IN_PROGRESS

COMPLETED, NEEDS_INPUT, EVICTED, STALE, ACTIVE, DECIDING = (
    "completed",
    "needs_input",
    "evicted",
    "stale",
    "active",
    "deciding",
)
STATES = (COMPLETED, NEEDS_INPUT, EVICTED, STALE, ACTIVE, DECIDING)
CLOSED = frozenset(["closed", "tombstone", "done"])


def state(status: str | None, owner_liveness: str | None, *, is_owed: bool, is_held: bool) -> str:
    """The state of a session: STATUS is the tracker's word for the bead, None where there is no tracker."""
    if status in CLOSED:
        return COMPLETED
    if status == "blocked" or is_owed:
        return NEEDS_INPUT
    if status in IN_PROGRESS or is_held:
        return {liveness.EVICTED: EVICTED, liveness.STALE: STALE}.get(owner_liveness or "", ACTIVE)
    return DECIDING
