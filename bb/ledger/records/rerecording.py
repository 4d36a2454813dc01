"""Records the events of lines that were set aside again: with the same author, time and order, under new ids.

Such an event has no `salvaged_from`. Readers use that member to find an event by its old id, but here the old id
belongs to another agent's event now. Facts about that event would apply to ours too, and our releases and redactions
would apply to theirs. So the events refer to each other by their new ids, and `put_aside_from` only tells the original
place. Lines of other writers in this store that contain the old ids are not changed.
"""

from __future__ import annotations

import os

from bb.coordination.facts import Redacted
from bb.coordination.records import redactions
from bb.kernel import ids, json_text
from bb.kernel.event import MERGED, PUT_ASIDE, SALT, SIGNED, Event
from bb.ledger.files import disk
from bb.ledger.journal import kinds, writers
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from bb.ledger.journal.line import BadLine, Unreadable
from bb.ledger.records.drafts import ORIGIN, Draft
from bb.ledger.records.events import readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from bb.ledger.index.index import Index
    from bb.ledger.records.store import Store

FOLDER = "forked"
HEAD = "put_aside_head"
MARK = b'"%s":' % HEAD.encode()
NO_FACTS = (MERGED, SIGNED)  # the new chain gets markers and signatures of its own
ROOM = 64  # bytes by which the head of a line may grow


class _Lost(Exception):
    """An event refers to an event that is not recorded again."""


class SetAsideFile:
    """The events in a file of lines that were set aside, except those that are published under the same number."""

    def __init__(self, store: str, path: str) -> None:
        self.writer, n, _ = os.path.basename(path).partition(".")[0].split("-")
        self.raws = read(path).split(b"\n")[:-1]
        self.events: list[tuple[Event, str]] = []  # each with the digest of its line's head
        self.taken_back: set[str] = set()
        self.first, self.spoilt = int(n), 0
        journal = Journal(store, self.writer)
        published = list(_first(journal, self.first, len(self.raws)))
        self.shared = {
            place
            for place, (ours, theirs) in enumerate(zip(self.raws, published, strict=False), self.first)
            if _digest_of_data(ours) == _digest_of_data(theirs)
        }
        for place, raw in enumerate(self.raws, self.first):
            if place not in self.shared:  # a shared line is the damaged copy of a published line
                self._note(ids.event_id(self.writer, place), raw)
        hidden: dict[str, frozenset[str]] = {}
        for event, _ in self.events:
            fact = kinds.fact_of(event.kind, event.data, event.by)
            if isinstance(fact, Redacted):
                hidden[fact.event] = hidden.get(fact.event, frozenset()) | {fact.agent}
        redacted = {
            event.id for event, _ in self.events if redactions.is_hidden(event.id, event.by, event.kind, hidden)
        }
        self.taken_back |= redacted
        self.events = [(event, head) for event, head in self.events if event.id not in redacted]

    def _note(self, name: str, raw: bytes) -> None:
        try:
            head, event = lines.link_without_previous(raw, self.writer).head_digest, lines.event(raw)
        except (BadLine, Unreadable):
            self.spoilt += 1
            return
        if lines.is_blank(raw):
            self.taken_back.add(name)
        elif event.kind not in NO_FACTS:
            self.events.append((event, head))

    def has(self, name: str) -> bool:
        """Whether the file contains an event with the id NAME that is not published."""
        writer, n = ids.split_event_id(name)
        return writer == self.writer and n >= self.first and n not in self.shared

    def count_of_kept(self, known: Mapping[str, str]) -> int:
        """The number of lines whose events are neither recorded again nor redacted."""
        kept, gone = self.spoilt, set(self.taken_back)
        for event, head in self.events:
            if head in known:
                continue
            if gone.intersection(_named(event.data)):
                gone.add(event.id)  # it is about a redacted event and has no meaning without that event
            else:
                kept += 1
        return kept


def salvage(store: Store, drafts_from: Callable[[int], Sequence[Draft]], now: int) -> int:
    """Record events of a retired journal again, under our own writer; return their number.

    DRAFTS_FROM is called with the line number that the first event will have.
    """

    def numbered(index: Index) -> Sequence[Draft]:
        head = index.position(store.writer or "").link.n
        return drafts_from(head + (2 if index.unmerged() else 1))  # a marker precedes them

    return len(store.append(numbered, now))


def drafts(store: Store, file: SetAsideFile, first: int) -> list[Draft]:
    """The events of FILE to be recorded, as lines from number FIRST on of our own writer."""
    already_recorded = recorded(store.path)
    names: dict[str, str] = {}
    drafted: list[Draft] = []
    for event, head in file.events:
        if head in already_recorded:
            names[event.id] = already_recorded[head]
            continue
        try:
            renamed = {name: _renamed(value, file, names) for name, value in event.data.items() if name != SALT}
        except _Lost:
            continue
        at = {ORIGIN: event.lamport, "salvaged_ts": event.ts}  # an event set aside for the second time keeps its own
        data = (
            {PUT_ASIDE: event.id, HEAD: head}
            | at
            | {name: renamed[name] for name in renamed if name not in (PUT_ASIDE, HEAD)}
        )
        raw = file.raws[ids.split_event_id(event.id)[1] - file.first]
        # An event that would no longer fit into a line stays in the file and is reported.
        if len(raw.partition(lines.DATA)[0]) + ROOM + len(json_text.dumps(data).encode()) < lines.MAX_LINE - ROOM:
            names[event.id] = ids.event_id(store.writer or "", first + len(drafted))
            drafted.append(Draft(event.by, event.kind, data, event.key, event.scope_key))
    return drafted


def _renamed(value: Any, file: SetAsideFile, names: Mapping[str, str]) -> Any:
    """VALUE with new event ids in place of the old ones. _Lost if it is about an event that is not recorded again."""
    if isinstance(value, dict):
        return {name: _renamed(member, file, names) for name, member in value.items()}
    if isinstance(value, list):
        renamed = []
        for item in value:
            try:
                renamed.append(_renamed(item, file, names))
            except _Lost:
                if not isinstance(item, str):
                    raise  # a lost id is left out of a list of ids; the others stay
        return renamed
    if not isinstance(value, str) or file.writer not in value:
        return value
    words = value.split(" ")
    if not all(map(ids.is_event_id, words)):
        return value  # ordinary text is not changed
    if any(file.has(word) and word not in names for word in words):
        raise _Lost
    return " ".join(names.get(word, word) for word in words)


def _named(value: Any) -> Iterator[str]:
    """The event ids in a value."""
    if isinstance(value, str):
        words = value.split(" ")
        yield from words if all(map(ids.is_event_id, words)) else ()
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _named(item)


def recorded(store: str) -> dict[str, str]:
    """The new ids of the events that were recorded again, by the digest of their original lines' heads."""
    journals = os.path.join(store, writers.JOURNALS)
    raws = [raw for writer in writers.all_in(journals) for raw in Journal(store, writer).backwards() if MARK in raw]
    for name in disk.names(os.path.join(store, FOLDER)):  # they may have been set aside again
        raws += [raw for raw in read(os.path.join(store, FOLDER, name)).split(b"\n") if MARK in raw]
    by_head: dict[str, str] = {}
    for event in readable(raws):
        if type(head := event.data.get(HEAD)) is str:
            by_head.setdefault(head, event.id)
    return by_head


def _first(journal: Journal, n: int, many: int) -> Iterator[bytes]:
    """Up to MANY lines of a journal from number N on."""
    return (raw for _, raw in zip(range(many), journal.lines_from(n), strict=False))


def _digest_of_data(raw: bytes) -> bytes:
    return raw.partition(lines.DATA)[0][lines.DH_START : -1]


def read(path: str) -> bytes:
    """The contents of a file; nothing if another process has renamed it."""
    try:
        with disk.reader(path) as file:
            return file.read()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise disk.refusal(error) from error
