"""The daemon (CCCC daemon IPC §8.1, §8.2) and its push stream (§8.13)."""

from __future__ import annotations

from typing import Any

from bb.groups import permissions, settings
from bb.kernel import clock
from bb.kernel.errors import Usage
from bb.ledger.records import own_order
from bb.messaging.chat import acks, fields
from bb.ops.catalogue import op
from bb.ops.desk import group_desk, live_daemon
from bb.ops.desk.desk import Desk
from bb.ops.desk.group_desk import GroupDesk
from bb.ops.json_params import By, GroupId, Json, JsonText

STREAMED = ("chat.message", "chat.ack", "system.notify", "system.notify_ack")
MOST_KINDS = 100

InvalidKinds = Usage.declare("INVALID_KINDS", "The kinds must be a list of names such as chat.message")


@op("ping", words="call ping", live=True, examples=("bb call ping",))
def ping(desk: Desk) -> dict[str, Any]:
    """Check whether a daemon is running. The answer has its version and capabilities."""
    return live_daemon.running_actors(desk).about() | {"ts": clock.text(desk.now())}


@op("shutdown", words="call shutdown", live=True, examples=("bb call shutdown",))
def shutdown(desk: Desk) -> dict[str, Any]:
    """Stop the daemon. It finishes its current requests and stops its actors first."""
    live_daemon.running_actors(desk).shut_down()
    return {"message": "shutting down"}


@op("observability_get", live=True, examples=("bb call observability_get",))
def observability_get(desk: Desk) -> dict[str, Any]:
    """Show the log settings of the daemon."""
    return {"observability": live_daemon.running_actors(desk).observability()}


@op(
    "observability_update",
    live=True,
    examples=("""bb call observability_update --args '{"patch": {"log_level": "DEBUG"}}'""",),
)
def observability_update(desk: Desk, *, patch: Json | None = None, by: By | None = None) -> dict[str, Any]:
    """Change the log settings of the daemon. Only the person can.

    Parameters:
        patch: The changes, as a JSON object.
    """
    who = str(by or permissions.USER)
    permissions.check("observability", by=who, role=permissions.role_of(who, {}))
    return {"observability": live_daemon.running_actors(desk).observe(settings.entries(patch, OBSERVABILITY))}


OBSERVABILITY = ("developer_mode", "log_level", "components", "terminal_transcript", "terminal_ui")


@op("events_stream", live=True, examples=("bb events --follow",))
def events_stream(
    desk: Desk,
    *,
    group_id: GroupId | None = None,
    by: By | None = None,
    since_event_id: JsonText | None = None,
    since_seq: Json | None = None,
    since_ts: JsonText | None = None,
    kinds: Json | None = None,
    limit: Json | None = None,
) -> dict[str, Any]:
    """Upgrade the connection to a stream of events: first the events after a cursor, then each new one.

    Without kinds: messages, acknowledgements and notifications. If `by` is an actor: only events it may read.

    Parameters:
        since_event_id (EVENT): Only events after this one.
        since_seq: Only events after this sequence number.
        since_ts (TIME): Only events after this time.
        kinds: Only events of these kinds.
        limit: Stop after this many events.
    """
    group = group_desk.open_group(desk, group_id)
    subscription(group, by, since_event_id, since_seq, since_ts, kinds, limit)
    return {"group_id": group.id}


SUBSCRIPTION = ("by", "since_event_id", "since_seq", "since_ts", "kinds", "limit")


def subscription(
    group: GroupDesk, by: Any, since_event_id: Any, since_seq: Any, since_ts: Any, kinds: Any, limit: Any
) -> dict[str, Any]:
    """Check the arguments of a stream; the filter and the start position."""
    who = group.by(by)
    names = STREAMED if kinds is None else kinds
    if not isinstance(names, list | tuple) or len(names) > MOST_KINDS or not all(map(_is_kind, names)):
        raise InvalidKinds(supported=list(STREAMED), path="$.kinds")
    for name, value, least in (("since_seq", since_seq, 0), ("limit", limit, 1)):
        if value is not None and (type(value) is not int or value < least):
            raise fields.InvalidRequest(f"{name} must be a whole number, {least} or more", path=f"$.{name}")
    return {
        "who": who,
        "kinds": frozenset(names),
        "after": _after(group, since_event_id, since_seq, since_ts),
        "limit": limit,
    }


def _is_kind(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 200


def _after(group: GroupDesk, event_id: Any, seq: Any, ts: Any) -> int:
    """The sequence number after which a stream starts."""
    if event_id:
        event = group.event(event_id)
        if event is None:
            raise acks.EventNotFound(f"the group has no event {str(event_id)[:60]!r}", path="$.since_event_id")
        return int(group.shown(event).get("seq") or own_order.length(group.index()))
    if seq is not None:
        return int(seq)
    if ts:
        return group.seq_at(clock.parse(str(ts)))
    return own_order.length(group.index())  # fixed now: an event recorded before the first push is still pushed
