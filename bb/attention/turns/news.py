"""The kinds of news that an agent is told, and one piece of news. The rules about it are in `agent_news`."""

from __future__ import annotations

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PAUSED, FROZEN, LOST, GRANTED, CONTESTED = "paused", "frozen", "lost", "granted", "contested"
TO_ACCEPT, UNREAD, ACCEPTED, WAITING = "to_accept", "unread", "accepted", "waiting_for_me"
COMMITTED = "committed"
MEMBERS = (
    PAUSED,
    FROZEN,
    LOST,
    GRANTED,
    COMMITTED,
    CONTESTED,
    TO_ACCEPT,
    UNREAD,
    ACCEPTED,
    WAITING,
)  # the most urgent first
STANDING = (PAUSED, FROZEN, TO_ACCEPT)  # they apply until they are lifted or accepted
MESSAGES = (TO_ACCEPT, UNREAD)
ORDERS = (PAUSED, FROZEN)
SUBJECT_LENGTH = 120


class News(Record):
    """One piece of news for MEMBER. NAME is what the session remembers. READ returns the row, or None if there is
    nothing to show after all; it is called only for news that may fit."""

    member: str
    name: str
    read: Callable[[], dict[str, Any] | None]
