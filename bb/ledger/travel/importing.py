"""Imports published lines: every line is checked against the local journals before any is written.

New lines of a writer are appended to its journal unchanged. Lines that are here already are compared. An equal line is
skipped. A line whose payload was redacted is blanked here too. A different line with the same number means that two
stores wrote under one id: then the published line counts, because all other clones have it, and ours is put aside
(`ledger/records/set_aside.py`). If ours is published elsewhere, nothing is imported.
"""

from __future__ import annotations

import os
from itertools import islice

from bb.coordination.facts import Redacted
from bb.kernel import ids
from bb.kernel.errors import Conflict
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.journal import kinds, received, writers
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from bb.ledger.journal.line import BadLine
from bb.ledger.published.charter import LedgerRewritten, NotALedger
from bb.ledger.records import payload_removal, set_aside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bb.ledger.index.index import Index
    from bb.ledger.journal.line import Link
    from bb.ledger.published.tip import Commit
    from bb.ledger.records.store import Store

REDACTED = b'"kind":"x.bb.redacted"'
MANY = 50  # journals that are synced to the disk together
GLANCE = 1000  # lines between two progress reports

LedgerForked = Conflict.declare(
    "LEDGER_FORKED",
    "Two different lines are published with the same number",
    hint="two stores wrote under one id; docs/sync.md says what to do",
)


class Incoming(Record):
    """The planned change of one writer's journal."""

    writer: str
    cut: int | None  # local lines from this number on are put aside
    is_fork: bool  # they differ from the published lines; otherwise they are damaged
    more: bytes  # the lines to append then
    upto: int  # the number of the last of them


def check(store: Store, commits: Sequence[Commit], published: dict[str, int]) -> list[Incoming]:
    """The changes that COMMITS make to the local journals. An invalid line is a refusal, and nothing is written.

    PUBLISHED is the number of each writer's last line on any other remote.
    """
    _refuse_wrong_blanks(store, commits)
    runs: dict[str, list[bytes]] = {}
    starts: dict[str, int] = {}
    for commit in commits:
        for writer, first, octets in commit.added:
            starts.setdefault(writer, first)
            runs.setdefault(writer, []).append(octets)
    received.settle(store.path)  # a process that was killed may have written some of these lines already
    index = store.caught_up()
    damaged = {damage.writer for damage in index.damages()}
    return [
        _checked(store, index, damaged, writer, starts[writer], b"".join(run), published)
        for writer, run in runs.items()
    ]


def _refuse_wrong_blanks(store: Store, commits: Sequence[Commit]) -> None:
    """Refuse commits that blank events without a withdrawal."""
    if any(commit.blanked for commit in commits):
        refuse_wrong_blanks(store.path, commits, store.caught_up().hidden())


def refuse_wrong_blanks(store: str, commits: Sequence[Commit], known: Mapping[str, frozenset[str]]) -> None:
    """Refuse commits that blank an event, unless its author or the person has withdrawn it. Withdrawals are in KNOWN,
    and in the commits themselves; a later commit does not permit what an earlier one did."""
    blanked = {event for commit in commits for event in commit.blanked}
    withdrawn, raws = dict(known), {}
    for commit in commits:
        for writer, first, octets in commit.added:
            for n, raw in enumerate(octets.split(b"\n")[:-1], first):
                _note_withdrawal(withdrawn, raw)
                if (event := ids.event_id(writer, n)) in blanked:
                    raws[event] = raw
        for event in sorted(commit.blanked):
            writer, n = ids.split_event_id(event)
            if not payload_removal.is_validly_redacted(raws.get(event) or Journal(store, writer).line(n), withdrawn):
                raise LedgerRewritten(f"the payload of {event} was removed without a permitted redaction")


def withdrawn(store: str, lasts: Mapping[str, int]) -> dict[str, frozenset[str]]:
    """The events that the lines in the journals up to LASTS withdraw. Reads every line."""
    found: dict[str, frozenset[str]] = {}
    for writer, last in lasts.items():
        for raw in islice(Journal(store, writer).lines_from(1), last):
            _note_withdrawal(found, raw)
    return found


def _note_withdrawal(withdrawn: dict[str, frozenset[str]], raw: bytes) -> None:
    if REDACTED in raw and isinstance(fact := kinds.fact_on(raw), Redacted):
        withdrawn[fact.event] = withdrawn.get(fact.event, frozenset()) | {fact.agent}


def _checked(
    store: Store,
    index: Index,
    damaged: set[str],
    writer: str,
    first: int,
    octets: bytes,
    published: dict[str, int],
) -> Incoming:
    journal = Journal(store.path, writer)
    position = index.position(writer)
    head, link = position.link.n, position.link
    raws = octets.split(b"\n")[:-1]
    if first > head + 1:
        raise NotALedger(f"lines of writer {writer} before {first} are missing")
    own_lines = islice(journal.lines_from(first), head - first + 1) if first <= head else ()
    same, is_fork = 0, False
    for ours, theirs in zip(own_lines, raws, strict=False):
        if not lines.is_same_event(ours, theirs):
            is_fork = True
            break
        same += 1
    cut = first + same if is_fork else None
    if cut is not None:
        if cut <= published.get(writer, 0):
            raise LedgerForked(f"line {cut} of writer {writer} is published in two forms", writer=writer, n=cut)
        link = journal.link_before(cut)
    more = raws[same:]
    if more and cut is None and writer in damaged:
        store.refuse_damage()  # our own journal is repaired first, so that no line after the damage is lost
        cut = head + 1
    for start in range(0, len(more), GLANCE):
        if store.progress:
            store.progress(start, len(more), "Checking lines")
        link = _followed(more[start : start + GLANCE], writer, link)
    return Incoming(writer, cut, is_fork, b"\n".join([*more, b""]), first + len(raws) - 1)


def _followed(raws: list[bytes], writer: str, link: Link) -> Link:
    """The link of the last of RAWS, if each follows the one before it, and the first follows LINK."""
    if len(raws) == GLANCE and max(map(len, raws)) < lines.MAX_LINE:
        from bb.ledger.journal import bulk_check  # noqa: PLC0415  (its import is slow)

        if checked := bulk_check.check(raws, writer, link):
            return checked[1]
    for raw in raws:
        try:
            link = lines.check(raw, writer, link)
        except BadLine as error:
            raise NotALedger(f"line {link.n + 1} of writer {writer} is invalid: {error}") from None
    return link


def leave_to_others(store: Store, incoming: Sequence[Incoming]) -> list[str]:
    """Continue under a new writer if others have published lines under the id of one of ours, because we must not sign
    lines that we did not record. Returns the writers that are left to others. Called before `write`: after a crash, our
    writer must not continue foreign lines."""
    journals = os.path.join(store.path, writers.JOURNALS)
    left = []
    for change in incoming:
        owner = writers.read_owner(journals, change.writer) if change.more and change.cut is None else None
        if owner is not None and owner.retired is None:
            writers.retire(journals, change.writer, "lines were published under its id from elsewhere", None)
            left.append(change.writer)
    return left


def write(store: Store, incoming: Sequence[Incoming]) -> None:
    """Write the checked lines into the journals."""
    changed = [change for change in incoming if change.more or change.cut is not None]
    for change in changed:
        if change.cut is not None:
            journal = Journal(store.path, change.writer)
            set_aside.set_lines_aside(store.path, journal, change.cut, is_fork=change.is_fork, upto=change.upto)
    journals = [(Journal(store.path, change.writer), change.more) for change in changed]
    for journal, more in journals:
        if not journal.is_received:
            with journal.lock_to_change():
                journal.extend(more)
    received_ones = [(journal, more) for journal, more in journals if journal.is_received]
    if received_ones:
        disk.make_folder(os.path.join(store.path, received.FOLDER))
        with received.Changing(store.path, [journal.writer for journal, _ in received_ones]):
            _write_received(store, received_ones)


def _write_received(store: Store, journals: Sequence[tuple[Journal, bytes]]) -> None:
    """Append lines to received journals. Many journals are synced to the disk together, which is much faster."""
    are_many = len(journals) >= MANY and disk.CAN_SYNC_EVERYTHING
    for place, (journal, more) in enumerate(journals):
        if store.progress and not place % GLANCE:
            store.progress(place, len(journals), "Writing lines")
        disk.make_folder(journal.folder)
        journal.extend(more, is_synced=not are_many)
    if are_many:
        disk.sync_everything()
