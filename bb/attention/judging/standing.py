"""How a delivery stands at this moment: what was decided, and what claims and time have made of it since.

Nothing is recorded by looking. What follows from time alone is recorded by whoever next ticks, and reads the same
before and after that.
"""

from __future__ import annotations

from bb.attention.state.claims import EVENT
from bb.attention.words import (
    BUFFERED,
    DEFERRED,
    FAILED,
    IGNORED,
    MAILBOX,
    MAY,
    MUST,
    MUST_NOT,
    NOTIFY,
    TO_MY_ROLE,
)
from bb.kernel import clock
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.attention.decision import Decision
    from bb.attention.state.claims import Claim
    from bb.attention.state.deliveries import Delivery
    from bb.attention.state.tuning import Tuning

CLAIMED_BY_OTHER, CLAIMED_BY_ME, ANSWERED_BY_OTHER = "claimed_by_other", "claimed", "answered_by_other"


class Standing(Record):
    """A delivery as of now."""

    delivery: Delivery
    decision: Decision
    claim: Claim
    holder: str = ""
    is_stale: bool = False
    must_check: bool = False  # whether the thread has to be looked at before an answer
    due: int | None = None  # by when an answer is due, or when it is over

    @property
    def is_open(self) -> bool:
        """Whether anything is still expected, or may still come."""
        return self.delivery.is_open and self.decision.policy != MUST_NOT

    @property
    def is_owed(self) -> bool:
        """Whether an answer is owed."""
        return self.is_open and MUST in (self.decision.policy, self.delivery.decision.policy)

    @property
    def disposition(self) -> str | None:
        """What has become of it; while another is responsible, it asks for nothing."""
        is_let_be = self.delivery.disposition is None and self.decision.policy == MUST_NOT
        return IGNORED if is_let_be else self.delivery.disposition

    def shown(self) -> dict[str, Any]:
        """What agents, harnesses and people are told of it."""
        found = self.delivery
        return {
            "phase": found.phase,
            "disposition": self.disposition,
            "attempt": found.attempt,
            "open": self.is_open,
            **({"stale": True, "originalPolicy": found.decision.policy} if self.is_stale else {}),
            **({"threadCheckRequired": True} if self.must_check else {}),
            **({"claim": {"owner": self.holder, "expiresAt": clock.text(self.claim.until)}} if self.holder else {}),
            **({"supersededBy": found.superseded_by} if found.superseded_by else {}),
            **({"until": found.until} if found.disposition == DEFERRED and found.until else {}),
            **({"signal": found.signal} if found.signal else {}),
            **({"eta": found.eta} if found.eta else {}),
            **({"failure": found.reason} if found.disposition == FAILED else {}),
            **({"deviation": True} if found.deviates else {}),
            **({"awaitingClarification": True} if found.awaits_clarification and not found.clarified_at else {}),
        }


def standing(delivery: Delivery, claim: Claim, now: int, tuning: Tuning, last_word: int = 0) -> Standing:
    """How DELIVERY stands NOW. LAST_WORD is when something was said last in its thread."""
    decision = delivery.decision
    holder = claim.held_by(now)
    due = due_at(delivery, tuning)
    is_stale = False
    is_one_event = claim.subject.startswith(EVENT)
    if holder and holder != delivery.agent and (is_one_event or decision.directedness == TO_MY_ROLE):
        if decision.policy != MUST_NOT:
            decision = decision.but(policy=MUST_NOT, mode=MAILBOX, reason=CLAIMED_BY_OTHER, deadline=None)
    elif claim.settled_by not in ("", delivery.agent) and is_one_event and decision.directedness == TO_MY_ROLE:
        decision = decision.but(policy=MUST_NOT, mode=MAILBOX, reason=ANSWERED_BY_OTHER, deadline=None)
    elif holder == delivery.agent and decision.mode == NOTIFY and decision.directedness == TO_MY_ROLE:
        decision = decision.but(mode=BUFFERED, reason=CLAIMED_BY_ME)
    elif decision.policy == MUST and delivery.disposition is None and is_over(delivery, due, now):
        decision, is_stale = decision.but(policy=MAY), True
    must_check = is_stale and not (delivery.checked_at is not None and delivery.checked_at >= last_word)
    return Standing(delivery, decision, claim, holder, is_stale, must_check, due)


def is_over(delivery: Delivery, due: int | None, now: int) -> bool:
    """Whether the time for an answer is over."""
    return delivery.stale_at is not None or (due is not None and now >= due)


def due_at(delivery: Delivery, tuning: Tuning) -> int | None:
    """By when an answer is due. Its age is counted from when it was said; a question back stops the clock once, until
    who was asked has said more."""
    if delivery.decision.policy == MUST_NOT:
        return None
    allowed = delivery.decision.deadline
    if allowed is None:
        allowed = tuning.deadline_ms if delivery.decision.policy == MUST else tuning.window_ms
    start = delivery.at or delivery.arrived
    if delivery.decision.policy == MUST and delivery.until:
        start = max(start, delivery.until)  # the deadline starts once more when what was put off comes back
    due = start + allowed
    if delivery.awaits_clarification is not None and delivery.awaits_clarification < due:
        due = (delivery.clarified_at or delivery.awaits_clarification) + allowed
    return due
