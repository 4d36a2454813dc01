"""Deliveries: messages typed into the program of an actor, as far as the daemon can tell.

    waiting ──(requested: claimed)──typed and submitted──> accepted
                                    └──typed in part, before the program ended──> failed

Accepted means that the program received the message. Whether the actor understood it is shown by its acknowledgement.
The event kind is that of later CCCC clients. Only the daemon records it, and it never types an accepted message again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bb.kernel.errors import PermissionDenied, Usage
from bb.kernel.event import Event
from bb.messaging.chat.acks import EventNotForActor, InvalidEventKind, is_for
from bb.messaging.chat.message import MESSAGE
from bb.messaging.chat.principals import USER

KIND = "runtime.delivery"
ACCEPTED, FAILED = "accepted", "failed"
CLAIMED = "claimed"  # a client has requested it

MissingActorIds = Usage.declare(
    "MISSING_ACTOR_IDS",
    "The request names no actor to deliver to",
    hint="pass `actor_ids`: one or more recipients of the message",
)


def delivery(actor_id: str, event_id: str, state: str, failure: str | None = None) -> dict[str, Any]:
    """The data of a `runtime.delivery`. All attempts to deliver a message to an actor have the same delivery id."""
    return {
        "actor_id": actor_id,
        "source_event_id": event_id,
        "delivery_id": f"delivery:{actor_id}:{event_id}",
        "state": state,
        "transport": "pty",
        **({"reason": failure} if failure else {}),
    }


def may_deliver(*, by: str, event: Event, actor_ids: Any, roles: Mapping[str, str]) -> list[str]:
    """The actors to which BY may have the message delivered. Refused unless BY is the sender or the person, and each
    actor is a recipient."""
    if event.kind != MESSAGE:
        raise InvalidEventKind(f"only a {MESSAGE} can be delivered", path="$.source_event_id")
    if by not in (event.by, USER):
        raise PermissionDenied("only the sender or the person may request a delivery", path="$.by")
    if not isinstance(actor_ids, list) or not actor_ids:
        raise MissingActorIds(path="$.actor_ids")
    for actor in actor_ids:
        is_theirs = isinstance(actor, str) and actor in roles and actor != event.by
        if not is_theirs or not is_for(actor, MESSAGE, event.data, roles):
            raise EventNotForActor(f"the message is not addressed to {str(actor)[:60]!r}", path="$.actor_ids")
    return list(dict.fromkeys(actor_ids))
