"""The states of a message in a conversation on another platform. It waits until a bridge has posted it there.

pending ──posted──> sent
   ├─────unclear──> unknown ──found there──> sent
   └────────────────────┴──refused there──> failed        permanently; only then may the agent send another answer
"""

from __future__ import annotations

PENDING, SENT, UNKNOWN, FAILED = "pending", "sent", "unknown", "failed"
STATES = (PENDING, SENT, UNKNOWN, FAILED)


def is_due(state: str) -> bool:
    """Whether a bridge still has to post the message, or to check whether it was posted."""
    return state in (PENDING, UNKNOWN)
