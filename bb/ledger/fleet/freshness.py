"""When this clone's results were last known to be current: to have every row that the engine had at that moment.

An answer of the engine is no proof of it, because rows may not be read yet. So a place of which the engine has told is
noted with the moment of the question, and counts once the results have reached it. No clocks here: the caller tells.
"""

from __future__ import annotations


class Freshness:
    """What is known of one log. AT is a time of this machine in milliseconds, and MOMENT is the same moment by the
    relay's own clock."""

    def __init__(self, at: int = 0) -> None:
        self.at, self.moment = at, float("-inf")
        self._end: tuple[int, int, float] | None = None  # a place that is not read yet, and when it was the last one

    def ended_at(self, place: int, moment: float, at: int) -> None:
        """PLACE was the last one of the log at MOMENT, which was the time AT, or later. The first one that is not read
        yet is kept: a clone that is always a little behind is current as of a little while ago."""
        if self._end is None or place <= self._end[0]:
            self._end = place, at, moment

    def has_read(self, place: int) -> None:
        """The results have every row up to PLACE."""
        if self._end is not None and place >= self._end[0]:
            _, self.at, self.moment = self._end
            self._end = None
