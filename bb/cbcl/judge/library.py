"""The dialects that somebody speaks, by name, where there is more to say of a name than what it stands for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

from bb.cbcl.read import canonical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bb.cbcl.read.definition import Definition
    from bb.kernel.errors import BbError


class Library(Mapping[str, "Definition"]):
    """Dialects of which there may be more under a name than the one it stands for."""

    @abstractmethod
    def hashes(self, name: str) -> tuple[str, ...]:
        """What is installed under NAME, by its hash."""

    @abstractmethod
    def excuse(self, name: str) -> BbError | None:
        """Why NAME stands for nothing, although something is installed under it."""


class Beside(Mapping[str, "Definition"]):
    """Dialects that count as installed for one question, beside OTHERS."""

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
    """What is installed under NAME, by its hash."""
    if isinstance(known, Library):
        return known.hashes(name)
    return (canonical.digest(known[name].node),) if name in known else ()


def why_not(known: Mapping[str, Definition], name: str) -> BbError | None:
    """Why NAME stands for nothing among those that are KNOWN; None where nothing has that name."""
    library = known.others if isinstance(known, Beside) else known
    return library.excuse(name) if isinstance(library, Library) else None
