"""The version of the text that an agent sees under an event, and the refusal of an answer to an earlier text.

The number grows with every edit, deletion and merged piece. Each place that shows a text shows it as `contentVersion`.
An agent that answers may name the version that it saw. Otherwise the last version counts that the agent was given: in a
delivery that its harness acknowledged, in a turn, or by reading the thread. If the agent was never given the text, the
answer is accepted.
"""

from __future__ import annotations

from bb.attention.judging.cases import current_message
from bb.attention.refusals import StaleContent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from bb.attention.judging.cases import Case
    from bb.attention.messages.messages import MessageHead
    from bb.attention.state.attention_state import AttentionState


def with_merged_pieces(book: AttentionState, agent: str, events: Iterable[str]) -> list[str]:
    """EVENTS and every piece that was ever merged into one of them. Without a delivery there are no pieces."""
    events_found: dict[str, None] = {}
    waiting = list(events)
    while waiting:
        event = waiting.pop()
        delivery = book.delivery(event, agent)
        if event not in events_found and delivery is not None:
            events_found[event] = None
            waiting += delivery.merged_from
    return list(events_found)


def total_version(book: AttentionState, events: Iterable[str]) -> int:
    """The version of a text that consists of these events."""
    heads = [head for event in events if (head := book.message(event))]
    return sum(head.version + head.is_deleted for head in heads)


def content_version(book: AttentionState, agent: str, known: MessageHead) -> int:
    """The version of the text that AGENT sees under the event KNOWN."""
    pieces = with_merged_pieces(book, agent, [known.event])
    return total_version(book, pieces) if pieces else known.version + known.is_deleted


def require_current_content(book: AttentionState, answered: Case, named: int | None) -> None:
    """Refuse an act on a text that has changed since the agent saw it. NAMED is the version that the agent names."""
    delivery = answered.standing.delivery
    seen = delivery.seen_version if named is None else named
    current = content_version(book, answered.agent, answered.known)
    was_only_announced = not (delivery.is_shown or delivery.pulled_at or delivery.seen_version)
    if seen >= current or (named is None and not seen) or (was_only_announced and seen == current - 1):
        return
    pieces = with_merged_pieces(book, answered.agent, [answered.event]) or [answered.event]
    heads = [head for event in pieces if (head := book.message(event)) and not head.is_deleted]
    heads.sort(key=lambda head: head.order)
    raise StaleContent(
        f"the text of {answered.event} has changed since you saw it: you saw version {seen}, and now it is {current}",
        hint=f"read the new text, in `content` or with `bb chat read {answered.event}`; if your answer still fits, "
        f"send it again with contentVersion {current} (`--content-version {current}`)",
        event_id=answered.event,
        seen_version=seen,
        content_version=current,
        content=[part for head in heads for part in current_message(book, head).content],
        untrusted=True,
    )
