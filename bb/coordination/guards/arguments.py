"""Command line arguments, split into options, option values and operands."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SHORTEST = 3  # letters of a long option that is cut short, with its dashes


class Arguments:
    """A program's options, by letter or long name, and its operands. VALUED options take the next word as value. The
    text after the letter of a GLUED option is its value."""

    def __init__(self, words: Sequence[str], valued: str = "", glued: str = "") -> None:
        self.options: set[str] = set()
        self.values: dict[str, str] = {}  # values of VALUED options
        self.operands: list[str] = []
        self.behind: list[str] | None = None  # the words after `--`
        self._valued, self._glued = valued.split(), glued.split()
        rest = iter(words)
        for word in rest:
            if word == "--":
                self.behind = list(rest)
            elif word.startswith("--"):
                self._long(word, rest)
            elif word.startswith("-") and len(word) > 1:
                self._bundle(word[1:], rest)
            else:
                self.operands.append(word)

    def _long(self, word: str, rest: Iterator[str]) -> None:
        name, equals, value = word.partition("=")
        self.options.add(name)
        if name in self._valued:
            self.values[name] = value if equals else next(rest, "")

    def _bundle(self, letters: str, rest: Iterator[str]) -> None:
        for place, letter in enumerate(letters, 1):
            name = f"-{letter}"
            self.options.add(name)
            if name in self._valued:
                self.values[name] = letters[place:] or next(rest, "")
            if name in self._valued or name in self._glued:
                break

    def has(self, *names: str) -> bool:
        """Whether one of these options is given. A long name may be cut short, as most programs allow."""
        return not self.options.isdisjoint(names) or any(
            name.startswith(option)
            for option in self.options
            if len(option) > SHORTEST and option.startswith("--")
            for name in names
        )

    @property
    def paths(self) -> tuple[str, ...]:
        """Possible paths: all words after `--`, otherwise all operands, some of which may be revisions."""
        return tuple(self.operands if self.behind is None else self.behind)

    @property
    def everything(self) -> list[str]:
        """All operands, before and after `--`."""
        return [*self.operands, *(self.behind or [])]
