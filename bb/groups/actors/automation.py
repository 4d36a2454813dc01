"""Which notices a group is owed by itself: that mail waits, that somebody fell silent, that it is time to take stock.

Every kind counts from a moment and waits as long as a setting says. What has waited long enough is due; the earliest
end of all waits is when to look again. Where nothing calls for a kind there is no moment to count from: mail that has
been read withdraws its nudge, and a silence is told of once. 0 as a setting means never.

Notices are noise. So a group that is idle or paused gets none, nor does an actor that does not run; time in which
nobody could act does not count; nobody is prodded twice at once; and these notices are themselves neither mail nor
activity, or each would call for the next.
"""

from __future__ import annotations

from bb.groups.actors.actors import ACTIVE
from bb.groups.actors.notices import (
    ACTOR_IDLE,
    HELP_NUDGE,
    KEEPALIVE,
    NUDGE,
    SILENCE_CHECK,
    STANDUP,
    ActorView,
    GroupView,
    latest,
    notice,
)
from bb.groups.permissions import FOREMAN, USER
from bb.kernel.clock import SECOND
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bb.groups.actors.notices import Notice
    from bb.groups.settings import Value


class Look(Record):
    """What is known of a group when the daemon looks."""

    group: GroupView
    running: tuple[ActorView, ...]
    settings: Mapping[str, Value]

    def setting(self, key: str) -> int:
        return int(self.settings[key])

    def overseer(self, actor: ActorView) -> str:
        """Who is told about ACTOR: the foreman; about the foreman, or where none runs, the person."""
        return next((each.id for each in self.running if each.role == FOREMAN and each.id != actor.id), USER)


class Kind(Record):
    """A kind of notice: the setting that says how long it waits, and the moment that it counts from."""

    name: str
    wait: str
    since: Callable[[Look, ActorView], int | None]
    about_foreman_only: bool = False


def due(group: GroupView, actors: Sequence[ActorView], settings: Mapping[str, Value], now: int) -> list[Notice]:
    """The notices that are due NOW, given SETTINGS that are complete; the same world, the same order."""
    look = _look(group, actors, settings)
    ripe = [(kind, actor) for moment, kind, actor in _moments(look) if moment <= now]
    nudged = {actor.id for kind, actor in ripe if kind.name == NUDGE}
    return [
        notice(kind.name, group, actor, look.overseer(actor) if kind.name == ACTOR_IDLE else actor.id, now)
        for kind, actor in ripe
        if not (kind.name == KEEPALIVE and actor.id in nudged)
    ]


def next_look(group: GroupView, actors: Sequence[ActorView], settings: Mapping[str, Value], now: int) -> int | None:
    """When something becomes due if nothing happens before: NOW when something is, None when nothing will be."""
    moments = [moment for moment, _, _ in _moments(_look(group, actors, settings))]
    return max(min(moments), now) if moments else None


def is_withdrawn(nudged_at: int, actor: ActorView) -> bool:
    """Whether all that a nudge was about has been read and acknowledged since."""
    waiting = actor.waiting_since()
    return waiting is None or waiting > nudged_at


def _look(group: GroupView, actors: Sequence[ActorView], settings: Mapping[str, Value]) -> Look:
    running = sorted((actor for actor in actors if actor.running), key=lambda actor: actor.id)
    return Look(group, tuple(running), settings)


def _moments(look: Look) -> Iterator[tuple[int, Kind, ActorView]]:
    """When what becomes due about whom."""
    for kind in KINDS if look.group.state == ACTIVE else ():
        wait = look.setting(kind.wait) * SECOND
        for actor in look.running if wait else ():
            if kind.about_foreman_only and actor.role != FOREMAN:
                continue
            if (since := kind.since(look, actor)) is not None:
                yield since + wait, kind, actor


# -- the moments that are counted from


def _mail_waits(look: Look, actor: ActorView) -> int | None:
    """A nudge names all that waits, so the next one has time as long again."""
    waiting = actor.waiting_since()
    return None if waiting is None else latest(waiting, actor.here_since(look.group), actor.told.get(NUDGE))


def _fell_silent(look: Look, actor: ActorView) -> int | None:
    return _untold(actor.quiet_since(look.group), actor.told.get(ACTOR_IDLE))


def _stopped_short(look: Look, actor: ActorView) -> int | None:
    """It fell silent with work before it. After so many prods in vain it is left alone until it acts."""
    has_more = actor.has_task or actor.unread_count > 0
    if not has_more or actor.keepalives >= look.setting("keepalive_max_per_actor"):
        return None
    return latest(actor.quiet_since(look.group), actor.told.get(KEEPALIVE), actor.told.get(NUDGE))


def _all_fell_silent(look: Look, foreman: ActorView) -> int | None:
    quiet = latest(foreman.here_since(look.group), look.group.last_activity_at)
    return _untold(quiet, look.group.told.get(SILENCE_CHECK))


def _there_is_news(look: Look, foreman: ActorView) -> int | None:  # noqa: ARG001
    """Stock is taken while somebody works, if anything has happened since the last time."""
    last = latest(look.group.active_since, look.group.told.get(STANDUP))
    is_news = latest(last, look.group.last_activity_at) > last
    return last if is_news and any(_works(actor, last) for actor in look.running) else None


def _much_was_said(look: Look, actor: ActorView) -> int | None:
    is_enough = actor.messages_since_help >= max(look.setting("help_nudge_min_messages"), 1)
    return latest(actor.here_since(look.group), actor.told.get(HELP_NUDGE)) if is_enough else None


KINDS = (
    Kind(NUDGE, "nudge_after_seconds", _mail_waits),
    Kind(KEEPALIVE, "keepalive_delay_seconds", _stopped_short),
    Kind(ACTOR_IDLE, "actor_idle_timeout_seconds", _fell_silent),
    Kind(SILENCE_CHECK, "silence_timeout_seconds", _all_fell_silent, about_foreman_only=True),
    Kind(STANDUP, "standup_interval_seconds", _there_is_news, about_foreman_only=True),
    Kind(HELP_NUDGE, "help_nudge_interval_seconds", _much_was_said),
)


def _untold(quiet_since: int, told: int | None) -> int | None:
    """A silence that nobody has been told of yet."""
    return None if told is not None and told >= quiet_since else quiet_since


def _works(actor: ActorView, since: int) -> bool:
    return actor.has_task or latest(since, actor.last_act_at, actor.last_output_at) > since
