"""What is said in a group, on its way to the actors that run on terminals: who is to be typed what.

A message is told when it is recorded, by whomever; what an actor could not be told then, it is told as soon as it
runs, or as the group goes on. How and when it is typed is the session's affair (`daemon/actors/session.py`,
`daemon/actors/delivery.py`).
"""

from __future__ import annotations

from itertools import islice

from bb.daemon.actors.session import OnTerminal, Session
from bb.daemon.clients.streams import marked
from bb.groups.facts import ACTIVE, PAUSED
from bb.ledger.views.chat import CLAIMED, MAIL, NOTICE, TYPED
from bb.messaging.chat import message, notifications, requests
from bb.ops.desk import group_desk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from bb.daemon.clients.streams import Streams, Told
    from bb.kernel.event import Event
    from bb.ledger.views.chat import Post, Talk
    from bb.ops.desk.desk import Desk
    from bb.ops.desk.group_desk import GroupDesk

SETTINGS, STATE = "group.settings_update", "group.set_state"
MOST_RECALLED = 20  # messages that were sent to an actor before it ran
MOST_LOOKED_AT = 500


class Telling:
    """Tells the SESSIONS of a daemon what is for them."""

    def __init__(self, desk: Desk, streams: Streams, sessions: Mapping[tuple[str, str], Session]) -> None:
        self._desk = desk
        self._streams = streams
        self._sessions = sessions
        self._ears: dict[str, Callable[[Told], None]] = {}

    def listen(self, group: GroupDesk) -> None:
        """Hear what is recorded in a group from now on."""
        if group.id not in self._ears:
            self._ears[group.id] = lambda told: self._heard(group.id, told)
        self._streams.channel(group).overhear(self._ears[group.id])

    def resume(self, group: GroupDesk, session: Session) -> None:
        """The group has begun to go on, or to rest, or the actor to run: let it wait, or be told what waits for it."""
        if not isinstance(session, OnTerminal):
            return
        is_paused = not _is_delivered(group, message.MESSAGE)
        if session.hold(is_held=is_paused) and not is_paused:
            self._tell_what_waits(group, session)

    def _tell_what_waits(self, group: GroupDesk, session: OnTerminal) -> None:
        """Tell an actor what was sent to it, and not read, while it did not run, or the group was paused."""
        talk, actor = group.spoken(), group.actor(session.actor_id)
        unread = islice(talk.newest_unread(actor.id, group.tokens(actor.id), but=NOTICE), MOST_LOOKED_AT)
        events = talk.events(_untold(talk, unread, actor.id))
        waiting = [event for event in events if event.order >= tuple(actor.agent.since)]
        session.queue.leave_out(len(waiting[MOST_RECALLED:]))
        for event in reversed(waiting[:MOST_RECALLED]):
            session.tell(marked(group, event, event.envelope()), event.seq or 0)

    def _heard(self, group_id: str, told: Told) -> None:
        event = told.event
        sessions = [each for each in self._sessions.values() if each.group_id == group_id]
        if event is None or not sessions:
            return
        group = group_desk.of(self._desk, group_id)
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
        """An actor has read up to a message: it need not be typed what it has read."""
        session = self._sessions.get((group.id, str(data.get("actor_id"))))
        if isinstance(session, OnTerminal) and (post := group.spoken().post_or_none(str(data.get("event_id")))):
            session.has_read(post.seq)

    def _withdraw_mail(self, group: GroupDesk, data: dict[str, Any]) -> None:
        """An actor has taken mail out of its inbox, some of which somebody wanted it to be typed."""
        session, taken = self._sessions.get((group.id, str(data.get("actor_id")))), data.get("event_ids")
        if session is not None and isinstance(taken, list):
            for event_id in taken:
                session.withdraw(str(event_id))


def _untold(talk: Talk, posts: Iterable[Post], actor: str) -> Iterator[Post]:
    """Of messages, the last first, those that an actor is still to be typed: back to one that was typed to it. What is
    older had its turn. Mail is only if somebody has asked for that, wherever it stands."""
    is_older = False
    for post in posts:
        if talk.of(post.event_id, TYPED, actor):
            is_older = is_older or not post.flags & MAIL
        elif post.flags & MAIL:
            if talk.of(post.event_id, CLAIMED, actor):
                yield post
        elif not is_older and post.place is not None:  # without a place, it is heard of when it gets one
            yield post


def _tell(group: GroupDesk, event: Event, told: Told, sessions: list[Session]) -> None:
    """Mail waits in the inbox, by its sender's wish."""
    for session in sessions if not requests.is_mail(event.data) else ():
        if isinstance(session, OnTerminal) and told.is_for(session.actor_id):
            session.tell(marked(group, event, event.envelope()), told.seq)


def _set_interval(group: GroupDesk, sessions: list[Session]) -> None:
    interval = int(group.settings()["min_interval_seconds"])
    for session in sessions:
        if isinstance(session, OnTerminal):
            session.queue.min_interval_seconds = interval
            session.schedule()


def _is_delivered(group: GroupDesk, kind: str) -> bool:
    """Active: all is delivered. Idle: messages are, notifications wait. Paused: nothing is; it is in the inbox."""
    state = group.group().state
    return state == ACTIVE or (state != PAUSED and kind != notifications.NOTIFY)
