"""What is said in a conversation that lives elsewhere: it waits until a bridge has posted it there.

pending ──posted──> sent
   ├─────unclear──> unknown ──found there──> sent
   └────────────────────┴──refused there──> failed        for good; only then may something else be said
"""

from __future__ import annotations

PENDING, SENT, UNKNOWN, FAILED = "pending", "sent", "unknown", "failed"
STATES = (PENDING, SENT, UNKNOWN, FAILED)


def is_due(state: str) -> bool:
    """Whether a bridge has still to post it, or to look whether it is there."""
    return state in (PENDING, UNKNOWN)
