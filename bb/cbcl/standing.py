"""Where an agent stands: what decides how it takes the next message. What it believes and what was said does not.

A value; what happens makes another one of it. So a message that fails half-way has changed nothing.
"""

from __future__ import annotations

from bb.cbcl.effects import Discharged, Expected, Greeted, Met, Obliged, Parted, Settled
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence
    from typing import TypeVar

    from bb.cbcl.effects import Effect

    Open = TypeVar("Open", Expected, Obliged)


MOST_OPEN = 256  # answers that one agent waits for from another


class Standing(Record):
    """One agent, at one moment. The oldest of what it waits for, and of what it owes, stands first."""

    id: str
    expected: tuple[Expected, ...] = ()
    obliged: tuple[Obliged, ...] = ()
    peers: frozenset[str] = frozenset()
    greeted: frozenset[str] = frozenset()
    taken: Container[tuple[str, str]] = ()  # signed messages, by who signed and what they hash to

    def after(self, effects: Sequence[Effect]) -> Standing:
        """Where it stands once these have happened."""
        found = self
        for effect in effects:
            found = found._after(effect)
        return found

    def _after(self, effect: Effect) -> Standing:
        match effect:
            case Expected(to=to, id=known):
                return self.but(expected=(*self._expected_but(to, known), effect))
            case Settled(to=to, id=known):
                return self.but(expected=self._expected_but(to, known))
            case Obliged(from_=from_, id=known):
                return self.but(obliged=(*self._obliged_but(from_, known), effect))
            case Discharged(from_=from_, id=known):
                return self.but(obliged=self._obliged_but(from_, known))
            case Met(peer=peer):
                return self.but(peers=self.peers | {peer})
            case Greeted(peer=peer):
                return self.but(greeted=self.greeted | {peer})
            case Parted(peer=peer):
                return self.but(peers=self.peers - {peer}, greeted=self.greeted - {peer})
        return self

    def _expected_but(self, to: str, known: str) -> tuple[Expected, ...]:
        return tuple(each for each in self.expected if (each.to, each.id) != (to, known))

    def _obliged_but(self, from_: str, known: str) -> tuple[Obliged, ...]:
        return tuple(each for each in self.obliged if (each.from_, each.id) != (from_, known))

    def awaited(self, to: str, in_reply_to: str | None, thread: str | None) -> Expected | None:
        """Which of the answers that are waited for this one is: by its id, else by its thread, else the oldest that
        belongs to none."""
        return _first([each for each in self.expected if each.to == to], in_reply_to, thread)

    def owed(self, to: str, in_reply_to: str | None, thread: str | None) -> Obliged | None:
        """Likewise, which answer of ours somebody waits for."""
        return _first([each for each in self.obliged if each.from_ == to], in_reply_to, thread)


def _first(known: Sequence[Open], in_reply_to: str | None, thread: str | None) -> Open | None:
    """The one that is meant, of those that are open, the oldest first."""
    if in_reply_to is not None:
        return next((each for each in known if in_reply_to in (each.id, each.event)), None)
    return next((each for each in known if each.thread == thread), None)
