"""Archives the rows of a fleet's engine: publishes them on the ledger's branch, in the engine's order.

Every relay could archive, and one at a time does. If two do, the push lease keeps both right: the second one finds the
branch moved, looks, and goes on after the rows that are there. Rows are published as the engine has them. A row that
does not count keeps its place and has no lines (`carrier/sound_rows.py`). A line that was withdrawn meanwhile goes out
without its payload, unless it is about reservations or names: without it, readers of the branch would decide
differently than readers of the engine. Its payload is removed by the next commit that only removes payloads.
"""

from __future__ import annotations

from bb.kernel import ids
from bb.kernel.errors import BbError, Conflict
from bb.ledger.carrier import sound_rows
from bb.ledger.carrier.door import VOID, AnotherEngine, next_digest
from bb.ledger.git import program
from bb.ledger.journal import received
from bb.ledger.journal.journal import Journal
from bb.ledger.journal.line import START, BadLine, blanked
from bb.ledger.published import fleet_results, fleet_terms, lacking_rows, order_file
from bb.ledger.published.layout import ORDER
from bb.ledger.published.order_file import ArchivedRow
from bb.ledger.published.tip import Commit
from bb.ledger.records import payload_removal
from bb.ledger.travel import admitted, importing, numbering, publish, remote
from bb.ledger.travel.commit_writer import CommitWriter
from bb.ledger.travel.sync_lock import FIRST_PAUSE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bb.ledger.carrier.door import Row
    from bb.ledger.journal.line import Link
    from bb.ledger.published.tip import Tip
    from bb.ledger.travel.commit_writer import WrittenCommit
    from bb.ledger.travel.publish import AddedLines
    from bb.ledger.travel.sync import Sync

MOST_BYTES = 32 << 20  # of lines in a commit

ArchiveGap = Conflict.declare(
    "ARCHIVE_GAP",
    "The rows before these are not archived yet",
    hint="read the engine's rows again, from the last one that is archived",
)


def archive(sync: Sync, rows: Sequence[Row]) -> Tip:
    """Publish ROWS, which have no gaps, as far as the branch does not have them. Returns the tip after them.

    Withdrawals are published too. Snapshots are not made here, because they take long (`due_snapshot.py`).
    """
    pause, tip = FIRST_PAUSE, sync.pin.tip
    if tip is None or tip.charter.fleet is None or (rows and rows[0].place > tip.place + 1):
        sync.look()  # this clone has not seen the branch lately
    while waiting := _waiting(sync, rows):
        _must_be_whole(sync, _tip(sync))
        try:
            _publish(sync, waiting)
        except remote.Moved as moved:
            pause = sync.look_later(moved, pause)
        except BbError as failure:
            if not isinstance(failure, (program.GitFailed, *remote.unreachable())):
                raise
            before = _tip(sync)
            sync.look()  # the push may have arrived, and only the answer was lost; or git has deleted the parent
            if _tip(sync) == before:
                raise
    sync.publish_all()
    return _tip(sync)


def _tip(sync: Sync) -> Tip:
    """The verified tip of a branch that is the archive of an engine."""
    tip = sync.pin.tip
    if tip is None or tip.charter.fleet is None:
        raise fleet_terms.NoFleet(f"the ledger on {sync.name} is not ordered by an engine")
    return tip


def _waiting(sync: Sync, rows: Sequence[Row]) -> Sequence[Row]:
    """The ROWS that go into the next commit. Refused if they are of another log than the rows on the branch."""
    tip = _tip(sync)
    if rows and rows[0].place > tip.place + 1:
        message = f"the branch has the rows up to place {tip.place}, and these begin at {rows[0].place}"
        raise ArchiveGap(message, next=tip.place + 1)
    known = max(tip.place + 1 - rows[0].place, 0) if rows else 0
    if known and len(rows) >= known and tip.generation == tip.place and rows[known - 1].digest != tip.digest:
        raise AnotherEngine(f"the row at place {tip.place} is another one than in the archive")
    waiting: list[Row] = []
    size = 0
    for row in rows[known : known + order_file.MOST_ROWS]:
        size += len(row.octets)
        if waiting and size > MOST_BYTES:
            break
        waiting.append(row)
    return waiting


def _publish(sync: Sync, rows: Sequence[Row]) -> None:
    """Publish ROWS in one commit on the tip. Raises Moved if the branch has moved."""
    tip = _tip(sync)
    _refuse_wrong_digests(tip, rows)
    counted = _counted(sync, tip, rows)
    incoming = Commit("", None, 0, _added(counted, {}), ())
    sync.store.caught_up()  # it may take long to fold new lines into the index: the relay need not wait for it
    with received.Turn(sync.store.path):  # the relay writes the same journals
        sync.import_lines(importing.check(sync.store, [incoming], tip.last_lines))
        payload_removal.blank(sync.store)
    after, content, made = _committed(sync, tip, counted)
    sync.push_made(after, content, made)


def _refuse_wrong_digests(tip: Tip, rows: Sequence[Row]) -> None:
    digest = tip.digest
    for place, row in enumerate(rows, tip.place + 1):
        digest = next_digest(digest, place, row.writer, row.first, row.octets)
        if (row.place, row.digest) != (place, digest):
            raise AnotherEngine(f"the row at place {place} does not follow the rows in the archive")


def _counted(sync: Sync, tip: Tip, rows: Sequence[Row]) -> list[Row]:
    """ROWS. Those that do not count have no lines."""
    links: dict[str, Link] = {}
    counted = []
    for row in rows:
        try:
            before = links.get(row.writer) or _last_link(sync, tip, row.writer)
            links[row.writer] = sound_rows.link_after(row, before)
            counted.append(row)
        except BadLine:
            _must_not_count(sync, tip, row)
            counted.append(row.replace(writer=VOID, first=0, octets=b""))
    return counted


def _must_not_count(sync: Sync, tip: Tip, row: Row) -> None:
    """Refuse if the relay of this clone has counted ROW: then the archive lacks earlier lines of its writer."""
    store, incarnation = sync.store.path, tip.charter.fleet.incarnation if tip.charter.fleet else ""
    if fleet_results.counted(store, incarnation, [row.place]):
        lacking_rows.note(store, incarnation, row.place, None)
        _must_be_whole(sync, tip)


def _must_be_whole(sync: Sync, tip: Tip) -> None:
    """Refuse to go on after an archive that is known to lack lines."""
    incarnation = tip.charter.fleet.incarnation if tip.charter.fleet else ""
    if refusal := lacking_rows.refusal(sync.store.path, incarnation):
        sync.look()  # the fleet may have begun again
        raise refusal


def _last_link(sync: Sync, tip: Tip, writer: str) -> Link:
    """The link of the last line of WRITER on TIP."""
    last = tip.last_line(writer) if writer != VOID else 0
    return Journal(sync.store.path, writer).link_before(last + 1) if last else START


def _committed(sync: Sync, tip: Tip, rows: Sequence[Row]) -> tuple[Tip, Commit, WrittenCommit]:
    """The tip after a commit of ROWS, the content of the commit, and the commit, which was made but not pushed."""
    tip.charter.may_write()
    added = _added(rows, _without_payload(sync, rows))
    listed = tuple(ArchivedRow(row.place, row.writer, row.first, row.octets.count(b"\n"), row.digest) for row in rows)
    last, commits = rows[-1].place, tip.commits + 1
    key, over = sync.signatures.key, sync.on_top_of or tip.commit
    message = _message(tip, rows, is_over_stray=sync.on_top_of is not None)
    writer = CommitWriter(sync.store, message.encode(), over, sync.now, key, tip.commit)
    writer.file(ORDER, order_file.to_bytes(listed))
    heads = dict(tip.heads)
    for name, _, octets in added:
        heads[name] = publish.append_lines(writer, tip, name, octets)
    made = writer.finish_aside()
    incarnation = tip.charter.fleet.incarnation if tip.charter.fleet else ""
    content = Commit(made.commit, tip.commit, last, added, (), rows=listed, incarnation=incarnation)
    about = {"generation": last, "heads": heads, "commits": commits, "digest": rows[-1].digest}
    return tip.replace(commit=made.commit, **about), content, made


def _message(tip: Tip, rows: Sequence[Row], *, is_over_stray: bool) -> str:
    first, last = rows[0].place, rows[-1].place
    count = sum(row.octets.count(b"\n") for row in rows)
    about = f"bb: {count} lines, rows {first}-{last} of the fleet" + (", after a quarantined commit" * is_over_stray)
    trailers = numbering.trailers(tip.charter, last, tip.commits + 1)
    return f"{about} [skip ci]\n\n{trailers}" + (f"Bb-Continues: {tip.commit}\n" * is_over_stray)


def _added(rows: Sequence[Row], instead: Mapping[str, bytes]) -> tuple[AddedLines, ...]:
    """The lines in ROWS, writer by writer, in the order of the files. Some events have other lines INSTEAD."""
    runs: dict[str, tuple[int, list[bytes]]] = {}
    for row in (row for row in rows if row.octets):
        runs.setdefault(row.writer, (row.first, []))[1].append(row.octets)
    added = []
    for writer, (first, octets) in sorted(runs.items()):
        whole = b"".join(octets)
        if any(event.startswith(f"{writer}.") for event in instead):
            raws = enumerate(whole.split(b"\n")[:-1], first)
            whole = b"".join(instead.get(ids.event_id(writer, n), raw) + b"\n" for n, raw in raws)
        added.append((writer, first, whole))
    return tuple(added)


def _without_payload(sync: Sync, rows: Sequence[Row]) -> dict[str, bytes]:
    """The events in ROWS that were withdrawn, each with its line without payload."""
    places: dict[str, list[Row]] = {}
    for row in rows:
        places.setdefault(row.writer, []).append(row)

    def line_of(event: str) -> bytes | None:
        writer, n = ids.split_event_id(event)
        row = next((row for row in places.get(writer, ()) if row.first <= n <= row.last), None)
        return row.octets.split(b"\n")[n - row.first] if row else None

    found = {}
    for event in payload_removal.redacted(sync.store, lambda event: line_of(event) is not None):
        raw = line_of(event)
        if raw and not admitted.may_have_holdings(raw):
            found[event] = blanked(raw) or raw
    return found
