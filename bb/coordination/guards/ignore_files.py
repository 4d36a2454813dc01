"""Ignore files in gitignore syntax, interpreted as git does.

A line is a pattern. `#` begins a comment; `!` negates an earlier pattern. A pattern with a slash before its end matches
paths from the root; a pattern without one matches names at any depth; a pattern with a slash at its end matches folders
only. The last matching line decides. A file in an ignored folder cannot be included again.

    *        any characters except a slash    [abc] [a-z] [[:digit:]]    one of these
    ?        any one octet except a slash     [!abc] [^abc]              one octet except these
    **/ /**  any number of folders            \\                          the next character is literal

Like git, this compares octets.
"""

from __future__ import annotations

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Step = bytes | frozenset[int] | str  # literal octets, one octet of a set, or NAME, FOLDERS or ANYTHING

NAME, FOLDERS, ANYTHING = "*", "**/", "**"
SPECIAL = b"*?[\\"
SLASH = ord("/")
OCTETS = frozenset(range(1, 256))
CLASSES = {
    b"alnum": frozenset(octet for octet in OCTETS if bytes([octet]).isalnum()),
    b"alpha": frozenset(octet for octet in OCTETS if bytes([octet]).isalpha()),
    b"blank": frozenset(b" \t"),
    b"cntrl": frozenset([*range(1, 32), 127]),
    b"digit": frozenset(b"0123456789"),
    b"graph": frozenset(range(33, 127)),
    b"lower": frozenset(range(97, 123)),
    b"print": frozenset(range(32, 127)),
    b"punct": frozenset(octet for octet in range(33, 127) if not bytes([octet]).isalnum()),
    b"space": frozenset(b" \t\n\r\v\f"),
    b"upper": frozenset(range(65, 91)),
    b"xdigit": frozenset(b"0123456789abcdefABCDEF"),
}


class _MatchesNothing(ValueError):
    """The pattern has a syntax error, so git matches nothing with it."""


class Rule(Record):
    """One line of an ignore file."""

    steps: tuple[Step, ...]
    is_taking_back: bool
    is_for_folders: bool
    is_for_names: bool  # at any depth, instead of paths from the root

    def names(self, path: bytes, *, is_folder: bool) -> bool:
        """Whether the rule matches PATH itself. Files below a matching folder are handled by `Ignoring`."""
        if self.is_for_folders and not is_folder:
            return False
        text = path.rpartition(b"/")[2] if self.is_for_names else path
        places = {0}
        for step in self.steps:
            places = _after(step, text, places)
            if not places:
                return False
        return len(text) in places


class Ignoring:
    """The rules of an ignore file, last one first. IGNORE_CASE is for case-insensitive file systems."""

    def __init__(self, rules: Sequence[Rule], *, ignore_case: bool) -> None:
        self._rules = rules[::-1]
        self._ignore_case = ignore_case
        self._folders = {b"": False}

    def ignores(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether PATH, as git writes it from the root, is ignored, by itself or because of a parent folder."""
        octets = path.encode("utf-8", "surrogateescape")
        octets = octets.lower() if self._ignore_case else octets
        return self._lies_in_ignored(octets) or self._is_named(octets, is_folder)

    def _lies_in_ignored(self, path: bytes) -> bool:
        parent = path.rpartition(b"/")[0]
        unknown = []
        while parent not in self._folders:
            unknown.append(parent)
            parent = parent.rpartition(b"/")[0]
        is_ignored = self._folders[parent]
        for folder in reversed(unknown):
            is_ignored = is_ignored or self._is_named(folder, True)
            self._folders[folder] = is_ignored
        return is_ignored

    def _is_named(self, path: bytes, is_folder: bool) -> bool:
        for rule in self._rules:
            if rule.names(path, is_folder=is_folder):
                return not rule.is_taking_back
        return False


def read(octets: bytes, *, ignore_case: bool = False) -> Ignoring:
    """The rules in an ignore file's OCTETS."""
    lines = octets.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return Ignoring([rule for line in lines if (rule := _rule(line, ignore_case))], ignore_case=ignore_case)


def _rule(line: bytes, ignore_case: bool) -> Rule | None:
    """The rule in LINE; None for comments, blank lines and invalid patterns."""
    text = _trimmed(line.removesuffix(b"\r").partition(b"\0")[0])
    if text.startswith(b"#"):
        return None
    is_taking_back = text.startswith(b"!")
    text = text[is_taking_back:]
    is_for_folders = text.endswith(b"/")
    text = text[: len(text) - is_for_folders]
    is_for_names = b"/" not in text
    text = text.removeprefix(b"/")
    if not text:
        return None
    try:
        steps = tuple(_steps(text, is_for_names))
    except _MatchesNothing:
        return None
    return Rule(tuple(map(_lower, steps)) if ignore_case else steps, is_taking_back, is_for_folders, is_for_names)


def _trimmed(line: bytes) -> bytes:
    """LINE without trailing spaces, except a space escaped with a backslash."""
    end = place = 0
    while place < len(line):
        width = 2 if line[place] == ord("\\") else 1
        if line[place] != ord(" "):
            end = place + width
        place += width
    return line[:end]


# -- matching a name: all possible positions are tracked at once


def _after(step: Step, text: bytes, places: set[int]) -> set[int]:
    """The positions in TEXT that STEP reaches from PLACES."""
    if isinstance(step, bytes):
        return {place + len(step) for place in places if text.startswith(step, place)}
    if isinstance(step, frozenset):
        return {place + 1 for place in places if place < len(text) and text[place] in step}
    first = min(places)
    if step == ANYTHING:
        return set(range(first, len(text) + 1))
    if step == FOLDERS:
        return places | {place + 1 for place in range(first, len(text)) if text[place] == SLASH}
    reached: set[int] = set()
    for place in places:
        while place not in reached:
            reached.add(place)
            place += place < len(text) and text[place] != SLASH
    return reached


# -- reading a pattern


def _steps(text: bytes, is_for_names: bool) -> list[Step]:
    # Git compares the text before the first wildcard separately and treats the rest as a pattern of its own. So the
    # stars in `a**/b` count as a whole component, although no slash precedes them.
    start = next((place for place, octet in enumerate(text) if octet in SPECIAL), len(text))
    steps: list[Step] = [text[:start]]
    place = start
    while place < len(text):
        step: Step
        if text.startswith(b"*", place):
            is_first = place in (0, start) or text[place - 1] == SLASH
            step, place = _stars(text, place, may_be_folders=is_first and not is_for_names)
        elif text.startswith(b"[", place):
            step, place = _class(text, place + 1)
        elif text.startswith(b"?", place):
            step, place = OCTETS - {SLASH}, place + 1
        else:
            place += text.startswith(b"\\", place)
            step, place = text[place : place + 1], place + 1
            if not step:
                raise _MatchesNothing  # a backslash at the end
        steps.append(step)
    return steps


def _stars(text: bytes, start: int, *, may_be_folders: bool) -> tuple[Step, int]:
    """The step for the stars at START, and their end."""
    end = len(text) - len(text[start:].lstrip(b"*"))
    is_alone = end == len(text) or text.startswith((b"/", b"\\/"), end)
    if not (may_be_folders and is_alone and end - start > 1):
        return NAME, end
    return (FOLDERS, end + 1) if text.startswith(b"/", end) else (ANYTHING, end)


def _class(text: bytes, start: int) -> tuple[Step, int]:
    """The octets of the class whose members begin at START, and its end."""
    place = start + text.startswith((b"!", b"^"), start)
    is_negated = place > start
    members: set[int] = set()
    first = place
    while place == first or not text.startswith(b"]", place):
        some, place = _members(text, place)
        members |= some
    return (OCTETS - members if is_negated else frozenset(members)) - {SLASH}, place + 1


def _members(text: bytes, place: int) -> tuple[frozenset[int], int]:
    """The member at PLACE in a class (a named class, a range or an octet), and its end."""
    if text.startswith(b"[:", place):
        end = text.find(b"]", place + 2)
        if end < 0:
            raise _MatchesNothing
        if end > place + 2 and text[end - 1] == ord(":"):
            if (name := text[place + 2 : end - 1]) not in CLASSES:
                raise _MatchesNothing
            return CLASSES[name], end + 1
    low, place = _octet(text, place)
    if not text.startswith(b"-", place) or text[place + 1 : place + 2] in (b"", b"]"):
        return frozenset([low]), place
    high, place = _octet(text, place + 1)
    return frozenset(range(low, high + 1)) | {low}, place


def _octet(text: bytes, place: int) -> tuple[int, int]:
    place += text.startswith(b"\\", place)
    if place >= len(text):
        raise _MatchesNothing  # the class is not closed
    return text[place], place + 1


def _lower(step: Step) -> Step:
    """STEP for comparison without case."""
    if isinstance(step, bytes):
        return step.lower()
    return step if isinstance(step, str) else step | frozenset(bytes(step).lower())
