"""Which actors run. Only a daemon knows; a command reports every actor as not running."""

from __future__ import annotations

from bb.ledger.local import presence
from bb.ledger.records import events
from bb.ops.desk.group_desk import GroupDesk


def is_running(group: GroupDesk, actor_id: str) -> bool:
    live = group.desk.live
    return live is not None and live.is_running(group.id, actor_id)


def is_any(group: GroupDesk) -> bool:
    """Whether any actor of the group runs."""
    return any(is_running(group, actor.id) for actor in group.actors())


def stop(group: GroupDesk, actor_id: str) -> None:
    """Stop an actor if it runs."""
    if group.desk.live is not None:
        group.desk.live.stop(group.id, actor_id)
    presence.remove(group.store.path, actor_id)


def last_activity(group: GroupDesk) -> str:
    """The time of the last recorded event."""
    return events.last_recorded_at(group.store)
