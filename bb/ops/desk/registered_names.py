"""The names that were ever registered, as a set that looks up one name at a time.

The choice of a free name asks about few names, so the thousands that a ledger may know are not read.
"""

from __future__ import annotations

from bb.coordination.agents import roster

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.index.index import Index
    from bb.ledger.records.store import Store


class RegisteredNames:
    """The names that an index knows; `name in RegisteredNames(index)`. Without an index, there are none."""

    def __init__(self, index: Index | None) -> None:
        self._index = index

    def __contains__(self, name: object) -> bool:
        return self._index is not None and self._index.state(roster.NAME, str(name)) is not None


def of(store: Store) -> RegisteredNames:
    """The names in the ledger of STORE."""
    return RegisteredNames(store.caught_up() if store.exists else None)
