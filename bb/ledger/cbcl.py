"""What the ledger knows of CBCL: which dialects are spoken here, and where an agent stands.

A line may come from anybody who can write to the repository. So the text of a dialect is read by the one reader, must
have the hash that its line says, and must be sound, before it counts as installed.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from bb.cbcl import canonical, dialects, grammar, verifying
from bb.cbcl.effects import Expected, Obliged
from bb.cbcl.reader import DEPTH_MOST, SIZE_RECOMMENDED, Bounds
from bb.cbcl.standing import Standing
from bb.kernel.errors import BbError
from bb.ledger.attention import data_of
from bb.messaging import spoken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.cbcl.definition import Definition
    from bb.cbcl.dialects import Kept
    from bb.ledger.index import Index
    from bb.ledger.store import Store

READ_AGAIN = Bounds(DEPTH_MOST, SIZE_RECOMMENDED)


class Spoken(Mapping[str, "Definition"]):
    """The dialects of a repository by name. A definition is read, and judged, when somebody wants it."""

    def __init__(self, store: Store, index: Index) -> None:
        self._store, self._index = store, index
        self._read: dict[str, Definition | None] = {}

    def kept(self, name: str) -> Kept | None:
        """What is known of a dialect without reading it."""
        return dialects.kept(name, self._index.state(dialects.NAME, name))

    def all_kept(self) -> list[Kept]:
        """The dialects that are installed, by name."""
        found = (dialects.kept(name, state) for name, state in self._index.states(dialects.NAME))
        return [each for each in found if each]

    def line_of(self, kept: Kept) -> dict[str, Any]:
        """What the line says that brought a dialect."""
        return data_of(self._store, kept.event) or {}

    def __getitem__(self, name: str) -> Definition:
        if name not in self._read:
            self._read[name] = self._definition(name)
        found = self._read[name]
        if found is None:
            raise KeyError(name)
        return found

    def _definition(self, name: str) -> Definition | None:
        kept = self.kept(name)
        text = self.line_of(kept).get("text") if kept else None
        if kept is None or not isinstance(text, str):
            return None
        try:
            _, found = grammar.definition_in(text.encode(), READ_AGAIN)
        except (BbError, UnicodeEncodeError):
            return None
        is_right = found.name == name and canonical.digest(found.node) == kept.hash
        return found if is_right and not _breaks_rules(found) else None

    def __iter__(self) -> Iterator[str]:
        return (each.name for each in self.all_kept() if each.name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _breaks_rules(definition: Definition) -> bool:
    """Whether a definition breaks any rule but that its parent be there, which may have been removed since."""
    return any(each.rule != verifying.PARENT for each in verifying.verify(definition).violations)


def standing(index: Index, agent: str, *others: str) -> Standing:
    """Where AGENT stands, and whether it has met those OTHERS."""
    met, greeted = (
        frozenset(
            peer for peer in others if spoken.is_met(index.state(spoken.NAME, f"{spoken.PEER} {agent} {peer}"), how)
        )
        for how in ("met", "greeted")
    )
    return Standing(
        agent,
        tuple(Expected(to, known, thread, event) for to, known, thread, event in opened(index, spoken.EXPECTED, agent)),
        tuple(Obliged(of, known, thread, event) for of, known, thread, event in opened(index, spoken.OBLIGED, agent)),
        met,
        greeted,
        _Taken(index, agent),
    )


def opened(index: Index, what: str, agent: str) -> Iterator[list[Any]]:
    """What AGENT waits for, or owes, oldest first: of or to whom, under which id, in which thread, by which message."""
    for _, state in index.found(spoken.NAME, f"{what} {agent}"):
        yield state["open"][3][1]


class _Taken(Container[tuple[str, str]]):
    """The signed messages that an agent has taken: looked up one by one, so that many cost nothing."""

    def __init__(self, index: Index, agent: str) -> None:
        self._index, self._agent = index, agent

    def __contains__(self, signed: object) -> bool:
        who, known = signed if isinstance(signed, tuple) else ("", "")
        return self._index.state(spoken.NAME, f"{spoken.TAKEN} {self._agent} {who} {known}") is not None
