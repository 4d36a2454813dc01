"""Edits by anchor, and exact counts of the lines that they write and remove.

An edit names whole lines that occur once in a file, its anchor, and says what to put before, after or in place of
them. So it can be made on any version of the file that still has the anchor, as a careful agent does it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

BEFORE, AFTER, REPLACE = "before", "after", "replace"
Lines = Counter[str]  # how often each line occurs: the order of lines is not compared


class AnchorNotFoundError(Exception):
    """The file has no anchor, or more than one, so the edit cannot be made there now."""


@dataclass(frozen=True)
class Edit:
    """One change of one file. ANCHOR and TEXT are whole lines, each with its line feed."""

    file: str
    where: str
    anchor: str
    text: str

    @property
    def old(self) -> str:
        """What an editor's exact replacement looks for: `old_string` of the host's tool."""
        return self.anchor

    @property
    def new(self) -> str:
        """What takes its place: `new_string`."""
        return {BEFORE: self.text + self.anchor, AFTER: self.anchor + self.text, REPLACE: self.text}[self.where]

    def applied(self, content: str) -> str:
        """CONTENT with this edit."""
        if occurrences(self.anchor, content) != 1:
            raise AnchorNotFoundError(f"{self.file}: not once: {self.anchor!r}")
        start = place_of(self.anchor, content)
        return content[:start] + self.new + content[start + len(self.anchor) :]

    def is_in(self, content: str) -> bool:
        """Whether CONTENT has the lines that this edit writes."""
        return occurrences(self.text, content) > 0

    @property
    def written(self) -> Lines:
        return lines(self.new) - lines(self.old)

    @property
    def removed(self) -> Lines:
        return lines(self.old) - lines(self.new)


def lines(content: str) -> Lines:
    return Counter(content.splitlines())


def occurrences(block: str, content: str) -> int:
    """How often BLOCK, some whole lines, occurs in CONTENT."""
    found, start = 0, ("\n" + content).find("\n" + block)
    while start >= 0:  # not str.count(), which finds only one of two that share a line feed
        found += 1
        start = ("\n" + content).find("\n" + block, start + 1)
    return found


def place_of(block: str, content: str) -> int:
    """The offset in CONTENT at which BLOCK starts."""
    return ("\n" + content).index("\n" + block)


def written(edits: Iterable[Edit], file: str) -> Lines:
    """The lines that EDITS write into FILE."""
    return sum((edit.written for edit in edits if edit.file == file), Lines())


def removed(edits: Iterable[Edit], file: str) -> Lines:
    """The lines that EDITS remove from FILE."""
    return sum((edit.removed for edit in edits if edit.file == file), Lines())
