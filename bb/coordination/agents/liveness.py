"""Liveness of an agent, judged by the time since its last heartbeat (Operative Protocol §4).

With a stale threshold of N minutes (15, or `BB_AGENT_STALE_MINUTES`), an agent is active for N minutes after its last
heartbeat, then stale, and evicted from 2N minutes on. Both lower bounds are inclusive. If the session of the agent is
known to have ended, the agent is stale at once, until its next heartbeat.
"""

from __future__ import annotations

from bb.kernel import clock
from bb.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

STALE_MINUTES = 15
MINUTES_ALLOWED = range(1, 7 * 24 * 60 + 1)

CREDIBLE = 24 * clock.HOUR

ACTIVE, STALE, EVICTED = "active", "stale", "evicted"

# (time since the last heartbeat in multiples of the stale threshold, state from then on)
LIVENESS = (
    (2, EVICTED),
    (1, STALE),
    (0, ACTIVE),
)

InvalidStaleMinutes = Usage.declare(
    "INVALID_STALE_MINUTES",
    "BB_AGENT_STALE_MINUTES must be a whole number of minutes from 1 to 10080",
    hint="for the default of 15: `unset BB_AGENT_STALE_MINUTES`",
)


def stale_after(minutes: str | None, pinned: int | None = None) -> int:
    """The stale threshold in milliseconds: the greater of BB_AGENT_STALE_MINUTES and the value that the person PINNED.

    `thresholds` explains why an environment can only raise a pinned value.
    """
    if not minutes:
        return (pinned or STALE_MINUTES) * clock.MINUTE
    if not (minutes.isascii() and minutes.isdigit() and len(minutes) < 8 and int(minutes) in MINUTES_ALLOWED):
        raise InvalidStaleMinutes(
            f"BB_AGENT_STALE_MINUTES is {minutes[:40]!r}; it must be a whole number from 1 to 10080"
        )
    return max(int(minutes), pinned or 0) * clock.MINUTE


def latest(moments: Iterable[int], now: int) -> int:
    """The latest of several heartbeats.

    A heartbeat in the future counts as sent now, because clocks differ. A heartbeat more than a day in the future is
    ignored, unless all are: then our own clock may be wrong.
    """
    heartbeats = list(moments)
    return max(
        (min(moment, now) for moment in heartbeats if moment <= now + CREDIBLE), default=max(heartbeats, default=0)
    )


def liveness(last_seen: int, now: int, threshold: int, ended_at: int = 0) -> str:
    """The liveness of an agent whose last heartbeat was at LAST_SEEN and whose session ended at ENDED_AT, if ever."""
    silence = max(now - last_seen, 0)  # a clock ahead of ours counts as just seen
    state = next(state for multiple, state in LIVENESS if silence >= multiple * threshold)
    return STALE if state == ACTIVE and ended_at and last_seen <= ended_at else state
