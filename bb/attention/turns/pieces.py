"""The messages that belong to one turn, and how long the host waits for another one.

A person may write one request in several messages. They are merged if each was written within the compose window of
another, by the times of the platform; a backlog that is imported at once is not one turn. The window ends early if the
text is finished (`finished_texts`), and late if the author is seen to type. Only another person who writes in the
thread ends the turn of its author. A message of an agent, a system or a tool does not, and neither does a request for
approval, which is always a turn of its own.
"""

from __future__ import annotations

from bb.attention.judging.cases import current_message
from bb.attention.messages.finished_texts import is_finished, is_only_a_call
from bb.attention.state import activity
from bb.attention.words import APPROVAL, CANCEL, HUMAN
from bb.kernel.clock import SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from bb.attention.messages.messages import MessageHead
    from bb.attention.state.attention_state import AttentionState
    from bb.attention.state.deliveries import Delivery
    from bb.attention.turns.open_deliveries import OpenDelivery

AT_ONCE = ("bb", "github")  # platforms where people send whole messages
AFTER_A_CALL = 5 * SECOND  # wait after a message that only calls the agent, at the upper bound of C2A
ALONE = (APPROVAL, CANCEL)  # intents of messages that are no pieces of others


def groups(book: AttentionState, waiting: Iterable[OpenDelivery]) -> Iterable[tuple[list[OpenDelivery], bool]]:
    """Groups of messages that belong to one turn, each with whether it is complete."""
    open_groups: dict[tuple[str, str], list[OpenDelivery]] = {}
    speaking: dict[str, str] = {}
    for item in waiting:
        delivery = item.standing.delivery
        key = (delivery.window, delivery.author)
        if stands_apart(delivery):
            yield [item], True
            continue
        spoke_before = speaking.get(delivery.window, delivery.author)
        if spoke_before != delivery.author and (closed := open_groups.pop((delivery.window, spoke_before), None)):
            yield closed, True
        speaking[delivery.window] = delivery.author
        is_alone = is_whole(delivery) or delivery.attempt > 0 or item.standing.holder == delivery.agent
        group = open_groups.get(key)
        if group and (is_alone or not belongs(book, group, delivery)):
            yield open_groups.pop(key), True
            group = None
        if is_alone:
            yield [item], True
        elif group:
            group.append(item)
        else:
            open_groups[key] = [item]
    for group in open_groups.values():
        yield group, False


def stands_apart(delivery: Delivery) -> bool:
    """Whether a message is a turn of its own that leaves the turns of others as they are."""
    return delivery.author_kind not in ("", HUMAN) or delivery.intent in ALONE


def is_whole(delivery: Delivery) -> bool:
    """Whether a message is complete by itself: programs, and people on some platforms, do not write in pieces."""
    return delivery.is_whole or stands_apart(delivery) or delivery.platform in ("", *AT_ONCE)


def belongs(book: AttentionState, group: Sequence[OpenDelivery], delivery: Delivery) -> bool:
    """Whether DELIVERY was written while the author of GROUP was still composing it."""
    pieces = [item.standing.delivery for item in group]
    if not is_within(book.tuning.merge_ms, pieces, delivery):
        return False
    if min(abs(written_at(delivery) - written_at(piece)) for piece in pieces) < book.tuning.compose_ms:
        return True
    last = max(pieces, key=lambda piece: piece.arrived)
    return last.arrived <= last.changed_at <= delivery.arrived or is_still_composing(
        book, [item.known for item in group]
    )


def is_still_composing(book: AttentionState, group: Sequence[MessageHead]) -> bool:
    """Whether the author of these messages was seen to go on: they only call the agent, or the author typed since."""
    last = max(group, key=lambda head: head.arrived)
    _, since = activity.typing(_typing_state(book, last.window, last.author))
    return since >= last.arrived or is_only_a_call([current_message(book, head).text for head in group])


def is_within(merge_ms: int, group: Sequence[Delivery], delivery: Delivery) -> bool:
    """Whether DELIVERY was written and arrived within the longest wait of the first of GROUP."""
    is_soon = delivery.arrived < min(piece.arrived for piece in group) + merge_ms
    return is_soon and abs(written_at(delivery) - min(map(written_at, group))) < merge_ms


def written_at(delivery: Delivery) -> int:
    """When a message was written, by the clock of its platform."""
    return delivery.at or delivery.arrived


def due_at(book: AttentionState, group: Sequence[OpenDelivery], now: int) -> int:
    """When a group counts as complete. The times are those of arrival, because the clock of a platform may be wrong."""
    tuned = book.tuning
    pieces = [item.standing.delivery for item in group]
    last = max(pieces, key=lambda each: each.arrived)
    if is_whole(last) or last.arrived - written_at(last) > tuned.merge_ms:  # its author stopped writing long ago
        return 0
    at_most = min(piece.arrived for piece in pieces) + tuned.merge_ms
    is_typing, since = activity.typing(_typing_state(book, last.window, last.author))
    if is_typing and since >= last.arrived:  # a message ends the typing that came before it
        return at_most
    if since >= last.arrived:
        return min(since + tuned.typing_ms, at_most)
    changed = max(piece.changed_at for piece in pieces)
    wait = tuned.compose_ms
    if not changed and now < last.arrived + max(wait, AFTER_A_CALL):  # an author who edits is not finished
        texts = [current_message(book, item.known).text for item in group]
        wait = min(wait, tuned.settle_ms) if is_finished(texts) else wait
        wait = max(wait, AFTER_A_CALL) if is_only_a_call(texts) else wait
    return min(max(last.arrived, changed) + wait, at_most)


def _typing_state(book: AttentionState, window: str, author: str) -> Mapping[str, Any] | None:
    state: Mapping[str, Any] | None = book.states.state(activity.NAME, f"{activity.TYPES}{window} {author}")
    return state
