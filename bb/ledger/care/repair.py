"""Mending a store: what `bb doctor --fix` may do. Nothing here forgets a line that is whole.

A damaged journal is retired and kept as it is. A new writer starts, accounts for the sound part, and records again
what is still whole behind the damage, each event with the id it had (`salvaged_from`), so that later readers, here
and in other clones, have those facts too.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat

from bb.kernel import ids
from bb.kernel.errors import Refused
from bb.kernel.event import MERGED, SALT, SIGNED
from bb.ledger.files import disk
from bb.ledger.journal import clone, origin, writers
from bb.ledger.journal import line as lines
from bb.ledger.journal.clone import Clone
from bb.ledger.journal.journal import Journal
from bb.ledger.journal.segments import BLOCK, LARGEST, NO_FOLLOW, LedgerDamaged, read_at
from bb.ledger.local import last_alerts, pinned_threshold, presence
from bb.ledger.records import come_to_count
from bb.ledger.records.store import ORIGIN, readable
from bb.ledger.signing import keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bb.ledger.journal.cursors import Damage
    from bb.ledger.journal.segments import Segment
    from bb.ledger.records.store import Draft, Store


FORBIDDEN = frozenset([errno.EACCES, errno.EPERM, errno.EROFS])
SALVAGED = b'"salvaged_from":'
TOO_LARGE = "move it away from the ledger's folder; then `bb doctor --fix` goes on without the lines that are in it"
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
        "signers.json",
        come_to_count.NAME,
        "sync.json",
        "sync.lock",
        *INDEX_FILES,
    ]
)
NO_FILES = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFLNK: "a link"}
EMPTY = ("a pipe", "a socket")  # such hold nothing


class NothingToMend(Refused):
    """There is nothing to restore clone.json from."""

    code = "STORE_LOST"
    hint = "no journal is left; start again with `bb init --undo --delete-history` and `bb init`"


def close_holes(store: Store) -> list[str]:
    """Take the holes out of our own journal where they make a file larger than any of ours; the files.

    A hole holds nothing: it reads as NULs, and no line has one. The file is kept in `torn/` as it was.
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
            message = f"{segment.path} is larger than any segment, also without holes"
            raise LedgerDamaged(message, hint=TOO_LARGE, path=segment.path)
    disk.make_folder(journal.torn)
    aside = os.path.join(journal.torn, f"{journal.writer}-{segment.first:012}-{os.urandom(3).hex()}.jsonl")
    try:
        os.link(segment.path, aside)
    except OSError as error:
        raise disk.refusal(error) from error
    # What is nothing but a hole has lost its lines: a blank one keeps it damaged, so that its writer is retired.
    disk.replace(segment.path, bytes(octets) or b"\n", durable=True)


def _without_holes(segment: Segment, at: int = 0) -> Iterator[bytes]:
    """What a file holds from byte AT on but for its NULs, block by block. What stands behind them begins a line."""
    try:
        fd, _ = disk.open_to_read(segment.path, NO_FOLLOW)
        try:
            is_behind_hole, ended = False, True
            while octets := read_at(fd, BLOCK, held := _next_data(fd, at)):
                is_behind_hole, at = is_behind_hole or held > at, held + len(octets)
                for place, piece in enumerate(NULS.split(octets)):
                    is_behind_hole |= place > 0
                    if piece:
                        yield piece if ended or not is_behind_hole else b"\n" + piece
                        is_behind_hole, ended = False, piece.endswith(b"\n")
        finally:
            os.close(fd)
    except OSError as error:
        raise disk.refusal(error) from error


def _next_data(fd: int, at: int) -> int:
    """Where something stands at AT or behind it, if the system tells; the end where nothing does."""
    if not hasattr(os, "SEEK_DATA"):
        return at
    try:
        return os.lseek(fd, at, os.SEEK_DATA)
    except OSError as error:
        return os.fstat(fd).st_size if error.errno == errno.ENXIO else at


def mend_torn(store: Store) -> list[str]:
    """Finish or put aside the torn last lines of our own journal; the writers mended."""
    if store.writer is None:
        return []
    journal = Journal(store.path, store.writer)
    if not journal.is_torn():
        return []
    with journal.lock():
        return [journal.writer] if journal.mend() else []


def retire(store: Store, damage: Damage) -> None:
    """Never write to a damaged journal again, and remember that what is whole behind the damage is to be recorded."""
    owed = f"{os.path.basename(damage.path)}:{damage.offset}"
    writers.retire(_journals(store), damage.writer, f"line {damage.n}: {damage.reason}", owed)


def salvage_owed(store: Store, now: int) -> dict[str, int]:
    """Record what retired writers are still owed, under a writer of our own: how many events for each.

    A salvage that was interrupted is taken up again; what has been recorded once is left out.
    """
    done = {}
    for writer, owner in writers.retired(_journals(store)).items():
        name, _, offset = (owner.owed or "").partition(":")
        if not (name and offset.isdigit()):
            continue
        whole = list(_whole_behind(Journal(store.path, writer), name, int(offset)))
        done[writer] = store.salvage(lambda _, whole=whole: _new(store, whole), now)  # type: ignore[misc]
        writers.retire(_journals(store), writer, owner.retired or "", None)
    return done


def _new(store: Store, whole: list[Draft]) -> list[Draft]:
    """Those of the events that have not been recorded again yet."""
    out_of_use = writers.retired(_journals(store))
    in_use = [journal for journal in store.journals() if journal.writer not in out_of_use]
    candidates = (raw for journal in in_use for raw in journal.backwards() if SALVAGED in raw)
    known = {event.data.get("salvaged_from") for event in readable(candidates)}
    return [draft for draft in whole if draft[2]["salvaged_from"] not in known]


def _whole_behind(journal: Journal, name: str, start: int) -> Iterator[Draft]:
    """Every line from byte START of the segment called NAME on whose data still matches its head."""
    for segment in journal.segments():
        this = os.path.basename(segment.path)
        offset = start if this == name else 0
        for raw in _pieces(segment, offset) if this >= name else ():
            if found := _salvaged(raw, journal.writer):
                yield found


def _pieces(segment: Segment, offset: int) -> Iterator[bytes]:
    """What stands between line feeds, as far as it could be a line."""
    rest = b""
    for octets in _without_holes(segment, offset):
        *pieces, rest = (rest + octets).split(b"\n")
        yield from pieces
        rest = rest[: lines.MAX_LINE]  # what is longer is no line, however it goes on
    yield rest


def _journals(store: Store) -> str:
    return os.path.join(store.path, "j")


def _salvaged(raw: bytes, writer: str) -> Draft | None:
    """The event of a whole line, with the id and time it had. One that would no longer fit into a line stays behind."""
    try:
        lines.link_alone(raw, writer)
        event = lines.event(raw)
    except (lines.BadLine, lines.Unreadable):
        return None
    # A signature fits its own chain only, and what was taken back is not to come again as an event that says nothing.
    if event.kind in (MERGED, SIGNED) or lines.is_blank(raw) or len(raw) > lines.MAX_LINE - ROOM_FOR_ORIGIN:
        return None
    data = {name: value for name, value in event.data.items() if name != SALT}
    origin = {"salvaged_from": event.id, ORIGIN: event.lamport, "salvaged_ts": event.ts}
    return event.by, event.kind, origin | data, event.key, event.scope_key


def rewrite_clone(store: str) -> Clone:
    """Write clone.json anew from what the journals say of themselves."""
    found = origin.from_journals(store)
    if found is None:
        raise NothingToMend
    clone.write(store, found)
    return found


def in_place_of_the_index(store: str) -> list[tuple[str, str]]:
    """What stands where the files of the index belong, and is no file: what it is, and its path."""
    return [(kind, path) for path in (os.path.join(store, name) for name in INDEX_FILES) if (kind := _no_file(path))]


def _no_file(path: str) -> str:
    """What stands at PATH, unless it is a file, or nothing. A link counts as what it leads to, if that is a file."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return ""
    return "" if stat.S_ISREG(mode) or os.path.isfile(path) else NO_FILES.get(stat.S_IFMT(mode), "a device")


def clear_the_index(store: str) -> list[str]:
    """Take away what stands in place of the index; what was done. Nothing is lost: what may hold something is only
    given another name, and the journals have all that the index had."""
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
        where = "" if kind in EMPTY else f", which is {aside} now"
        done.append(f"took away {kind} that stood in place of the index{where}")
    return done


def sweep(store: str) -> int:
    """Remove temporary files that killed processes left behind; how many."""
    swept = leftovers(store)
    for path in swept:
        disk.remove_if_there(path)
    return len(swept)


def leftovers(store: str) -> list[str]:
    """Temporary files of killed processes, anywhere in the store."""
    journals = os.path.join(store, "j")
    folders = [
        store,
        presence.folder(store),
        os.path.join(store, "sessions"),
        os.path.join(store, "verdicts"),
        os.path.join(store, "torn"),
        os.path.join(store, "forked"),
        os.path.join(store, keys.FOLDER),
    ]
    folders += [os.path.join(journals, writer) for writer in writers.all_in(journals)]
    return [path for folder in folders for path in disk.leftovers(folder)]


def belongings(store: str) -> list[str]:
    """Everything in the store that is ours: files, and folders that hold nothing else, each after its contents."""
    found: list[str] = []
    for folder, folders, files in os.walk(store, topdown=False):
        ours = [os.path.join(folder, name) for name in files if _is_ours(os.path.relpath(folder, store), name)]
        found += sorted(ours)
        if len(ours) == len(files) and all(os.path.join(folder, name) in found for name in folders):
            found.append(folder)
    return found


def remove(paths: list[str]) -> None:
    """Remove files and emptied folders; what somebody else holds on to stays."""
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
    """Every file that is left."""
    return sorted(os.path.join(folder, name) for folder, _, files in os.walk(store) for name in files)


def remove_empty_repository(common: str) -> None:
    """Remove the bare repository that was made for a ledger, when it holds nothing of its own."""
    if not any(files for part in ("objects", "refs") for _, _, files in os.walk(os.path.join(common, part))):
        shutil.rmtree(common, ignore_errors=True)


def _is_ours(folder: str, name: str) -> bool:
    top, _, below = folder.partition(os.sep)
    is_temporary = name.startswith(".") and name.endswith(".tmp")
    match top, below:
        case ".", "":
            return is_temporary or name in OWN_FILES
        case "j", writer:
            known = {"lock", "lock.queue", "owner.json"}
            return ids.is_writer_id(writer) and (is_temporary or name in known or _is_segment(name))
        case "presence", "":
            stem = name.removesuffix(presence.SUFFIX).removesuffix(presence.SESSION)
            return is_temporary or (stem != name and bool(presence.named_by(stem)))
        case (("sessions" | "verdicts"), ""):
            return is_temporary or name.endswith(".json")
        case "queue", "":
            return name in ("lock", "lock.queue") or ".json" in name
        case keys.FOLDER, "":
            return is_temporary or name == keys.OWN_ONLY or ids.is_writer_id(name.removesuffix(keys.PUBLIC))
        case (("torn" | "forked"), ""):
            return True
    return False


def _is_segment(name: str) -> bool:
    return name.endswith(".jsonl") and len(name) == 18 and name[:12].isdigit()
