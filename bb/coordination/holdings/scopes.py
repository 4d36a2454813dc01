"""Scopes: the paths that a scope covers, and whether two scopes overlap (Operative Protocol §5).

A scope is stored as canonical text: relative to the repository's root, so that clones and worktrees agree, with `/`
between names, in Unicode normal form C; `.` is the root. It covers every path that it matches and everything below such
a path. Therefore two scopes share a path exactly if their names up to the first `**` match pairwise, as far as both go.
"""

from __future__ import annotations

from bb.coordination.holdings import globs
from bb.coordination.holdings.globs import DEPTH, STAR, InvalidScope
from bb.kernel.errors import Refused
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from bb.coordination.holdings.globs import Part

    Name = tuple[str, bool]  # a path component, and whether it is literal

__all__ = ["DISJOINT", "EXACT", "PARTIAL", "InvalidScope", "Scope", "ScopeOutside"]

EXACT, PARTIAL, DISJOINT = "exact", "partial", "disjoint"
REGION = "::"  # between a file and a region of it
POSIX, WINDOWS = "posix", "windows"

LAST = "\U0010ffff"
LONGEST = 4096
WILDCARDS = 64

ScopeOutside = Refused.declare(
    "SCOPE_OUTSIDE", "That path lies outside the repository", hint="name a path inside the repository"
)


class Scope(Record):
    """A scope, by its canonical text. IS_FILE: it was a file when it was reserved, so it covers nothing below it.

    A scope with a region, `src/number.py::roman`, is a part of a file (`regions`). The functions here are about paths:
    they compare it as the whole file.
    """

    text: str
    is_file: bool = False
    region: str | None = None  # the part of the file that it covers; then the text has it too

    @property
    def where(self) -> str:
        """The text without the region: the path or pattern."""
        if self.region is None:
            return self.text
        return self.text[: -len(regions().shown(self.region)) - len(REGION)]

    @property
    def parts(self) -> tuple[Part, ...]:
        where = self.where
        return () if where == "." else _settled([globs.part(name) for name in where.split("/")])

    @property
    def is_literal(self) -> bool:
        """Whether it has no wildcard, so that it is one path and everything below."""
        return not globs.is_special(self.where) or self.path is not None

    @property
    def path(self) -> str | None:
        """The path of a literal scope: `app/[slug]` if the text is `app/[[]slug]`. None for a pattern.

        `[.]` and `[.].` are patterns that no file matches: as paths they would lead elsewhere.
        """
        names = [part for part in self.parts if isinstance(part, str)]
        is_path = len(names) == len(self.parts) and not any(name in globs.NO_NAMES for name in names)
        return "/".join(names) or "." if is_path else None


# -- from the user's text


def scope(written: str, *, root: str, cwd: str, platform: str = POSIX, is_path: bool = False) -> Scope:
    """The scope that the user has WRITTEN, relative to CWD. With IS_PATH, wildcards are literal characters."""
    _refuse_blank(written)
    text = slashed(globs.composed(_sound(written)), platform)
    if not is_path:
        _refuse_what_others_expand(text)
    anchor, names = _resolved(text, cwd, platform, is_path)
    inside = _beneath(anchor, names, root, platform)
    if inside is None:
        raise ScopeOutside(f"{excerpt(written)} is outside the repository at {root!r}")
    canonical = _canonical([name if is_literal else globs.part(name) for name, is_literal in inside])
    _refuse_blank(canonical)  # the text of `[ ]` is ` `, which a user could not pass again
    return Scope(canonical)


def _refuse_blank(text: str) -> None:
    if not text.strip():
        raise InvalidScope("a scope must not be blank")


def is_plain(written: str) -> bool:
    """Whether WRITTEN has no character by which it may differ from the intended path (`intended_paths`)."""
    return written.isascii() and "\\" not in written and " " not in written


def existing(path: str) -> Scope:
    """The scope of an existing PATH, as git writes it from the root. It may have any character."""
    return Scope("/".join(map(globs.canonical_text, globs.composed(path).split("/"))))


def stored(text: str) -> Scope | None:
    """The scope for TEXT from the ledger; None if TEXT is not canonical."""
    parsed = Scope(text)
    if _is_plain_path(text):
        return parsed
    try:
        is_canonical = _sound(text) == _canonical(parsed.parts) and "" not in text.split("/")
    except InvalidScope.error:
        return None
    return parsed if is_canonical else None


def _is_plain_path(text: str) -> bool:
    """Whether TEXT is canonical because none of its characters has a meaning. Most scopes are, and readers of many
    reservations see only few others."""
    if not (text.isascii() and text.isprintable() and len(text) <= LONGEST) or "{" in text or globs.is_special(text):
        return False
    within = f"/{text}/"
    return text == "." or not ("//" in within or "/./" in within or "/../" in within)


def in_region(file: Scope, region: str | None) -> Scope:
    """The REGION of a FILE as a scope; FILE itself without a region."""
    if region is None:
        return file
    return Scope(shown(file.text, region), True, region)


def shown(path: str, region: str | None) -> str:
    """The text of a scope: PATH, with its REGION as users write it."""
    return f"{path}{REGION}{regions().shown(region)}" if region else path


def regions() -> ModuleType:
    from bb.coordination.holdings import regions as module  # noqa: PLC0415  (few scopes have a region)

    return module


def compare_by_name(a: Scope, b: Scope, *, ignore_case: bool) -> str:
    """`compare` that tells regions of one file apart by their names, without looking into the file."""
    kind = compare(a, b, ignore_case=ignore_case)
    if kind == DISJOINT or (a.region is None and b.region is None):
        return kind
    if kind == PARTIAL or a.region is None or b.region is None:
        return PARTIAL
    return str(regions().overlap_by_name(a.region, b.region))


def _sound(text: str) -> str:
    if len(text) > LONGEST:
        raise InvalidScope(f"the scope has {len(text)} characters; at most {LONGEST} are allowed")
    if not (text.isprintable() if text.isascii() else not any(map(_is_control, text))):
        raise InvalidScope(f"{excerpt(text)} has a control character or an invalid Unicode character")
    return text


def _is_control(character: str) -> bool:
    return character < " " or "\x7f" <= character <= "\x9f" or _is_no_text(character)


def _is_no_text(character: str) -> bool:
    """Whether CHARACTER is a surrogate, or the last code point, which marks the end of a range in the index."""
    return "\ud800" <= character <= "\udfff" or character == LAST


def _refuse_what_others_expand(text: str) -> None:
    """Refuse TEXT if a shell would expand it, or an ignore file would take it for an exclusion."""
    if text.startswith("!"):
        raise InvalidScope(
            f"{excerpt(text)} begins with !", hint="exclusions are not supported; for a file write ./!name"
        )
    if _has_alternatives(text):
        raise InvalidScope(
            f"{excerpt(text)} has braces", hint="pass each scope with its own --scope, or write [{] for {"
        )


def _has_alternatives(text: str) -> bool:
    """Whether TEXT has braces with a comma or two dots in them, which a shell expands."""
    are_alternatives: list[bool] = []  # one for each open brace
    place = 0 if "{" in text else len(text)
    while place < len(text):
        if text[place] == "[":
            place = max(place, globs.class_end(text, place))
        elif text[place] == "{":
            are_alternatives.append(False)
        elif are_alternatives and text.startswith((",", ".."), place):
            are_alternatives[-1] = True
        elif are_alternatives and text[place] == "}" and are_alternatives.pop():
            return True
        place += 1
    return False


# -- §5.1 the pipeline


def slashed(text: str, platform: str) -> str:
    """TEXT with slashes between names, also on Windows."""
    return text.replace("\\", "/") if platform == WINDOWS else text


def _resolved(text: str, cwd: str, platform: str, is_path: bool) -> tuple[str, list[Name]]:
    """TEXT as an absolute path: drive or share, and names without `.` and `..`."""
    anchor, names = _split(text, platform)
    here, above = _place(cwd, platform)
    start: list[Name] = [(name, True) for name in above] if anchor is None else []
    return anchor or here, _followed(start, names, is_path)


def _followed(found: list[Name], names: Sequence[str], is_literal: bool) -> list[Name]:
    """FOUND and then NAMES, without `.` and `..`."""
    for name in names:
        if name == "..":
            _leave(found)
        elif name not in ("", "."):
            found.append((name, is_literal))
    return found


def _leave(names: list[Name]) -> None:
    """Remove the last name. The parent of the root is the root."""
    name, is_literal = names.pop() if names else ("", True)
    if not is_literal and not isinstance(globs.part(name), str):
        raise InvalidScope(f"{excerpt(name)}/.. depends on symbolic links", hint="remove the .. after the wildcard")


def _place(path: str, platform: str) -> tuple[str, list[str]]:
    """The drive or share of an absolute PATH, and its names."""
    anchor, names = _split(slashed(globs.composed(path), platform), platform)
    if anchor is None:
        raise InvalidScope(f"{excerpt(path)} is not an absolute path", hint="pass the root as an absolute path")
    return anchor, [name for name, _ in _followed([], names, True)]


def _split(text: str, platform: str) -> tuple[str | None, list[str]]:
    """The drive or share of TEXT ("" for the current drive, None for a relative path), and its components."""
    if platform == WINDOWS and text[1:2] == ":" and text[0].isascii() and text[0].isalpha():
        if text[2:3] != "/":
            message = f"{excerpt(text)} is relative to the drive's current folder"
            raise InvalidScope(message, hint=r"write it as C:\path")
        return text[:2], text[2:].split("/")
    if platform == WINDOWS and text.startswith("//"):
        server, share, *names = text[2:].split("/") + [""] * (text.count("/") == 2)
        if not server or not share:
            raise InvalidScope(f"{excerpt(text)} names no share", hint=r"write it as \\server\share\path")
        return f"//{server}/{share}", names
    return ("" if text.startswith("/") else None), text.split("/")


def _beneath(anchor: str, names: Sequence[Name], root: str, platform: str) -> Sequence[Name] | None:
    """NAMES relative to ROOT; None if they are outside ROOT."""
    start, top = _place(root, platform)
    above = [anchor, *(name for name, _ in names[: len(top)])]
    expected = [start, *top]
    if platform == WINDOWS:
        above, expected = [globs.lower(name) for name in above], [globs.lower(name) for name in expected]
    return names[len(top) :] if above == expected else None


def absolute(scope: Scope, *, root: str, platform: str) -> str:
    """SCOPE as §5.1 compares it: absolute, and in lower case on Windows."""
    anchor, names = _place(root, platform)
    where = scope.where
    text = "/".join([anchor, *names, *(where.split("/") if where != "." else ())])
    if len(names) == 0 and where == ".":
        text += "/"
    return text.lower() if platform == WINDOWS else text


# -- the canonical text


def _settled(parts: list[Part]) -> tuple[Part, ...]:
    """PARTS without redundant `**`: consecutive ones, and those at the end, because a scope covers all below anyway."""
    end = len(parts)
    while end and parts[end - 1] in (STAR, DEPTH):
        end -= 1
    stars = parts[end:].count(STAR) + (parts[-1:] == [DEPTH])  # `src/**` covers the same as `src/*`
    kept = [part for place, part in enumerate(parts[:end]) if part != DEPTH or parts[place + 1] != DEPTH]
    return (*kept, *[STAR] * stars)


def _canonical(parts: Sequence[Part]) -> str:
    """The canonical text for PARTS. Different spellings of a scope have the same canonical text."""
    settled = _settled(list(parts))
    if sum(map(globs.wildcards, settled)) > WILDCARDS:
        raise InvalidScope(f"a scope may have at most {WILDCARDS} wildcards")
    if sum(map(globs.listed, settled)) > globs.MEMBERS:
        raise InvalidScope(f"the character classes of a scope may have at most {globs.MEMBERS} characters")
    text = "/".join(map(globs.canonical_text, settled)) or "."
    if _has_alternatives(text):  # a literal path with braces
        text = "/".join(globs.canonical_text(part, "*?[{") for part in settled)
    if globs.composed(text) != text:
        message = f"{excerpt(text)} has a combining mark in a character class"
        raise InvalidScope(message, hint="list the composed characters")
    return _sound(text)


def excerpt(text: str) -> str:
    """TEXT for a message: in quotes, and not too long."""
    return repr(text) if len(text) <= 200 else repr(text[:200]) + "…"


# -- §5.2 the overlap classes


def compare(a: Scope, b: Scope, *, ignore_case: bool) -> str:
    """How two scopes overlap: `exact`, `partial`, or `disjoint` if no path is covered by both."""
    return comparison(a, ignore_case=ignore_case)(b)


def comparison(a: Scope, *, ignore_case: bool) -> Callable[[Scope], str]:
    """`compare` with A as first argument. A is parsed once for many comparisons."""
    where = a.where
    ours, is_plain = _parts(a, ignore_case), where.isascii() and not globs.is_special(where)
    path = where.lower() if ignore_case else where

    def compared(b: Scope) -> str:
        there = b.where
        if where == there:
            return EXACT
        if is_plain and there.isascii() and not globs.is_special(there):
            return _compare_paths(path, there.lower() if ignore_case else there)
        return _compare_parts(a, b, ours, _parts(b, ignore_case), ignore_case)

    return compared


def _compare_parts(a: Scope, b: Scope, ours: tuple[Part, ...], theirs: tuple[Part, ...], ignore_case: bool) -> str:
    if len(ours) == len(theirs) and all(map(globs.same, ours, theirs)):
        return EXACT
    if any(name in ours or name in theirs for name in globs.NO_NAMES):  # `[.]` matches nothing
        return DISJOINT
    if a.is_file is not b.is_file and not (a.is_literal and b.is_literal):
        pattern, file = (b, a) if a.is_file else (a, b)
        return PARTIAL if covers(pattern, file, ignore_case=ignore_case) else DISJOINT
    for one, other in zip(ours, theirs, strict=False):
        if DEPTH in (one, other):
            break
        if not globs.meet(one, other):
            return DISJOINT
    return PARTIAL


def covers(scope: Scope, path: Scope, *, ignore_case: bool) -> bool:
    """Whether SCOPE covers PATH, a literal scope."""
    runs: list[list[Part]] = [[]]
    for part in _parts(scope, ignore_case):
        if part == DEPTH:
            runs.append([])
        else:
            runs[-1].append(part)
    names = _parts(path, ignore_case)
    return path.is_literal and globs.matches_runs([*runs, []], names, globs.meet)


def lead(scope: Scope) -> str:
    """The common prefix of all paths that SCOPE covers, with a slash around each name: the key for finding overlaps.

    If two scopes overlap, with or without case, one lead begins with the other. Accents are removed, because letters
    and marks may be composed differently in lower case. The lead ends before a character that the name of a file may
    have but no scope from the ledger.
    """
    where, text = scope.where, "/"
    if where.isascii() and not globs.is_special(where):
        return text if where == "." else f"/{where.lower()}/"
    for part in scope.parts:
        text += globs.first_letters(part)
        if not isinstance(part, str):
            break
        text += "/"
    if not text.isascii():
        text = text[: next((place for place, character in enumerate(text) if _is_no_text(character)), len(text))]
    return globs.bare(globs.lower(text))


def sieve(scope: Scope) -> str:
    """A pattern for SQLite's GLOB. It matches the leads of all files that SCOPE covers, and of some others."""
    text = ""
    for part in scope.parts:
        text += "/*" if part == DEPTH else f"/{globs.loosened(part)}"
    return globs.bare(globs.lower(text)).replace("/*/", "/*") + "/*"


def _parts(scope: Scope, ignore_case: bool) -> tuple[Part, ...]:
    return tuple(map(globs.folded, scope.parts)) if ignore_case else scope.parts


def _compare_paths(one: str, other: str) -> str:
    if one == other:
        return EXACT
    is_partial = "." in (one, other) or one.startswith(other + "/") or other.startswith(one + "/")
    return PARTIAL if is_partial else DISJOINT
