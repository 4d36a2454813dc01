"""The inputs of automatic notices, and the texts of the notices (CCCS §7).

The context of a notice names the actor that it is about. So the ledger alone shows which notices were sent, and when.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bb.kernel import clock
from bb.kernel.record import Record

NUDGE, KEEPALIVE, ACTOR_IDLE = "nudge", "keepalive", "actor_idle"
SILENCE_CHECK, STANDUP, HELP_NUDGE = "silence_check", "standup", "help_nudge"

LOW, NORMAL, HIGH = "low", "normal", "high"
NAMED = 20  # the number of messages that a notice names

# kind -> priority, title, message
WORDS = {
    NUDGE: (NORMAL, "Mail is waiting", "{mail}, waiting for {waiting}. Please read your inbox."),
    KEEPALIVE: (
        NORMAL,
        "Please continue",
        "You have been silent for {quiet} and have unfinished work. Continue, or report what stops you.",
    ),
    ACTOR_IDLE: (NORMAL, "{actor} is silent", "{actor} has shown no activity for {quiet}."),
    SILENCE_CHECK: (
        NORMAL,
        "All actors are silent",
        "The group has shown no activity for {silence}. Check whether an actor is waiting or has finished.",
    ),
    STANDUP: (NORMAL, "Time for a standup", "Which actor does what, what blocks the work, and what comes next?"),
    HELP_NUDGE: (LOW, "How to get help", "The skill `bb` and `bb --help` explain how to work with other agents."),
}


class GroupView(Record):
    """A group: the start of its activity under this daemon, its last activity, and the last notices to its foreman.
    Notices do not count as activity."""

    state: str
    active_since: int
    last_activity_at: int | None
    last_notices: Mapping[str, int]  # kind -> when


class ActorView(Record):
    """An actor: its state, its waiting messages, and the last notices about it."""

    id: str
    role: str
    running: bool
    started_at: int
    last_notices: Mapping[str, int]  # kind -> when
    last_output_at: int | None = None  # in its terminal
    last_act_at: int | None = None  # in the group
    unread_count: int = 0  # without automatic notices
    oldest_unread_at: int | None = None
    oldest_unread: str | None = None
    owed: tuple[str, ...] = ()  # unacknowledged messages with priority attention, oldest first
    oldest_owed_at: int | None = None
    has_task: bool = False
    keepalives: int = 0  # since it last acted
    messages_since_help: int = 0

    def waiting_since(self) -> int | None:
        """The time of the oldest message that is unread or not acknowledged, or None."""
        return min((at for at in (self.oldest_unread_at, self.oldest_owed_at) if at is not None), default=None)

    def here_since(self, group: GroupView) -> int:
        """The time since which the actor could have acted."""
        return max(group.active_since, self.started_at)

    def quiet_since(self, group: GroupView) -> int:
        """The time of the actor's last activity."""
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
    """The notice of this KIND about ACTOR to the recipient TO."""
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
    """The latest of the given times."""
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
    """A duration in readable form."""
    if length < 2 * clock.MINUTE:
        return f"{max(length, 0) // clock.SECOND} s"
    if length < 2 * clock.HOUR:
        return f"{length // clock.MINUTE} min"
    return f"{length // clock.HOUR} h"
