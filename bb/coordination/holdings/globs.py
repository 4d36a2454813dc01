"""Patterns for one path component: parsing, writing, and whether two patterns match a common name.

    *        any characters, or none          [abc] [a-z]    one of these characters
    ?        any one character                [!abc] [^abc]  any one character except these
    **       as a whole component: any number of components, or none

A pattern is stored as the runs between its stars: `a*b?` has the runs `a` and `b?`. That makes the comparison linear.
If both patterns have a star, they share a name if their first runs agree as far as both go, and their last runs too:
the runs in between can follow one another. A pattern without a star has a fixed length; the runs of the other pattern
are placed into it from left to right, each at the first position where it fits. No backtracking is needed.
"""

from __future__ import annotations

from bb.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    One = tuple[bool, frozenset[str]]  # one character: whether the set is negated, and the set
    Run = tuple[One, ...]
    Part = str | tuple[Run, ...]  # a name, or a pattern for names

    T = TypeVar("T")

MEMBERS = 4096  # characters in a class at most: they are lower-cased one by one
NO_NAMES = (".", "..")

ANY: One = (True, frozenset())
STAR: Part = ((), ())
DEPTH: Part = ()  # `**`

InvalidScope = Usage.declare(
    "INVALID_SCOPE",
    "A scope is a path or a pattern of at most 4096 characters, without control characters",
    hint="for example src/lib, 'src/*' or 'src/**/*.py'",
)


# -- reading


def part(text: str) -> Part:
    """TEXT, one path component, as a name or a pattern."""
    if not is_special(text):
        return text
    if not text.strip("*"):
        return STAR if text == "*" else DEPTH
    runs: list[list[One]] = [[]]
    place = 0
    while place < len(text):
        if text[place] != "*":
            one, place = _one(text, place)
            runs[-1].append(one)
            continue
        if runs[-1] or len(runs) == 1:  # consecutive stars are one
            runs.append([])
        place += 1
    return _plain(tuple(tuple(run) for run in runs))


def is_special(text: str) -> bool:
    """Whether TEXT may be a pattern."""
    return "*" in text or "?" in text or "[" in text


def class_end(text: str, start: int) -> int:
    """The end of the class that opens at START; -1 if it is not closed, then `[` is an ordinary character."""
    place = start + 1
    place += text.startswith(("!", "^"), place)
    place += text.startswith("]", place)  # a leading `]` is a member
    end = text.find("]", place)
    return -1 if "/" in text[start:end] else end


def _one(text: str, place: int) -> tuple[One, int]:
    if text[place] == "?":
        return ANY, place + 1
    if text[place] == "[" and (end := class_end(text, place)) > 0:
        return _class(text[place + 1 : end]), end + 1
    return _letter(text[place]), place + 1


def _class(body: str) -> One:
    is_negated = body[0] in "!^"
    body = body[is_negated:]
    for mark in ":.=":
        if body.endswith(mark) and 0 <= body.find("[" + mark) < len(body) - 2:
            raise InvalidScope(f"[[{mark}...{mark}]] is not supported", hint="list the characters, such as [a-z]")
    members: list[str] = []
    place = 0
    while place < len(body):
        first = last = ord(body[place])
        if body.startswith("-", place + 1) and place + 2 < len(body):
            last = ord(body[place + 2])
            place += 2
        place += 1
        if not 0 <= last - first < MEMBERS:
            raise InvalidScope(f"the range [{chr(first)}-{chr(last)}] is reversed or too wide")
        members += map(chr, range(first, last + 1))
        if len(members) > MEMBERS:
            raise InvalidScope(f"a character class may have at most {MEMBERS} characters")
    return is_negated, frozenset(members) - {"/"}


def _letter(character: str) -> One:
    return False, frozenset(character)


def _is_letter(one: One) -> bool:
    return not one[0] and len(one[1]) == 1


def _plain(runs: tuple[Run, ...]) -> Part:
    """RUNS, or a plain name if they match only one name."""
    if len(runs) == 1 and all(map(_is_letter, runs[0])):
        return "".join(character for _, members in runs[0] for character in members)
    return runs


# -- writing


def canonical_text(found: Part, special: str = "*?[") -> str:
    """The canonical text of a part. A literal SPECIAL character is written as a class of one character."""
    if isinstance(found, str):
        return f"[.]{found[1:]}" if found in NO_NAMES else _escaped(found, special)
    if found == DEPTH:
        return "**"
    return "*".join("".join(_one_written(one, special) for one in run) for run in found)


def _escaped(text: str, special: str) -> str:
    return "".join(f"[{character}]" if character in special else character for character in text)


def _one_written(one: One, special: str) -> str:
    is_negated, members = one
    if one == ANY:
        return "?"
    if _is_letter(one):
        return _escaped("".join(members), special)
    # In a class, `]` must come first, `-` first or last, and `!` and `^` must not come first.
    body = "]" * ("]" in members) + _ranges(sorted(members.difference("]-!^")))
    rest = "!^-" if body or is_negated else "-!^"
    return f"[{'!' * is_negated}{body}{''.join(character for character in rest if character in members)}]"


def _ranges(members: list[str]) -> str:
    text, start = "", 0
    for place in range(1, len(members) + 1):
        if place == len(members) or ord(members[place]) != ord(members[place - 1]) + 1:
            run = members[start:place]
            text += f"{run[0]}-{run[-1]}" if len(run) > 2 else "".join(run)
            start = place
    return text


def wildcards(found: Part) -> int:
    """The number of wildcards in a part."""
    if isinstance(found, str):
        return 0
    if found == DEPTH:
        return 1
    return len(found) - 1 + sum(not _is_letter(one) for run in found for one in run)


def listed(found: Part) -> int:
    """The number of characters that the classes of a part list."""
    ones = [] if isinstance(found, str) else [one for run in found for one in run]
    return sum(len(one[1]) for one in ones if not _is_letter(one))


def first_letters(found: Part) -> str:
    """The literal prefix of all names that the part FOUND matches."""
    if isinstance(found, str):
        return found
    letters = ""
    for one in found[0] if found else ():
        if not _is_letter(one):
            break
        letters += "".join(one[1])
    return letters


def loosened(found: Part) -> str:
    """The part FOUND with every wildcard replaced by a star."""
    if isinstance(found, str):
        return _escaped(found, "*?[")
    return "*".join(
        "".join(canonical_text("".join(one[1])) if _is_letter(one) else "*" for one in run) for run in found
    )


# -- case


def lower(text: str) -> str:
    """TEXT in lower case, letter by letter, so that lower-cased pieces can be joined.

    `str.lower()` depends on context for a sigma, and makes two characters of U+0130, which is left unchanged here.
    """
    if text.isascii():
        return text.lower()
    return "\u0130".join(piece.lower().replace("ς", "σ") for piece in text.split("\u0130"))


def folded(found: Part) -> Part:
    """The part FOUND in lower case, for comparison without case. `[!A]` becomes `[!a]`."""
    if isinstance(found, str):
        return lower(found)
    return _plain(tuple(tuple((but, frozenset(map(lower, members))) for but, members in run) for run in found))


def composed(text: str) -> str:
    """TEXT in Unicode's normal form C."""
    if text.isascii():
        return text
    import unicodedata  # noqa: PLC0415  (rarely needed)

    return unicodedata.normalize("NFC", text)


def bare(text: str) -> str:
    """TEXT without accents, letter by letter."""
    if text.isascii():
        return text
    import unicodedata  # noqa: PLC0415  (rarely needed)

    letters = "".join(unicodedata.normalize("NFD", character) for character in text)
    return "".join(character for character in letters if not unicodedata.combining(character))


# -- meeting


def same(one: Part, other: Part) -> bool:
    """Whether two parts are equal. They are composed again, because lower-casing may have decomposed a character."""
    if one == other:
        return True
    if not isinstance(one, str) or not isinstance(other, str) or one.isascii() or other.isascii():
        return False
    return composed(one) == composed(other)


def meet(one: Part, other: Part) -> bool:
    """Whether both parts match a common name. Neither part is `**`."""
    if isinstance(one, str) and isinstance(other, str):
        return same(one, other)
    ours, theirs = _runs(one), _runs(other)
    if len(ours) == 1:
        return _meets_fixed(ours[0], theirs)
    if len(theirs) == 1:
        return _meets_fixed(theirs[0], ours)
    return all(map(_share, ours[0], theirs[0])) and all(map(_share, reversed(ours[-1]), reversed(theirs[-1])))


def matches_runs(runs: Sequence[Sequence[T]], into: Sequence[T], fits: Callable[[T, T], bool]) -> bool:
    """Whether RUNS, with anything between them, match the whole sequence INTO."""
    head, *middle = runs
    if not middle:
        return len(head) == len(into) and all(map(fits, head, into))
    tail = middle.pop()
    start, end = len(head), len(into) - len(tail)
    if start > end or not all(map(fits, head, into)) or not all(map(fits, tail, into[end:])):
        return False
    for run in middle:
        last = end - len(run)
        while start <= last and not all(map(fits, run, into[start : start + len(run)])):
            start += 1
        if start > last:
            return False
        start += len(run)
    return True


def _meets_fixed(fixed: Run, runs: tuple[Run, ...]) -> bool:
    if len(fixed) > 2:
        return matches_runs(runs, fixed, _share)
    # `.` and `..` are not names: one of these few characters must differ from `.`.
    others = [(place, _no_dot(one)) for place, one in enumerate(fixed) if one != _letter(".")]
    return any(matches_runs(runs, (*fixed[:place], other, *fixed[place + 1 :]), _share) for place, other in others)


def _no_dot(one: One) -> One:
    is_negated, members = one
    return is_negated, members | {"."} if is_negated else members - {"."}


def _runs(found: Part) -> tuple[Run, ...]:
    return (tuple(map(_letter, found)),) if isinstance(found, str) else found


def _share(one: One, other: One) -> bool:
    """Whether both match a common character."""
    if one[0]:
        return other[0] or not other[1] <= one[1]
    return not one[1] <= other[1] if other[0] else not one[1].isdisjoint(other[1])
