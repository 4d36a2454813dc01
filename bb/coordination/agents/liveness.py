"""How alive an agent is, judged by its silence (Operative Protocol §4).

With N stale minutes (15 unless `BB_AGENT_STALE_MINUTES` says otherwise) an agent is active for N minutes after it
was last seen, then stale, and evicted from 2N minutes on. Both lower bounds are inclusive.
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

# silence, as a multiple of the stale threshold, from which on the state holds
LIVENESS = (
    (2, EVICTED),
    (1, STALE),
    (0, ACTIVE),
)


class InvalidStaleMinutes(Usage):
    """BB_AGENT_STALE_MINUTES must be a whole number of minutes from 1 to 10080."""

    code = "INVALID_STALE_MINUTES"
    hint = "unset BB_AGENT_STALE_MINUTES for the default of 15"


def stale_after(minutes: str | None, pinned: int | None = None) -> int:
    """The stale threshold in milliseconds, from the text of BB_AGENT_STALE_MINUTES and what the person has PINNED
    (`thresholds`), than which an environment may only be milder."""
    if not minutes:
        return (pinned or STALE_MINUTES) * clock.MINUTE
    if not (minutes.isascii() and minutes.isdigit() and len(minutes) < 8 and int(minutes) in MINUTES_ALLOWED):
        raise InvalidStaleMinutes(
            f"BB_AGENT_STALE_MINUTES is {minutes[:40]!r}; it must be a whole number from 1 to 10080"
        )
    return max(int(minutes), pinned or 0) * clock.MINUTE


def latest(moments: Iterable[int], now: int) -> int:
    """The last sign of life of several. One ahead of our clock counts as given just now: clocks differ, and are set
    back. One more than a day ahead only counts where there is no other: then it is our clock, perhaps, that is wrong.
    """
    known = list(moments)
    return max((min(moment, now) for moment in known if moment <= now + CREDIBLE), default=max(known, default=0))


def liveness(last_seen: int, now: int, threshold: int) -> str:
    """What the silence since LAST_SEEN makes of an agent."""
    silence = max(now - last_seen, 0)  # a clock ahead of ours counts as just seen
    return next(state for multiple, state in LIVENESS if silence >= multiple * threshold)
