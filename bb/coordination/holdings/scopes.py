"""What a scope covers, and whether two scopes overlap (Operative Protocol §5).

A scope is kept as canonical text: relative to the repository's root, so that clones and worktrees agree, with `/`
between names, in Unicode's form C; `.` is the root. It covers every path that it matches, and all beneath such a path.
So a scope goes on in any way behind its last name, and two scopes share a path exactly if the names before the first
`**` of either agree, one by one, as far as both go.
"""

from __future__ import annotations

from bb.coordination.holdings import globs
from bb.coordination.holdings.globs import DEPTH, STAR, InvalidScope
from bb.kernel.errors import Refused, Usage
from bb.kernel.record import Record
from bb.kernel.show import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bb.coordination.holdings.globs import Part

    Name = tuple[str, bool]  # what stands between two slashes, and whether every character of it means itself

__all__ = ["DISJOINT", "EXACT", "PARTIAL", "AmbiguousScope", "InvalidScope", "Scope", "ScopeOutside"]

EXACT, PARTIAL, DISJOINT = "exact", "partial", "disjoint"
POSIX, WINDOWS = "posix", "windows"

LAST = "\U0010ffff"
LONGEST = 4096
# What looks like a blank, and what nobody sees in a name. Joiners are needed by some scripts, and marks of direction
# are seen.
BLANKS = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
INVISIBLE = "\u00ad\u200b\u2060\ufeff"
BY_WORD = (("[\\]", "\0"), ("[ ]", "\1"))  # a class of one character means that very character
WILDCARDS = 64


class ScopeOutside(Refused):
    """That path lies outside the repository."""

    code = "SCOPE_OUTSIDE"
    hint = "name something beneath the repository's root"


class AmbiguousScope(Usage):
    """That text names another file than the one that is probably meant."""

    code = "AMBIGUOUS_SCOPE"
    hint = "write the path with / between names, and without blanks at their ends"


class Scope(Record):
    """A scope, by its canonical text. What was a file when it was named has nothing beneath it to meet."""

    text: str
    is_file: bool = False

    @property
    def parts(self) -> tuple[Part, ...]:
        return () if self.text == "." else _settled([globs.part(each) for each in self.text.split("/")])

    @property
    def is_literal(self) -> bool:
        """Whether it has no wildcard, and so is one path and what lies beneath."""
        return not globs.is_special(self.text) or self.path is not None

    @property
    def path(self) -> str | None:
        """The path that a literal scope is, `app/[slug]` where the text has `app/[[]slug]`; None for a pattern."""
        names = [each for each in self.parts if isinstance(each, str)]
        return "/".join(names) or "." if len(names) == len(self.parts) else None


# -- from what was written


def scope(written: str, *, root: str, cwd: str, platform: str = POSIX, is_path: bool = False) -> Scope:
    """The scope that was WRITTEN, standing in CWD. With IS_PATH it is a path, and wildcards are part of its names."""
    if not written.strip():
        raise InvalidScope("a scope must not be blank")
    text = _slashed(globs.composed(_sound(written)), platform)
    if not is_path:
        _refuse_what_others_expand(text)
    anchor, names = _resolved(text, cwd, platform, is_path)
    inside = _beneath(anchor, names, root, platform)
    if inside is None:
        raise ScopeOutside(f"{_shown(written)} lies outside the repository at {root!r}")
    return Scope(_canonical([name if is_literal else globs.part(name) for name, is_literal in inside]))


def refuse_ambiguous(written: str, platform: str = POSIX, *, is_path: bool = False) -> None:
    """Refuse what WRITTEN names where people who write so mean another path, and nobody can see the difference."""
    plain = meant(written, platform, is_path=is_path)
    if plain is None:
        return
    shown = f"'{written}'" if written.isascii() and written.isprintable() and len(written) <= 200 else _shown(written)
    message = f"{shown} names another file than {_shown(plain)}, which is probably meant"
    hint = f"write {quoted(plain)}"
    if is_path:
        hint += "; what is really called otherwise can be asked about once it exists"
    elif written.isascii():
        hint += f"; if it is really called so, {quoted('/'.join(map(_by_word, written.split('/'))))}"
    raise AmbiguousScope(message, hint=hint, scope=written[:LONGEST], intended=plain[:LONGEST])


def meant(written: str, platform: str = POSIX, *, is_path: bool = False) -> str | None:
    """The path that people mean who write WRITTEN, where the system takes it for another: `src\\lib`, or ` src/lib`.

    None where both are the same. A character that stands in a class by itself is meant as it is; a PATH has no classes.
    """
    if written.isascii() and "\\" not in written and " " not in written:
        return None
    text, classes = written, () if is_path else BY_WORD
    for by_word, mark in classes:
        text = text.replace(by_word, mark)
    before, text = _slashed(text, platform), text.replace("\\", "/")
    plain = "/".join(map(_plain, text.split("/")))
    if plain == before or not plain.strip():
        return None  # a text of blanks is no path at all
    for by_word, mark in classes:
        plain = plain.replace(mark, by_word)
    return plain


def _plain(name: str) -> str:
    """NAME without blanks at its ends and what nobody sees, and with ordinary blanks within."""
    if not name.isascii():
        name = "".join(" " if each in BLANKS else each for each in name if each not in INVISIBLE)
    return name.strip(" ")


def _by_word(name: str) -> str:
    """NAME as it is written where it is really called so."""
    inner = name.strip(" ")
    start, end = name[: len(name) - len(name.lstrip(" "))], name[len(name.rstrip(" ")) :] if inner else ""
    return start.replace(" ", "[ ]") + inner.replace("[\\]", "\\").replace("\\", "[\\]") + end.replace(" ", "[ ]")


def existing(path: str) -> Scope:
    """What lies at PATH, as git writes it from the root: with whatever characters the file system allows."""
    return Scope("/".join(map(globs.written, globs.composed(path).split("/"))))


def stored(text: str) -> Scope | None:
    """The scope that canonical TEXT from the ledger is; None when it is not canonical."""
    found = Scope(text)
    try:
        is_canonical = _sound(text) == _canonical(found.parts) and "" not in text.split("/")
    except InvalidScope:
        return None
    return found if is_canonical else None


def _sound(text: str) -> str:
    if len(text) > LONGEST:
        raise InvalidScope(f"a scope may have {LONGEST} characters at most, not {len(text)}")
    if not (text.isprintable() if text.isascii() else not any(map(_is_control, text))):
        raise InvalidScope(f"{_shown(text)} has a control character, or one that is no text")
    return text


def _is_control(character: str) -> bool:
    return character < " " or "\x7f" <= character <= "\x9f" or _is_no_text(character)


def _is_no_text(character: str) -> bool:
    """Also the last character of all, which stands for the end in the index."""
    return "\ud800" <= character <= "\udfff" or character == LAST


def _refuse_what_others_expand(text: str) -> None:
    """A shell or an ignore file would take TEXT for more than one scope, or for the opposite of one."""
    if text.startswith("!"):
        raise InvalidScope(f"{_shown(text)} begins with !", hint="a scope excludes nothing; ./!name is a name")
    if _has_alternatives(text):
        raise InvalidScope(f"{_shown(text)} has braces", hint="name each scope by its own --scope, or write [{] for {")


def _has_alternatives(text: str) -> bool:
    """Whether TEXT has braces with a comma or two dots in them, which a shell expands."""
    are_alternatives: list[bool] = []  # one for each brace that is open
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


def _slashed(text: str, platform: str) -> str:
    return text.replace("\\", "/") if platform == WINDOWS else text


def _resolved(text: str, cwd: str, platform: str, is_path: bool) -> tuple[str, list[Name]]:
    """TEXT made absolute: drive or share, and names without dots."""
    anchor, names = _split(text, platform)
    here, above = _place(cwd, platform)
    found: list[Name] = [(name, True) for name in above] if anchor is None else []
    for name in names:
        if name == "..":
            _leave(found)
        elif name not in ("", "."):
            found.append((name, is_path))
    return anchor or here, found


def _leave(names: list[Name]) -> None:
    """Go up by one name. Above the root is the root."""
    name, is_literal = names.pop() if names else ("", True)
    if not is_literal and not isinstance(globs.part(name), str):
        raise InvalidScope(f"what {_shown(name)}/.. is depends on links", hint="leave out the .. behind a wildcard")


def _place(path: str, platform: str) -> tuple[str, list[str]]:
    """An absolute PATH of ours: drive or share, and names."""
    anchor, names = _split(_slashed(globs.composed(path), platform), platform)
    if anchor is None:
        raise InvalidScope(f"{_shown(path)} is not an absolute path", hint="give the root as an absolute path")
    found: list[Name] = []
    for name in names:
        if name == "..":
            _leave(found)
        elif name not in ("", "."):
            found.append((name, True))
    return anchor, [name for name, _ in found]


def _split(text: str, platform: str) -> tuple[str | None, list[str]]:
    """The drive or share of TEXT, and what stands between its slashes. Without a drive it is ours; None is relative."""
    if platform == WINDOWS and text[1:2] == ":" and text[0].isascii() and text[0].isalpha():
        if text[2:3] != "/":
            raise InvalidScope(f"{_shown(text)} depends on where that drive stands", hint=r"write it as C:\path")
        return text[:2], text[2:].split("/")
    if platform == WINDOWS and text.startswith("//"):
        server, share, *names = text[2:].split("/") + [""] * (text.count("/") == 2)
        if not server or not share:
            raise InvalidScope(f"{_shown(text)} names no share", hint=r"write it as \\server\share\path")
        return f"//{server}/{share}", names
    return ("" if text.startswith("/") else None), text.split("/")


def _beneath(anchor: str, names: Sequence[Name], root: str, platform: str) -> Sequence[Name] | None:
    """NAMES relative to ROOT; None when they lie elsewhere."""
    start, top = _place(root, platform)
    above = [anchor, *(name for name, _ in names[: len(top)])]
    expected = [start, *top]
    if platform == WINDOWS:
        above, expected = [globs.lower(name) for name in above], [globs.lower(name) for name in expected]
    return names[len(top) :] if above == expected else None


def absolute(scope: Scope, *, root: str, platform: str) -> str:
    """SCOPE as §5.1 compares it: absolute, and in lower case on Windows."""
    anchor, names = _place(root, platform)
    text = "/".join([anchor, *names, *(scope.text.split("/") if scope.text != "." else ())])
    if len(names) == 0 and scope.text == ".":
        text += "/"
    return text.lower() if platform == WINDOWS else text


# -- the canonical text


def _settled(parts: list[Part]) -> tuple[Part, ...]:
    """PARTS without `**` that say nothing more: in a row, and at the end, where anything beneath is covered anyway."""
    end = len(parts)
    while end and parts[end - 1] in (STAR, DEPTH):
        end -= 1
    stars = parts[end:].count(STAR) + (parts[-1:] == [DEPTH])  # `src/**` is what lies beneath src, as `src/*` is
    kept = [each for place, each in enumerate(parts[:end]) if each != DEPTH or parts[place + 1] != DEPTH]
    return (*kept, *[STAR] * stars)


def _canonical(parts: Sequence[Part]) -> str:
    """The text for PARTS; the same scope has the same text however it was written."""
    settled = _settled(list(parts))
    if sum(map(globs.wildcards, settled)) > WILDCARDS:
        raise InvalidScope(f"a scope may have {WILDCARDS} wildcards at most")
    if sum(map(globs.listed, settled)) > globs.MEMBERS:
        raise InvalidScope(f"the classes of a scope may have {globs.MEMBERS} characters at most")
    text = "/".join(map(globs.written, settled)) or "."
    if _has_alternatives(text):  # of a path that was given as one
        text = "/".join(globs.written(each, "*?[{") for each in settled)
    if globs.composed(text) != text:
        raise InvalidScope(f"{_shown(text)} has a combining mark in a class", hint="write the characters one by one")
    return _sound(text)


def _shown(text: str) -> str:
    return repr(text) if len(text) <= 200 else repr(text[:200]) + "…"


# -- §5.2 the classes


def compare(a: Scope, b: Scope, *, ignore_case: bool) -> str:
    """How two scopes overlap: `exact`, `partial`, or `disjoint` when no path is covered by both."""
    return comparison(a, ignore_case=ignore_case)(b)


def comparison(a: Scope, *, ignore_case: bool) -> Callable[[Scope], str]:
    """`compare` with A, which is taken apart once for any number of others."""
    ours, is_plain = _parts(a, ignore_case), a.text.isascii() and not globs.is_special(a.text)
    path = a.text.lower() if ignore_case else a.text

    def compared(b: Scope) -> str:
        if a.text == b.text:
            return EXACT
        if is_plain and b.text.isascii() and not globs.is_special(b.text):
            return _compare_paths(path, b.text.lower() if ignore_case else b.text)
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
    """Whether PATH, a literal scope, lies within SCOPE."""
    runs: list[list[Part]] = [[]]
    for each in _parts(scope, ignore_case):
        if each == DEPTH:
            runs.append([])
        else:
            runs[-1].append(each)
    names = _parts(path, ignore_case)
    return path.is_literal and globs.is_laid([*runs, []], names, globs.meet)


def lead(scope: Scope) -> str:
    """What all paths that SCOPE covers begin with, with a slash around every name, as a key to look overlaps up by.

    Of two scopes that overlap, whether or not case counts, one's lead begins with the other's. Accents are left out:
    in lower case, letters and marks may be composed otherwise. It ends before what no scope from the ledger can have,
    though the name of a file may.
    """
    text = "/"
    for each in scope.parts:
        text += globs.first_letters(each)
        if not isinstance(each, str):
            break
        text += "/"
    if not text.isascii():
        text = text[: next((place for place, character in enumerate(text) if _is_no_text(character)), len(text))]
    return globs.bare(globs.lower(text))


def sieve(scope: Scope) -> str:
    """A pattern, in SQLite's GLOB language, that the lead of every file fits that SCOPE covers, and of some others."""
    text = ""
    for each in scope.parts:
        text += "/*" if each == DEPTH else f"/{globs.loosened(each)}"
    return globs.bare(globs.lower(text)).replace("/*/", "/*") + "/*"


def _parts(scope: Scope, ignore_case: bool) -> tuple[Part, ...]:
    return tuple(map(globs.folded, scope.parts)) if ignore_case else scope.parts


def _compare_paths(one: str, other: str) -> str:
    if one == other:
        return EXACT
    is_partial = "." in (one, other) or one.startswith(other + "/") or other.startswith(one + "/")
    return PARTIAL if is_partial else DISJOINT
