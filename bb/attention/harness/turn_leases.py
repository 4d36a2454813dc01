"""The running turns of a harness. Each has a lease, so a lost message about its end silences nobody.

The lease is renewed by every sign of work: another turn that starts, progress, a call of a tool. When it is over, the
host treats the turn as ended, and delivers what waited for its end.
"""

from __future__ import annotations


class TurnLeases:
    """The running turns of one harness, by event; "" is a turn that no event of the host began."""

    def __init__(self) -> None:
        self._renewed: dict[str, int] = {}

    @property
    def events(self) -> set[str]:
        """The events of the running turns."""
        return set(self._renewed)

    def begin(self, event: str, now: int) -> None:
        """Note that a turn has started. That also shows that the harness works."""
        self._renewed[event] = now
        self.renew(now)

    def renew(self, now: int) -> None:
        """Renew the leases of all running turns."""
        self._renewed = dict.fromkeys(self._renewed, now)

    def end(self, event: str) -> None:
        """Note that a turn is over."""
        self._renewed.pop(event, None)

    def lapsed(self, now: int, lease_ms: int) -> set[str]:
        """The turns whose lease is over at the time NOW."""
        return {event for event, renewed in self._renewed.items() if now >= renewed + lease_ms}

    def next_lapse(self, now: int, lease_ms: int) -> int | None:
        """The next time after NOW at which a lease is over; None if there is none."""
        return min((end for renewed in self._renewed.values() if (end := renewed + lease_ms) > now), default=None)
