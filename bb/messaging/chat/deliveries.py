"""What was typed to whom: a message's way into the program of an actor, as far as the daemon can tell.

    waits ──(asked for: claimed)──typed, and submitted──> accepted
                                  └──typed in part, before the program ended──> failed

Accepted says that the program was given it, and not that anybody understood it: to acknowledge is the actor's. The kind
is that of the later clients of CCCC. Only the daemon says it, and one that is accepted is typed no second time.
"""

from __future__ import annotations

from bb.groups.permissions import PermissionDenied
from bb.kernel.errors import Usage
from bb.messaging.chat.acks import EventNotForActor, InvalidEventKind, is_for
from bb.messaging.chat.message import MESSAGE
from bb.messaging.chat.principals import USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.kernel.event import Event

KIND = "runtime.delivery"
ACCEPTED, FAILED = "accepted", "failed"
CLAIMED = "claimed"  # somebody has asked for it


class MissingActorIds(Usage):
    """The request names nobody to deliver to."""

    code = "MISSING_ACTOR_IDS"
    hint = "pass actor_ids, one or more of those the message is for"


def delivery(actor_id: str, event_id: str, state: str, failure: str | None = None) -> dict[str, Any]:
    """What a `runtime.delivery` says; one message to one actor has one id of delivery, however often it is tried."""
    return {
        "actor_id": actor_id,
        "source_event_id": event_id,
        "delivery_id": f"delivery:{actor_id}:{event_id}",
        "state": state,
        "transport": "pty",
        **({"reason": failure} if failure else {}),
    }


def may_deliver(*, by: str, event: Event, actor_ids: Any, roles: Mapping[str, str]) -> list[str]:
    """To which actors BY wants a message to be typed; refused unless it is BY's message, or BY is the person, and the
    message is for each of them."""
    if event.kind != MESSAGE:
        raise InvalidEventKind(f"only a {MESSAGE} is delivered", path="$.source_event_id")
    if by not in (event.by, USER):
        raise PermissionDenied("a message is delivered by who sent it, or by the person", path="$.by")
    if not isinstance(actor_ids, list) or not actor_ids:
        raise MissingActorIds(path="$.actor_ids")
    for actor in actor_ids:
        is_theirs = isinstance(actor, str) and actor in roles and actor != event.by
        if not is_theirs or not is_for(actor, MESSAGE, event.data, roles):
            raise EventNotForActor(f"the message is not for {str(actor)[:60]!r}", path="$.actor_ids")
    return list(dict.fromkeys(actor_ids))
