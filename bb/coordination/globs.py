"""Patterns for one name in a path, and whether two of them have a name in common: decided exactly, by an automaton.

A pattern is a tuple of tokens: a character, a set of characters (`?` and `[...]`), or STAR. The product of two
patterns walks both at once; they have a name in common if a state is reached in which both are at their end. Which
characters are possible at a step is all that matters, so the walk is over sets, and it ends after at most as many
states as the lengths of the two multiplied.

A name is never empty, `.` or `..`; a third, tiny automaton (`NO_NAME`) sees to that.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Ranges = tuple[tuple[int, int], ...]  # of code points, both ends included
    Token = str | Ranges
    Pattern = tuple[Token, ...]

STAR: Ranges = ()
SLASH, DOT, HIGHEST = 0x2F, 0x2E, 0x10FFFF
ANY: Ranges = ((0, SLASH - 1), (SLASH + 1, HIGHEST))
SPECIAL = "*?["
WIDEST = 4096  # characters that a range may span

# What has been read so far: nothing, `.`, `..`, or a name. A dot leads on by one, anything else to a name.
NOTHING, NAME = 0, 3


class Undecidable(ValueError):
    """What the text may mean is not settled; the message says what to write instead."""


def parse(text: str) -> Pattern:
    """The pattern that TEXT, one component of a path, stands for."""
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        character = text[position]
        end = _class_end(text, position) if character == "[" else 0
        if end:
            tokens.append(_class(text[position + 1 : end]))
            position = end + 1
            continue
        if character == "*":
            if not tokens or tokens[-1] != STAR:
                tokens.append(STAR)
        else:
            tokens.append(ANY if character == "?" else character)
        position += 1
    return tuple(tokens)


def canonical(text: str) -> str:
    """The one way to write the pattern that TEXT stands for."""
    written: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        end = _class_end(text, position) if character == "[" else 0
        if end:
            written.append(_canonical_class(text[position + 1 : end]))
            position = end
        elif character != "*" or written[-1:] != ["*"]:
            written.append("[[]" if character == "[" else character)
        position += 1
    return "".join(written)


def escaped(text: str) -> str:
    """The pattern that stands for TEXT itself and nothing else."""
    return "".join(f"[{character}]" if character in SPECIAL else character for character in text)


def is_literal(pattern: Pattern) -> bool:
    return all(isinstance(token, str) for token in pattern)


def without_case(pattern: Pattern) -> Pattern:
    """The pattern for names in lower case of which some way to write them fits PATTERN."""
    return tuple(lower(token) if isinstance(token, str) else _lower_set(token) for token in pattern)


def lower(character: str) -> str:
    """CHARACTER in lower case; one whose lower case is two characters stays as it is."""
    small = character.lower()
    return small if len(small) == 1 else character


def meet(one: Pattern, other: Pattern) -> bool:
    """Whether some name fits both patterns."""
    if is_literal(one) and is_literal(other):
        return one == other and "".join(map(str, one)) not in ("", ".", "..")
    seen = {(0, 0, NOTHING)}
    ahead = [(0, 0, NOTHING)]
    while ahead:
        i, j, read = ahead.pop()
        if i == len(one) and j == len(other) and read == NAME:
            return True
        for following in _steps(one, other, i, j, read):
            if following not in seen:
                seen.add(following)
                ahead.append(following)
    return False


def _steps(one: Pattern, other: Pattern, i: int, j: int, read: int) -> Iterator[tuple[int, int, int]]:
    """The states that follow: a star passed by, or one character read by both."""
    first = one[i] if i < len(one) else None
    second = other[j] if j < len(other) else None
    if first == STAR:
        yield i + 1, j, read
    if second == STAR:
        yield i, j + 1, read
    if first is None or second is None:
        return
    has_dot, has_other = _common(ANY if first == STAR else first, ANY if second == STAR else second)
    after = (i if first == STAR else i + 1, j if second == STAR else j + 1)
    if has_dot:
        yield *after, min(read + 1, NAME)
    if has_other:
        yield *after, NAME


def _common(one: Token, other: Token) -> tuple[bool, bool]:
    """Whether two tokens have the dot in common, and whether anything else."""
    if isinstance(one, str):
        found = one == other if isinstance(other, str) else _has(other, ord(one))
        return found and one == ".", found and one != "."
    if isinstance(other, str):
        return _common(other, one)
    shared = [(max(a, c), min(b, d)) for a, b in one for c, d in other if max(a, c) <= min(b, d)]
    return _has(shared, DOT), any(span != (DOT, DOT) for span in shared)


def _has(ranges: Sequence[tuple[int, int]], point: int) -> bool:
    return any(low <= point <= high for low, high in ranges)


def _class_end(text: str, start: int) -> int:
    """Where the class that opens at START closes; 0 when it never does, and the bracket is just a bracket."""
    first = start + 2 if text[start + 1 : start + 2] in ("!", "^") else start + 1
    return max(text.find("]", first + 1), 0)


def _items(inside: str) -> tuple[bool, list[tuple[str, str]]]:
    """Whether the class is negated, and the ranges it lists, each once and in order."""
    if "[:" in inside and ":]" in inside + "]":
        raise Undecidable("named classes such as [:alpha:] are not supported; list the characters")
    is_negated = inside[0] in "!^"
    rest = inside[1:] if is_negated else inside
    found, position = set(), 0
    while position < len(rest):
        is_range = rest[position + 1 : position + 2] == "-" and position + 2 < len(rest)
        low, high = rest[position], rest[position + 2] if is_range else rest[position]
        if low > high:
            raise Undecidable(f"the range {low}-{high} runs backwards")
        if ord(high) - ord(low) > WIDEST:
            raise Undecidable(f"the range {low}-{high} is too wide")
        found.add((low, high))
        position += 3 if is_range else 1
    return is_negated, sorted(found)


def _class(inside: str) -> Token:
    is_negated, items = _items(inside)
    if not is_negated and len(items) == 1 and items[0][0] == items[0][1]:
        return items[0][0]
    ranges = _merged([(ord(low), ord(high)) for low, high in items])
    return _without_slash(_complement(ranges) if is_negated else ranges)


def _canonical_class(inside: str) -> str:
    """A class with its items in order; what would mean something else in its place is moved: `]` to the front, `-` to
    the end, and `!` and `^` away from the front."""
    is_negated, items = _items(inside)
    if not is_negated and len(items) == 1 and items[0][0] == items[0][1]:
        return escaped(items[0][0])
    first = [item for item in items if item[0] == "]"]
    last = [item for item in items if item == ("-", "-")]
    shy = [item for item in items if item[0] in "!^" and item not in last]
    plain = [item for item in items if item not in first + last + shy]
    ordered = [*first, *plain, *shy, *last]
    return "[" + "!" * is_negated + "".join(a if a == b else f"{a}-{b}" for a, b in ordered) + "]"


def _merged(ranges: list[tuple[int, int]]) -> Ranges:
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


def _complement(ranges: Ranges) -> Ranges:
    found, start = [], 0
    for low, high in ranges:
        if start < low:
            found.append((start, low - 1))
        start = high + 1
    return (*found, (start, HIGHEST)) if start <= HIGHEST else tuple(found)


def _without_slash(ranges: Ranges) -> Ranges:
    """No pattern fits a slash. A set of nothing at all must not be taken for a star."""
    parts = [(low, min(high, SLASH - 1)) for low, high in ranges if low < SLASH]
    parts += [(max(low, SLASH + 1), high) for low, high in ranges if high > SLASH]
    return tuple(parts) or ((HIGHEST + 1, HIGHEST + 1),)


def _lower_set(ranges: Ranges) -> Ranges:
    """The lower-case forms of a set's members. A set that leaves out only a little is judged by what it leaves out."""
    if ranges == STAR:
        return ranges
    left_out = _complement(_merged([*ranges, (SLASH, SLASH)]))
    if sum(high - low + 1 for low, high in ranges) > sum(high - low + 1 for low, high in left_out):
        return _without_slash(_complement(_lowered(left_out)))
    return _without_slash(_lowered(ranges))


def _lowered(ranges: Ranges) -> Ranges:
    points = [ord(lower(chr(point))) for low, high in ranges for point in range(low, min(high, HIGHEST) + 1)]
    return _merged([(point, point) for point in points])
