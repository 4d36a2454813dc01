"""The current standing of a delivery: the recorded decision, changed by claims and by the passing of time.

Computing it records nothing. The effects of time are recorded by the next tick; the standing is the same before and
after that.
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
    """The current standing of a delivery."""

    delivery: Delivery
    decision: Decision
    claim: Claim
    holder: str = ""
    is_stale: bool = False
    must_check: bool = False  # whether the agent must read the thread before it answers
    due: int | None = None  # when an answer is due, or when the time for one is over

    @property
    def is_open(self) -> bool:
        """Whether an answer is still expected or allowed."""
        return self.delivery.is_open and self.decision.policy != MUST_NOT

    @property
    def is_owed(self) -> bool:
        """Whether an answer is owed."""
        return self.is_open and MUST in (self.decision.policy, self.delivery.decision.policy)

    @property
    def disposition(self) -> str | None:
        """The disposition. While another agent is responsible, it counts as ignored."""
        is_let_be = self.delivery.disposition is None and self.decision.policy == MUST_NOT
        return IGNORED if is_let_be else self.delivery.disposition

    def shown(self) -> dict[str, Any]:
        """The standing as agents, harnesses and people see it."""
        delivery = self.delivery
        return {
            "phase": delivery.phase,
            "disposition": self.disposition,
            "attempt": delivery.attempt,
            "open": self.is_open,
            **({"stale": True, "originalPolicy": delivery.decision.policy} if self.is_stale else {}),
            **({"threadCheckRequired": True} if self.must_check else {}),
            **({"claim": {"owner": self.holder, "expiresAt": clock.text(self.claim.until)}} if self.holder else {}),
            **({"supersededBy": delivery.superseded_by} if delivery.superseded_by else {}),
            **({"until": delivery.until} if delivery.disposition == DEFERRED and delivery.until else {}),
            **({"signal": delivery.signal} if delivery.signal else {}),
            **({"eta": delivery.eta} if delivery.eta else {}),
            **({"failure": delivery.reason} if delivery.disposition == FAILED else {}),
            **({"deviation": True} if delivery.deviates else {}),
            **({"awaitingClarification": True} if delivery.awaits_clarification and not delivery.clarified_at else {}),
        }


def standing(delivery: Delivery, claim: Claim, now: int, tuning: Tuning, last_word: int = 0) -> Standing:
    """The standing of DELIVERY at the time NOW. LAST_WORD is the time of the last message in its thread."""
    decision = delivery.decision
    holder = claim.held_by(now)
    due = due_at(delivery, tuning)
    is_stale = False
    is_one_event = claim.subject.startswith(EVENT)
    if holder and holder != delivery.agent and (is_one_event or decision.directedness == TO_MY_ROLE):
        if decision.policy != MUST_NOT:
            decision = decision.replace(policy=MUST_NOT, mode=MAILBOX, reason=CLAIMED_BY_OTHER, deadline=None)
    elif claim.settled_by not in ("", delivery.agent) and is_one_event and decision.directedness == TO_MY_ROLE:
        decision = decision.replace(policy=MUST_NOT, mode=MAILBOX, reason=ANSWERED_BY_OTHER, deadline=None)
    elif holder == delivery.agent and decision.mode == NOTIFY and decision.directedness == TO_MY_ROLE:
        decision = decision.replace(mode=BUFFERED, reason=CLAIMED_BY_ME)
    elif decision.policy == MUST and delivery.disposition is None and is_over(delivery, due, now):
        decision, is_stale = decision.replace(policy=MAY), True
    must_check = is_stale and not (delivery.checked_at is not None and delivery.checked_at >= last_word)
    return Standing(delivery, decision, claim, holder, is_stale, must_check, due)


def is_over(delivery: Delivery, due: int | None, now: int) -> bool:
    """Whether the time for an answer is over."""
    return delivery.stale_at is not None or (due is not None and now >= due)


def due_at(delivery: Delivery, tuning: Tuning) -> int | None:
    """When an answer is due, counted from when the message was written.

    If the agent asks back (`unclear`), the clock stops once, until the author has written more.
    """
    if delivery.decision.policy == MUST_NOT:
        return None
    allowed = delivery.decision.deadline
    if allowed is None:
        allowed = tuning.deadline_ms if delivery.decision.policy == MUST else tuning.window_ms
    start = delivery.at or delivery.arrived
    if delivery.decision.policy == MUST and delivery.until:
        start = max(start, delivery.until)  # a deferred event gets a new deadline when it comes back
    due = start + allowed
    if delivery.awaits_clarification is not None and delivery.awaits_clarification < due:
        due = (delivery.clarified_at or delivery.awaits_clarification) + allowed
    return due
