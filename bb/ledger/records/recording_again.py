"""What lines say that were put aside, and how it is recorded again: by whom, when and in which order it was said, under
new ids.

An event recorded again has no `salvaged_from`: readers follow that from the old id to the event, and the old id belongs
to somebody else's event now. What was said of that event would count for ours as well, and a release or redaction of
ours would end or hide theirs. So the events name each other by their new ids, and `put_aside_from` only says where an
event stood. Lines of other writers in this store that name the old ids are left as they are.
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
from bb.ledger.records.store import JOURNALS, ORIGIN, readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from bb.ledger.records.store import Draft, Store

FOLDER = "forked"
HEAD = "put_aside_head"
MARK = b'"%s":' % HEAD.encode()
NO_FACTS = (MERGED, SIGNED)  # a new chain accounts for others by itself, and is signed by itself
ROOM = 64  # octets by which the head of a line may grow


class _Lost(Exception):
    """An event names another one that is not recorded again."""


class File:
    """What stands in a file of lines that were put aside, without what is published under the same number as well."""

    def __init__(self, store: str, path: str) -> None:
        self.writer, n, _ = os.path.basename(path).partition(".")[0].split("-")
        self.raws = read(path).split(b"\n")[:-1]
        self.events: list[tuple[Event, str]] = []  # with the digest of each one's head
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
            if place not in self.shared:  # else a copy of it was spoilt here, and is right there
                self._note(ids.event_id(self.writer, place), raw)
        hidden: dict[str, frozenset[str]] = {}
        for event, _ in self.events:
            fact = kinds.fact_of(event.kind, event.data, event.by)
            if isinstance(fact, Redacted):
                hidden[fact.event] = hidden.get(fact.event, frozenset()) | {fact.agent}
        back = {each.id for each, _ in self.events if redactions.is_hidden(each.id, each.by, each.kind, hidden)}
        self.taken_back |= back
        self.events = [(event, head) for event, head in self.events if event.id not in back]

    def _note(self, name: str, raw: bytes) -> None:
        try:
            head, event = lines.link_alone(raw, self.writer).head_digest, lines.event(raw)
        except (BadLine, Unreadable):
            self.spoilt += 1
            return
        if lines.is_blank(raw):
            self.taken_back.add(name)
        elif event.kind not in NO_FACTS:
            self.events.append((event, head))

    def has(self, name: str) -> bool:
        """Whether an event of that NAME stood here, and is not published."""
        writer, n = ids.split_event_id(name)
        return writer == self.writer and n >= self.first and n not in self.shared

    def count_of_kept(self, known: Mapping[str, str]) -> int:
        """How many lines say something that is neither recorded again nor taken back."""
        kept, gone = self.spoilt, set(self.taken_back)
        for event, head in self.events:
            if head in known:
                continue
            if gone.intersection(_named(event.data)):
                gone.add(event.id)  # it says something of what was taken back, and nothing without that
            else:
                kept += 1
        return kept


def drafts(store: Store, file: File, first: int) -> list[Draft]:
    """What is to be recorded of a FILE, as events from number FIRST on of our own writer."""
    known = recorded(store.path)
    names: dict[str, str] = {}
    found: list[Draft] = []
    for event, head in file.events:
        if head in known:
            names[event.id] = known[head]
            continue
        try:
            said = {name: _renamed(value, file, names) for name, value in event.data.items() if name != SALT}
        except _Lost:
            continue
        at = {ORIGIN: event.lamport, "salvaged_ts": event.ts}  # of an event that is put aside again, those it has
        data = (
            {PUT_ASIDE: event.id, HEAD: head}
            | at
            | {name: said[name] for name in said if name not in (PUT_ASIDE, HEAD)}
        )
        raw = file.raws[ids.split_event_id(event.id)[1] - file.first]
        # One that would no longer fit into a line stays where it is, and a person is told.
        if len(raw.partition(lines.DATA)[0]) + ROOM + len(json_text.dumps(data).encode()) < lines.MAX_LINE - ROOM:
            names[event.id] = ids.event_id(store.writer or "", first + len(found))
            found.append((event.by, event.kind, data, event.key, event.scope_key))
    return found


def _renamed(value: Any, file: File, names: Mapping[str, str]) -> Any:
    """VALUE with the new ids of the events that it names. What is only about one that is not recorded again is lost."""
    if isinstance(value, dict):
        return {name: _renamed(each, file, names) for name, each in value.items()}
    if isinstance(value, list):
        found = []
        for each in value:
            try:
                found.append(_renamed(each, file, names))
            except _Lost:
                if not isinstance(each, str):
                    raise  # of several names, the others still say something
        return found
    if not isinstance(value, str) or file.writer not in value:
        return value
    words = value.split(" ")
    if not all(map(ids.is_event_id, words)):
        return value  # somebody's words are left as they are
    if any(file.has(word) and word not in names for word in words):
        raise _Lost
    return " ".join(names.get(word, word) for word in words)


def _named(value: Any) -> Iterator[str]:
    """The events that a value names."""
    if isinstance(value, str):
        words = value.split(" ")
        yield from words if all(map(ids.is_event_id, words)) else ()
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _named(each)


def recorded(store: str) -> dict[str, str]:
    """The events that were put aside and recorded again, each by the digest of the head it had."""
    journals = os.path.join(store, JOURNALS)
    raws = [raw for writer in writers.all_in(journals) for raw in Journal(store, writer).backwards() if MARK in raw]
    for name in disk.names(os.path.join(store, FOLDER)):  # they may have been put aside once more
        raws += [raw for raw in read(os.path.join(store, FOLDER, name)).split(b"\n") if MARK in raw]
    found: dict[str, str] = {}
    for event in readable(raws):
        if type(head := event.data.get(HEAD)) is str:
            found.setdefault(head, event.id)
    return found


def _first(journal: Journal, n: int, many: int) -> Iterator[bytes]:
    """As MANY lines of a journal from number N on, or as there are."""
    return (raw for _, raw in zip(range(many), journal.lines_from(n), strict=False))


def _digest_of_data(raw: bytes) -> bytes:
    return raw.partition(lines.DATA)[0][lines.DH_START : -1]


def read(path: str) -> bytes:
    """What is in a file; nothing if another process has renamed it."""
    try:
        with disk.reader(path) as file:
            return file.read()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise disk.refusal(error) from error
