"""The state of the work on a bead, as shown to people.

The first match from the top applies: a closed bead is completed in any case, and a bead that needs an answer is shown
as `needs_input` even if its owner was evicted.
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
    """The state of the work. STATUS is the bead's status in the tracker, or None without a tracker."""
    if status in CLOSED:
        return COMPLETED
    if status == "blocked" or is_owed:
        return NEEDS_INPUT
    if status in IN_PROGRESS or is_held:
        return {liveness.EVICTED: EVICTED, liveness.STALE: STALE}.get(owner_liveness or "", ACTIVE)
    return DECIDING
