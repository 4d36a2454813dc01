"""Installed dialects by name. Under one name, several definitions may be in conflict."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping

from bb.cbcl.read import canonical
from bb.cbcl.read.definition import Definition
from bb.kernel.errors import BbError


class Library(Mapping[str, "Definition"]):
    """Installed dialects by name. A name with several conflicting definitions is not a key of the mapping."""

    @abstractmethod
    def hashes(self, name: str) -> tuple[str, ...]:
        """The hashes of the definitions installed under NAME."""

    @abstractmethod
    def unusable_reason(self, name: str) -> BbError | None:
        """Why NAME cannot be used although something is installed under it."""


class Overlay(Mapping[str, "Definition"]):
    """The dialects of OTHERS, plus some that count as installed for one request."""

    def __init__(self, others: Mapping[str, Definition]) -> None:
        self.others = others
        self._added: dict[str, Definition] = {}

    def add(self, definition: Definition) -> None:
        self._added[definition.name] = definition

    def __getitem__(self, name: str) -> Definition:
        return self._added[name] if name in self._added else self.others[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self.others, *self._added]))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def hashes(known: Mapping[str, Definition], name: str) -> tuple[str, ...]:
    """The hashes of the definitions installed under NAME."""
    if isinstance(known, Library):
        return known.hashes(name)
    return (canonical.digest(known[name].node),) if name in known else ()


def unusable_reason(known: Mapping[str, Definition], name: str) -> BbError | None:
    """Why NAME cannot be used among the KNOWN dialects; None if nothing is installed under it."""
    library = known.others if isinstance(known, Overlay) else known
    return library.unusable_reason(name) if isinstance(library, Library) else None
