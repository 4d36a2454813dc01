"""Ledger maintenance for CCCC clients (IPC §8.11). It removes no event: a ledger only grows."""

from __future__ import annotations

import os
from typing import Any

from bb.kernel import clock, json_text
from bb.ledger.files import disk
from bb.ledger.local import machine_registry as knowns
from bb.ops.catalogue import op
from bb.ops.desk import group_desk
from bb.ops.desk.desk import Desk
from bb.ops.desk.group_desk import GroupDesk
from bb.ops.json_params import By, GroupId, Json, JsonText

LEAST_BYTES = 50_000_000


class Reason(JsonText):
    """The reason, recorded in the snapshot."""


@op("ledger_snapshot", examples=("""bb call ledger_snapshot --args '{"reason": "before the release"}'""",))
def ledger_snapshot(
    desk: Desk, *, group_id: GroupId | None = None, reason: Reason | None = None, by: By | None = None
) -> dict[str, Any]:
    """Write a snapshot of a group's ledger: the length of each journal, and the digest of its last line."""
    group = group_desk.open_group(desk, group_id)
    group.check("ledger.snapshot", group.by(by))
    return {"snapshot": _snapshot(desk, group, str(reason or "manual")[:500])}


@op("ledger_compact", examples=("""bb call ledger_compact --args '{"force": true}'""",))
def ledger_compact(
    desk: Desk,
    *,
    group_id: GroupId | None = None,
    reason: Reason | None = None,
    force: Json | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Compact a group's index. No event is removed, so every id can still be replied to and acknowledged.

    Parameters:
        force: Compact even a small ledger.
    """
    group = group_desk.open_group(desk, group_id)
    group.check("ledger.compact", group.by(by))
    size = sum(segment.size() for journal in group.store.journals() for segment in journal.segments())
    if force is not True and size < LEAST_BYTES:
        return {"ok": True, "skipped": True, "reason": "below_threshold", "size_bytes": size, "archived_events": 0}
    group.messages()
    group.store.index.compact()
    why = str(reason or "auto")[:500]
    result = {"archived_events": 0, "kept_events": sum(group.index().heads().values()), "size_bytes": size}
    return {"ok": True, "skipped": False, "reason": why, "result": result, "snapshot": _snapshot(desk, group, why)}


def _snapshot(desk: Desk, group: GroupDesk, reason: str) -> dict[str, Any]:
    index, now = group.index(), desk.now()
    folder = os.path.join(knowns.folder(knowns.home(desk.env), group.id), "state", "snapshots")
    disk.make_folder(folder)
    path = os.path.join(folder, f"snapshot.{clock.text(now).replace(':', '')}.json")
    last = group.last_event()
    written = {
        "v": 1,
        "group_id": group.id,
        "ts": clock.text(now),
        "reason": reason,
        "heads": {writer: [n, index.position(writer).link.head_digest] for writer, n in index.heads().items()},
        "last_event": last,
    }
    octets = json_text.dumps(written).encode() + b"\n"
    disk.replace(path, octets, durable=True)
    return {"snapshot_path": path, "size_bytes": len(octets), "last_event": last}
