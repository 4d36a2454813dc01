"""A mapping with very many entries, as text: it is read when it is needed for the first time.

A clone of a large project knows thousands of writers, and most commands need none of their entries.
"""

from __future__ import annotations

from _collections_abc import Mapping  # `collections.abc` imports a package that takes longer than reading most files

from bb.kernel import json_text
from bb.kernel.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, ItemsView, Iterator
    from typing import Any

FEW = 300  # entries of a mapping that is read with the rest of its file

PinsDamaged = Refused.declare(
    "PINS_DAMAGED",
    "pins.json is damaged, the file in which this clone notes what it has verified",
    hint="remove it from the ledger's folder, then: `bb sync --pull`, which verifies everything again",
)


class SavedMapping(Mapping[str, "Any"]):
    """The mapping that READ makes of a JSON text."""

    def __init__(self, text: bytes, read: Callable[[Any], Mapping[str, Any]]) -> None:
        self.text = text
        self._read = read
        self._entries: Mapping[str, Any] | None = None

    @property
    def entries(self) -> Mapping[str, Any]:
        """The whole mapping."""
        if self._entries is None:
            try:
                self._entries = self._read(json_text.read(self.text))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise PinsDamaged() from error
        return self._entries

    @property
    def is_read(self) -> bool:
        """Whether the entries were needed already."""
        return self._entries is not None

    def __getitem__(self, key: str) -> Any:
        return self.entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def items(self) -> ItemsView[str, Any]:
        return self.entries.items()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SavedMapping):
            return self.text == other.text or self.entries == other.entries
        return self.entries == other

    __hash__ = None  # type: ignore[assignment]


def is_large(mapping: Mapping[str, Any]) -> bool:
    """Whether a mapping has many entries."""
    return isinstance(mapping, SavedMapping) or len(mapping) > FEW
