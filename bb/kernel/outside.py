"""What comes from outside: from a line of the ledger, a file, a message, a socket, another program.

`Outside` wraps such a value, whatever it is made of: a mapping, a list, a text, a number, a truth value, nothing. It is
no `str`. So a type checker refuses to join it, to add it to a text of ours or to hand it to whatever prints, and there
are two ways to a text: a form of `bb.kernel.show`, which makes it harmless, or `raw`, which does not and which a test
allows in few places. In an f-string it takes the form of a `name`, so what is printed without a thought is safe, too.

What is in it is `Outside` again: `found["agent"]["role"]`, `for each in found["rows"]`. It compares and counts as
what it wraps. Only `is None` never holds: what is missing or nothing is false, and `is_none`.
"""

from __future__ import annotations

from bb.kernel import show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeVar

    T = TypeVar("T")


class Outside:
    """A value that somebody else has written."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value: object = value._value if isinstance(value, Outside) else value

    # -- what is in it

    def __getitem__(self, key: str | int | slice) -> Outside:
        return Outside(self._value[key])  # type: ignore[index]

    def get(self, key: str, otherwise: object = None) -> Outside:
        """What is there as KEY; where nothing is, or this is no mapping, what is given OTHERWISE."""
        return Outside(self._value.get(key, otherwise) if isinstance(self._value, dict) else otherwise)

    def __iter__(self) -> Iterator[Outside]:
        return iter(()) if self._value is None else map(Outside, iter(self._value))  # type: ignore[call-overload]

    def items(self) -> list[tuple[Outside, Outside]]:
        """Names and values of a mapping: the names are from outside, too."""
        return [(Outside(key), Outside(value)) for key, value in self._value.items()]  # type: ignore[attr-defined]

    def values(self) -> list[Outside]:
        return [value for _, value in self.items()]

    def lines(self) -> list[Outside]:
        """The lines of a text that are not empty."""
        return [Outside(line) for line in str(self._value).splitlines() if line.strip()]

    def folded(self, most: int) -> Outside:
        """The words of a text with one space between any two; no more than MOST of its letters are looked at."""
        return Outside(" ".join(str(self._value)[:most].split()))

    def parted(self, mark: str) -> tuple[Outside, bool, Outside]:
        """A text before and after the first MARK, and whether it is there."""
        before, found, after = str(self._value).partition(mark)
        return Outside(before), bool(found), Outside(after)

    def but(self, **members: object) -> Outside:
        """A mapping with other MEMBERS."""
        return Outside({**self._value, **members})  # type: ignore[dict-item]

    def otherwise(self, **members: object) -> Outside:
        """A mapping with these MEMBERS where it has none of that name."""
        return Outside({**members, **self._value})  # type: ignore[dict-item]

    def without(self, *names: str) -> Outside:
        """A mapping without some of its NAMES."""
        return Outside({key: value for key, value in self._value.items() if key not in names})  # type: ignore[attr-defined]

    def among(self, ours: Mapping[str, T], otherwise: T) -> T:
        """What a table of OURS has for it."""
        return ours.get(self._value, otherwise) if isinstance(self._value, str) else otherwise

    def __contains__(self, item: object) -> bool:
        plain = item._value if isinstance(item, Outside) else item
        return self._value is not None and plain in self._value  # type: ignore[operator]

    # -- what it is

    @property
    def is_none(self) -> bool:
        return self._value is None

    @property
    def is_mapping(self) -> bool:
        return isinstance(self._value, dict)

    @property
    def is_list(self) -> bool:
        return isinstance(self._value, list | tuple)

    @property
    def is_text(self) -> bool:
        return isinstance(self._value, str)

    @property
    def is_number(self) -> bool:
        """Whether it is a whole number; a truth value is none."""
        return type(self._value) is int

    @property
    def is_truth(self) -> bool:
        return isinstance(self._value, bool)

    @property
    def is_true(self) -> bool:
        """Whether it is the truth value itself, and not something that counts as true."""
        return self._value is True

    def __bool__(self) -> bool:
        return bool(self._value)

    def __len__(self) -> int:
        return len(self._value)  # type: ignore[arg-type]

    def __int__(self) -> int:
        return int(self._value)  # type: ignore[call-overload, no-any-return]

    def __eq__(self, other: object) -> bool:
        return self._value == (other._value if isinstance(other, Outside) else other)

    def __hash__(self) -> int:
        return hash(self._value)

    # -- how it reads

    def __str__(self) -> str:
        return words(self._value)

    def __repr__(self) -> str:
        return f"Outside({words(self._value)})"

    def __format__(self, spec: str) -> str:
        if spec and isinstance(self._value, int | float):
            return format(self._value, spec)
        return format(words(self._value), spec)

    def raw(self) -> object:
        """The value itself, to reckon with or to be written as data. It must not be printed."""
        return self._value


def words(value: object) -> str:
    """VALUE in words, on one line: each text in it as a `name`."""
    if isinstance(value, str):
        return show.name(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{words(each)}={words(inner)}" for each, inner in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(map(words, value)) or "none"
    return "-" if value is None else show.harmless(str(value))


def name(value: Outside | str, longest: int = show.LONGEST_NAME) -> str:
    """A name in a sentence of ours: as it is where it is one word, else in quotation marks."""
    return show.name(_text(value), longest)


def names(value: Outside) -> str:
    """A list of names, one behind the other."""
    return ", ".join(map(str, value))


def _text(value: Outside | str) -> str:
    if isinstance(value, str):
        return value
    exact = value.raw()
    return exact if isinstance(exact, str) else words(exact)


def shell_word(value: Outside | str) -> str:
    """VALUE as one word of a command that is shown to be copied."""
    return show.quoted(show.harmless(_text(value)))


def quotation(value: Outside | str, longest: int = show.LONGEST_QUOTATION) -> str:
    """Somebody's own words in a sentence of ours, in quotation marks that they cannot close."""
    return show.quotation(_text(value), longest)


def block(value: Outside | str, mark: str = show.SET_OFF) -> list[str]:
    """Somebody's own words on lines of their own, each with a MARK."""
    return show.block(_text(value), mark)


def fenced(value: Outside | str, boundary: str, what: str = "MESSAGE") -> list[str]:
    """Somebody's own words for an agent: each line marked, between two lines that bear a BOUNDARY."""
    return show.fenced(_text(value), boundary, what)


def sentence(value: Outside | str) -> str:
    """What bb has put together itself, elsewhere, on one line."""
    return show.sentence(_text(value))


def letters(value: Outside | str) -> str:
    """What has marks of its own around it, such as an attribute or a member of JSON: neither cut nor quoted."""
    return show.harmless(_text(value))


def page(value: Outside | str) -> list[str]:
    """What stands alone, with nothing of ours around it, or was given its marks where it was made: line by line."""
    return [show.harmless(line.expandtabs()) for line in _text(value).removesuffix("\n").split("\n")]


def expression(value: Outside | str) -> str:
    """Somebody's S-expression, on one line: its own parentheses say where it ends, and a quotation mark in it means
    something. What only looks like one stands in quotation marks."""
    said = _text(value)
    return show.harmless(said) if _is_closed(said) else quotation(said, LONGEST_EXPRESSION)


LONGEST_EXPRESSION = 4000  # characters of what is none


def _is_closed(text: str) -> bool:
    """Whether TEXT is one list, one string or one word, and nothing after it."""
    depth, is_string, is_over, skip = 0, False, False, False
    for letter in text:
        if skip:
            skip = False
        elif is_over or (not depth and not is_string and letter in " \t\r\n;)"):
            return False
        elif is_string:
            skip, is_string = letter == "\\", letter != '"'
        elif letter == '"':
            is_string = True
        elif letter in "()":
            depth += 1 if letter == "(" else -1
        is_over = not depth and not is_string and letter in ')"'
    return not depth and not is_string and not skip
