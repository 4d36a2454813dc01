"""The symbols of a file as text, so that one of them is found without reading the others.

A line for each symbol, in their order: FIRST, END, KIND and NAME, divided by tabs. The name is the last field, so a
name is found as the bytes at the end of a line. `named` gives the same answer as `symbol.named`.
"""

from __future__ import annotations

from bb.coordination.lines.symbol import Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ENCODED = "utf-8", "surrogatepass"


def table(found: Iterable[Symbol]) -> Table | None:
    """The symbols FOUND; None if a name has a line feed, which would begin another line."""
    rows = [f"{one.first}\t{one.end}\t{one.kind}\t{one.name}\n" for one in found]
    text = "".join(rows)
    return Table(text.encode(*ENCODED)) if text.count("\n") == len(rows) else None


class Table:
    """Symbols as text, which starts at a place in OCTETS. Raises ValueError for a line that is none."""

    def __init__(self, octets: bytes, start: int = 0) -> None:
        self._octets = octets
        self._start = start
        self._named: dict[str, list[Symbol]] = {}  # what was asked

    @property
    def text(self) -> bytes:
        return self._octets[self._start :]

    def named(self, name: str) -> list[Symbol]:
        """The symbols that NAME means: those with exactly that name, else the one whose name ends with it."""
        if name not in self._named:
            self._named[name] = self._looked_up(name)
        return self._named[name]

    def _looked_up(self, name: str) -> list[Symbol]:
        if exact := [one for one in self._ending(f"\t{name}") if one.name == name]:
            return exact
        ending = [one for one in self._ending(f".{name}") if one.name.endswith(f".{name}")]
        return ending if len({one.name for one in ending}) == 1 else []

    def symbols(self) -> list[Symbol]:
        """All symbols."""
        return [_symbol(line) for line in self.text.split(b"\n")[:-1]]

    def _ending(self, end: str) -> Iterator[Symbol]:
        """The symbols whose lines end with END, and perhaps others."""
        wanted = f"{end}\n".encode(*ENCODED)
        at = self._octets.find(wanted, self._start)
        while at >= 0:
            behind = at + len(wanted) - 1
            yield _symbol(self._octets[self._octets.rfind(b"\n", 0, behind) + 1 : behind])
            at = self._octets.find(wanted, behind)


def _symbol(line: bytes) -> Symbol:
    first, end, kind, name = line.split(b"\t", 3)
    found = Symbol(name.decode(*ENCODED), kind.decode(*ENCODED), int(first), int(end))
    if not 0 <= found.first < found.end:
        raise ValueError("not the lines of a symbol")
    return found
