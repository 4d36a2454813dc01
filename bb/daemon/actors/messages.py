"""Routes a group's messages to the actors that run on terminals.

A message is queued for its recipients when it is recorded, by any process. Messages that an actor missed are queued
when it starts, or when the group is no longer paused. The session decides how and when to type them
(`daemon/actors/session.py`, `daemon/actors/delivery.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from bb.daemon.actors.session import OnTerminal, Session
from bb.daemon.clients.streams import StreamEvent, Streams, with_verification_mark
from bb.groups.facts import ACTIVE, PAUSED
from bb.kernel.event import Event
from bb.ledger.views.chat import ChatIndex
from bb.ledger.views.chat_tables import CLAIMED, MAIL, NOTICE, TYPED, Post
from bb.messaging.chat import message, notifications, requests
from bb.ops.desk import group_desk
from bb.ops.desk.desk import Desk
from bb.ops.desk.group_desk import GroupDesk

SETTINGS, STATE = "group.settings_update", "group.set_state"
MOST_RECALLED = 20  # missed messages that are typed to an actor when it starts
MOST_LOOKED_AT = 500


class MessageRouter:
    """Queues messages for the SESSIONS of a daemon."""

    def __init__(self, desk: Desk, streams: Streams, sessions: Mapping[tuple[str, str], Session]) -> None:
        self._desk = desk
        self._streams = streams
        self._sessions = sessions
        self._ears: dict[str, Callable[[StreamEvent], None]] = {}

    def listen(self, group: GroupDesk) -> None:
        """Route the messages of a group from now on."""
        if group.id not in self._ears:
            self._ears[group.id] = lambda told: self._heard(group.id, told)
        self._streams.channel(group).add_callback(self._ears[group.id])

    def resume(self, group: GroupDesk, session: Session) -> None:
        """Hold or resume a session's queue after a start of the actor or a change of the group's state."""
        if not isinstance(session, OnTerminal):
            return
        is_paused = not _is_delivered(group, message.MESSAGE)
        if session.hold(is_held=is_paused) and not is_paused:
            self._tell_what_waits(group, session)

    def _tell_what_waits(self, group: GroupDesk, session: OnTerminal) -> None:
        """Queue the unread messages that an actor got while it did not run or the group was paused."""
        talk, actor = group.messages(), group.actor(session.actor_id)
        unread = islice(talk.newest_unread(actor.id, group.tokens(actor.id), but=NOTICE), MOST_LOOKED_AT)
        events = talk.events(_untold(talk, unread, actor.id))
        waiting = [event for event in events if event.order >= tuple(actor.agent.since)]
        session.queue.leave_out(len(waiting[MOST_RECALLED:]))
        for event in reversed(waiting[:MOST_RECALLED]):
            session.tell(with_verification_mark(group, event, event.envelope()), event.seq or 0)

    def _heard(self, group_id: str, told: StreamEvent) -> None:
        event = told.event
        sessions = [session for session in self._sessions.values() if session.group_id == group_id]
        if event is None or not sessions:
            return
        group = group_desk.open_group(self._desk, group_id)
        if event.kind == message.READ:
            self._withdraw(group, event.data)
        elif event.kind == requests.MAIL_READ:
            self._withdraw_mail(group, event.data)
        elif event.kind == SETTINGS:
            _set_interval(group, sessions)
        elif event.kind == STATE:
            for session in sessions:
                self.resume(group, session)
        elif event.kind in (message.MESSAGE, notifications.NOTIFY) and _is_delivered(group, event.kind):
            _tell(group, event, told, sessions)

    def _withdraw(self, group: GroupDesk, data: dict[str, Any]) -> None:
        """Remove messages from the queue that the actor has read."""
        session = self._sessions.get((group.id, str(data.get("actor_id"))))
        if isinstance(session, OnTerminal) and (post := group.messages().post_or_none(str(data.get("event_id")))):
            session.has_read(post.seq)

    def _withdraw_mail(self, group: GroupDesk, data: dict[str, Any]) -> None:
        """Remove mail from the queue that the actor has taken from its inbox."""
        session, taken = self._sessions.get((group.id, str(data.get("actor_id")))), data.get("event_ids")
        if session is not None and isinstance(taken, list):
            for event_id in taken:
                session.withdraw(str(event_id))


def _untold(talk: ChatIndex, posts: Iterable[Post], actor: str) -> Iterator[Post]:
    """The POSTS, newest first, that were not typed to an actor yet. The search ends at the newest post that was typed,
    because older ones were handled before. Mail is included only if its delivery was requested, at any age."""
    is_older = False
    for post in posts:
        if talk.entries_about(post.event_id, TYPED, actor):
            is_older = is_older or not post.flags & MAIL
        elif post.flags & MAIL:
            if talk.entries_about(post.event_id, CLAIMED, actor):
                yield post
        elif not is_older and post.place is not None:  # a post without a place is routed when it gets one
            yield post


def _tell(group: GroupDesk, event: Event, told: StreamEvent, sessions: list[Session]) -> None:
    """Queue an event for its recipients. Mail stays in the inbox."""
    for session in sessions if not requests.is_mail(event.data) else ():
        if isinstance(session, OnTerminal) and told.is_for(session.actor_id):
            session.tell(with_verification_mark(group, event, event.envelope()), told.seq)


def _set_interval(group: GroupDesk, sessions: list[Session]) -> None:
    interval = int(group.settings()["min_interval_seconds"])
    for session in sessions:
        if isinstance(session, OnTerminal):
            session.queue.min_interval_seconds = interval
            session.schedule()


def _is_delivered(group: GroupDesk, kind: str) -> bool:
    """Whether events of KIND are typed. Active group: all. Idle: messages only. Paused: none, the inbox keeps them."""
    state = group.group().state
    return state == ACTIVE or (state != PAUSED and kind != notifications.NOTIFY)
