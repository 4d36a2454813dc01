"""Chat, as CCCS clients query it: messages by recipient, read positions, and acknowledgements.

This part of the index follows the course of events (`ledger/records/own_order.py`). It is updated only on request, so
other commands do not pay for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bb.coordination.records import redactions
from bb.kernel.event import Event
from bb.ledger.files.sqlite import sqlite3
from bb.ledger.journal import line as lines
from bb.ledger.records.events import readable
from bb.ledger.records.own_order import Lines
from bb.ledger.views.chat_reader import ChatReader
from bb.ledger.views.chat_tables import AGAIN, COLUMNS, FLOATING, OLD_ID, ChatTables, Post

WORTH_REMEMBERING = 200


class ChatIndex(ChatTables):
    """The chat of one ledger."""

    def catch_up(self) -> None:
        """Read the new part of the course. If the index cannot be written, an index in memory is used."""
        try:
            self._read_course()
        except sqlite3.DatabaseError as error:
            self._store.index.start_over(error)
            self._read_course()

    def _read_course(self) -> None:
        self._store.caught_up_on_disk()
        ChatReader(self._store, self).catch_up()

    def entries_about(self, event_id: str, what: str, who: str | None = None) -> list[tuple[str, int]]:
        """The entries of type WHAT about an event: the author and the place of each."""
        query = f"""select who, seq from talk_of where what = ? and (? is null or who = ?) and event in (
            select ? union select who from talk_of where event = ? and what in ('{OLD_ID}', '{AGAIN}'))"""  # noqa: S608
        return self.index.ask(query, what, who, who, event_id, event_id)

    def unread(self, actor: str, tokens: Sequence[str], *, only: int = 0, but: int = 0) -> Iterator[Post]:
        """Messages to one of TOKENS that ACTOR neither sent nor read, in the order of the course.

        ONLY names flags that a message must have, BUT names flags that it must not have.
        """
        # Read before the loop: another process may add messages meanwhile, which the loop does not look at.
        last = self.index.ask("select max(seq) from talk_post where seq < ?", FLOATING)[0][0] or 0
        floor = self._floor(actor, tokens)
        first, is_plain = None, not (only or but)
        for post in self.sent_to(tokens, floor):
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
        return int(self.index.ask(query, actor, actor, *tokens, self._floor(actor, tokens), but)[0][0])

    def last_unread(self, actor: str, tokens: Sequence[str], *, only: int = 0, but: int = 0) -> Post | None:
        """The last message that ACTOR has not read."""
        return next(self.newest_unread(actor, tokens, only=only, but=but), None)

    def newest_unread(self, actor: str, tokens: Sequence[str], *, only: int = 0, but: int = 0) -> Iterator[Post]:
        """The messages that ACTOR has not read, last first."""
        floor = self._floor(actor, tokens)
        posts = self.sent_to(tokens, floor, is_backwards=True)
        matching = (post for post in posts if post.flags & only == only and not post.flags & but and post.by != actor)
        return (post for post in matching if not self._is_seen(actor, post.seq))

    def before(self, seq: int | None, tokens: Sequence[str] | None, flags: int = 0) -> Iterator[Post]:
        """Messages before SEQ to one of TOKENS, last first."""
        limit = 1 << 62 if seq is None else seq
        if tokens is not None:
            yield from self.sent_to(tokens, 0, is_backwards=True, below=limit, all_of=flags)
            return
        while True:
            query = f"select {COLUMNS} from talk_post where seq < ? order by seq desc limit 200"  # noqa: S608
            posts = [Post(*row) for row in self.index.ask(query, limit)]
            yield from (post for post in posts if post.flags & flags == flags)
            if not posts:
                return
            limit = posts[-1].seq

    def events(self, posts: Iterable[Post]) -> Iterator[Event]:
        """The events of POSTS, read lazily from the journals, without withdrawn ones."""
        hidden = self.index.hidden()
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

    def _is_seen(self, actor: str, seq: int) -> bool:
        return bool(self.index.ask("select 1 from talk_seen where actor = ? and seq = ?", actor, seq))

    def _floor(self, actor: str, tokens: Sequence[str]) -> int:
        """The place up to which nothing is unread: the read position, or the end of an earlier search."""
        rows = self.index.ask("select seq, tokens from talk_floor where actor = ?", actor)
        looked = rows[0][0] if rows and rows[0][1] == " ".join(tokens) else 0
        return max(self.reading(actor).seq, looked)

    def _raise_floor(self, actor: str, tokens: Sequence[str], floor: int, seq: int) -> None:
        """Remember that nothing is unread up to SEQ, if the search was long enough to be worth it."""
        if seq - floor > WORTH_REMEMBERING and not self.index.is_busy():
            self.index.ask("insert or replace into talk_floor values (?, ?, ?)", actor, " ".join(tokens), seq)
