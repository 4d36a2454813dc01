"""Reads events that match a filter: the latest ones, all of them, or new ones as they are recorded."""

from __future__ import annotations

import itertools
import os
import time

from bb.kernel import json_text
from bb.kernel.record import Record
from bb.ledger.journal import line as lines
from bb.ledger.journal import received
from bb.ledger.journal.journal_reader import Position
from bb.ledger.journal.line import BadLine
from bb.ledger.journal.segments import LedgerDamaged
from bb.ledger.records import events
from bb.ledger.records.newest_first import newest_first

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bb.kernel.event import Event
    from bb.ledger.journal.journal import Journal
    from bb.ledger.records.store import Store

REMEMBERED = 100  # lines; more than a failed append ever removes
GLANCE = 0.04  # seconds between two polls; a follower may lag by at most 0.1 seconds


class Filter(Record):
    """Selects events. Times are texts in the ledger's format, so they can be compared as texts."""

    kinds: frozenset[str] = frozenset()
    agent: str | None = None
    since: str | None = None
    until: str | None = None

    def admits(self, event: Event) -> bool:
        return (
            (not self.kinds or event.kind in self.kinds)
            and (self.agent is None or self.agent in (event.by, event.data.get("actor_id")))
            and (self.since is None or event.ts >= self.since)
            and (self.until is None or event.ts < self.until)
        )

    def may_admit(self, raw: bytes) -> bool:
        """A quick test of a raw line, so that most lines need not be parsed. It never rejects a matching line."""
        if self.kinds and not any(json_text.dumps(kind).encode() in raw for kind in self.kinds):
            return False
        return self.agent is None or json_text.dumps(self.agent).encode() in raw


def latest(store: Store, wanted: Filter, limit: int) -> list[Event]:
    """The last LIMIT events that match, oldest first."""
    admitted: list[Event] = []
    for event in newest_first(store, wanted.may_admit, with_unreadable=True):
        if wanted.admits(event):
            admitted.append(event)
            if len(admitted) == limit:
                break
    return events.numbered(store, admitted[::-1])


def everything(store: Store, wanted: Filter) -> Iterator[Event]:
    """Every event that matches, oldest first in the total order, each with its sequence number."""
    import heapq  # noqa: PLC0415

    from bb.ledger.journal import bulk_check  # noqa: PLC0415  (for many lines it is worth its import)

    index = store.caught_up()
    places = events.sequence_numbers(store)
    sources = []
    for journal in store.journals():
        raws = itertools.islice(_raw(journal), index.position(journal.writer).link.n)
        sources.append(events.events_with_unreadable(filter(wanted.may_admit, raws), bulk_check.decode))
    merged = sources[0] if len(sources) == 1 else heapq.merge(*sources, key=lambda event: event.order)
    for event in merged:
        if wanted.admits(event):
            yield event.replace(seq=places.of(event))


def raw_lines(store: Store) -> Iterator[tuple[str, bytes]]:
    """Every valid raw line, writer by writer, for a byte-exact copy."""
    index = store.caught_up()
    for journal in store.journals():
        for raw in itertools.islice(_raw(journal), index.position(journal.writer).link.n):
            yield journal.writer, raw


class Follower:
    """Events as any process appends them, after those that the index had read at the start."""

    def __init__(self, store: Store, wanted: Filter) -> None:
        self._store = store
        self._wanted = wanted
        self._mark = received.mark_of(store.path)
        index = store.caught_up()
        # By writer, the positions after the last lines shown.
        self._passed = {journal.writer: [index.position(journal.writer)] for journal in store.journals()}

    def new(self) -> list[Event]:
        """The matching events since the last call, in order."""
        sources = self._store.sources()
        grown = sources.grown_since(self._mark)
        self._mark = grown.mark
        new = [event for journal in (*sources.local, *grown.journals) for event in self._read(journal)]
        new = sorted(filter(self._wanted.admits, new), key=lambda event: event.order)
        return events.numbered(self._store, new) if new else []

    def forever(self) -> Iterator[Event]:
        while True:
            yield from self.new()
            time.sleep(GLANCE)

    def _read(self, journal: Journal) -> Iterator[Event]:
        """The new events of JOURNAL.

        A line that could not be synced may have been shown and then removed. Then reading continues after the last
        shown line that is still there.
        """
        passed = self._passed.setdefault(journal.writer, [Position(0, 0, lines.START)])
        if not self._has_grown(journal, passed[-1]):
            return
        while len(passed) > 1 and not journal.has(passed[-1]):
            passed.pop()
        for segment, offset, block in journal.read(passed[-1]):
            link = passed[-1].link
            for raw in block.lines():
                try:
                    link = lines.check(raw, journal.writer, link)
                except BadLine as error:
                    raise LedgerDamaged(f"line {link.n + 1} of {journal.writer} is damaged: {error}") from None
                offset += len(raw) + 1
                passed.append(Position(segment.first, offset, link))
            del passed[:-REMEMBERED]
            yield from events.events_with_unreadable(block.lines())

    def _has_grown(self, journal: Journal, position: Position) -> bool:
        """Whether the active segment has grown or a newer one exists."""
        try:
            size = os.stat(os.path.join(journal.folder, f"{position.segment:012}.jsonl")).st_size
        except OSError:
            return True
        following = os.path.join(journal.folder, f"{position.link.n + 1:012}.jsonl")
        return size != position.offset or os.path.exists(following)


def _raw(journal: Journal) -> Iterator[bytes]:
    return (raw for _, _, block in journal.read() for raw in block.lines())
