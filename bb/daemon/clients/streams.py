"""Event streams (CCCC daemon IPC §8.13): past events first, then each new event as it is recorded.

Each group with listeners has one channel. The channel follows the course of the group's ledger and reads every line
once, for all listeners. A listener that asks for past events follows the course itself until it has caught up with the
channel, a portion at a time and no faster than its client reads.

A line that does not count (docs/signing.md) is not sent. If it counts later, it is sent then, with its original place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from bb.daemon.clients.connection import Connection
from bb.daemon.loop.loop import Loop, Timer
from bb.kernel.errors import BbError
from bb.kernel.event import Event
from bb.ledger.index import counting
from bb.ledger.journal import line as lines
from bb.ledger.records import own_order
from bb.ledger.records.own_order import Course, Passed
from bb.messaging.chat import acks
from bb.ops.desk import group_desk
from bb.ops.desk.group_desk import GroupDesk
from bb.wire import cccc

EventCallback = Callable[["StreamEvent"], None]

GLANCE = 0.02  # seconds between checks for lines of other processes
LONGEST_GLANCE = 0.05
HEARTBEAT = 30.0
PORTION = 256  # past lines that are sent at a time
FULL = 256 << 10  # waiting bytes above which a client gets no past lines
TOO_SLOW = 4 << 20  # waiting bytes above which a client is closed
FOR_READERS = ("chat.message", "system.notify")


class StreamEvent:
    """One event for the listeners: parsed once and serialised once for all."""

    def __init__(self, group: GroupDesk, passed: Passed, roles: Mapping[str, str]) -> None:
        self.seq = passed.seq
        self.event: Event | None = None
        self._group = group
        self._roles = roles
        self._item: bytes | None = None
        try:
            event = lines.event(passed.raw)
        except lines.Unreadable:
            return
        if passed.counts and not lines.is_blank(passed.raw):
            self.event = event.replace(seq=passed.seq)

    @property
    def item(self) -> bytes:
        """The line that is sent to listeners."""
        if self._item is None:
            self._item = cccc.event_item(self.shown()) if self.event else b""
        return self._item

    def shown(self) -> dict[str, Any]:
        """The event as clients see it, marked if it names the person as author without their signature."""
        event = self.event
        return with_verification_mark(self._group, event, self._group.shown(event)) if event else {}

    def is_for(self, who: str) -> bool:
        """Whether the event is a message for WHO from another author."""
        event = self.event
        return (
            event is not None
            and event.kind in FOR_READERS
            and event.by != who
            and acks.is_for(who, event.kind, event.data, self._roles)
        )


def with_verification_mark(group: GroupDesk, event: Event, shown: dict[str, Any]) -> dict[str, Any]:
    """SHOWN with a mark if the event names the person as author and is not verified."""
    return shown | counting.signature_mark(group.store.index, event.id, event.kind, event.by)


class Listener:
    """One client of a stream."""

    def __init__(self, connection: Connection, wanted: dict[str, Any], is_actor: bool) -> None:
        self.connection = connection
        self.seq: int = wanted["after"]
        self.past: Course | None = None
        self._kinds: frozenset[str] = wanted["kinds"]
        self._who = wanted["who"] if is_actor else None
        self._left: int | None = wanted["limit"]

    def hear(self, told: StreamEvent) -> int:
        """Send an event if the client asked for its kind; the number of bytes that wait for the client."""
        self.seq = max(self.seq, told.seq)
        event = told.event
        if event is None or event.kind not in self._kinds or (self._who and not told.is_for(self._who)):
            return 0
        waiting = self.connection.send(told.item)
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                self.connection.end()
        return waiting


class Channel:
    """The event stream of one group, for all its listeners."""

    def __init__(self, group: GroupDesk, loop: Loop, gone: Callable[[Channel], None]) -> None:
        self.group = group
        self._loop = loop
        self._gone = gone
        self._course = Course(group.store, own_order.spot_before(group.index(), own_order.length(group.index())))
        self._live: list[Listener] = []
        self._behind: list[Listener] = []
        self._inside: list[EventCallback] = []
        self._sizes: object = None
        self._timer: Timer | None = None
        self._glance = GLANCE

    @property
    def is_needed(self) -> bool:
        return bool(self._live or self._behind or self._inside)

    def listen(self, listener: Listener) -> None:
        """Send LISTENER the past events it asked for, and new ones."""
        if listener.seq >= self._course.seq:
            self._live.append(listener)
        else:
            listener.past = Course(self.group.store, own_order.spot_before(self.group.index(), listener.seq))
            self._behind.append(listener)
            self._loop.call_soon(lambda: self._catch_up(listener))
        self._look_again()

    def add_callback(self, heard: EventCallback) -> None:
        """Call HEARD, a part of the daemon, for each new event."""
        if heard not in self._inside:
            self._inside.append(heard)
        self._look_again()

    def ignore(self, heard: EventCallback) -> None:
        if heard in self._inside:
            self._inside.remove(heard)

    def leave(self, listener: Listener) -> None:
        for waiting in (self._live, self._behind):
            if listener in waiting:
                waiting.remove(listener)

    def send_new_events(self) -> None:
        """Send the lines recorded since the last call."""
        roles: Mapping[str, str] | None = None
        for passed in self._course.new_lines():
            if roles is None:
                roles = self.group.roles()
            stream_event = StreamEvent(self.group, passed, roles)
            for heard in self._inside:
                self._loop.call_soon(partial(heard, stream_event))  # called later, so that streams do not wait for it
            for listener in list(self._live):
                if (listener.seq < stream_event.seq or passed.is_late) and listener.hear(stream_event) > TOO_SLOW:
                    listener.connection.close()

    def heartbeat(self, item: bytes) -> None:
        for listener in [*self._live, *self._behind]:
            listener.connection.send(item)

    def close(self) -> list[EventCallback]:
        """End every stream; the callbacks of the daemon's parts that have listened."""
        for listener in [*self._live, *self._behind]:
            listener.connection.end()
        if self._timer:
            self._timer.cancel()
        inside, self._inside = self._inside, []
        return inside

    # -- lines of other processes

    def _look_again(self) -> None:
        if self._timer is None or self._timer.do is None:
            self._glance = GLANCE
            self._timer = self._loop.later(self._glance, self._look)

    def _look(self) -> None:
        self._timer = None
        if not self.is_needed:
            return
        try:
            sizes = self.group.store.last_files()
            if not sizes:  # the ledger has moved or was removed
                self._gone(self)
                return
            if sizes != self._sizes:
                self._sizes = sizes
                self.group.index()
                if any(map(own_order.is_news, own_order.unmerged_lines(self.group.store))):
                    self.group.store.record_marker(self.group.desk.now())
                    self._sizes = self.group.store.last_files()
                self.send_new_events()
                self._glance = GLANCE
            else:
                self._glance = min(self._glance * 1.2, LONGEST_GLANCE)
        except BbError:
            self._glance = LONGEST_GLANCE  # damaged or locked: requests get the refusal
        self._timer = self._loop.later(self._glance, self._look)

    # -- past events

    def _catch_up(self, listener: Listener) -> None:
        """Send a listener a portion of past events."""
        if listener not in self._behind or listener.past is None:
            return
        waiting, roles = 0, self.group.roles()
        for count, passed in enumerate(listener.past.new_lines(), 1):
            if passed.seq > listener.seq or passed.is_late:
                if passed.seq > self._course.seq:
                    break
                waiting = listener.hear(StreamEvent(self.group, passed, roles))
            if listener not in self._behind:
                return  # it has left meanwhile
            if count >= PORTION and passed.writer == self.group.store.writer:
                break
        if listener.seq >= self._course.seq or not self._is_more(listener):
            listener.past = None
            self._behind.remove(listener)
            if listener.connection.is_open:
                self._live.append(listener)
        else:
            self._loop.later(0.01 if waiting > FULL else 0, lambda: self._catch_up(listener))

    def _is_more(self, listener: Listener) -> bool:
        return listener.past is not None and listener.past.seq < self._course.seq


class Streams:
    """The channels of all groups."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._channels: dict[str, Channel] = {}

    def channel(self, group: GroupDesk) -> Channel:
        """The channel of a group; a new one if the group has moved to another ledger."""
        channel = self._channels.get(group.id)
        if channel is None or channel.group.store is not group.store:
            inside = channel.close() if channel else []
            channel = self._channels[group.id] = Channel(group, self._loop, self._gone)
            for heard in inside:
                channel.add_callback(heard)
        return channel

    def _gone(self, channel: Channel) -> None:
        """A channel's ledger was removed: move the daemon's own callbacks to the group's current ledger."""
        try:
            self.channel(group_desk.open_group(channel.group.desk, channel.group.id))
        except BbError:
            channel.close()
            self._channels.pop(channel.group.id, None)

    def subscribe(self, group: GroupDesk, connection: Connection, wanted: dict[str, Any]) -> None:
        """Start a client's stream."""
        channel = self.channel(group)
        listener = Listener(connection, wanted, is_actor=wanted["who"] in group.roles())
        connection.ended = lambda: channel.leave(listener)
        channel.listen(listener)

    def ignore(self, group_id: str, heard: EventCallback) -> None:
        """Remove a callback of the daemon from a group."""
        if channel := self._channels.get(group_id):
            channel.ignore(heard)

    def pump(self, groups: Iterable[str]) -> None:
        """Send the newly recorded lines of these groups."""
        for group_id in groups:
            if (channel := self._channels.get(group_id)) and channel.is_needed:
                try:
                    channel.send_new_events()
                except BbError:
                    continue  # damaged or locked: the channel tries again soon

    def heartbeat(self, ts: str) -> None:
        item = cccc.heartbeat(ts)
        for channel in self._channels.values():
            channel.heartbeat(item)

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()
