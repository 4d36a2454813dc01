"""Where an agent stands: what decides how it takes the next message. What it believes and what was said does not.

A value; what happens makes another one of it. So a message that fails half-way has changed nothing.
"""

from __future__ import annotations

from itertools import chain

from bb.cbcl.speak.effects import Discharged, Expected, Greeted, Met, Obliged, Parted, Settled
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence
    from typing import Any, TypeVar

    from bb.cbcl.speak.effects import Effect

    Open = TypeVar("Open", Expected, Obliged)


MOST_OPEN = 256  # answers that one agent waits for from another


class Answers(Record):
    """Answers that are open, by who owes them, or by whom they are owed; of each, the oldest stands first. One more
    costs no more where there are many with others."""

    by_peer: dict[str, tuple[Any, ...]]

    def of(self, peer: str) -> tuple[Any, ...]:
        return self.by_peer.get(peer, ())

    def changed(self, peer: str, known: str, *more: Any) -> Answers:
        """These without the one of PEER that is KNOWN by that id, and MORE."""
        left = (*(each for each in self.of(peer) if each.id != known), *more)
        others = {other: answers for other, answers in self.by_peer.items() if other != peer}
        return Answers({**others, peer: left} if left else others)

    @classmethod
    def by(cls, opened: Iterable[tuple[str, Any]]) -> Answers:
        """Those that are OPENED with these, the oldest first."""
        by_peer: dict[str, tuple[Any, ...]] = {}
        for peer, each in opened:
            by_peer[peer] = (*by_peer.get(peer, ()), each)
        return cls(by_peer)

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.by_peer.values())


NONE = Answers({})


class Standing(Record):
    """One agent, at one moment: what it waits for from others, and what it owes them."""

    id: str
    expected: Answers = NONE
    obliged: Answers = NONE
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
                return self.but(expected=self.expected.changed(to, known, effect))
            case Settled(to=to, id=known):
                return self.but(expected=self.expected.changed(to, known))
            case Obliged(from_=from_, id=known):
                return self.but(obliged=self.obliged.changed(from_, known, effect))
            case Discharged(from_=from_, id=known):
                return self.but(obliged=self.obliged.changed(from_, known))
            case Met(peer=peer):
                return self.but(peers=self.peers | {peer})
            case Greeted(peer=peer):
                return self.but(greeted=self.greeted | {peer})
            case Parted(peer=peer):
                return self.but(peers=self.peers - {peer}, greeted=self.greeted - {peer})
        return self

    def awaited(self, to: str, in_reply_to: str | None, thread: str | None) -> Expected | None:
        """Which of the answers that are waited for this one is: the one that is named, else that of the thread; where
        neither is said, the oldest that belongs to none."""
        return _first(self.expected.of(to), to, in_reply_to, thread)

    def owed(self, to: str, in_reply_to: str | None, thread: str | None) -> Obliged | None:
        """Likewise, which answer of ours somebody waits for."""
        return _first(self.obliged.of(to), self.id, in_reply_to, thread)


def _first(known: Sequence[Open], asked: str, in_reply_to: str | None, thread: str | None) -> Open | None:
    """The one that is meant, of those that are open, the oldest first. Who was ASKED may know it by its own copy, since
    mail to several has a name for each."""
    if in_reply_to:
        for each in known:
            if in_reply_to in (each.id, each.event, f"{each.event}_{asked}"):
                return each
        if thread is None:
            return None  # whatever it names, it is none of these
    return next((each for each in known if each.thread == thread), None)
