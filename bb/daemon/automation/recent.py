"""The recent history of a group that automation needs: last activity, recorded notices, and missing acknowledgements.

All of it comes from the ledger, so a restart loses nothing: the last PAST lines are read at start, and then each new
line. Times are those of this clone's clock. An event of another clone counts from its arrival here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice
from typing import Any

from bb.daemon.clients.streams import StreamEvent
from bb.groups.actors import notices
from bb.kernel import clock
from bb.kernel.event import Event
from bb.ledger.records import own_order
from bb.ledger.records.own_order import Course
from bb.ledger.views.chat_tables import ACK, ATTENTION, NOTICE
from bb.messaging.chat import acks, message, notifications
from bb.messaging.chat.principals import SYSTEM, USER
from bb.ops.desk.group_desk import GroupDesk

PAST = 2000  # lines
MOST_OWED = 500  # messages with priority `attention`
REDACTED = "x.bb.redacted"


class Recent:
    """The recent history of one group."""

    def __init__(self) -> None:
        self.last_activity_at: int | None = None
        self.acts: dict[str, int] = {}  # by actor, the time of its last act
        self.told: dict[str, dict[str, int]] = {}  # by kind of notice and actor, the time of the last notice
        self.keepalives: dict[str, int] = {}  # by actor, the number since its last act
        self.messages: dict[str, int] = {}  # by actor, the number since its last help nudge
        self.nudges: dict[str, dict[str, int]] = {}  # by actor, the nudges that may be queued, with their times
        self._asking: dict[str, Event] = {}  # messages with priority `attention`, the oldest first
        self._acked: dict[str, set[str]] = {}

    @classmethod
    def of(cls, group: GroupDesk, now: int) -> Recent:
        """The recent history of a group, read from its ledger."""
        recent, roles, waiting = cls(), group.roles(), []
        index = group.index()
        begin = own_order.spot_before(index, max(own_order.length(index) - PAST, 0))
        for passed in Course(group.store, begin).new_lines():
            waiting.append(StreamEvent(group, passed, roles))
            if passed.writer == group.store.writer:
                event = waiting[-1].event
                at = clock.parse_or(event.ts, now) if event else now
                for stream_event in waiting:
                    recent.add_event(stream_event, min(at, now), roles)
                waiting.clear()
        recent._recall(group)
        return recent

    def _recall(self, group: GroupDesk) -> None:
        """Find the messages with priority `attention`, of any age."""
        talk, tokens = group.messages(), ["", "@all", "@peers", "@foreman", *group.roles()]
        posts = (post for post in talk.before(None, tokens, ATTENTION) if not post.flags & NOTICE)
        for event in reversed(list(talk.events(islice(posts, MOST_OWED)))):
            self._asking[event.id] = event
            self._acked[event.id] = {who for who, _ in talk.entries_about(event.id, ACK)}

    # -- new events

    def add_event(self, told: StreamEvent, at: int, actors: Collection[str]) -> None:
        """Take in an event that arrived at time AT."""
        event = told.event
        if event is None:
            return
        if event.kind == notifications.NOTIFY and event.by == SYSTEM:
            self._noticed(event, at)
        if event.by == SYSTEM:
            return
        self.last_activity_at = notices.latest(at, self.last_activity_at)
        if event.by in actors:
            self.acts[event.by] = at
            self.keepalives.pop(event.by, None)
        if event.kind == message.MESSAGE:
            self._said(told, event, actors)
        elif event.kind == message.ACK:
            if (event_id := str(event.data.get("event_id"))) in self._asking:
                self._acked.setdefault(event_id, set()).add(event.by)
        elif event.kind == REDACTED:
            self._asking.pop(str(event.data.get("event_id")), None)

    def _noticed(self, event: Event, at: int) -> None:
        context = event.data.get("context")
        about = context.get("actor_id") if isinstance(context, dict) else None
        if isinstance(about, str):
            self.tell(str(event.data.get("kind")), about, event.id, at)

    def tell(self, kind: str, about: str, event_id: str, at: int) -> None:
        """Take in a notice of KIND about an actor."""
        if kind not in notices.WORDS:
            return
        self.told.setdefault(kind, {})[about] = at
        if kind == notices.KEEPALIVE:
            self.keepalives[about] = self.keepalives.get(about, 0) + 1
        elif kind == notices.HELP_NUDGE:
            self.messages.pop(about, None)
        elif kind == notices.NUDGE:
            self.nudges.setdefault(about, {})[event_id] = at

    def _said(self, told: StreamEvent, event: Event, actors: Iterable[str]) -> None:
        for actor in actors:
            if told.is_for(actor):
                self.messages[actor] = self.messages.get(actor, 0) + 1
        if message.is_attention(event.data):
            self._asking[event.id] = event
            for forgotten in list(islice(self._asking, max(len(self._asking) - MOST_OWED, 0))):
                del self._asking[forgotten]
                self._acked.pop(forgotten, None)

    # -- missing acknowledgements

    def owed(self, group: GroupDesk) -> dict[str, list[Event]]:
        """By actor, the messages that it must acknowledge and has not, the oldest first."""
        members, since = group.members(), {actor.id: actor.agent.since for actor in group.actors()}
        owed: dict[str, list[Event]] = {}
        for event in self._asking.values():
            plain: dict[str, Any] = {"kind": event.kind, "by": event.by, "data": event.data}
            for who in acks.owed_by(plain, members):
                is_there = who != USER and tuple(since[who]) <= event.order
                if is_there and who not in self._acked.get(event.id, ()):
                    owed.setdefault(who, []).append(event)
        return owed
