"""A cache over stored states. Reading many entries together is much faster than reading each one by itself."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from bb.attention.state.book import States


class Gathered:
    """The states below, which must not change meanwhile, and the entries that were already read."""

    def __init__(self, below: States) -> None:
        self._below = below
        self._at_hand: dict[tuple[str, str], Any] = {}

    def gather(self, fold: str, keys: Iterable[str]) -> None:
        """Read these entries into the cache; also remember which of them do not exist."""
        wanted = [key for key in dict.fromkeys(keys) if (fold, key) not in self._at_hand]
        found = self._below.states_of(fold, wanted) if wanted else {}
        self._at_hand.update(((fold, key), found.get(key)) for key in wanted)

    def state(self, fold: str, key: str) -> Any:
        if (fold, key) not in self._at_hand:
            self._at_hand[fold, key] = self._below.state(fold, key)
        return self._at_hand[fold, key]

    def states_of(self, fold: str, keys: Iterable[str]) -> dict[str, Any]:
        keys = list(keys)
        self.gather(fold, keys)
        return {key: found for key in keys if (found := self._at_hand[fold, key]) is not None}

    def states(self, fold: str) -> list[tuple[str, Any]]:
        return self._below.states(fold)

    def found(self, fold: str, term: str) -> list[tuple[str, Any]]:
        return self._below.found(fold, term)

    def newest_first(self, fold: str, term: str) -> Iterator[tuple[str, str, Any]]:
        return self._below.newest_first(fold, term)

    def count(self, fold: str, term: str) -> int:
        return self._below.count(fold, term)
