"""Mending a store: what `bb doctor --fix` may do. Nothing here forgets a line that is whole.

A damaged journal is retired and kept as it is. A new writer starts, accounts for the sound part, and records again
what is still whole behind the damage, each event with the id it had (`salvaged_from`), so that later readers, here
and in other clones, have those facts too.
"""

from __future__ import annotations

import os

from bb.kernel import ids
from bb.kernel.errors import Refused
from bb.kernel.event import SALT
from bb.ledger import clone, disk, kinds, presence, writers
from bb.ledger import line as lines
from bb.ledger.clone import Clone
from bb.ledger.journal import Journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.ledger.journal import Block
    from bb.ledger.reader import Damage
    from bb.ledger.store import Store


class NothingToMend(Refused):
    """There is nothing to restore clone.json from."""

    code = "STORE_LOST"
    hint = "no journal is left; start again with `bb init --undo --delete-history` and `bb init`"


def mend_torn(store: Store) -> list[str]:
    """Finish or put aside the torn last lines of our own journal; the writers mended."""
    if store.writer is None:
        return []
    journal = Journal(store.path, store.writer)
    if not journal.is_torn():
        return []
    with journal.lock():
        return [journal.writer] if journal.mend() else []


def start_new_writer(store: Store, damage: Damage, now: int) -> int:
    """Retire a damaged journal, go on under a new writer, and record again what is whole behind the damage."""
    salvage = list(_whole_behind(Journal(store.path, damage.writer), damage))
    writers.retire(os.path.join(store.path, "j"), damage.writer, f"line {damage.n}: {damage.reason}")
    return store.salvage(salvage, now)


def _whole_behind(journal: Journal, damage: Damage) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """By whom, of what kind, with which data: every line behind DAMAGE whose data still matches its head."""
    for segment, offset, block in _everything(journal):
        for raw in block.lines():
            is_behind = (segment, offset) >= (damage.path, damage.offset)
            offset += len(raw) + 1
            if is_behind and (found := _salvaged(raw, journal.writer)):
                yield found


def _everything(journal: Journal) -> Iterator[tuple[str, int, Block]]:
    for segment in journal.segments():
        for offset, block in segment.blocks():
            yield segment.path, offset, block


def _salvaged(raw: bytes, writer: str) -> tuple[str, str, dict[str, Any]] | None:
    try:
        link = lines.link_alone(raw, writer)
        event = lines.event(raw)
    except (lines.BadLine, lines.Unreadable):
        return None
    if link.n < 1 or event.kind == kinds.MERGED:
        return None
    data = {name: value for name, value in event.data.items() if name != SALT}
    return event.by, event.kind, data | {"salvaged_from": event.id, "salvaged_ts": event.ts}


def rewrite_clone(store: str) -> Clone:
    """Write clone.json anew from what the journals say of themselves."""
    journals = os.path.join(store, "j")
    for writer in writers.all_in(journals):
        raw = Journal(store, writer).line(1)
        try:
            event = lines.event(raw or b"")
        except lines.Unreadable:
            continue
        if event.group_id.startswith("g_"):
            found = Clone(event.group_id.removeprefix("g_"), writers.ours(journals) or writer)
            clone.write(store, found)
            return found
    raise NothingToMend


def sweep(store: str) -> int:
    """Remove temporary files that killed processes left behind; how many."""
    swept = [path for folder in (store, presence.folder(store)) for path in disk.leftovers(folder)]
    for path in swept:
        disk.remove_if_there(path)
    return len(swept)


def belongings(store: str) -> list[str]:
    """Every file in the store that is ours, each folder after its contents."""
    found = []
    for folder, _, files in os.walk(store, topdown=False):
        found += [
            os.path.join(folder, name) for name in sorted(files) if _is_ours(os.path.relpath(folder, store), name)
        ]
        found.append(folder)
    return found


def remove(paths: list[str]) -> list[str]:
    """Remove files, and folders that are empty by then; what stayed."""
    stayed = []
    for path in paths:
        try:
            if os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
            else:
                os.unlink(path)
        except OSError:
            stayed.append(path)
    return stayed


def _is_ours(folder: str, name: str) -> bool:
    top, _, below = folder.partition(os.sep)
    match top, below:
        case ".", "":
            return (
                name in {clone.NAME, "lock", "lock.queue"} or name.startswith("index.sqlite") or name.endswith(".tmp")
            )
        case "j", writer:
            known = {"lock", "lock.queue", "owner.json"}
            return ids.is_writer_id(writer) and (name in known or name.endswith((".jsonl", ".tmp")))
        case "presence", "":
            return name.endswith((".json", ".tmp"))
        case "torn", "":
            return True
    return False
