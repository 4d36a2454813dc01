"""Scopes: canonical paths and patterns, and whether two of them meet (Operative Protocol §5).

A scope covers every path that fits it and everything beneath such a path. `src/lib` covers src/lib and what is in it,
`src/*` what is beneath src, `.` everything. It is written relative to the repository's root, with `/` between names, so
that every worktree and clone writes the same scope alike; §5.1's absolute form is that with the root in front.

Two scopes meet when some path is covered by both. That is decided exactly, by walking both patterns at once, name by
name (`globs.meet` for each pair of names). What cannot be decided is refused, never called disjoint.
"""

from __future__ import annotations

from bb.coordination import globs
from bb.coordination.globs import Undecidable
from bb.kernel.errors import Refused, Usage
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bb.coordination.globs import Pattern

EXACT, PARTIAL, DISJOINT = "exact", "partial", "disjoint"
POSIX, WINDOWS = "posix", "windows"
ROOT, ANYTHING_BELOW, ANY_DEPTH = ".", "*", "**"

LONGEST, LONGEST_PATTERN = 4096, 512  # characters
MOST_WILDCARDS = 32  # more than any sane pattern has, and few enough to decide about two of them in no time


class InvalidScope(Usage):
    """That is no path, and no pattern bb can decide about."""

    code = "INVALID_SCOPE"
    hint = "for example src/parser, src/*, docs/**/*.md"


class ScopeOutside(Refused):
    """The scope lies outside the repository."""

    code = "SCOPE_OUTSIDE"
    hint = "name paths relative to where you are, or absolute ones inside the repository"


class Scope(Record):
    """A path or pattern in its canonical form."""

    text: str

    @property
    def parts(self) -> list[str]:
        return [] if self.text == ROOT else self.text.split("/")

    @property
    def is_plain(self) -> bool:
        """Whether every character is itself, so that the text is the path."""
        return "*" not in self.text and "?" not in self.text and "[" not in self.text

    @property
    def is_literal(self) -> bool:
        """Whether it names one path. A `[*]` stands for the character itself."""
        return self.is_plain or all(map(_is_name, self.parts))


# -- from what was written


def scope(written: str, *, root: str, cwd: str, platform: str = POSIX, is_path: bool = False) -> Scope:
    """The scope that was WRITTEN by somebody standing in CWD. In a path every character is itself."""
    _check(written, is_path=is_path)
    drive, parts = _resolved(written, cwd, platform, is_path=is_path)
    root_drive, root_parts = _split(_nfc(root), platform)
    base = [part for part in root_parts if part not in ("", ".")]
    names = [name for name, _ in parts]
    if _folded([drive, *names[: len(base)]], platform) != _folded([root_drive, *base], platform):
        raise ScopeOutside(f"{written[:200]} lies outside the repository {root}")
    try:
        return _canonical(
            [globs.escaped(name) if is_name else _pattern(name) for name, is_name in parts[len(base) :]], written
        )
    except Undecidable as reason:
        raise InvalidScope(f"{written[:200]!r}: {reason}") from None


def stored(text: str) -> Scope | None:
    """The scope that a line of the ledger names; None when that is no canonical form."""
    if text == ROOT:
        return Scope(ROOT)
    if not text or len(text) > LONGEST or text != _nfc(text) or "\0" in text:
        return None
    parts = text.split("/")
    try:
        is_right = not {"", ".", ".."} & {*parts} and [_pattern(part) for part in parts] == parts
        return found if is_right and (found := _canonical(parts, text)).text == text else None
    except (Undecidable, InvalidScope):
        return None


def absolute(scope: Scope, *, root: str, platform: str = POSIX) -> str:
    """The form that §5.1 compares: absolute, with `/`, without a slash at the end, on Windows in lower case."""
    drive, parts = _split(_nfc(root), platform)
    names = [part for part in parts if part not in ("", ".")]
    path = f"{drive}/{'/'.join([*names, *scope.parts])}"
    return path.lower() if platform == WINDOWS else path


def _check(written: str, *, is_path: bool) -> None:
    """Refuse what cannot be a path at all, and patterns that mean something elsewhere and something else here."""
    if not written.strip():
        raise InvalidScope("a scope must not be blank")
    if len(written) > LONGEST or "\0" in written:
        raise InvalidScope(f"a scope has 1 to {LONGEST} characters, and no NUL among them")
    if is_path:
        return
    if not written.isprintable():
        raise InvalidScope(f"{written[:200]!r} holds characters that no scope may hold")
    if "{" in written and "}" in written and ("," in written or ".." in written.partition("{")[2]):
        raise InvalidScope(f"{written[:200]!r}: braces are not expanded", hint="name each scope by its own --scope")
    if written.startswith("!"):
        raise InvalidScope(f"{written[:200]!r}: a scope cannot leave something out", hint="name what it covers instead")


def _resolved(written: str, cwd: str, platform: str, *, is_path: bool) -> tuple[str, list[tuple[str, bool]]]:
    """Drive and names of an absolute path (§5.1.1); each name with whether every character in it is itself."""
    drive, parts = _split(_nfc(written), platform)
    cwd_drive, cwd_parts = _split(_nfc(cwd), platform)
    is_absolute = parts[:1] == [""] and len(parts) > 1
    if drive and not is_absolute:
        raise InvalidScope(f"{written[:200]!r} is relative to the current directory of a drive")
    found = [] if is_absolute else [(part, True) for part in cwd_parts if part not in ("", ".")]
    for part in parts:
        if part == "..":
            if found and not found[-1][1] and not globs.is_literal(globs.parse(found[-1][0])):
                raise InvalidScope(f"{written[:200]!r}: where `..` leads behind a wildcard cannot be told")
            del found[-1:]
        elif part not in ("", "."):
            found.append((part, is_path))
    return drive or cwd_drive, found


def _split(path: str, platform: str) -> tuple[str, list[str]]:
    """Drive (or server and share) and names. An absolute path's first name is empty."""
    if platform != WINDOWS:
        return "", path.split("/")
    path = path.replace("\\", "/")
    if path.startswith("//") and not path.startswith("///"):
        server, share, *rest = [*path[2:].split("/"), ""]
        return f"//{server}/{share}", ["", *rest]
    if path[1:2] == ":" and path[:1].isalpha():
        return path[:2], path[2:].split("/")
    return "", path.split("/")


def _folded(names: Sequence[str], platform: str) -> list[str]:
    return [name.lower() for name in names] if platform == WINDOWS else list(names)


def _pattern(part: str) -> str:
    """One name of a written pattern, in canonical form."""
    return ANY_DEPTH if len(part) > 1 and not part.strip("*") else globs.canonical(part)


def _canonical(parts: list[str], written: str) -> Scope:
    """The scope of those names. Some patterns can be said in several ways: `src/**`, `src/**/*` are `src/*`."""
    kept: list[str] = []
    for part in parts:
        if not (part == ANY_DEPTH and kept[-1:] == [ANY_DEPTH]):
            kept.append(part)
    if kept[-1:] == [ANY_DEPTH]:
        kept[-1] = ANYTHING_BELOW
    if kept[-2:] == [ANY_DEPTH, ANYTHING_BELOW]:
        del kept[-2]
    text = "/".join(kept) or ROOT
    wildcards = sum(text.count(mark) for mark in globs.SPECIAL)
    is_long = wildcards > MOST_WILDCARDS or len(text) > LONGEST_PATTERN
    if wildcards and is_long and not all(map(_is_name, kept)):
        limits = f"{LONGEST_PATTERN} characters and {MOST_WILDCARDS} wildcards"
        raise InvalidScope(f"{written[:80]!r}…: a pattern has at most {limits}")
    return Scope(text)


def _is_name(part: str) -> bool:
    return part != ANY_DEPTH and globs.is_literal(globs.parse(part))


def _nfc(text: str) -> str:
    """One spelling for what looks the same: file systems disagree on which they keep."""
    if text.isascii():
        return text
    import unicodedata  # noqa: PLC0415  (most paths need none)

    return unicodedata.normalize("NFC", text)


# -- comparing


def compare(one: Scope, other: Scope, *, ignore_case: bool) -> str:
    """How two scopes lie to each other (§5.2): exact, partial or disjoint."""
    if _key(one.text, ignore_case) == _key(other.text, ignore_case):
        return EXACT
    if one.is_literal and other.is_literal:
        first, second = _path(one, ignore_case), _path(other, ignore_case)
        return PARTIAL if first.startswith(second) or second.startswith(first) else DISJOINT
    return PARTIAL if _meet(_patterns(one, ignore_case), _patterns(other, ignore_case)) else DISJOINT


def covers(scope: Scope, path: Scope, *, ignore_case: bool) -> bool:
    """Whether SCOPE covers everything at and beneath a literal PATH."""
    if scope.is_literal:
        return _path(path, ignore_case).startswith(_path(scope, ignore_case))
    return _fits(_patterns(scope, ignore_case), _patterns(path, ignore_case))


def lead(scope: Scope) -> str:
    """How every path that SCOPE covers begins, in lower case, with a slash behind every name.

    If two scopes meet, under whichever rule for case, then the lead of one is the beginning of the other's.
    """
    found = "/"
    for part in scope.parts:
        for token in () if part == ANY_DEPTH else globs.parse(part):
            if not isinstance(token, str):
                return found
            found += globs.lower(token)
        if part == ANY_DEPTH:
            return found
        found += "/"
    return found


def _key(text: str, ignore_case: bool) -> str:
    return "".join(map(globs.lower, text)) if ignore_case else text


def _path(scope: Scope, ignore_case: bool) -> str:
    """A literal scope as the path it is, with a slash behind every name; that of the root is empty."""
    if scope.is_plain:
        return _key(f"{scope.text}/", ignore_case) if scope.text != ROOT else ""
    names = ("".join(map(str, globs.parse(part))) for part in scope.parts)
    return _key("".join(f"{name}/" for name in names), ignore_case)


def _patterns(scope: Scope, ignore_case: bool) -> list[Pattern | None]:
    """Name by name; None stands for any number of names."""
    found = [None if part == ANY_DEPTH else globs.parse(part) for part in scope.parts]
    return [pattern and globs.without_case(pattern) for pattern in found] if ignore_case else found


def _meet(one: list[Pattern | None], other: list[Pattern | None]) -> bool:
    """Whether some path is covered by both. Behind its end a scope covers any names."""
    seen = {(0, 0)}
    ahead = [(0, 0)]
    while ahead:
        i, j = ahead.pop()
        if i == len(one) and j == len(other):
            return True
        for following in _steps(one, other, i, j):
            if following not in seen:
                seen.add(following)
                ahead.append(following)
    return False


def _steps(one: list[Pattern | None], other: list[Pattern | None], i: int, j: int) -> Iterator[tuple[int, int]]:
    """The states that follow: any-depth passed by, or one name read by both."""
    is_open, other_is_open = i == len(one) or one[i] is None, j == len(other) or other[j] is None
    if i < len(one) and one[i] is None:
        yield i + 1, j
    if j < len(other) and other[j] is None:
        yield i, j + 1
    first = (globs.STAR,) if is_open else one[i]
    second = (globs.STAR,) if other_is_open else other[j]
    if first is not None and second is not None and globs.meet(first, second):
        yield (i if is_open else i + 1), (j if other_is_open else j + 1)


def _fits(pattern: list[Pattern | None], path: list[Pattern | None]) -> bool:
    """Whether a path, or a directory above it, fits a pattern."""
    seen = {(0, 0)}
    ahead = [(0, 0)]
    while ahead:
        i, j = ahead.pop()
        if i == len(pattern):
            return True
        wanted, name = pattern[i], path[j] if j < len(path) else None
        following = [(i + 1, j), (i, j + 1)] if wanted is None else []
        if wanted is not None and name is not None and globs.meet(wanted, name):
            following = [(i + 1, j + 1)]
        for step in following:
            if step not in seen and step[1] <= len(path):
                seen.add(step)
                ahead.append(step)
    return False
