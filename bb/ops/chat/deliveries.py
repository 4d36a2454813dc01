"""Delivery of a message to running actors on request: an op of later CCCC clients."""

from __future__ import annotations

from typing import Any

from bb.ledger.views.chat_tables import TYPED
from bb.messaging.chat import deliveries
from bb.messaging.chat.acks import EventNotFound
from bb.messaging.chat.principals import SYSTEM
from bb.messaging.facts import Said
from bb.ops.catalogue import op
from bb.ops.chat.chat import event_of
from bb.ops.chat.parameters import EventId
from bb.ops.desk import group_desk, live_daemon
from bb.ops.desk.desk import Desk
from bb.ops.json_params import ActorId, By, GroupId


@op(
    "message_deliver",
    screen="chat",
    words="chat deliver",
    live=True,
    examples=("bb chat deliver k7q2mzp4x3ab.17 --actor-ids peer-1",),
)
def message_deliver(
    desk: Desk,
    source_event_id: EventId | None = None,
    *,
    actor_ids: list[ActorId] | None = None,
    group_id: GroupId | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Type a message into the terminals of running actors, even one sent as mail.

    An actor that has already received the message this way does not receive it again.

    Parameters:
        actor_ids (ID): An actor to deliver the message to. May be repeated.
    """
    group = group_desk.open_group(desk, group_id)
    event = event_of(group, source_event_id)
    if event is None:
        raise EventNotFound(path="$.source_event_id")
    actors = deliveries.may_deliver(by=group.by(by), event=event, actor_ids=actor_ids, roles=group.roles())
    left = [actor for actor in actors if not group.messages().entries_about(event.id, TYPED, actor)]
    live_daemon.running_actors(desk).deliver(group, event, left)
    claims = [deliveries.delivery(actor, event.id, deliveries.CLAIMED) for actor in left]
    group.record([Said(deliveries.KIND, claim) for claim in claims], SYSTEM)
    state = deliveries.CLAIMED if left else deliveries.ACCEPTED
    return {"event": group.shown(event), "actor_ids": actors, "delivery_state": state}
