"""How long a clone has heard the signs of life of other machines, so that time in which it heard nothing counts as
nobody's silence.

In a fleet, each machine says every few seconds which of its agents are alive, and reads what the others said. A clone
that is cut off hears none of that, however busy the others are. So the silence of an agent elsewhere counts only from
the moment since which everything was heard without a gap. While nothing is heard, nobody elsewhere is known to be
silent.
"""

from __future__ import annotations

from bb.kernel import clock
from bb.kernel.record import Record

GAP = 45 * clock.SECOND  # milliseconds; without a sign for longer than this, something may have been missed


class Hearing(Record):
    """Signs of life were heard without a gap SINCE a moment, and LAST at another one, by this machine's clock. ENGINE
    is the last moment by the clock of the engine, which judges too: the clock of a machine that was put back to an
    earlier state shows no gap. GAP is how long may pass without a sign. All in milliseconds."""

    since: int = 0
    last: int = 0
    engine: int = 0
    gap: int = GAP

    def again(self, now: int, engine: int) -> Hearing:
        """Everything that was said until NOW is heard, when the engine's clock says ENGINE."""
        is_whole = 0 <= now - self.last <= self.gap and 0 <= engine - self.engine <= self.gap
        return self.replace(since=self.since if is_whole else now, last=now, engine=engine)

    def is_current(self, now: int) -> bool:
        """Whether signs of life are heard at the moment."""
        return abs(now - self.last) <= self.gap

    def seen_at(self, seen_at: int, now: int) -> int:
        """The moment since which an agent elsewhere is known to be silent, if its last sign of life came at SEEN_AT."""
        return max(seen_at, self.since) if self.is_current(now) else now
