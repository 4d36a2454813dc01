"""Reads the course of events into the tables of chat.

Lines that do not count by the list of signers are skipped. The skipped lines are remembered. Once one of them counts,
the tables are filled again from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from itertools import takewhile
from typing import Any

from bb.coordination.records import redactions
from bb.coordination.records.redactions import Hidden
from bb.groups.actors import notices
from bb.kernel import clock, ids, json_text
from bb.kernel.event import PUT_ASIDE
from bb.ledger.journal import line as lines
from bb.ledger.journal.cursors import Marker
from bb.ledger.records.own_order import START, Course, Passed, unmerged_lines
from bb.ledger.records.store import Store
from bb.ledger.views.chat_tables import (
    ACK,
    AGAIN,
    ATTENTION,
    AUTOMATIC,
    BROADCAST,
    CANCELLED,
    CLAIMED,
    COUNTS_BY_NOW,
    FLOATING,
    GROUPS,
    MAIL,
    NOBODY,
    NOTICE,
    OLD_ID,
    REQUEST,
    TYPED,
    ChatTables,
    Post,
    ReadPosition,
    Rows,
)
from bb.messaging.chat import deliveries, recipients
from bb.messaging.chat.principals import SYSTEM

KIND = b'"kind":"'
GESTURES = ("chat.read", "mail.read")  # events about read positions
ADDRESSED = ("chat.message", "system.notify")
MOST_AT_ONCE = 50_000  # lines in one transaction


class ChatReader:
    """Reads the new part of the course into TABLES."""

    def __init__(self, store: Store, tables: ChatTables) -> None:
        self._store = store
        self._tables = tables
        self._index = tables.index
        self._rows = Rows()
        self._hidden: Hidden = {}

    def catch_up(self) -> None:
        """Read everything that is new."""
        self._forget_if_more_counts()
        while self._read_on():
            pass
        self._float()

    def _forget_if_more_counts(self) -> None:
        """Start again if a skipped line counts by now."""
        if self._index.law is not None and self._index.ask(COUNTS_BY_NOW):
            with self._index.writing():
                self._tables.clear()

    def _read_on(self) -> bool:
        """Read a portion. Returns whether there is more."""
        index = self._index
        head = index.ask("select n from cursor where writer = ?", index.own_writer)
        last = head[0][0] if head else 0
        spot = self._tables.spot()
        if spot.n >= last:
            return False
        course, count = Course(self._store, spot), 0
        with index.writing():
            if spot == START:
                self._tables.clear()  # it may be from an earlier journal of ours
            decode, self._hidden = _decoder(last - spot.n), index.hidden()
            for count, passed in enumerate(course.new_lines(), 1):
                self._note(passed, decode)
                if count >= MOST_AT_ONCE and passed.writer == index.own_writer:
                    break
            self._write_rows()
            self._tables.keep_spot(course.spot)
        return count >= MOST_AT_ONCE

    def _float(self) -> None:
        """Put messages of other clones that have no place in our course yet behind all others, for now. They can be
        read. They get a place before any event about them is recorded."""
        index = self._index
        heads = json_text.dumps(index.unmerged())
        rows = index.ask("select heads from talk_floating")
        if (rows[0][0] if rows else "{}") == heads:
            return
        with index.writing():
            self._tables.clear(FLOATING)
            self._hidden = index.hidden()
            for place, passed in enumerate(unmerged_lines(self._store)):
                self._note(passed.replace(seq=FLOATING + place), None, but=GESTURES)
            self._write_rows()
            index.ask("insert into talk_floating values (?)", heads)

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
        except (KeyError, TypeError, ValueError, ids.InvalidEventId.error):
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
        self._write_rows()
        actor, event = str(data["actor_id"]), str(data["event_id"])
        post = self._tables.post(event)
        if post is None:
            return
        if passed.writer == self._index.own_writer:
            if post.seq > self._tables.reading(actor).seq:
                self._tables.keep_reading(actor, ReadPosition(post.seq, event, clock.text(post.at), ts, passed.seq))
            return
        covers = _covered(self._index.markers(passed.writer), passed.writer, post)
        sent = self._tables.sent_to([actor, *GROUPS], self._tables.reading(actor).seq, below=passed.seq)
        ahead = [sent_post for sent_post in sent if sent_post.by != actor]
        unread = [later.seq for later in ahead if not covers(later)]
        read = [later for later in ahead if covers(later)]
        first = unread[0] if unread else passed.seq
        if behind := [later for later in read if later.seq < first]:
            last = behind[-1]
            self._tables.keep_reading(actor, ReadPosition(last.seq, last.event_id, clock.text(last.at), ts, passed.seq))
        for later in read:
            if later.seq > first:
                self._tables.mark_seen(actor, later)

    def _mail_read(self, passed: Passed, by: str, data: dict[str, Any], ts: str) -> None:  # noqa: ARG002
        """Note that an actor has taken messages out of its inbox."""
        self._write_rows()
        for event in data["event_ids"]:
            if type(event) is str and (post := self._tables.post_or_none(event)):
                self._tables.mark_seen(str(data["actor_id"]), post)

    def _write_rows(self) -> None:
        rows, self._rows = self._rows, Rows()
        rows.write(self._index)


NOTED: dict[str, Callable[[ChatReader, Passed, str, dict[str, Any], str], None]] = {
    "chat.message": ChatReader._said,
    "system.notify": ChatReader._noticed,
    "chat.ack": ChatReader._acked,
    "system.notify_ack": ChatReader._notice_acked,
    "chat.read": ChatReader._read,
    "mail.read": ChatReader._mail_read,
    "chat.reply_request.cancelled": ChatReader._cancelled,
    deliveries.KIND: ChatReader._delivered,
}


def _covered(markers: Sequence[Marker], writer: str, last: Post) -> Callable[[Post], bool]:
    """A test whether a message was read, given that an actor had read up to LAST in the clone of WRITER.

    A message that may have reached that clone together with LAST counts as unread: reading twice is better than never.
    """
    if last.writer == writer:
        before, own = [marker for marker in markers if marker.n <= last.n], last.n
    else:
        before = list(takewhile(lambda marker: marker.runs.get(last.writer, (0, 0))[1] < last.n, markers))
        later = markers[len(before) :]
        own = later[0].n - 1 if later else before[-1].n
    heads: dict[str, int] = {}
    for marker in before:
        for other, (_, head) in marker.runs.items():
            heads[other] = max(head, heads.get(other, 0))

    def covers(post: Post) -> bool:
        return post == last or post.n <= (own if post.writer == writer else heads.get(post.writer, 0))

    return covers


def _decoder(lines_to_read: int) -> Callable[[bytes], Any] | None:
    """The fast decoder, if there are enough lines to be worth its import."""
    if lines_to_read < 2000:
        return None
    from bb.ledger.journal import bulk_check  # noqa: PLC0415

    decode: Callable[[bytes], Any] = bulk_check.decode
    return decode
