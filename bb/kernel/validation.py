"""Validation of single members of facts: ids, roles, beads, categories, reasons. The same rules apply when a line is
written and when it is read: any user who can push can write any line, so readers trust no writer.

Reading must give the same result in every clone. `str.isprintable` does not: it depends on the Unicode version of the
interpreter. So readers reject a fixed set of characters that is unprintable in every Python version, and writers also
reject everything that `isprintable` rejects.
"""

from __future__ import annotations

from bb.kernel.escaping import BIDI, LINE_ENDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

ROLE_LENGTH = 64
TITLE_LENGTH = 80
SUBJECT_LENGTH = 500
BEAD_LENGTH = 128
THREAD_LENGTH = 200
REASON_LENGTH = 500
NAME_LENGTH = 1000  # of names on other platforms
KIND_LENGTH = 200
LONGEST_PATH = 4096

TIME = "0000-00-00T00:00:00.000Z"
TO_ZERO = str.maketrans("123456789", "000000000")

# Control characters and invisible characters: controls, tags, and other characters of Unicode's class Cf that all
# supported Python versions know. Joiners are allowed, because ordinary text needs them.
CONTROLS = frozenset(map(chr, [*range(0x20), *range(0x7F, 0xA0)]))
HIDDEN = (
    CONTROLS
    | frozenset(map(chr, [0xAD, *range(0x600, 0x606), 0x6DD, 0x70F, 0x180E, 0x200B]))
    | frozenset(map(chr, [*range(0x2060, 0x2065), *range(0x206A, 0x2070), 0xFEFF, *range(0xFFF9, 0xFFFC)]))
    | frozenset(map(chr, [0xE0001, *range(0xE0020, 0xE0080)]))
    | BIDI
    | LINE_ENDS
)


def is_line(value: object, longest: int = NAME_LENGTH) -> bool:
    """Whether VALUE is one line of visible text, neither blank nor too long."""
    return (
        type(value) is str
        and 0 < len(value) <= longest
        and (value.isprintable() if value.isascii() else HIDDEN.isdisjoint(value) and is_unicode(value))
        and not value.isspace()
    )


def is_line_or_nothing(value: object) -> bool:
    """Whether VALUE is one line, or empty."""
    return value == "" or is_line(value)


def is_unfolded(value: object, longest: int = LONGEST_PATH) -> bool:
    """Whether VALUE has no control characters. File names may have any other character, so scopes and sentences about
    them may too."""
    return (
        type(value) is str
        and 0 < len(value) <= longest
        and (value.isprintable() if value.isascii() else CONTROLS.isdisjoint(value) and is_unicode(value))
    )


def are_unfolded(value: object) -> bool:
    """Whether VALUE is a list of such texts, and not empty."""
    return type(value) is list and bool(value) and all(map(is_unfolded, value))


def is_unicode(value: str) -> bool:
    """Whether VALUE can be encoded as UTF-8. A lone surrogate, which JSON permits, cannot."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeError:
        return False
    return True


def _line_of(longest: int) -> Callable[[object], bool]:
    """The check for one line of at most LONGEST characters."""
    return lambda value: is_line(value, longest)


is_role, is_title = _line_of(ROLE_LENGTH), _line_of(TITLE_LENGTH)
is_thread, is_reason = _line_of(THREAD_LENGTH), _line_of(REASON_LENGTH)
is_bead = _line_of(BEAD_LENGTH)  # the trackers define the form of their ids


NO_BEAD = "-"  # recorded where there is no bead, because earlier versions read no reservation without one
AUTO = "auto"  # recorded where an editor's hook made the reservation without a bead


def shown_bead(bead: str) -> str | None:
    """The bead as it is shown; None if a placeholder is recorded in its place."""
    return None if bead in ("", NO_BEAD, AUTO) else bead


def is_subject(value: object) -> bool:
    """Whether VALUE may be a subject. Subjects written by bb may contain scopes."""
    return is_unfolded(value, SUBJECT_LENGTH)


def is_time(value: str) -> bool:
    """Whether VALUE has the form in which bb writes times."""
    return value.translate(TO_ZERO) == TIME


def is_kind(value: str) -> bool:
    """Whether VALUE may be the kind of an event: one word, without a quotation mark."""
    return is_line(value, KIND_LENGTH) and value.isascii() and " " not in value and '"' not in value
