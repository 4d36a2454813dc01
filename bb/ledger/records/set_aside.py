"""Lines that were set aside because other lines are published under their numbers (a fork).

They are kept in files and reported. If this clone recorded them, they are recorded again under its new writer.

    forked/<writer>-<n>-<random>.jsonl.owed-<m>   ours; to be recorded again once line M of the writer is here
    forked/<writer>-<n>-<random>.jsonl.again      recorded again, not reported yet
    forked/<writer>-<n>-<random>.jsonl.untold     kept only, not reported yet
    forked/<writer>-<n>-<random>.jsonl            reported

Each step renames the file, and an event that was recorded again contains the digest of its original line's head. So the
next sync continues one that was killed at any point, and nothing is recorded twice.
"""

from __future__ import annotations

import os

from bb.kernel import ids
from bb.kernel.digest import digest
from bb.kernel.event import PUT_ASIDE
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.journal import clone, writers
from bb.ledger.journal import line as lines
from bb.ledger.records import rerecording
from bb.ledger.records.events import readable
from bb.ledger.records.rerecording import FOLDER, HEAD, MARK, SetAsideFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.journal.journal import Journal
    from bb.ledger.records.store import Store

OWED, AGAIN, UNTOLD = ".owed-", ".again", ".untold"
FORKED = "forked"  # `owed` of a retired writer until its lines are in a file of their own


class Fork(Record):
    """Lines that were set aside in a file because other lines are published under their numbers."""

    writer: str
    n: int
    lines: int
    path: str
    kinds: dict[str, int]  # the number of events recorded again, by kind
    under: str | None  # the writer under which they were recorded again
    kept: int  # lines with events that were not recorded again


def set_lines_aside(store: str, journal: Journal, n: int, *, is_fork: bool, upto: int) -> None:
    """Move the lines from N on out of the journal and retire its writer.

    UPTO is the number of the last line that is published for that writer. Our own lines are marked as owed when the
    writer is retired, so that the next sync continues if this process is killed before the lines are moved.
    """
    from bb.ledger.journal import rewriting  # noqa: PLC0415  (forks are rare)

    journals = os.path.join(store, writers.JOURNALS)
    owner = writers.read_owner(journals, journal.writer)
    is_owed = is_fork and owner is not None and writers.may_be_owed(journals, journal.writer, FORKED)
    if owner is not None:
        reason = f"line {n} was published by another store under the same id"
        writers.retire(journals, journal.writer, reason, FORKED if is_owed else owner.owed)
    disk.make_folder(_folder(store))
    end = f"{OWED}{upto}" if is_owed else UNTOLD if is_fork else ""
    path = os.path.join(_folder(store), f"{journal.writer}-{n}-{os.urandom(3).hex()}.jsonl{end}")
    with journal.lock_to_change():
        rewriting.cut(journal, n, path)


def owed_files(store: str) -> list[str]:
    """The files with our own lines that must be recorded again."""
    return [
        os.path.join(_folder(store), name)
        for name in disk.names(_folder(store))
        if name.rpartition(OWED)[2].isdigit() and OWED in name
    ]


def record_again(store: Store, now: int) -> dict[str, int]:
    """Record the events of our lines that were set aside again; return the number of events by their old writer."""
    done: dict[str, int] = {}
    for path in owed_files(store.path):
        try:
            store.clone.may_write()
        except clone.LedgerTooNew.error:
            break  # later, by a newer bb
        writer, upto = os.path.basename(path).partition("-")[0], path.rpartition(OWED)[2]
        if store.caught_up().heads().get(writer, 0) < int(upto):
            continue  # the published lines must be here first, to tell damaged copies of them from our own lines
        file = SetAsideFile(store.path, path)
        count = rerecording.salvage(store, lambda first, file=file: rerecording.drafts(store, file, first), now)  # type: ignore[misc]
        for event in file.taken_back:
            _blank(path, event)
        writers.retire(os.path.join(store.path, writers.JOURNALS), writer, _reason(store.path, writer), None)
        _rename(path, path.rpartition(OWED)[0] + AGAIN)
        done[writer] = done.get(writer, 0) + count
    return done


def unreported_forks(store: str) -> list[Fork]:
    """The forks that were not reported yet. Calling this makes them reported.

    The names of the files record this, so that the next sync reports them if this process is killed before.
    """
    forks: list[Fork] = []
    for name in disk.names(_folder(store)):
        stem, end = os.path.splitext(name)
        if end not in (AGAIN, UNTOLD):
            continue
        path = os.path.join(_folder(store), stem)
        if _rename(path + end, path):
            forks.append(_fork(store, path, is_owed=end == AGAIN))
    # A process that was killed while moving lines has left them in two files.
    return [fork for place, fork in enumerate(forks) if fork.kept or not _is_among(fork, forks[:place])]


def _is_among(fork: Fork, others: list[Fork]) -> bool:
    return any((fork.writer, fork.n, fork.kinds) == (other.writer, other.n, other.kinds) for other in others)


def blank(store: str, raw: bytes) -> None:
    """Blank the copies in `forked/` of an event that was recorded again as the line RAW."""
    while MARK in raw and (event := next(readable([raw]), None)):
        old_id, raw = event.data.get(PUT_ASIDE), b""
        if type(old_id) is str and ids.is_event_id(old_id):
            start = ids.split_event_id(old_id)[0] + "-"
            for path in (os.path.join(_folder(store), name) for name in disk.names(_folder(store))):
                if os.path.basename(path).startswith(start):
                    raw = _blank(path, old_id, str(event.data.get(HEAD))) or raw


def _fork(store: str, path: str, *, is_owed: bool) -> Fork:
    file = SetAsideFile(store, path)
    count = len(file.raws)
    if not is_owed:
        return Fork(file.writer, file.first, count, path, {}, None, count)
    recorded = rerecording.recorded(store)
    kinds: dict[str, int] = {}
    under = None
    for event, head in file.events:
        if head in recorded:
            under = ids.split_event_id(recorded[head])[0]
            kinds[event.kind] = kinds.get(event.kind, 0) + 1
    return Fork(file.writer, file.first, count, path, kinds, under, file.count_of_kept(recorded))


def _blank(path: str, event: str, head: str | None = None) -> bytes | None:
    """Blank the line of EVENT in a file, if its head has the digest HEAD; return the line as it was before."""
    writer, n = ids.split_event_id(event)
    octets = rerecording.read(path)
    for raw in octets.split(b"\n"):
        after = lines.blanked(raw) if raw.startswith(lines.PREFIX_OF % (writer.encode(), n)) else None
        if after not in (None, raw) and head in (None, digest(raw.partition(lines.DATA)[0])):
            disk.replace(path, octets.replace(raw, after or b""), durable=True)
            return raw
    return None


def _rename(path: str, to: str) -> bool:
    """Rename a file; return False if another process has renamed it already."""
    try:
        os.replace(path, to)
        disk.sync_folder(os.path.dirname(to))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise disk.refusal(error) from error
    return True


def _reason(store: str, writer: str) -> str:
    owner = writers.read_owner(os.path.join(store, writers.JOURNALS), writer)
    return (owner.retired if owner else None) or ""


def _folder(store: str) -> str:
    return os.path.join(store, FOLDER)
