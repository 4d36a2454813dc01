"""The tables of chat in the index: messages by recipient, read positions, and entries about messages.

A message has one row, and one more for each recipient token. Its row has the position of its line in its journal, so a
message is read with one access. A read position is a place in this clone's own order
(`ledger/records/own_order.py`), never a time, so a message that arrives later cannot fall behind it unseen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bb.kernel import clock, ids, json_text
from bb.kernel.record import Record
from bb.ledger.index.index import Index
from bb.ledger.records.own_order import START, CoursePosition, Passed
from bb.ledger.records.store import Store

# flags of a message, in one number
NOTICE, MAIL, ATTENTION, REQUEST = 1, 2, 4, 8
AUTOMATIC = 16  # an automatic notice of a group; it does not count as mail
BROADCAST = ""  # the token of messages without a recipient
NOBODY = "@nobody"
GROUPS = (BROADCAST, "@all", "@peers", "@foreman", "@user")
FLOATING = 1 << 50  # greater than every place in the course
PORTION = 100  # messages in one query

ACK, CANCELLED = "ack", "cancelled"
CLAIMED, TYPED = "claimed", "typed"  # a delivery into an actor's terminal was claimed; was made
OLD_ID, AGAIN = "first", "again"  # of a message that was recorded again: its old id, its new id

SCHEMA = """
create table if not exists talk (spot text);
create table if not exists talk_post (
    seq integer primary key, writer text, n integer, segment integer, offset integer, by text, flags integer, at integer
);
create unique index if not exists talk_post_name on talk_post (writer, n);
create table if not exists talk_to (token text, seq integer, flags integer, primary key (token, seq)) without rowid;
create table if not exists talk_of (
    event text, what text, who text, seq integer, primary key (event, what, who, seq)
) without rowid;
create table if not exists talk_read (
    actor text primary key, seq integer, event text, ts text, updated_at text, said_at integer
) without rowid;
create table if not exists talk_seen (actor text, seq integer, primary key (actor, seq)) without rowid;
create table if not exists talk_floating (heads text);
create table if not exists talk_skipped (
    writer text, is_order integer, n integer, primary key (writer, is_order)
) without rowid;
create table if not exists talk_floor (actor text primary key, tokens text, seq integer) without rowid;
"""
PLACED = ("talk_post", "talk_to", "talk_of")  # tables with places in the course
TABLES = (*PLACED, "talk", "talk_read", "talk_seen", "talk_floor", "talk_floating", "talk_skipped")
COLUMNS = "seq, writer, n, segment, offset, by, flags, at"
# A line is skipped because it is not signed, or because it is an order that the person has not signed.
SKIPPED = """
    insert into talk_skipped select ?1, ?2 <= upto, ?2 from counted where writer = ?1
    on conflict (writer, is_order) do update set n = min(n, excluded.n)"""
COUNTS_BY_NOW = """
    select 1 from talk_skipped join counted using (writer)
    where n <= case is_order when 1 then orders else upto end limit 1"""


class Post(Record):
    """A message or notice in the index."""

    seq: int
    writer: str
    n: int
    segment: int
    offset: int
    by: str
    flags: int
    at: int  # when it was recorded, in milliseconds

    @property
    def event_id(self) -> str:
        return ids.event_id(self.writer, self.n)

    @property
    def place(self) -> int | None:
        """Its place in the course; None if it has none yet."""
        return self.seq if self.seq < FLOATING else None


class ReadPosition(Record):
    """The read position of an actor."""

    seq: int = 0
    event_id: str = ""
    ts: str = ""
    updated_at: str = ""
    said_at: int = 0  # the place of the event that recorded the position


class ChatTables:
    """The tables of chat of one ledger."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def index(self) -> Index:
        """The index, with the tables of chat."""
        index = self._store.index
        index.add_view(SCHEMA)
        return index

    def clear(self, since: int | None = None) -> None:
        """Empty the tables; with SINCE, delete only the rows from that place on."""
        if since is None:
            for table in TABLES:
                self.index.ask(f"delete from {table}")  # noqa: S608
        else:
            for table in PLACED:
                self.index.ask(f"delete from {table} where seq >= ?", since)  # noqa: S608
            self.index.ask("delete from talk_floating")

    def spot(self) -> CoursePosition:
        """How far the course has been read. A new journal of our own starts a new course."""
        rows = self.index.ask("select spot from talk")
        writer, *kept = json_text.loads(rows[0][0]) if rows else [None]
        return CoursePosition(*kept) if writer == self.index.own_writer else START

    def keep_spot(self, spot: CoursePosition) -> None:
        """Remember how far the course has been read."""
        self.index.ask("delete from talk")
        kept = [self.index.own_writer, *spot.as_dict().values()]
        self.index.ask("insert into talk values (?)", json_text.dumps(kept))

    def behind(self) -> int:
        """The number of our own lines that are not read yet."""
        head = self.index.ask("select n from cursor where writer = ?", self.index.own_writer)
        return (head[0][0] if head else 0) - self.spot().n

    def reading(self, actor: str) -> ReadPosition:
        """The read position of ACTOR."""
        rows = self.index.ask("select seq, event, ts, updated_at, said_at from talk_read where actor = ?", actor)
        return ReadPosition(*rows[0]) if rows else ReadPosition()

    def post(self, event_id: str) -> Post | None:
        """A message or notice by its id; None if the index has none."""
        writer, n = ids.split_event_id(event_id)
        query = f"select {COLUMNS} from talk_post where writer = ? and n = ?"  # noqa: S608
        if rows := self.index.ask(query, writer, n):
            return Post(*rows[0])
        again = self.index.ask("select who from talk_of where event = ? and what = ?", event_id, AGAIN)
        return self.post(again[0][0]) if again else None

    def post_or_none(self, event_id: str) -> Post | None:
        """Like `post`, but None if EVENT_ID is not a valid id."""
        return self.post(event_id) if ids.is_event_id(event_id) else None

    def keep_reading(self, actor: str, reading: ReadPosition) -> None:
        """Store the read position of ACTOR."""
        self.index.ask("insert or replace into talk_read values (?, ?, ?, ?, ?, ?)", actor, *reading.as_dict().values())

    def mark_seen(self, actor: str, post: Post) -> None:
        """Note that ACTOR has read one message."""
        self.index.ask("insert or ignore into talk_seen values (?, ?)", actor, post.seq)

    def sent_to(
        self, tokens: Sequence[str], above: int, *, is_backwards: bool = False, below: int = 1 << 62, all_of: int = 0
    ) -> Iterator[Post]:
        """Messages to any of TOKENS between two places, each once, read lazily."""
        import heapq  # noqa: PLC0415

        runs = [self._posts(token, above, below, is_backwards, all_of) for token in dict.fromkeys(tokens)]
        merged = runs[0] if len(runs) == 1 else heapq.merge(*runs, key=lambda post: post.seq, reverse=is_backwards)
        last = None
        for post in merged:
            if post.seq != last:
                last = post.seq
                yield post

    def _posts(self, token: str, above: int, below: int, is_backwards: bool, all_of: int) -> Iterator[Post]:
        order = "desc" if is_backwards else "asc"
        query = f"""select {COLUMNS} from talk_post where seq in (
            select seq from talk_to where token = ? and seq > ? and seq < ? and flags & ? = ?
            order by seq {order} limit {PORTION}) order by seq {order}"""  # noqa: S608
        while rows := self.index.ask(query, token, above, below, all_of, all_of):
            yield from (Post(*row) for row in rows)
            if is_backwards:
                below = rows[-1][0]
            else:
                above = rows[-1][0]


class Rows:
    """Collects rows for the index."""

    def __init__(self) -> None:
        self.posts: list[tuple[Any, ...]] = []
        self.to: list[tuple[Any, ...]] = []
        self.of: list[tuple[Any, ...]] = []
        self.skipped: list[tuple[str, int]] = []  # lines that do not count

    def say(self, event: object, what: str, who: str, seq: int) -> None:
        """Add an entry of type WHAT about an EVENT, if EVENT is a text."""
        if type(event) is str and event:
            self.of.append((event, what, who, seq))

    def post(self, passed: Passed, tokens: Sequence[str], by: str, flags: int, ts: str) -> None:
        at = clock.parse_or(ts, 0)
        self.posts.append((passed.seq, passed.writer, passed.n, passed.segment, passed.offset, by, flags, at))
        self.to += [(token, passed.seq, flags) for token in tokens]

    def write(self, index: Index) -> None:
        index.ask_many("insert or replace into talk_post values (?, ?, ?, ?, ?, ?, ?, ?)", self.posts)
        index.ask_many("insert or ignore into talk_to values (?, ?, ?)", self.to)
        index.ask_many("insert or ignore into talk_of values (?, ?, ?, ?)", self.of)
        index.ask_many(SKIPPED, self.skipped)
