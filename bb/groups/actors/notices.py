"""What is seen of a group when it is looked after, and what the notices of that look say (CCCS §7).

The context of a notice names the actor whom it is about: who was told what, and when, is known from the ledger alone.
"""

from __future__ import annotations

from bb.kernel import clock
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

NUDGE, KEEPALIVE, ACTOR_IDLE = "nudge", "keepalive", "actor_idle"
SILENCE_CHECK, STANDUP, HELP_NUDGE = "silence_check", "standup", "help_nudge"

LOW, NORMAL, HIGH = "low", "normal", "high"
NAMED = 20  # so many messages are named in a notice

# kind -> priority, title, message
WORDS = {
    NUDGE: (NORMAL, "Mail is waiting", "{mail}, waiting for {waiting}. Please read your inbox."),
    KEEPALIVE: (
        NORMAL,
        "Please go on",
        "You have been silent for {quiet}, with work before you. Go on, or say why not.",
    ),
    ACTOR_IDLE: (NORMAL, "{actor} is silent", "Nothing has been seen of {actor} for {quiet}."),
    SILENCE_CHECK: (NORMAL, "Everybody is silent", "Nothing has happened for {silence}. Is anybody waiting, or done?"),
    STANDUP: (NORMAL, "Time to take stock", "Who does what, what is in the way, and what comes next?"),
    HELP_NUDGE: (LOW, "How to get help", "The skill `bb` tells how to work with the others; so does `bb --help`."),
}


class GroupView(Record):
    """A group: since when it has been active under this daemon, when anybody last did anything in it, and when its
    foreman was last told what. These notices are no activity."""

    state: str
    active_since: int
    last_activity_at: int | None
    told: Mapping[str, int]  # kind -> when


class ActorView(Record):
    """An actor: how it stands, what waits for it, and when anybody was last told what about it."""

    id: str
    role: str
    running: bool
    started_at: int
    told: Mapping[str, int]  # kind -> when
    last_output_at: int | None = None  # in its terminal
    last_act_at: int | None = None  # in the group
    unread_count: int = 0  # these notices are no mail
    oldest_unread_at: int | None = None
    oldest_unread: str | None = None
    owed: tuple[str, ...] = ()  # messages that want its attention and that it has not acknowledged, the oldest first
    oldest_owed_at: int | None = None
    has_task: bool = False
    keepalives: int = 0  # since it last acted
    messages_since_help: int = 0

    def waiting_since(self) -> int | None:
        """Since when there is something that it has not read, or not acknowledged."""
        return min((at for at in (self.oldest_unread_at, self.oldest_owed_at) if at is not None), default=None)

    def here_since(self, group: GroupView) -> int:
        """Since when it could have acted."""
        return max(group.active_since, self.started_at)

    def quiet_since(self, group: GroupView) -> int:
        """When it last did anything."""
        return latest(self.here_since(group), self.last_output_at, self.last_act_at)


class Notice(Record):
    """A `system.notify` that is due."""

    kind: str
    target_actor_id: str | None
    priority: str
    title: str
    message: str
    context: dict[str, Any]


def notice(kind: str, group: GroupView, actor: ActorView, to: str, now: int) -> Notice:
    """The notice of a KIND about an ACTOR, TO whom it concerns."""
    priority, title, message = WORDS[kind]
    words = {
        "actor": actor.id,
        "mail": _mail(actor),
        "waiting": _span(now - (actor.waiting_since() or now)),
        "quiet": _span(now - actor.quiet_since(group)),
        "silence": _span(now - latest(actor.here_since(group), group.last_activity_at)),
    }
    is_urgent = kind == NUDGE and actor.owed
    context = {"actor_id": actor.id} | (_what_waits(actor) if kind == NUDGE else {})
    return Notice(kind, to, HIGH if is_urgent else priority, title.format(**words), message.format(**words), context)


def latest(first: int, *others: int | None) -> int:
    """The latest of the moments that there are."""
    return max([first, *(moment for moment in others if moment is not None)])


def _what_waits(actor: ActorView) -> dict[str, Any]:
    return {
        "unread_count": actor.unread_count,
        "oldest_unread": actor.oldest_unread,
        "to_acknowledge": list(actor.owed[:NAMED]),
        "to_acknowledge_count": len(actor.owed),
    }


def _mail(actor: ActorView) -> str:
    unread = [f"{actor.unread_count} unread"] if actor.unread_count else []
    owed = [f"{len(actor.owed)} to acknowledge ({_named(actor.owed)})"] if actor.owed else []
    return "Messages: " + ", ".join(unread + owed)


def _named(messages: Sequence[str]) -> str:
    more = len(messages) - NAMED
    return ", ".join(messages[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _span(length: int) -> str:
    """A length of time, for people."""
    if length < 2 * clock.MINUTE:
        return f"{max(length, 0) // clock.SECOND} s"
    if length < 2 * clock.HOUR:
        return f"{length // clock.MINUTE} min"
    return f"{length // clock.HOUR} h"
