"""What the daemon's answers look like, written from the types of the specification (IPC §8) and nothing else.

Members that are not known here are ignored, as a client must. Every event in an answer is read as an event (CCCS §4),
and what it says as CCCS types it (§6, §7).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bb.kernel import clock
from tests.messaging.cccs_reader import (
    Reader,
    faults_of_message,
    faults_of_notify,
    flag,
    list_of,
    nullable,
    number,
    object_of,
    record,
    text,
    texts,
    word,
)

ENVELOPE = {"v", "id", "ts", "seq", "kind", "group_id", "scope_key", "by", "data"}


def name(value: Any) -> bool:
    return text(value) and bool(value)


def true(value: Any) -> bool:
    return value is True


def moment(value: Any) -> bool:
    """RFC 3339, in UTC."""
    if not text(value) or not value.endswith("Z"):
        return False
    try:
        clock.parse(value)
    except clock.NotATime.error:
        return False
    return True


def faults_of_event(found: Any) -> list[str]:
    """What about an event is not as CCCS says."""
    envelope = object_of(
        {
            "v": lambda value: value == 1,
            "id": name,
            "ts": moment,
            "kind": name,
            "group_id": name,
            "scope_key": text,
            "by": name,
            "data": record,
        },
        {"seq": number},
    )
    if not envelope(found):
        return [f"no event: {found!r}"]
    return [f"{found['kind']}: {fault}" for fault in _faults_of_data(found)] + [
        f"the envelope has a {strange}" for strange in sorted(found.keys() - ENVELOPE)
    ]


def _faults_of_data(found: dict[str, Any]) -> list[str]:
    data = found["data"]
    match found["kind"]:
        case "chat.message":
            return faults_of_message(data)
        case "system.notify":
            return faults_of_notify(data)
        case "chat.ack" | "chat.read":
            wanted = {"actor_id": name, "event_id": name}
        case "system.notify_ack":
            wanted = {"actor_id": name, "notify_event_id": name}
        case "chat.reaction":
            wanted = {"actor_id": name, "event_id": name, "emoji": name}
        case _:
            wanted = {}
    return [member for member, reader in wanted.items() if not reader(data.get(member))]


def event(*kinds: str) -> Reader:
    return lambda value: (
        isinstance(value, dict) and not faults_of_event(value) and value["kind"] in (kinds or (value["kind"],))
    )


message = event("chat.message")
readable = event("chat.message", "system.notify")
cursor = object_of({"event_id": text, "ts": text}, {})
moved_cursor = object_of({"event_id": name, "ts": moment, "updated_at": moment}, {})
agent = object_of({"id": name, "status": text, "updated_at": text}, {})
group_row = object_of(
    {"group_id": name, "title": text, "created_at": moment, "updated_at": moment, "running": flag, "state": text}, {}
)
actor = object_of(
    {"id": name, "title": text, "runner": word("pty", "headless"), "runtime": name, "enabled": flag},
    {"role": word("foreman", "peer"), "running": flag, "unread_count": number},
)
listed_actor = object_of({"role": word("foreman", "peer"), "running": flag}, {})
named_actor: dict[str, Reader] = {"group_id": name, "actor_id": name}
template = object_of({"kind": text, "v": number}, {})

RESULTS: dict[str, Reader] = {
    # 8.1
    "ping": object_of(
        {"version": name, "pid": number, "ts": moment}, {"ipc_v": lambda value: value == 1, "capabilities": record}
    ),
    "shutdown": object_of({"message": lambda value: value == "shutting down"}, {}),
    # 8.2
    "observability_get": object_of({"observability": record}, {}),
    "observability_update": object_of({"observability": record}, {}),
    # 8.3
    "attach": object_of({"group_id": name, "scope_key": name}, {"title": text}),
    "groups": object_of({"groups": list_of(group_row)}, {}),
    "group_show": object_of({"group": record}, {}),
    "group_create": object_of({"group_id": name}, {"title": text, "event": event("group.create")}),
    "group_update": object_of({"group_id": name, "group": record, "event": event("group.update")}, {}),
    "group_delete": object_of({"group_id": name}, {}),
    "group_use": object_of({"group_id": name, "active_scope_key": name, "event": event("group.set_active_scope")}, {}),
    "group_detach_scope": object_of({"group_id": name, "event": event("group.detach_scope")}, {}),
    "group_set_state": object_of(
        {"group_id": name, "state": word("active", "idle", "paused"), "event": event("group.set_state")}, {}
    ),
    "group_settings_update": object_of(
        {"group_id": name, "settings": record, "event": event("group.settings_update")}, {}
    ),
    "group_start": object_of(
        {"group_id": name, "started": texts, "event": event("group.start")}, {"forced_headless": texts}
    ),
    "group_stop": object_of({"group_id": name, "stopped": texts, "event": event("group.stop")}, {}),
    # 8.4
    "actor_list": object_of({"actors": list_of(lambda value: actor(value) and listed_actor(value))}, {}),
    "actor_add": object_of({"actor": actor, "event": event("actor.add")}, {}),
    "actor_update": object_of({"actor": actor, "event": event("actor.update")}, {}),
    "actor_remove": object_of({"actor_id": name, "event": event("actor.remove")}, {}),
    "actor_start": object_of({"actor": actor, "event": event("actor.start")}, {}),
    "actor_stop": object_of({"actor": actor, "event": event("actor.stop")}, {}),
    "actor_restart": object_of({"actor": actor, "event": event("actor.restart")}, {}),
    # 8.5
    "send": object_of({"event": message}, {}),
    "reply": object_of({"event": message}, {}),
    "send_cross_group": object_of({"src_event": message, "dst_event": message}, {}),
    "chat_ack": object_of({"acked": flag, "already": flag, "event": nullable(event("chat.ack"))}, {}),
    # 8.6
    "inbox_list": object_of({"messages": list_of(readable), "cursor": cursor}, {}),
    "inbox_mark_read": object_of({"cursor": moved_cursor, "event": event("chat.read")}, {}),
    "inbox_mark_all_read": object_of({"cursor": cursor, "event": nullable(event("chat.read"))}, {}),
    # 8.7
    "context_get": record,
    "context_sync": object_of({"success": true, "dry_run": flag, "changes": list_of(record), "version": text}, {}),
    "task_list": object_of({}, {"tasks": list_of(record), "task": record}),
    "presence_get": object_of({"agents": list_of(agent), "heartbeat_timeout_seconds": number}, {}),
    # 8.8
    "headless_status": object_of({"state": record}, {}),
    "headless_set_status": object_of({"state": nullable(record)}, {}),
    "headless_ack_message": object_of({"message_id": name, "acked_at": moment}, {}),
    # 8.9
    "system_notify": object_of({"event": event("system.notify")}, {}),
    "notify_ack": object_of({"event": event("system.notify_ack")}, {}),
    # 8.10
    "terminal_tail": object_of({**named_actor, "warning": text, "hint": text, "text": text}, {}),
    "terminal_clear": object_of({**named_actor, "cleared": true}, {}),
    "term_resize": object_of({**named_actor, "cols": number, "rows": number}, {}),
    "term_attach": object_of(named_actor, {}),
    # 8.11
    "ledger_snapshot": object_of({"snapshot": record}, {}),
    "ledger_compact": record,
    # 8.12
    "group_template_export": object_of({"template": name, "filename": name}, {}),
    "group_template_preview": object_of({"scope_root": text, "template": template, "diff": record}, {}),
    "group_template_import_replace": object_of(
        {
            "group_id": name,
            "applied": true,
            "removed": texts,
            "added": texts,
            "updated": texts,
            "settings_patch": record,
            "prompt_paths": record,
        },
        {},
    ),
    "group_create_from_template": object_of({"group_id": name, "applied": true}, {}),
    # 8.13
    "events_stream": object_of({"group_id": name}, {}),
}
OPS = tuple(RESULTS)
# What clients from 0.4.40 on ask for besides (their `inbox_list` is called so).
LATER: dict[str, Reader] = {
    "inbox_peek": object_of({"messages": list_of(message)}, {}),
    "inbox_read": object_of({"messages": list_of(message)}, {}),
    "message_history": object_of({"messages": list_of(message)}, {}),
    "message_deliver": object_of({"event": message, "actor_ids": texts, "delivery_state": name}, {}),
    "reply_request_cancel": object_of({"cancelled": true, "event": nullable(event())}, {}),
}


def checked(op: str, result: dict[str, Any]) -> dict[str, Any]:
    """The result of an operation, which is as the specification types it."""
    faults = [fault for found in _events(result) for fault in faults_of_event(found)]
    assert not faults, f"{op}: {faults}"
    reader = (RESULTS | LATER).get(op)
    assert reader is None or reader(result), f"{op} has answered {result!r}"
    return result


def _events(value: Any) -> Iterator[Any]:
    """Whatever stands where an event is to stand."""
    if isinstance(value, dict):
        for member, inner in value.items():
            if member in ("event", "src_event", "dst_event", "ack_event", "last_event") and inner is not None:
                yield inner
            else:
                yield from _events(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _events(inner)
