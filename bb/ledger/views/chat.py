"""Chat, as CCCS clients query it: messages by recipient, read positions, and acknowledgements.

This part of the index follows the course of events (`ledger/records/course.py`). It is updated only on request, so
other commands do not pay for it. A message has one row, and one more for each recipient token. A read position is a
place in the course, never a time, so a message that arrives later cannot fall behind it unseen. The position of each
line in its journal is stored too, so a message is read with one access.

Lines that do not count by the list of signers are skipped. The skipped lines are remembered. Once one of them counts,
this part of the index is built again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any

from bb.coordination.records import redactions
from bb.coordination.records.redactions import Hidden
from bb.groups.actors import notices
from bb.kernel import ids, json_text
from bb.kernel.event import PUT_ASIDE, Event
from bb.kernel.record import Record
from bb.ledger.index.index import Index
from bb.ledger.index.sqlite import sqlite3
from bb.ledger.journal import line as lines
from bb.ledger.journal.cursors import Marker
from bb.ledger.records.course import START, Course, CoursePosition, Lines, Passed, unmerged_lines
from bb.ledger.records.events import readable
from bb.ledger.records.store import Store
from bb.messaging.chat import deliveries, recipients
from bb.messaging.chat.principals import SYSTEM

# flags of a message, in one number
NOTICE, MAIL, ATTENTION, REQUEST = 1, 2, 4, 8
AUTOMATIC = 16  # an automatic notice of a group; it does not count as mail
BROADCAST = ""  # the token of messages without a recipient
NOBODY = "@nobody"
GROUPS = (BROADCAST, "@all", "@peers", "@foreman", "@user")
KIND = b'"kind":"'
FLOATING = 1 << 50  # greater than every place in the course
GESTURES = ("chat.read", "mail.read")  # events about read positions
MOST_AT_ONCE = 50_000  # lines in one transaction

ACK, CANCELLED = "ack", "cancelled"
CLAIMED, TYPED = "claimed", "typed"  # a delivery into an actor's terminal was claimed; was made
OLD_ID, AGAIN = "first", "again"  # of a message that was recorded again: its old id, its new id


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


class ChatIndex:
    """The chat of one ledger."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rows = _Rows()
        self._hidden: Hidden = {}

    @property
    def _index(self) -> Index:
        return self._store.index

    # -- keeping up

    def catch_up(self) -> None:
        """Read the new part of the course. If the index cannot be written, an index in memory is used."""
        try:
            self._catch_up()
        except sqlite3.DatabaseError as error:
            self._rows = _Rows()
            self._index.start_over(error)
            self._catch_up()

    def _catch_up(self) -> None:
        self._store.caught_up_on_disk()
        self._forget_if_more_counts()
        while self._read_on():
            pass
        self._float()

    def _forget_if_more_counts(self) -> None:
        """Start again if a skipped line counts by now."""
        if self._index.law is not None and self._index.ask(COUNTS_BY_NOW):
            with self._index.writing():
                self._index.clear_chat_tables()

    def _read_on(self) -> bool:
        """Read a portion. Returns whether there is more."""
        index = self._index
        head = index.ask("select n from cursor where writer = ?", index.own_writer)
        last = head[0][0] if head else 0
        spot = self._spot(index)
        if spot.n >= last:
            return False
        course, rows, count = Course(self._store, spot), self._rows, 0
        with index.writing():
            if spot == START:
                index.clear_chat_tables()  # it may be from an earlier journal of ours
            decode, self._hidden = _decoder(last - spot.n), index.hidden()
            for count, passed in enumerate(course.new_lines(), 1):
                self._note(passed, decode)
                if count >= MOST_AT_ONCE and passed.writer == index.own_writer:
                    break
            rows.write(index)
            index.ask("delete from talk")
            kept = [index.own_writer, *course.spot.as_dict().values()]
            index.ask("insert into talk values (?)", json_text.dumps(kept))
        return count >= MOST_AT_ONCE

    def _float(self) -> None:
        """Put messages of other clones that have no place in our course yet behind all others, for now. They can be
        read. They get a place before any event about them is recorded."""
        index = self._index
        heads = json_text.dumps(index.unmerged())
        known = index.ask("select heads from talk_floating")
        if (known[0][0] if known else "{}") == heads:
            return
        with index.writing():
            index.clear_chat_tables(FLOATING)
            self._hidden = index.hidden()
            for place, passed in enumerate(unmerged_lines(self._store)):
                self._note(passed.replace(seq=FLOATING + place), None, but=GESTURES)
            self._rows.write(index)
            index.ask("insert into talk_floating values (?)", heads)

    def _spot(self, index: Index) -> CoursePosition:
        """How far the course has been read. A new journal of our own starts a new course."""
        rows = index.ask("select spot from talk")
        writer, *kept = json_text.loads(rows[0][0]) if rows else [None]
        return CoursePosition(*kept) if writer == index.own_writer else START

    def behind(self) -> int:
        """The number of our own lines that are not read yet."""
        head = self._index.ask("select n from cursor where writer = ?", self._index.own_writer)
        return (head[0][0] if head else 0) - self._spot(self._index).n

    def _note(self, passed: Passed, decode: Callable[[bytes], Any] | None, but: Container[str] = ()) -> None:
        kind = passed.raw[passed.raw.find(KIND) + len(KIND) :].partition(b'"')[0].decode("utf-8", "replace")
        if kind not in NOTED or kind in but:
            return
        if not passed.counts:
            self._rows.skipped.append((passed.writer, passed.n))
            return
        try:
            members = lines.members(passed.raw, decode)
        except lines.Unreadable:
            return
        by, data, ts = members["by"], members["data"], members["ts"]
        if lines.is_blank(passed.raw) or self._is_hidden(passed, by, kind):
            if kind in ADDRESSED:
                self._rows.post(passed, (), by, 0, ts)  # without recipients; a read position may still name it
            return
        try:
            NOTED[members["kind"]](self, passed, by, data, ts)
        except (KeyError, TypeError, ValueError, ids.InvalidEventId):
            return  # written by another version, or invalid

    def _is_hidden(self, passed: Passed, by: str, kind: str) -> bool:
        return bool(self._hidden) and redactions.is_hidden(
            ids.event_id(passed.writer, passed.n), by, kind, self._hidden
        )

    def _said(self, passed: Passed, by: str, data: dict[str, Any], ts: str) -> None:
        attention = ATTENTION if data.get("priority") == "attention" and not data.get("dst_group_id") else 0
        mode = {"mail": MAIL, "request_reply": REQUEST}.get(str(data.get("message_mode")), 0)
        self._rows.post(passed, recipients.stored(data) or [BROADCAST], by, attention | mode, ts)
        self._recorded_again(passed, data)

    def _noticed(self, passed: Passed, by: str, data: dict[str, Any], ts: str) -> None:
        target = data.get("target_actor_id")
        flags = NOTICE | (ATTENTION if data.get("requires_ack") is True else 0)
        if by == SYSTEM and data.get("kind") in notices.WORDS:
            flags |= AUTOMATIC
        self._rows.post(
            passed, [BROADCAST if target is None else target if type(target) is str else NOBODY], by, flags, ts
        )
        self._recorded_again(passed, data)

    def _recorded_again(self, passed: Passed, data: dict[str, Any]) -> None:
        """Note that a message after a damage was recorded again: events that name its old id refer to this one."""
        first = data.get("salvaged_from")
        if type(first) is str and ids.is_event_id(first):
            now = ids.event_id(passed.writer, passed.n)
            self._rows.say(first, AGAIN, now, passed.seq)
            self._rows.say(now, OLD_ID, first, passed.seq)

    def _acked(self, passed: Passed, by: str, data: dict[str, Any], ts: str) -> None:  # noqa: ARG002
        if data["actor_id"] == by:
            self._rows.say(data["event_id"], ACK, by, passed.seq)

    def _notice_acked(self, passed: Passed, by: str, data: dict[str, Any], ts: str) -> None:
        self._acked(passed, by, {**data, "event_id": data["notify_event_id"]}, ts)

    def _cancelled(self, passed: Passed, by: str, data: dict[str, Any], ts: str) -> None:  # noqa: ARG002
        self._rows.say(data["source_event_id"], CANCELLED, by, passed.seq)

    def _delivered(self, passed: Passed, by: str, data: dict[str, Any], ts: str) -> None:  # noqa: ARG002
        what = {deliveries.ACCEPTED: TYPED, deliveries.CLAIMED: CLAIMED}.get(data["state"])
        if by == SYSTEM and what:
            self._rows.say(data["source_event_id"], what, str(data["actor_id"]), passed.seq)

    def _read(self, passed: Passed, by: str, data: dict[str, Any], ts: str) -> None:
        """Note a read position. It refers to the order of messages in the clone that recorded it."""
        if PUT_ASIDE in data:
            # The order that the position refers to is gone. In the new order, unseen messages may precede this one, so
            # only the message itself counts as read.
            self._mail_read(passed, by, {**data, "event_ids": [data["event_id"]]}, ts)
            return
        self._rows.write(self._index)
        actor, event = str(data["actor_id"]), str(data["event_id"])
        post = self.post(event)
        if post is None:
            return
        if passed.writer == self._index.own_writer:
            if post.seq > self.reading(actor).seq:
                self._keep(actor, ReadPosition(post.seq, event, self._ts(post), ts, passed.seq))
            return
        covers = _covered(self._index.markers(passed.writer), passed.writer, post)
        sent = self._sent_to([actor, *GROUPS], self.reading(actor).seq, below=passed.seq)
        ahead = [sent_post for sent_post in sent if sent_post.by != actor]
        unread = [later.seq for later in ahead if not covers(later)]
        read = [later for later in ahead if covers(later)]
        first = unread[0] if unread else passed.seq
        if behind := [later for later in read if later.seq < first]:
            last = behind[-1]
            self._keep(actor, ReadPosition(last.seq, last.event_id, self._ts(last), ts, passed.seq))
        for later in read:
            if later.seq > first:
                self._index.ask("insert or ignore into talk_seen values (?, ?)", actor, later.seq)

    def _mail_read(self, passed: Passed, by: str, data: dict[str, Any], ts: str) -> None:  # noqa: ARG002
        """Note that an actor has taken messages out of its inbox."""
        self._rows.write(self._index)
        for event in data["event_ids"]:
            if type(event) is str and (post := self.post_or_none(event)):
                self._index.ask("insert or ignore into talk_seen values (?, ?)", str(data["actor_id"]), post.seq)

    def _keep(self, actor: str, reading: ReadPosition) -> None:
        self._index.ask(
            "insert or replace into talk_read values (?, ?, ?, ?, ?, ?)", actor, *reading.as_dict().values()
        )

    def _ts(self, post: Post) -> str:
        from bb.kernel import clock  # noqa: PLC0415

        return clock.text(post.at)

    # -- asking

    def reading(self, actor: str) -> ReadPosition:
        """The read position of ACTOR."""
        rows = self._index.ask("select seq, event, ts, updated_at, said_at from talk_read where actor = ?", actor)
        return ReadPosition(*rows[0]) if rows else ReadPosition()

    def post(self, event_id: str) -> Post | None:
        """A message or notice by its id; None if the index has none."""
        writer, n = ids.split_event_id(event_id)
        query = f"select {COLUMNS} from talk_post where writer = ? and n = ?"  # noqa: S608
        if rows := self._index.ask(query, writer, n):
            return Post(*rows[0])
        again = self._index.ask("select who from talk_of where event = ? and what = ?", event_id, AGAIN)
        return self.post(again[0][0]) if again else None

    def entries_about(self, event_id: str, what: str, who: str | None = None) -> list[tuple[str, int]]:
        """The entries of type WHAT about an event: the author and the place of each."""
        query = f"""select who, seq from talk_of where what = ? and (? is null or who = ?) and event in (
            select ? union select who from talk_of where event = ? and what in ('{OLD_ID}', '{AGAIN}'))"""  # noqa: S608
        return self._index.ask(query, what, who, who, event_id, event_id)

    def unread(self, actor: str, tokens: Sequence[str], *, only: int = 0, but: int = 0) -> Iterator[Post]:
        """Messages to one of TOKENS that ACTOR neither sent nor read, in the order of the course.

        ONLY names flags that a message must have, BUT names flags that it must not have.
        """
        # Read before the loop: another process may add messages meanwhile, which the loop does not look at.
        last = self._index.ask("select max(seq) from talk_post where seq < ?", FLOATING)[0][0] or 0
        floor = self._floor(actor, tokens)
        first, is_plain = None, not (only or but)
        for post in self._sent_to(tokens, floor):
            if post.by != actor and not self._is_seen(actor, post.seq):
                first = first or post
                if post.flags & only == only and not post.flags & but:
                    if is_plain and first is post:
                        self._raise_floor(actor, tokens, floor, min(post.seq - 1, last))
                    yield post
        if first is None:
            self._raise_floor(actor, tokens, floor, last)

    def count_unread(self, actor: str, tokens: Sequence[str], *, but: int = 0) -> int:
        """The number of messages that ACTOR has not read, without those that have one of the flags BUT."""
        marks = ", ".join("?" * len(tokens))
        query = f"""
            select count(*) from talk_post where by != ? and seq not in (select seq from talk_seen where actor = ?)
            and seq in (select seq from talk_to where token in ({marks}) and seq > ? and flags & ? = 0)"""  # noqa: S608
        return int(self._index.ask(query, actor, actor, *tokens, self._floor(actor, tokens), but)[0][0])

    def last_unread(self, actor: str, tokens: Sequence[str], *, only: int = 0, but: int = 0) -> Post | None:
        """The last message that ACTOR has not read."""
        return next(self.newest_unread(actor, tokens, only=only, but=but), None)

    def newest_unread(self, actor: str, tokens: Sequence[str], *, only: int = 0, but: int = 0) -> Iterator[Post]:
        """The messages that ACTOR has not read, last first."""
        floor = self._floor(actor, tokens)
        posts = self._sent_to(tokens, floor, is_backwards=True)
        wanted = (post for post in posts if post.flags & only == only and not post.flags & but and post.by != actor)
        return (post for post in wanted if not self._is_seen(actor, post.seq))

    def before(self, seq: int | None, tokens: Sequence[str] | None, flags: int = 0) -> Iterator[Post]:
        """Messages before SEQ to one of TOKENS, last first."""
        limit = 1 << 62 if seq is None else seq
        if tokens is not None:
            yield from self._sent_to(tokens, 0, is_backwards=True, below=limit, all_of=flags)
            return
        while True:
            query = f"select {COLUMNS} from talk_post where seq < ? order by seq desc limit 200"  # noqa: S608
            posts = [Post(*row) for row in self._index.ask(query, limit)]
            yield from (post for post in posts if post.flags & flags == flags)
            if not posts:
                return
            limit = posts[-1].seq

    def post_or_none(self, event_id: str) -> Post | None:
        """Like `post`, but None if EVENT_ID is not a valid id."""
        return self.post(event_id) if ids.is_event_id(event_id) else None

    def events(self, posts: Iterable[Post]) -> Iterator[Event]:
        """The events of POSTS, read lazily from the journals, without withdrawn ones."""
        hidden = self._index.hidden()
        with Lines(self._store.path) as journals:
            for post in posts:
                raw = journals.at(post.writer, post.n, post.segment, post.offset)
                for event in readable([raw] if raw is not None and not lines.is_blank(raw) else []):
                    if not redactions.is_hidden(event.id, event.by, event.kind, hidden):
                        yield event.replace(seq=post.place)

    def event(self, event_id: str) -> Event | None:
        """A message or notice by its id, even if its payload was removed."""
        post = self.post(event_id)
        if post is None:
            return None
        with Lines(self._store.path) as journals:
            raw = journals.at(post.writer, post.n, post.segment, post.offset)
        return next((event.replace(seq=post.place) for event in readable([raw or b""])), None)

    def _sent_to(
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
        while rows := self._index.ask(query, token, above, below, all_of, all_of):
            yield from (Post(*row) for row in rows)
            if is_backwards:
                below = rows[-1][0]
            else:
                above = rows[-1][0]

    def _is_seen(self, actor: str, seq: int) -> bool:
        return bool(self._index.ask("select 1 from talk_seen where actor = ? and seq = ?", actor, seq))

    def _floor(self, actor: str, tokens: Sequence[str]) -> int:
        """The place up to which nothing is unread: the read position, or the end of an earlier search."""
        rows = self._index.ask("select seq, tokens from talk_floor where actor = ?", actor)
        looked = rows[0][0] if rows and rows[0][1] == " ".join(tokens) else 0
        return max(self.reading(actor).seq, looked)

    def _raise_floor(self, actor: str, tokens: Sequence[str], floor: int, seq: int) -> None:
        """Remember that nothing is unread up to SEQ, if the search was long enough to be worth it."""
        if seq - floor > WORTH_REMEMBERING and not self._index.is_busy():
            self._index.ask("insert or replace into talk_floor values (?, ?, ?)", actor, " ".join(tokens), seq)


WORTH_REMEMBERING = 200
ADDRESSED = ("chat.message", "system.notify")
PORTION = 100  # messages in one query
# A line is skipped because it is not signed, or because it is an order that the person has not signed.
SKIPPED = """
    insert into talk_skipped select ?1, ?2 <= upto, ?2 from counted where writer = ?1
    on conflict (writer, is_order) do update set n = min(n, excluded.n)"""
COUNTS_BY_NOW = """
    select 1 from talk_skipped join counted using (writer)
    where n <= case is_order when 1 then orders else upto end limit 1"""
COLUMNS = "seq, writer, n, segment, offset, by, flags, at"
NOTED: dict[str, Callable[[ChatIndex, Passed, str, dict[str, Any], str], None]] = {
    "chat.message": ChatIndex._said,
    "system.notify": ChatIndex._noticed,
    "chat.ack": ChatIndex._acked,
    "system.notify_ack": ChatIndex._notice_acked,
    "chat.read": ChatIndex._read,
    "mail.read": ChatIndex._mail_read,
    "chat.reply_request.cancelled": ChatIndex._cancelled,
    deliveries.KIND: ChatIndex._delivered,
}


class _Rows:
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
        from bb.kernel import clock  # noqa: PLC0415

        at = clock.parse_or(ts, 0)
        self.posts.append((passed.seq, passed.writer, passed.n, passed.segment, passed.offset, by, flags, at))
        self.to += [(token, passed.seq, flags) for token in tokens]

    def write(self, index: Index) -> None:
        index.ask_many("insert or replace into talk_post values (?, ?, ?, ?, ?, ?, ?, ?)", self.posts)
        index.ask_many("insert or ignore into talk_to values (?, ?, ?)", self.to)
        index.ask_many("insert or ignore into talk_of values (?, ?, ?, ?)", self.of)
        index.ask_many(SKIPPED, self.skipped)
        self.__init__()  # type: ignore[misc]


def _covered(markers: Sequence[Marker], writer: str, last: Post) -> Callable[[Post], bool]:
    """A test whether a message was read, given that an actor had read up to LAST in the clone of WRITER.

    A message that may have reached that clone together with LAST counts as unread: reading twice is better than never.
    """
    if last.writer == writer:
        known, own = [marker for marker in markers if marker.n <= last.n][-1].heads, last.n
    else:
        before = [marker for marker in markers if marker.heads.get(last.writer, 0) < last.n]
        known, own = before[-1].heads, before[-1].n
        later = [marker.n for marker in markers if marker.n > before[-1].n]
        own = later[0] - 1 if later else own

    def covers(post: Post) -> bool:
        return post == last or post.n <= (own if post.writer == writer else known.get(post.writer, 0))

    return covers


def _decoder(lines_to_read: int) -> Callable[[bytes], Any] | None:
    """The fast decoder, if there are enough lines to be worth its import."""
    if lines_to_read < 2000:
        return None
    from bb.ledger.journal import bulk_check  # noqa: PLC0415

    decode: Callable[[bytes], Any] = bulk_check.decode
    return decode
