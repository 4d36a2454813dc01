"""The current state of the context: all entries by key, and their names.

If two clones create entries with the same short id before they sync, the entry with the earliest birth keeps the id.
A later one is shown with a suffix, such as `T001-k7q2`. The suffix depends only on the birth, so all clones agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

from bb.groups.context.context import VERSION, changes_of, exists, step
from bb.groups.context_forms import HIGHEST, KINDS_WITH_BIRTH, Op, is_ref, number_of, short_id
from bb.kernel import ids
from bb.kernel.digest import digest
from bb.kernel.total_order import Place, State, event

SUFFIXES = (4, 8, 24)  # lengths of suffixes; the longer ones are for collisions
NOWHERE: Place = [0, "", 0]


class ContextView:
    """All entries of one group's context. Rules work on a `copy`, into which they `fold` their changes."""

    def __init__(self, entries: dict[str, State]) -> None:
        self.entries = entries
        self.order: dict[str, list[str]] = {
            kind: [] for kind in KINDS_WITH_BIRTH
        }  # kind -> keys of created entries, by birth
        self.given: dict[str, set[int]] = {
            kind: set() for kind in KINDS_WITH_BIRTH
        }  # kind -> numbers already used in short ids
        self.names: dict[str, str] = {}  # name -> key
        self.called: dict[str, str] = {}  # key -> name

    @classmethod
    def of(cls, entries: Iterable[tuple[str, State]]) -> Self:
        """The view of all ENTRIES of the fold."""
        view = cls(dict(entries))
        born = [key for key, state in view.entries.items() if "created" in state and _kind(key) in KINDS_WITH_BIRTH]
        for key in sorted(born, key=view.born):
            view._know(key)
        return view

    def copy(self) -> Self:
        view = type(self)(dict(self.entries))
        view.order = {kind: list(keys) for kind, keys in self.order.items()}
        view.given = {kind: set(numbers) for kind, numbers in self.given.items()}
        view.names, view.called = dict(self.names), dict(self.called)
        return view

    def fold(self, op: Op, index: int, by: str, ts: str) -> None:
        """Apply OP, which has this INDEX in the batch."""
        place = [self._latest()[0] + 1, "", index]
        for key, part in changes_of(op, index, ""):
            is_known = "created" in self.entries.get(key, {})
            self.entries[key] = step(self.entries.get(key), {"by": by, **part}, place, ts)
            if not is_known and "created" in self.entries[key]:
                self._know(key)

    def _know(self, key: str) -> None:
        """Give a name to a new entry. Its birth must be later than all known ones."""
        kind, wish = _kind(key), self.entries[key]["created"][-1][2]
        self.order[kind].append(key)
        if number := number_of(kind, wish):
            self.given[kind].add(number)
            suffixed = _suffixed(wish, _birth(key)) if wish in self.names else ()
            name = next((name for name in suffixed if name not in self.names), wish)
            self.names[name], self.called[key] = key, name

    # -- entries

    @property
    def version(self) -> str:
        """The event of the latest change; empty if there is none."""
        return event(self._latest()) if VERSION in self.entries else ""

    def _latest(self) -> Place:
        updated = self.entries.get(VERSION, {}).get("updated")
        return updated[:3] if updated else NOWHERE

    def keys(self, kind: str) -> list[str]:
        """The keys of existing entries of a kind, in the order of birth."""
        return [key for key in self.order[kind] if exists(self.entries[key])]

    def born(self, key: str) -> tuple[int, str, int, int]:
        """The position of an entry's creation, sortable in the total order."""
        *at, (_, _, _, index) = self.entries[key]["created"]
        return (*at, index)

    def changed(self, key: str) -> Place:
        """The position of an entry's last change."""
        place: Place = self.entries[key]["updated"][:3]
        return place

    def value(self, key: str, field: str, otherwise: Any = None) -> Any:
        """The value of an entry's field."""
        held = self.entries.get(key, {}).get(field)
        return held[3] if held else otherwise

    # -- names

    def find(self, kind: str, text: str) -> str | None:
        """The key of the existing entry with the name or birth TEXT, or None."""
        born = f"{kind} {text}"
        key = born if "created" in self.entries.get(born, {}) else self.names.get(text)
        return key if key and _kind(key) == kind and exists(self.entries[key]) else None

    def name(self, key: str) -> str:
        return self.called.get(key, "")

    def ref(self, key: str) -> dict[str, str]:
        """The reference to an entry, as ops contain it."""
        return {"id": self.name(key), "birth": _birth(key)}

    def key(self, kind: str, ref: object) -> str | None:
        """The key of the entry that REF names, if it exists."""
        key = f"{kind} {ref['birth']}" if isinstance(ref, dict) and is_ref(ref) else ""
        return key if exists(self.entries.get(key, {})) else None

    def named(self, kind: str, ref: object) -> str | None:
        """The name of the entry that REF names; None if it is deleted. A text is returned unchanged."""
        if not isinstance(ref, dict):
            return ref if isinstance(ref, str) else None
        key = f"{kind} {ref['birth']}"
        if "created" in self.entries.get(key, {}):
            return self.name(key) if exists(self.entries[key]) else None
        return next(_suffixed(ref["id"].partition("-")[0], ref["birth"]))  # this clone does not have its creation yet

    def free_id(self, kind: str) -> str:
        """The next short id of a kind. A used id is never used again, even if its entry is deleted."""
        used = self.given[kind]
        following = max(used, default=0) + 1
        if following > HIGHEST:
            following = next(number for number in range(1, HIGHEST + 1) if number not in used)
        return short_id(kind, following)


def _kind(key: str) -> str:
    return key.partition(" ")[0]


def _birth(key: str) -> str:
    return key.partition(" ")[2]


def _suffixed(wish: str, birth: str) -> Iterator[str]:
    number = int(digest(birth.encode()), 16)
    letters = "".join(ids.BASE32[number >> 5 * place & 31] for place in range(SUFFIXES[-1]))
    return (f"{wish}-{letters[:length]}" for length in SUFFIXES)
