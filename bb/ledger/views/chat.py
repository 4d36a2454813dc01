"""What was said, as CCCS clients ask for it: who is to read what, what was read, what was said of a message.

This part of the index is made along the course of events (`ledger/records/course.py`), and only when somebody asks for
it, so that commands which need none of it do not pay for it. A message is one row, and one more for each recipient
token it was sent to. What somebody has read is a place in the course, and never a time: nothing that arrives later can
get behind it unseen. Where a message itself is written is kept too, so that it is read from the journal at one stroke.

A line that does not count by the law says nothing here. Which lines were passed over for that is remembered, and once
one of them counts, everything is read anew.
"""

from __future__ import annotations

from bb.coordination.records import redactions
from bb.groups.actors import notices
from bb.kernel import ids, json_text
from bb.kernel.event import PUT_ASIDE
from bb.kernel.record import Record
from bb.ledger.index.sqlite import sqlite3
from bb.ledger.journal import line as lines
from bb.ledger.records.course import START, Course, Lines, Spot, unaccounted
from bb.ledger.records.store import readable
from bb.messaging.chat import deliveries, recipients
from bb.messaging.chat.principals import SYSTEM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence
    from typing import Any

    from bb.coordination.records.redactions import Hidden
    from bb.kernel.event import Event
    from bb.ledger.index.index import Index
    from bb.ledger.journal.cursors import Marker
    from bb.ledger.records.course import Passed
    from bb.ledger.records.store import Store

# what a message is, in one number
NOTICE, MAIL, ATTENTION, REQUEST = 1, 2, 4, 8
AUTOMATIC = 16  # a notice that a group was owed by itself, and that is no mail to whoever counts
BROADCAST = ""  # the token of what is sent to nobody in particular
NOBODY = "@nobody"
GROUPS = (BROADCAST, "@all", "@peers", "@foreman", "@user")
KIND = b'"kind":"'
FLOATING = 1 << 50  # behind every place in the course
GESTURES = ("chat.read", "mail.read")  # these say something about places
MOST_AT_ONCE = 50_000  # lines in one transaction

ACK, CANCELLED = "ack", "cancelled"
CLAIMED, TYPED = "claimed", "typed"  # somebody wants an actor to be typed it; it was
FIRST, AGAIN = "first", "again"  # of a message that was recorded a second time: the name it had, the name it has


class Post(Record):
    """A message or notice as the index has it."""

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
        """Its place in the course; None while it has none."""
        return self.seq if self.seq < FLOATING else None


class Reading(Record):
    """How far somebody has read."""

    seq: int = 0
    event_id: str = ""
    ts: str = ""
    updated_at: str = ""
    said_at: int = 0  # the place of the event that says so


class Talk:
    """What was said in one ledger."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rows = _Rows()
        self._hidden: Hidden = {}

    @property
    def _index(self) -> Index:
        return self._store.index

    # -- keeping up

    def catch_up(self) -> None:
        """Read what the course has gained; where the index cannot be written any more, into one in memory."""
        try:
            self._catch_up()
        except sqlite3.DatabaseError as error:
            self._rows = _Rows()
            self._index.start_over(error)
            self._catch_up()

    def _catch_up(self) -> None:
        self._store.settled()
        self._forget_if_more_counts()
        while self._read_on():
            pass
        self._float()

    def _forget_if_more_counts(self) -> None:
        """Begin anew where a line counts by now that was passed over because it did not."""
        if self._index.law is not None and self._index.ask(COUNTS_BY_NOW):
            with self._index.writing():
                self._index.forget_talk()

    def _read_on(self) -> bool:
        """Read a portion; whether there is more."""
        index = self._index
        head = index.ask("select n from cursor where writer = ?", index.own_writer)
        last = head[0][0] if head else 0
        spot = self._spot(index)
        if spot.n >= last:
            return False
        course, rows, count = Course(self._store, spot), self._rows, 0
        with index.writing():
            if spot == START:
                index.forget_talk()  # of a journal that was ours before, perhaps
            decode, self._hidden = _decoder(last - spot.n), index.hidden()
            for count, passed in enumerate(course.onwards(), 1):
                self._note(passed, decode)
                if count >= MOST_AT_ONCE and passed.writer == index.own_writer:
                    break
            rows.write(index)
            index.ask("delete from talk")
            kept = [index.own_writer, *course.spot.as_dict().values()]
            index.ask("insert into talk values (?)", json_text.dumps(kept))
        return count >= MOST_AT_ONCE

    def _float(self) -> None:
        """Let messages of other clones that no line of ours accounts for yet stand behind all others, for the time
        being: they can be read, and whatever is recorded about them accounts for them first."""
        index = self._index
        heads = json_text.dumps(index.unmerged())
        known = index.ask("select heads from talk_floating")
        if (known[0][0] if known else "{}") == heads:
            return
        with index.writing():
            index.forget_talk(FLOATING)
            self._hidden = index.hidden()
            for place, passed in enumerate(unaccounted(self._store)):
                self._note(passed.but(seq=FLOATING + place), None, but=GESTURES)
            self._rows.write(index)
            index.ask("insert into talk_floating values (?)", heads)

    def _spot(self, index: Index) -> Spot:
        """How far the course has been read. With another journal of our own, it is another course."""
        rows = index.ask("select spot from talk")
        writer, *kept = json_text.loads(rows[0][0]) if rows else [None]
        return Spot(*kept) if writer == index.own_writer else START

    def behind(self) -> int:
        """How many lines of ours there are to read."""
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
            found = lines.members(passed.raw, decode)
        except lines.Unreadable:
            return
        by, data, ts = found["by"], found["data"], found["ts"]
        if lines.is_blank(passed.raw) or self._is_hidden(passed, by, kind):
            if kind in ADDRESSED:
                self._rows.post(passed, (), by, 0, ts)  # nobody is to read it; how far one has read may name it
            return
        try:
            NOTED[found["kind"]](self, passed, by, data, ts)
        except (KeyError, TypeError, ValueError, ids.InvalidEventId):
            return  # of another version, or nobody's handiwork

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
        """A message that stood behind a damage has been recorded again: what names it by the old name means this."""
        first = data.get("salvaged_from")
        if type(first) is str and ids.is_event_id(first):
            now = ids.event_id(passed.writer, passed.n)
            self._rows.say(first, AGAIN, now, passed.seq)
            self._rows.say(now, FIRST, first, passed.seq)

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
        """Somebody has read up to a message: in the order of the clone where it was said."""
        if PUT_ASIDE in data:
            # It was said in an order of messages that is gone. In this one, others stand before that message which
            # nobody may have seen; so only the message itself is known to have been read.
            self._mail_read(passed, by, {**data, "event_ids": [data["event_id"]]}, ts)
            return
        self._rows.write(self._index)
        actor, event = str(data["actor_id"]), str(data["event_id"])
        post = self.post(event)
        if post is None:
            return
        if passed.writer == self._index.own_writer:
            if post.seq > self.reading(actor).seq:
                self._keep(actor, Reading(post.seq, event, self._ts(post), ts, passed.seq))
            return
        covers = _covered(self._index.markers(passed.writer), passed.writer, post)
        sent = self._sent_to([actor, *GROUPS], self.reading(actor).seq, below=passed.seq)
        ahead = [each for each in sent if each.by != actor]
        unread = [each.seq for each in ahead if not covers(each)]
        read = [each for each in ahead if covers(each)]
        first = unread[0] if unread else passed.seq
        if behind := [each for each in read if each.seq < first]:
            last = behind[-1]
            self._keep(actor, Reading(last.seq, last.event_id, self._ts(last), ts, passed.seq))
        for each in read:
            if each.seq > first:
                self._index.ask("insert or ignore into talk_seen values (?, ?)", actor, each.seq)

    def _mail_read(self, passed: Passed, by: str, data: dict[str, Any], ts: str) -> None:  # noqa: ARG002
        """Somebody has taken some messages out of the inbox."""
        self._rows.write(self._index)
        for event in data["event_ids"]:
            if type(event) is str and (post := self.post_or_none(event)):
                self._index.ask("insert or ignore into talk_seen values (?, ?)", str(data["actor_id"]), post.seq)

    def _keep(self, actor: str, reading: Reading) -> None:
        self._index.ask(
            "insert or replace into talk_read values (?, ?, ?, ?, ?, ?)", actor, *reading.as_dict().values()
        )

    def _ts(self, post: Post) -> str:
        from bb.kernel import clock  # noqa: PLC0415

        return clock.text(post.at)

    # -- asking

    def reading(self, actor: str) -> Reading:
        """How far ACTOR has read."""
        rows = self._index.ask("select seq, event, ts, updated_at, said_at from talk_read where actor = ?", actor)
        return Reading(*rows[0]) if rows else Reading()

    def post(self, event_id: str) -> Post | None:
        """A message or notice by its id; None when there is none that is in the course."""
        writer, n = ids.split_event_id(event_id)
        query = f"select {COLUMNS} from talk_post where writer = ? and n = ?"  # noqa: S608
        if rows := self._index.ask(query, writer, n):
            return Post(*rows[0])
        again = self._index.ask("select who from talk_of where event = ? and what = ?", event_id, AGAIN)
        return self.post(again[0][0]) if again else None

    def of(self, event_id: str, what: str, who: str | None = None) -> list[tuple[str, int]]:
        """By whom, and at which place, something was said of an event."""
        query = f"""select who, seq from talk_of where what = ? and (? is null or who = ?) and event in (
            select ? union select who from talk_of where event = ? and what in ('{FIRST}', '{AGAIN}'))"""  # noqa: S608
        return self._index.ask(query, what, who, who, event_id, event_id)

    def unread(self, actor: str, tokens: Sequence[str], *, only: int = 0, but: int = 0) -> Iterator[Post]:
        """What was sent to one of TOKENS, and ACTOR neither sent nor read, in the order of the course.

        ONLY and BUT name flags that must, or must not, be there.
        """
        # As of before we look: another process may let more be there meanwhile, at which we do not look.
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
        """How many messages ACTOR has not read, without those that have one of the flags BUT."""
        marks = ", ".join("?" * len(tokens))
        query = f"""
            select count(*) from talk_post where by != ? and seq not in (select seq from talk_seen where actor = ?)
            and seq in (select seq from talk_to where token in ({marks}) and seq > ? and flags & ? = 0)"""  # noqa: S608
        return int(self._index.ask(query, actor, actor, *tokens, self._floor(actor, tokens), but)[0][0])

    def last_unread(self, actor: str, tokens: Sequence[str], *, only: int = 0, but: int = 0) -> Post | None:
        """The last message that ACTOR has not read."""
        return next(self.newest_unread(actor, tokens, only=only, but=but), None)

    def newest_unread(self, actor: str, tokens: Sequence[str], *, only: int = 0, but: int = 0) -> Iterator[Post]:
        """What ACTOR has not read, the last first."""
        floor = self._floor(actor, tokens)
        posts = self._sent_to(tokens, floor, is_backwards=True)
        wanted = (each for each in posts if each.flags & only == only and not each.flags & but and each.by != actor)
        return (each for each in wanted if not self._is_seen(actor, each.seq))

    def before(self, seq: int | None, tokens: Sequence[str] | None, flags: int = 0) -> Iterator[Post]:
        """Messages, last first: those before SEQ that were sent to one of TOKENS."""
        limit = 1 << 62 if seq is None else seq
        if tokens is not None:
            yield from self._sent_to(tokens, 0, is_backwards=True, below=limit, all_of=flags)
            return
        while True:
            query = f"select {COLUMNS} from talk_post where seq < ? order by seq desc limit 200"  # noqa: S608
            posts = [Post(*row) for row in self._index.ask(query, limit)]
            yield from (each for each in posts if each.flags & flags == flags)
            if not posts:
                return
            limit = posts[-1].seq

    def post_or_none(self, event_id: str) -> Post | None:
        """The same, where what is given may be no name of an event at all."""
        return self.post(event_id) if ids.is_event_id(event_id) else None

    def events(self, posts: Iterable[Post]) -> Iterator[Event]:
        """The messages themselves, as they stand in the journals, read as they are wanted; without those that were
        taken back."""
        hidden = self._index.hidden()
        with Lines(self._store.path) as found:
            for post in posts:
                raw = found.at(post.writer, post.n, post.segment, post.offset)
                for event in readable([raw] if raw is not None and not lines.is_blank(raw) else []):
                    if not redactions.is_hidden(event.id, event.by, event.kind, hidden):
                        yield event.but(seq=post.place)

    def event(self, event_id: str) -> Event | None:
        """A message or notice by its id, whether or not its payload is still there."""
        post = self.post(event_id)
        if post is None:
            return None
        with Lines(self._store.path) as found:
            raw = found.at(post.writer, post.n, post.segment, post.offset)
        return next((event.but(seq=post.place) for event in readable([raw or b""])), None)

    def _sent_to(
        self, tokens: Sequence[str], above: int, *, is_backwards: bool = False, below: int = 1 << 62, all_of: int = 0
    ) -> Iterator[Post]:
        """What was sent to any of TOKENS, between two places, each once, read as it is wanted."""
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
        """Up to where there is nothing unread: what was read, or what nobody needs to look at again."""
        rows = self._index.ask("select seq, tokens from talk_floor where actor = ?", actor)
        looked = rows[0][0] if rows and rows[0][1] == " ".join(tokens) else 0
        return max(self.reading(actor).seq, looked)

    def _raise_floor(self, actor: str, tokens: Sequence[str], floor: int, seq: int) -> None:
        """Remember that up to SEQ there is nothing to look at, where finding that out took some looking."""
        if seq - floor > WORTH_REMEMBERING and not self._index.is_busy():
            self._index.ask("insert or replace into talk_floor values (?, ?, ?)", actor, " ".join(tokens), seq)


WORTH_REMEMBERING = 200
ADDRESSED = ("chat.message", "system.notify")
PORTION = 100  # messages looked at in one question
# A line is passed over because nobody has signed it, or else because it is an order and the person has not.
SKIPPED = """
    insert into talk_skipped select ?1, ?2 <= upto, ?2 from counted where writer = ?1
    on conflict (writer, is_order) do update set n = min(n, excluded.n)"""
COUNTS_BY_NOW = """
    select 1 from talk_skipped join counted using (writer)
    where n <= case is_order when 1 then orders else upto end limit 1"""
COLUMNS = "seq, writer, n, segment, offset, by, flags, at"
NOTED: dict[str, Callable[[Talk, Passed, str, dict[str, Any], str], None]] = {
    "chat.message": Talk._said,
    "system.notify": Talk._noticed,
    "chat.ack": Talk._acked,
    "system.notify_ack": Talk._notice_acked,
    "chat.read": Talk._read,
    "mail.read": Talk._mail_read,
    "chat.reply_request.cancelled": Talk._cancelled,
    deliveries.KIND: Talk._delivered,
}


class _Rows:
    """What is to be written into the index, gathered."""

    def __init__(self) -> None:
        self.posts: list[tuple[Any, ...]] = []
        self.to: list[tuple[Any, ...]] = []
        self.of: list[tuple[Any, ...]] = []
        self.skipped: list[tuple[str, int]] = []  # lines that do not count

    def say(self, event: object, what: str, who: str, seq: int) -> None:
        """Something was said of an EVENT, if it is the name of one."""
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
    """Whether a message was read by whoever had read, in the clone of WRITER, up to LAST.

    What came to that clone together with LAST counts as unread, where it is not clear: better twice than never.
    """
    if last.writer == writer:
        known, own = [each for each in markers if each.n <= last.n][-1].heads, last.n
    else:
        before = [each for each in markers if each.heads.get(last.writer, 0) < last.n]
        known, own = before[-1].heads, before[-1].n
        later = [each.n for each in markers if each.n > before[-1].n]
        own = later[0] - 1 if later else own

    def covers(post: Post) -> bool:
        return post == last or post.n <= (own if post.writer == writer else known.get(post.writer, 0))

    return covers


def _decoder(lines_to_read: int) -> Callable[[bytes], Any] | None:
    """The fast decoder repays its import where there are many lines."""
    if lines_to_read < 2000:
        return None
    from bb.ledger.journal import bulk_check  # noqa: PLC0415

    decode: Callable[[bytes], Any] = bulk_check.decode
    return decode
