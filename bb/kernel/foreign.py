"""Foreign values: from a line of the ledger, a file, a message, a socket or another program.

`Foreign` wraps such a JSON value of any type. It is not a `str`, so a type checker refuses to join it with a text or to
print it. There are two ways to get a text: a form of `bb.kernel.escaping`, which makes it harmless, or `raw`, which
does not; a test permits `raw` only in few places. In an f-string it takes the form `name`, so accidental printing is
safe.

Its members are `Foreign` too: `answer["agent"]["role"]`, `for row in answer["rows"]`. It compares and counts like the
wrapped value. `is None` never holds: use `is_none`, or test for false.
"""

from __future__ import annotations

from bb.kernel import escaping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeVar

    T = TypeVar("T")


class Foreign:
    """A foreign value."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value: object = value._value if isinstance(value, Foreign) else value

    # -- its members

    def __getitem__(self, key: str | int | slice) -> Foreign:
        return Foreign(self._value[key])  # type: ignore[index]

    def get(self, key: str, otherwise: object = None) -> Foreign:
        """The member KEY, or OTHERWISE if there is none or this is not a mapping."""
        return Foreign(self._value.get(key, otherwise) if isinstance(self._value, dict) else otherwise)

    def __iter__(self) -> Iterator[Foreign]:
        return iter(()) if self._value is None else map(Foreign, iter(self._value))  # type: ignore[call-overload]

    def items(self) -> list[tuple[Foreign, Foreign]]:
        """The names and values of a mapping. The names are foreign too."""
        return [(Foreign(key), Foreign(value)) for key, value in self._value.items()]  # type: ignore[attr-defined]

    def values(self) -> list[Foreign]:
        return [value for _, value in self.items()]

    def lines(self) -> list[Foreign]:
        """The lines of a text that are not empty."""
        return [Foreign(line) for line in str(self._value).splitlines() if line.strip()]

    def folded(self, most: int) -> Foreign:
        """The words in the first MOST characters of a text, separated by single spaces."""
        return Foreign(" ".join(str(self._value)[:most].split()))

    def parted(self, mark: str) -> tuple[Foreign, bool, Foreign]:
        """A text before and after the first MARK, and whether it is there."""
        before, separator, after = str(self._value).partition(mark)
        return Foreign(before), bool(separator), Foreign(after)

    def but(self, **members: object) -> Foreign:
        """The mapping with changed MEMBERS."""
        return Foreign({**self._value, **members})  # type: ignore[dict-item]

    def otherwise(self, **members: object) -> Foreign:
        """The mapping with MEMBERS as defaults."""
        return Foreign({**members, **self._value})  # type: ignore[dict-item]

    def without(self, *names: str) -> Foreign:
        """The mapping without the members NAMES."""
        return Foreign({key: value for key, value in self._value.items() if key not in names})  # type: ignore[attr-defined]

    def among(self, ours: Mapping[str, T], otherwise: T) -> T:
        """The entry for this value in the table OURS."""
        return ours.get(self._value, otherwise) if isinstance(self._value, str) else otherwise

    def __contains__(self, item: object) -> bool:
        plain = item._value if isinstance(item, Foreign) else item
        return self._value is not None and plain in self._value  # type: ignore[operator]

    # -- its type

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
        """Whether it is a whole number. A boolean is not."""
        return type(self._value) is int

    @property
    def is_truth(self) -> bool:
        return isinstance(self._value, bool)

    @property
    def is_true(self) -> bool:
        """Whether it is the boolean True, and not just a truthy value."""
        return self._value is True

    def __bool__(self) -> bool:
        return bool(self._value)

    def __len__(self) -> int:
        return len(self._value)  # type: ignore[arg-type]

    def __int__(self) -> int:
        return int(self._value)  # type: ignore[call-overload, no-any-return]

    def __eq__(self, other: object) -> bool:
        return self._value == (other._value if isinstance(other, Foreign) else other)

    def __hash__(self) -> int:
        return hash(self._value)

    # -- as text

    def __str__(self) -> str:
        return words(self._value)

    def __repr__(self) -> str:
        return f"Foreign({words(self._value)})"

    def __format__(self, spec: str) -> str:
        if spec and isinstance(self._value, int | float):
            return format(self._value, spec)
        return format(words(self._value), spec)

    def raw(self) -> object:
        """The value itself, for calculations or to be written as data. It must not be printed."""
        return self._value


def words(value: object) -> str:
    """VALUE in words, on one line: each text in it as a `name`."""
    if isinstance(value, str):
        return escaping.name(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{words(key)}={words(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(map(words, value)) or "none"
    return "-" if value is None else escaping.harmless(str(value))


def name(value: Foreign | str, longest: int = escaping.LONGEST_NAME) -> str:
    """A name in a sentence of bb: unchanged if it is one word, otherwise in quotation marks."""
    return escaping.name(_text(value), longest)


def names(value: Foreign) -> str:
    """A list of names, separated by commas."""
    return ", ".join(map(str, value))


def _text(value: Foreign | str) -> str:
    if isinstance(value, str):
        return value
    exact = value.raw()
    return exact if isinstance(exact, str) else words(exact)


def shell_word(value: Foreign | str) -> str:
    """VALUE as one word of a shell command for the reader to copy."""
    return escaping.quoted(escaping.harmless(_text(value)))


def quotation(value: Foreign | str, longest: int = escaping.LONGEST_QUOTATION) -> str:
    """Foreign words in a sentence of bb, in quotation marks that they cannot close."""
    return escaping.quotation(_text(value), longest)


def block(value: Foreign | str, mark: str = escaping.SET_OFF) -> list[str]:
    """Foreign words on separate lines, each with a MARK."""
    return escaping.block(_text(value), mark)


def fenced(value: Foreign | str, boundary: str, what: str = "MESSAGE") -> list[str]:
    """Foreign words for an agent: each line marked, between two lines with a BOUNDARY."""
    return escaping.fenced(_text(value), boundary, what)


def sentence(value: Foreign | str) -> str:
    """A text that bb composed elsewhere, on one line."""
    return escaping.sentence(_text(value))


def letters(value: Foreign | str) -> str:
    """A value that is delimited already, such as an attribute or a JSON member: neither truncated nor quoted."""
    return escaping.harmless(_text(value))


def page(value: Foreign | str) -> list[str]:
    """A whole text without text of bb around it, or with marks already added, as lines."""
    return [escaping.harmless(line.expandtabs()) for line in _text(value).removesuffix("\n").split("\n")]


def expression(value: Foreign | str) -> str:
    """A foreign S-expression on one line. Its parentheses delimit it, so it is not quoted. Any other text is quoted."""
    text = _text(value)
    return escaping.harmless(text) if _is_closed(text) else quotation(text, LONGEST_EXPRESSION)


LONGEST_EXPRESSION = 4000  # characters of a quoted text


def _is_closed(text: str) -> bool:
    """Whether TEXT is exactly one list, one string or one word."""
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
