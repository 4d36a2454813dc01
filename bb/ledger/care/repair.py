"""Repairs of a store for `bb doctor --fix`. No repair loses a complete line.

The writer of a damaged journal is retired, and the journal is kept unchanged. A new writer continues from the intact
part, and records the intact events after the damage again, each with its old id (`salvaged_from`). So readers here and
in other clones still have those facts.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
from collections.abc import Iterator

from bb.kernel import ids
from bb.kernel.errors import Refused
from bb.kernel.event import MERGED, SALT, SIGNED
from bb.ledger.files import disk
from bb.ledger.journal import clone, received, writers
from bb.ledger.journal import line as lines
from bb.ledger.journal.clone import Clone
from bb.ledger.journal.cursors import Damage
from bb.ledger.journal.journal import Journal
from bb.ledger.journal.segments import BLOCK, LARGEST, NO_FOLLOW, LedgerDamaged, Segment, read_at
from bb.ledger.local import hook_calls, last_alerts, passed_edits, pinned_threshold, presence
from bb.ledger.records import counted_lines, rerecording
from bb.ledger.records.drafts import ORIGIN, Draft
from bb.ledger.records.events import readable
from bb.ledger.records.store import Store
from bb.ledger.signing import keys

FORBIDDEN = frozenset([errno.EACCES, errno.EPERM, errno.EROFS])
SALVAGED = b'"salvaged_from":'
TOO_LARGE = "move the file out of the ledger's folder; then `bb doctor --fix` continues without its lines"
NULS = re.compile(rb"\0+")
ROOM_FOR_ORIGIN = 256
INDEX_FILES = tuple("index.sqlite" + end for end in ("", "-wal", "-shm", "-journal"))
OWN_FILES = frozenset(
    [
        clone.NAME,
        "lock",
        "lock.queue",
        last_alerts.NAME,
        last_alerts.LOCK,
        last_alerts.LOCK + ".queue",
        pinned_threshold.FILE,
        "pins.json",
        "quarantined.json",
        "signers.json",
        counted_lines.NAME,
        "sync.json",
        "sync-runs.json",
        "sync.lock",
        *INDEX_FILES,
    ]
)
NO_FILES = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFLNK: "a link"}
EMPTY = ("a pipe", "a socket")  # these have no contents

NothingToRepair = Refused.declare(
    "STORE_LOST",
    "clone.json cannot be restored, because no journal is left",
    hint="start again with `bb init --undo --delete-history` and `bb init`",
)


def close_holes(store: Store) -> list[str]:
    """Remove the holes from files of our own journal that are larger than a segment can be. Returns those files.

    A hole reads as NULs, and no line contains a NUL. The old file is kept in `torn/`.
    """
    if store.writer is None:
        return []
    journal = Journal(store.path, store.writer)
    with_holes = [segment for segment in journal.segments() if segment.size() > LARGEST]
    if with_holes:
        with journal.lock():
            for segment in with_holes:
                _close_holes(journal, segment)
    return [segment.path for segment in with_holes]


def _close_holes(journal: Journal, segment: Segment) -> None:
    octets = bytearray()
    for piece in _without_holes(segment):
        octets += piece
        if len(octets) > LARGEST:
            message = f"{segment.path} is larger than a segment can be, even without its holes"
            raise LedgerDamaged(message, hint=TOO_LARGE, path=segment.path)
    disk.make_folder(journal.torn)
    aside = os.path.join(journal.torn, f"{journal.writer}-{segment.first:012}-{os.urandom(3).hex()}.jsonl")
    try:
        os.link(segment.path, aside)
    except OSError as error:
        raise disk.refusal(error) from error
    # A file that is only a hole has lost its lines. One empty line keeps it damaged, so that its writer is retired.
    disk.replace(segment.path, bytes(octets) or b"\n", durable=True)


def _without_holes(segment: Segment, at: int = 0) -> Iterator[bytes]:
    """The contents of a file from byte AT on, without NULs, block by block. Data after NULs starts a new line."""
    with disk.Reading(segment.path, NO_FOLLOW) as (fd, _):
        is_behind_hole, ended = False, True
        while octets := read_at(fd, BLOCK, start := _next_data(fd, at)):
            is_behind_hole, at = is_behind_hole or start > at, start + len(octets)
            for number, piece in enumerate(NULS.split(octets)):
                is_behind_hole |= number > 0
                if piece:
                    yield piece if ended or not is_behind_hole else b"\n" + piece
                    is_behind_hole, ended = False, piece.endswith(b"\n")


def _next_data(fd: int, at: int) -> int:
    """The offset of the first data at or after AT, or the end of the file. AT, if the system cannot find holes."""
    if not hasattr(os, "SEEK_DATA"):
        return at
    try:
        return os.lseek(fd, at, os.SEEK_DATA)
    except OSError as error:
        return os.fstat(fd).st_size if error.errno == errno.ENXIO else at


def repair_torn_line(store: Store) -> list[str]:
    """Complete or set aside the torn last line of our own journal. Returns the repaired writers."""
    if store.writer is None:
        return []
    journal = Journal(store.path, store.writer)
    if not journal.is_torn():
        return []
    with journal.lock():
        return [journal.writer] if journal.repair_tail() else []


def retire(store: Store, damage: Damage) -> None:
    """Retire the writer of a damaged journal, and note that the intact events after the damage are to be recorded."""
    owed = f"{os.path.basename(damage.path)}:{damage.offset}"
    writers.retire(_journals(store), damage.writer, f"line {damage.n}: {damage.reason}", owed)


def salvage_owed(store: Store, now: int) -> dict[str, int]:
    """Record the intact events of retired writers again, under our own writer. Returns the number of events for each.

    An interrupted salvage is continued; events that it recorded already are left out.
    """
    done = {}
    for writer, owner in writers.retired(_journals(store)).items():
        name, _, offset = (owner.owed or "").partition(":")
        if not (name and offset.isdigit()):
            continue
        whole = list(_whole_behind(Journal(store.path, writer), name, int(offset)))
        done[writer] = rerecording.salvage(store, lambda _, whole=whole: _new(store, whole), now)  # type: ignore[misc]
        writers.retire(_journals(store), writer, owner.retired or "", None)
    return done


def _new(store: Store, whole: list[Draft]) -> list[Draft]:
    """The events in WHOLE that have not been recorded again yet."""
    out_of_use = writers.retired(_journals(store))
    in_use = [journal for journal in store.journals() if journal.writer not in out_of_use]
    candidates = (raw for journal in in_use for raw in journal.backwards() if SALVAGED in raw)
    already_salvaged = {event.data.get("salvaged_from") for event in readable(candidates)}
    return [draft for draft in whole if draft.data["salvaged_from"] not in already_salvaged]


def _whole_behind(journal: Journal, name: str, start: int) -> Iterator[Draft]:
    """Every line whose data still matches its head, from byte START of the segment called NAME on."""
    for segment in journal.segments():
        this = os.path.basename(segment.path)
        offset = start if this == name else 0
        for raw in _pieces(segment, offset) if this >= name else ():
            if draft := _salvaged(raw, journal.writer):
                yield draft


def _pieces(segment: Segment, offset: int) -> Iterator[bytes]:
    """The pieces between line feeds, cut to the length of a line."""
    rest = b""
    for octets in _without_holes(segment, offset):
        *pieces, rest = (rest + octets).split(b"\n")
        yield from pieces
        rest = rest[: lines.MAX_LINE]  # a longer piece is not a line, whatever follows
    yield rest


def _journals(store: Store) -> str:
    return os.path.join(store.path, "j")


def _salvaged(raw: bytes, writer: str) -> Draft | None:
    """The event of an intact line, with its old id and time; None if it is not to be recorded again, or would not fit
    into a line."""
    try:
        lines.link_without_previous(raw, writer)
        event = lines.event(raw)
    except (lines.BadLine, lines.Unreadable):
        return None
    # A signature is valid in its own chain only. A withdrawn event must not return as an event without content.
    if event.kind in (MERGED, SIGNED) or lines.is_blank(raw) or len(raw) > lines.MAX_LINE - ROOM_FOR_ORIGIN:
        return None
    data = {name: value for name, value in event.data.items() if name != SALT}
    origin = {"salvaged_from": event.id, ORIGIN: event.lamport, "salvaged_ts": event.ts}
    return Draft(event.by, event.kind, origin | data, event.key, event.scope_key)


def rewrite_clone(store: str) -> Clone:
    """Write clone.json again, from the origin lines of the journals."""
    rebuilt = clone.from_journals(store)
    if rebuilt is None:
        raise NothingToRepair()
    clone.write(store, rebuilt)
    return rebuilt


def in_place_of_the_index(store: str) -> list[tuple[str, str]]:
    """Objects that are not files at the paths of the index: the kind and path of each."""
    return [(kind, path) for path in (os.path.join(store, name) for name in INDEX_FILES) if (kind := _no_file(path))]


def _no_file(path: str) -> str:
    """The kind of the object at PATH; empty if it is a file, a link to a file, or missing."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return ""
    return "" if stat.S_ISREG(mode) or os.path.isfile(path) else NO_FILES.get(stat.S_IFMT(mode), "a device")


def clear_the_index(store: str) -> list[str]:
    """Remove objects that are not files from the paths of the index. Returns the actions. Nothing is lost: an object
    that may have contents is only renamed, and the index is built from the journals."""
    done = []
    for kind, path in in_place_of_the_index(store):
        aside = f"{path}.aside-{os.urandom(3).hex()}"
        try:
            if kind in EMPTY:
                os.unlink(path)
            else:
                os.rename(path, aside)
        except OSError as error:
            raise disk.refusal(error) from error
        where = "" if kind in EMPTY else f"; it is now {aside}"
        done.append(f"removed {kind} that was in place of the index{where}")
    return done


def remove_leftovers(store: str) -> int:
    """Remove temporary files of killed processes. Returns their number."""
    swept = leftovers(store)
    for path in swept:
        disk.remove_if_there(path)
    return len(swept)


def leftovers(store: str) -> list[str]:
    """Temporary files of killed processes, anywhere in the store."""
    journals = os.path.join(store, "j")
    folders = [
        store,
        *presence.folders(store),
        os.path.join(store, "sessions"),
        os.path.join(store, "verdicts"),
        os.path.join(store, "torn"),
        os.path.join(store, "forked"),
        os.path.join(store, keys.FOLDER),
    ]
    folders += [os.path.join(journals, writer) for writer in writers.all_in(journals)]
    folders += [received.folder_of(store, writer) for writer in received.all_in(store)]
    return [path for folder in folders for path in disk.abandoned_temporary_files(folder)]


def owned_paths(store: str) -> list[str]:
    """Everything in the store that bb wrote: files, and folders that contain nothing else, each after its contents."""
    owned: dict[str, None] = {}
    for folder, folders, files in os.walk(store, topdown=False):
        ours = [os.path.join(folder, name) for name in files if _is_ours(os.path.relpath(folder, store), name)]
        owned |= dict.fromkeys(sorted(ours))
        if len(ours) == len(files) and all(os.path.join(folder, name) in owned for name in folders):
            owned[folder] = None
    return list(owned)


def remove(paths: list[str]) -> None:
    """Remove files and empty folders. Paths that another program keeps in use stay."""
    for path in paths:
        try:
            if os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
            else:
                os.unlink(path)
        except OSError as error:
            if error.errno in FORBIDDEN:
                raise disk.refusal(error) from error


def files_in(store: str) -> list[str]:
    """Every file in the store."""
    return sorted(os.path.join(folder, name) for folder, _, files in os.walk(store) for name in files)


def remove_empty_repository(common: str) -> None:
    """Remove the bare repository that was created for a ledger, if it has no objects and refs."""
    if not any(files for part in ("objects", "refs") for _, _, files in os.walk(os.path.join(common, part))):
        shutil.rmtree(common, ignore_errors=True)


def _is_ours(folder: str, name: str) -> bool:
    top, _, below = folder.partition(os.sep)
    is_temporary = name.startswith(".") and name.endswith(".tmp")
    match top, below:
        case ".", "":
            return is_temporary or name in OWN_FILES
        case "received", ("" | "heads"):
            return is_temporary or name == "log" or name.endswith(".json")
        case (("j" | "received"), writer):
            files = {"lock", "lock.queue", "owner.json", "tail", "sync", "synced"}
            return ids.is_writer_id(writer) and (is_temporary or name in files or _is_segment(name))
        case presence.FOLDER, ("" | presence.REMOTE):
            stem = name.removesuffix(presence.SUFFIX).removesuffix(presence.SESSION)
            return is_temporary or (stem != name and bool(presence.agent_of_file(stem)))
        case (("sessions" | "verdicts" | passed_edits.FOLDER), ""):
            return is_temporary or name.endswith(".json")
        case hook_calls.FOLDER, "":
            return is_temporary or "." in name
        case "queue", "":
            return name in ("lock", "lock.queue") or ".json" in name
        case keys.FOLDER, "":
            return is_temporary or name == keys.OWN_ONLY or ids.is_writer_id(name.removesuffix(keys.PUBLIC))
        case (("torn" | "forked"), ""):
            return True
    return False


def _is_segment(name: str) -> bool:
    return name.endswith(".jsonl") and len(name) == 18 and name[:12].isdigit()
