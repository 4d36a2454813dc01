"""Timed notices for groups with running actors: reminders of unread messages, notices of silence.

`groups/actors/automation.py` decides which notices are due and when to check again. This module collects the facts for
that decision, records the notices, and waits: until the next notice is due, or shortly after an event that may make one
due earlier. It does not poll.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any

from bb.daemon.actors.session import Session
from bb.daemon.actors.supervisor import Supervisor
from bb.daemon.automation.recent import Recent
from bb.daemon.clients.streams import EventCallback, StreamEvent, Streams
from bb.daemon.loop.log import Log
from bb.daemon.loop.loop import Loop, Timer
from bb.groups.actors import automation, notices
from bb.groups.actors.automation import is_withdrawn
from bb.groups.actors.notices import ActorView, GroupView, Notice
from bb.groups.context_forms import ACTIVE as BEGUN
from bb.groups.context_forms import TASK
from bb.groups.facts import ACTIVE
from bb.kernel import clock, ids
from bb.kernel.clock import SECOND
from bb.kernel.errors import BbError
from bb.kernel.event import Event
from bb.ledger.local import machine_registry as knowns
from bb.ledger.local import prompts
from bb.ledger.views.chat_tables import AUTOMATIC
from bb.messaging.chat import notifications
from bb.messaging.chat.principals import SYSTEM
from bb.messaging.facts import Said
from bb.ops.desk import group_desk
from bb.ops.desk.desk import Desk
from bb.ops.desk.group_desk import Actor, GroupDesk

AFTER_A_WHILE = 1.0  # seconds after a message; a check costs as much as a few messages
RETRY = 10.0
LEAST = 0.05  # seconds between two checks
MOST_REMEMBERED = 1000
OWN_WORDS = {
    notices.HELP_NUDGE: "help",
    notices.STANDUP: "standup",
}  # notices whose text a group may replace with a prompt
# Kinds that are checked at once, so that no actor is reminded of something it has just done.
AT_ONCE = frozenset(
    ["group.set_state", "group.settings_update", "chat.read", "chat.ack", "mail.read", "actor.start", "actor.stop"]
)


class Automation:
    """The groups with running actors."""

    def __init__(self, loop: Loop, desk: Desk, streams: Streams, house: Supervisor, log: Log) -> None:
        self.loop = loop
        self.desk = desk
        self.streams = streams
        self.house = house
        self.log = log
        self._watches: dict[str, Watch] = {}

    def attend(self, group: GroupDesk) -> None:
        """Watch a group from now on: an actor was started in it."""
        watch = self._watches.get(group.id)
        if watch is None:
            watch = self._watches[group.id] = Watch(self, group)
        watch.look_in(0)

    def complain(self, group_id: str, error: Exception) -> None:
        """Log that a check of a group failed."""
        why = error.message if isinstance(error, BbError) else "".join(traceback.format_exception(error))
        self.log.error(f"group {group_id} was not checked for due notices: {why}")

    def leave(self, group_id: str, ear: EventCallback) -> None:
        """Stop watching a group: no actor runs in it."""
        self._watches.pop(group_id, None)
        self.streams.ignore(group_id, ear)


class Watch:
    """One watched group."""

    def __init__(self, all_of_it: Automation, group: GroupDesk) -> None:
        self._all = all_of_it
        self._group_id = group.id
        self._active_since = self._now()
        self._state = group.group().state
        self._recent = Recent.of(group, self._now())
        self._own: set[str] = set()  # recorded notices that have not come back through the stream yet
        self._came: dict[str, int] = {}  # when an unread event of another clone was first seen here
        self._timer: Timer | None = None
        self._ear = self._heard  # one bound method, so that it is registered once
        all_of_it.streams.channel(group).add_callback(self._ear)

    def _now(self) -> int:
        return self._all.desk.now()

    # -- scheduling

    def look_in(self, seconds: float) -> None:
        """Check in SECONDS, unless an earlier check is scheduled."""
        loop = self._all.loop
        if self._timer is not None and self._timer.do is not None and self._timer.at <= loop.now() + seconds:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.later(seconds, self._look)

    def _heard(self, told: StreamEvent) -> None:
        event = told.event
        if event is None:
            return
        if event.id in self._own:
            self._own.discard(event.id)
            return
        self._recent.add_event(told, self._now(), [session.actor_id for session in self._sessions()])
        self.look_in(0 if event.kind in AT_ONCE else AFTER_A_WHILE)

    def _sessions(self) -> list[Session]:
        return [session for session in self._all.house.sessions() if session.group_id == self._group_id]

    def _look(self) -> None:
        self._timer = None
        sessions = {session.actor_id: session for session in self._sessions()}
        if not sessions:
            self._all.leave(self._group_id, self._ear)
            return
        try:
            group = group_desk.open_group(self._all.desk, self._group_id)
            self._all.streams.channel(group).add_callback(self._ear)
            at = self._see_to(group, sessions)
        except Exception as error:  # a bug must not stop the daemon
            self._all.complain(self._group_id, error)
            self.look_in(RETRY)
            return
        if at is not None:
            self.look_in(max((at - self._now()) / SECOND, LEAST))

    # -- notices

    def _see_to(self, group: GroupDesk, sessions: Mapping[str, Session]) -> int | None:
        """Record the notices that are due; the time of the next check."""
        now, settings = self._now(), group.settings()
        view, actors = self._views(group, sessions, now)
        if due := automation.due(view, actors, settings, now):
            self._tell(group, due, now)
            view, actors = self._views(group, sessions, now)
        self._withdraw(actors, sessions)
        return automation.next_look(view, actors, settings, now)

    def _tell(self, group: GroupDesk, due: list[Notice], now: int) -> None:
        facts = [Said(notifications.NOTIFY, self._said(group, notice)) for notice in due]
        for notice, event in zip(due, group.record(facts, SYSTEM), strict=True):
            self._own.add(event["id"])
            self._recent.tell(notice.kind, notice.context["actor_id"], event["id"], now)
        self._all.streams.pump([group.id])

    def _said(self, group: GroupDesk, notice: Notice) -> dict[str, Any]:
        """The data of a notice: with the group's own prompt if there is one, and with terminal output if permitted."""
        data = notice.as_dict()
        own = OWN_WORDS.get(notice.kind)
        if own and (words := prompts.read(knowns.home(self._all.desk.env), group.id, (own,))):
            data["message"] = words[own]
        if notice.kind == notices.ACTOR_IDLE:
            about = notice.context["actor_id"]
            data["context"] = notice.context | self._all.house.glimpse(group, about, str(notice.target_actor_id))
        return data

    def _withdraw(self, actors: list[ActorView], sessions: Mapping[str, Session]) -> None:
        """Remove queued nudges about messages read meanwhile, and all but the newest nudge."""
        for actor in actors:
            nudges = self._recent.nudges.get(actor.id, {})
            for place, (event_id, at) in enumerate(list(nudges.items())):
                if is_withdrawn(at, actor) or place + 1 < len(nudges):
                    sessions[actor.id].withdraw(event_id)
                    del self._recent.nudges[actor.id][event_id]

    # -- facts for the decision

    def _views(self, group: GroupDesk, sessions: Mapping[str, Session], now: int) -> tuple[GroupView, list[ActorView]]:
        """The current views of the group and its running actors."""
        state, recent = group.group().state, self._recent
        if state == ACTIVE and self._state != ACTIVE:
            self._active_since = now
        self._state = state
        last_notices = {kind: max(when.values()) for kind, when in recent.told.items()}
        view = GroupView(state, self._active_since, recent.last_activity_at, last_notices)
        if state != ACTIVE:
            return view, []
        owed, at_work = recent.owed(group), _at_work(group)
        running = [actor for actor in group.actors() if actor.id in sessions]
        return view, [
            self._view(group, actor, sessions[actor.id], owed.get(actor.id, []), actor.id in at_work)
            for actor in running
        ]

    def _view(self, group: GroupDesk, actor: Actor, session: Session, owed: list[Event], has_task: bool) -> ActorView:
        talk, tokens, recent = group.messages(), group.tokens(actor.id), self._recent
        first = next(talk.unread(actor.id, tokens, but=AUTOMATIC), None)
        return ActorView(
            id=actor.id,
            role=actor.role,
            running=True,
            started_at=session.started_at,
            last_notices={kind: when[actor.id] for kind, when in recent.told.items() if actor.id in when},
            last_output_at=session.last_output_at,
            last_act_at=recent.acts.get(actor.id),
            unread_count=talk.count_unread(actor.id, tokens, but=AUTOMATIC) if first else 0,
            oldest_unread_at=self._since(group, first.event_id, first.at) if first else None,
            oldest_unread=first.event_id if first else None,
            owed=tuple(event.id for event in owed),
            oldest_owed_at=self._since(group, owed[0].id, clock.parse_or(owed[0].ts, 0)) if owed else None,
            has_task=has_task or session.has_task,
            keepalives=recent.keepalives.get(actor.id, 0),
            messages_since_help=recent.messages.get(actor.id, 0),
        )

    def _since(self, group: GroupDesk, event_id: str, at: int) -> int:
        """When a message arrived in this clone. The clocks of other clones are not used."""
        writer, _ = ids.split_event_id(event_id)
        if writer == group.store.writer:
            return at
        if len(self._came) > MOST_REMEMBERED:
            self._came.clear()
        return self._came.setdefault(event_id, self._now())


def _at_work(group: GroupDesk) -> set[str]:
    """The actors with a task in progress, by the shared context."""
    view = group.context()
    tasks = [key for key in view.keys(TASK) if view.value(key, "status") == BEGUN]
    return {str(view.value(key, "assignee")) for key in tasks}
