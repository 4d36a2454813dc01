"""The open deliveries to an agent that may enter its next turn."""

from __future__ import annotations

from bb.attention.judging.cases import open_cases
from bb.attention.words import MUST_NOT
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from bb.attention.judging.current_decision import Standing
    from bb.attention.messages.messages import MessageHead
    from bb.attention.state.attention_state import AttentionState


class OpenDelivery(Record):
    """A delivery that may be offered."""

    standing: Standing
    known: MessageHead

    @property
    def event(self) -> str:
        return self.standing.delivery.event


def open_deliveries(book: AttentionState, agent: str, now: int) -> Iterable[OpenDelivery]:
    """The open deliveries to AGENT that it may see now and is not forbidden to answer."""
    for head, stands in open_cases(book, agent, now):
        if stands.decision.policy != MUST_NOT:
            yield OpenDelivery(stands, head)
