"""Automatic notices of a group: unread mail, a silent actor, time for a standup.

Each kind has a start time and a waiting time, which is a setting; 0 means never. A notice is due when its waiting time
is over, and the earliest such moment is when to look again. Without a reason for a notice there is no start time: after
the mail is read, its nudge is no longer due; a silence is reported once.

Notices should be rare. So an idle or paused group gets none, and neither does an actor that is not running. Time in
which an actor could not act does not count. An actor gets only one reminder at a time. The notices count neither as
mail nor as activity; otherwise each would cause the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from bb.groups.actors.notices import (
    ACTOR_IDLE,
    HELP_NUDGE,
    KEEPALIVE,
    NUDGE,
    SILENCE_CHECK,
    STANDUP,
    ActorView,
    GroupView,
    Notice,
    latest,
    notice,
)
from bb.groups.facts import ACTIVE
from bb.groups.permissions import FOREMAN, USER
from bb.groups.settings import Value
from bb.kernel.clock import SECOND
from bb.kernel.record import Record


class Look(Record):
    """The state of a group at the time of a check by the daemon."""

    group: GroupView
    running: tuple[ActorView, ...]
    settings: Mapping[str, Value]

    def setting(self, key: str) -> int:
        return int(self.settings[key])

    def overseer(self, actor: ActorView) -> str:
        """The recipient of a notice about ACTOR: the foreman; for the foreman, or without a running one, the person."""
        return next((other.id for other in self.running if other.role == FOREMAN and other.id != actor.id), USER)


class Kind(Record):
    """A kind of notice: the setting for its waiting time, and the function for its start time."""

    name: str
    wait: str
    since: Callable[[Look, ActorView], int | None]
    about_foreman_only: bool = False


def due(group: GroupView, actors: Sequence[ActorView], settings: Mapping[str, Value], now: int) -> list[Notice]:
    """The notices that are due NOW, given complete SETTINGS. The order is deterministic."""
    look = _look(group, actors, settings)
    ripe = [(kind, actor) for moment, kind, actor in _moments(look) if moment <= now]
    nudged = {actor.id for kind, actor in ripe if kind.name == NUDGE}
    return [
        notice(kind.name, group, actor, look.overseer(actor) if kind.name == ACTOR_IDLE else actor.id, now)
        for kind, actor in ripe
        if not (kind.name == KEEPALIVE and actor.id in nudged)
    ]


def next_look(group: GroupView, actors: Sequence[ActorView], settings: Mapping[str, Value], now: int) -> int | None:
    """The time of the next notice if nothing else happens: NOW if one is due, None if there will be none."""
    moments = [moment for moment, _, _ in _moments(_look(group, actors, settings))]
    return max(min(moments), now) if moments else None


def is_withdrawn(nudged_at: int, actor: ActorView) -> bool:
    """Whether all messages named by a nudge have since been read and acknowledged."""
    waiting = actor.waiting_since()
    return waiting is None or waiting > nudged_at


def _look(group: GroupView, actors: Sequence[ActorView], settings: Mapping[str, Value]) -> Look:
    running = sorted((actor for actor in actors if actor.running), key=lambda actor: actor.id)
    return Look(group, tuple(running), settings)


def _moments(look: Look) -> Iterator[tuple[int, Kind, ActorView]]:
    """The due time, kind and actor of each notice to come."""
    for kind in KINDS if look.group.state == ACTIVE else ():
        wait = look.setting(kind.wait) * SECOND
        for actor in look.running if wait else ():
            if kind.about_foreman_only and actor.role != FOREMAN:
                continue
            if (since := kind.since(look, actor)) is not None:
                yield since + wait, kind, actor


# -- start times


def _mail_waits(look: Look, actor: ActorView) -> int | None:
    """A nudge names all waiting messages, so the full waiting time passes before the next one."""
    waiting = actor.waiting_since()
    return None if waiting is None else latest(waiting, actor.here_since(look.group), actor.last_notices.get(NUDGE))


def _fell_silent(look: Look, actor: ActorView) -> int | None:
    return _untold(actor.quiet_since(look.group), actor.last_notices.get(ACTOR_IDLE))


def _stopped_short(look: Look, actor: ActorView) -> int | None:
    """The actor fell silent with work left. After a set number of reminders without effect, it gets no more until it
    acts."""
    has_more = actor.has_task or actor.unread_count > 0
    if not has_more or actor.keepalives >= look.setting("keepalive_max_per_actor"):
        return None
    return latest(actor.quiet_since(look.group), actor.last_notices.get(KEEPALIVE), actor.last_notices.get(NUDGE))


def _all_fell_silent(look: Look, foreman: ActorView) -> int | None:
    quiet = latest(foreman.here_since(look.group), look.group.last_activity_at)
    return _untold(quiet, look.group.last_notices.get(SILENCE_CHECK))


def _there_is_news(look: Look, foreman: ActorView) -> int | None:  # noqa: ARG001
    """A standup is due only if an actor is working and something has happened since the last one."""
    last = latest(look.group.active_since, look.group.last_notices.get(STANDUP))
    is_news = latest(last, look.group.last_activity_at) > last
    return last if is_news and any(_works(actor, last) for actor in look.running) else None


def _much_was_said(look: Look, actor: ActorView) -> int | None:
    is_enough = actor.messages_since_help >= max(look.setting("help_nudge_min_messages"), 1)
    return latest(actor.here_since(look.group), actor.last_notices.get(HELP_NUDGE)) if is_enough else None


KINDS = (
    Kind(NUDGE, "nudge_after_seconds", _mail_waits),
    Kind(KEEPALIVE, "keepalive_delay_seconds", _stopped_short),
    Kind(ACTOR_IDLE, "actor_idle_timeout_seconds", _fell_silent),
    Kind(SILENCE_CHECK, "silence_timeout_seconds", _all_fell_silent, about_foreman_only=True),
    Kind(STANDUP, "standup_interval_seconds", _there_is_news, about_foreman_only=True),
    Kind(HELP_NUDGE, "help_nudge_interval_seconds", _much_was_said),
)


def _untold(quiet_since: int, told: int | None) -> int | None:
    """The start of a silence that has not been reported yet, else None."""
    return None if told is not None and told >= quiet_since else quiet_since


def _works(actor: ActorView, since: int) -> bool:
    return actor.has_task or latest(since, actor.last_act_at, actor.last_output_at) > since
