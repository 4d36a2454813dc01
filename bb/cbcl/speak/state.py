"""The state of an agent that decides how it processes the next message. Beliefs and past messages are not part of it.

The state is immutable; effects produce a new one. So a message that fails half-way changes nothing.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

from bb.cbcl.speak.effects import Discharged, Effect, Expected, Greeted, Met, Obliged, Parted, Settled
from bb.kernel.record import Record

Open = TypeVar("Open", Expected, Obliged)


MAX_OPEN_ANSWERS = 256  # answers that one agent waits for from another


class Answers(Record):
    """Open answers by peer, the oldest first. The cost of adding one does not depend on the answers of other peers."""

    by_peer: dict[str, tuple[Any, ...]]

    def of(self, peer: str) -> tuple[Any, ...]:
        return self.by_peer.get(peer, ())

    def changed(self, peer: str, known: str, *more: Any) -> Answers:
        """These answers without the one of PEER with the id KNOWN, plus MORE."""
        left = (*(answer for answer in self.of(peer) if answer.id != known), *more)
        others = {other: answers for other, answers in self.by_peer.items() if other != peer}
        return Answers({**others, peer: left} if left else others)

    @classmethod
    def by(cls, opened: Iterable[tuple[str, Any]]) -> Answers:
        """The answers from pairs of peer and answer, the oldest first."""
        by_peer: dict[str, tuple[Any, ...]] = {}
        for peer, answer in opened:
            by_peer[peer] = (*by_peer.get(peer, ()), answer)
        return cls(by_peer)

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.by_peer.values())


NONE = Answers({})


class AgentState(Record):
    """One agent at one moment: the answers it expects, the answers it owes, and its peers."""

    id: str
    expected: Answers = NONE
    obliged: Answers = NONE
    peers: frozenset[str] = frozenset()
    greeted: frozenset[str] = frozenset()
    taken: Container[tuple[str, str]] = ()  # accepted signed messages, as pairs of author and hash

    def after(self, effects: Sequence[Effect]) -> AgentState:
        """The state after these effects."""
        standing = self
        for effect in effects:
            standing = standing._after(effect)
        return standing

    def _after(self, effect: Effect) -> AgentState:
        match effect:
            case Expected(to=to, id=known):
                return self.replace(expected=self.expected.changed(to, known, effect))
            case Settled(to=to, id=known):
                return self.replace(expected=self.expected.changed(to, known))
            case Obliged(from_=from_, id=known):
                return self.replace(obliged=self.obliged.changed(from_, known, effect))
            case Discharged(from_=from_, id=known):
                return self.replace(obliged=self.obliged.changed(from_, known))
            case Met(peer=peer):
                return self.replace(peers=self.peers | {peer})
            case Greeted(peer=peer):
                return self.replace(greeted=self.greeted | {peer})
            case Parted(peer=peer):
                return self.replace(peers=self.peers - {peer}, greeted=self.greeted - {peer})
        return self

    def awaited(self, to: str, in_reply_to: str | None, thread: str | None) -> Expected | None:
        """The expected answer of TO that a message settles: by its id, or else the oldest of its thread; without both,
        the oldest that has no thread."""
        return _first(self.expected.of(to), to, in_reply_to, thread)

    def owed(self, to: str, in_reply_to: str | None, thread: str | None) -> Obliged | None:
        """The answer owed to TO that a message discharges, found in the same way."""
        return _first(self.obliged.of(to), self.id, in_reply_to, thread)


def _first(known: Sequence[Open], asked: str, in_reply_to: str | None, thread: str | None) -> Open | None:
    """The matching open answer among those KNOWN, the oldest first. IN_REPLY_TO may also be the id of the copy of the
    agent that was ASKED, since mail to several recipients has an id for each copy."""
    if in_reply_to:
        for answer in known:
            if in_reply_to in (answer.id, answer.event, f"{answer.event}_{asked}"):
                return answer
        if thread is None:
            return None
    return next((answer for answer in known if answer.thread == thread), None)
