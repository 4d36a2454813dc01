"""A symbol: a named part of a file. The languages that have them, and how a name is looked up.

A symbol has a name, dotted where it is nested (`Class.method`), and the lines that it takes: its decorators and the
comment lines directly above it belong to it.
"""

from __future__ import annotations

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FUNCTION, CLASS, VALUE, HEADING, KEY = "function", "class", "value", "heading", "key"
LARGEST = 8 << 20  # bytes; a larger file has no symbols
LOOK_FOR_NUL = 8000  # bytes at the start of a file, as in git

# The last part of a file's name, in lower case, and the rule for it.
LANGUAGES = {
    "python": ".py .pyi .pyw",
    "typescript": ".ts .mts .cts",
    "tsx": ".tsx",
    "javascript": ".js .mjs .cjs .jsx",
    "go": ".go",
    "rust": ".rs",
    "java": ".java",
    "csharp": ".cs",
    "kotlin": ".kt .kts",
    "swift": ".swift",
    "scala": ".scala",
    "php": ".php",
    "dart": ".dart",
    "c": ".c .h",
    "cpp": ".cc .cpp .cxx .hh .hpp .hxx .ino .cu .m .mm",
    "ruby": ".rb .rake",
    "shell": ".sh .bash .zsh",
    "markdown": ".md .markdown .mdx",
    "rst": ".rst",
    "toml": ".toml",
    "ini": ".ini .cfg",
    "yaml": ".yml .yaml",
    "json": ".json",
}
BY_SUFFIX = {suffix: language for language, suffixes in LANGUAGES.items() for suffix in suffixes.split()}
INDENTED = frozenset(["python", "ruby", "shell"])
DOCUMENTS = frozenset(["markdown", "rst"])
KEYS = frozenset(["toml", "ini", "yaml", "json"])


class Symbol(Record):
    """A named part of a file: its lines from FIRST, counted from 0, up to and without END."""

    name: str
    kind: str
    first: int
    end: int


def language_of(path: str) -> str | None:
    """The language of a file by its name; None if no rule is known for it."""
    name = path.rpartition("/")[2].lower()
    return BY_SUFFIX.get(name[name.rfind(".") :]) if "." in name else None


def is_readable(content: bytes) -> bool:
    """Whether CONTENT is text that is small enough to have symbols."""
    return len(content) <= LARGEST and b"\0" not in content[:LOOK_FOR_NUL]


def settled(found: Iterable[Symbol], lines: Sequence[bytes], language: str) -> list[Symbol]:
    """The symbols FOUND, in order, with the comments above them and without blank lines at their ends."""
    rows = []
    for one in found:
        end = one.end
        while end > one.first + 1 and not lines[end - 1].strip():
            end -= 1
        first = one.first if language in DOCUMENTS else _with_comments(one.first, lines, language)
        rows.append(Symbol(one.name, one.kind, first, end))
    return sorted(rows, key=lambda one: (one.first, -one.end))


COMMENTS = {
    "python": (b"#", b"@"),
    "ruby": (b"#",),
    "shell": (b"#",),
    "toml": (b"#",),
    "ini": (b"#", b";"),
    "yaml": (b"#",),
    "json": (b"//",),
}
OF_BRACES = (b"//", b"/*", b"*/", b"* ", b"#[", b"@")


def _with_comments(first: int, lines: Sequence[bytes], language: str) -> int:
    """The first of the comment lines directly above the line FIRST, with the same indentation."""
    marks = COMMENTS.get(language, OF_BRACES)
    indent = indentation(lines[first])
    while first > 0:
        above = lines[first - 1].strip()
        if not (above.startswith(marks) or above == b"*") or not 0 <= indentation(lines[first - 1]) - indent < 2:
            break
        first -= 1
    return first


def indentation(line: bytes) -> int:
    """The number of blanks at the start of a line. A tab counts as one."""
    return len(line) - len(line.lstrip())


def named(name: str, found: Iterable[Symbol]) -> list[Symbol]:
    """The symbols that NAME means: those with exactly that name, else the one whose name ends with it."""
    known = list(found)
    if exact := [one for one in known if one.name == name]:
        return exact
    ending = [one for one in known if one.name.endswith("." + name)]
    return ending if len({one.name for one in ending}) == 1 else []


def near_names(name: str, found: Iterable[Symbol], most: int) -> list[str]:
    """The names in FOUND that are most like NAME, at most MOST."""
    wanted = name.lower()
    scored = sorted({(-_likeness(wanted, one.name.lower()), one.name) for one in found})
    return [known for score, known in scored if score <= -1][:most]


def _likeness(wanted: str, known: str) -> int:
    """How alike two names are: by their last parts, their common letters, and whether one contains the other."""
    one, other = wanted.rpartition(".")[2], known.rpartition(".")[2]
    if one == other:
        return 100
    same_start = next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    score = 3 * same_start if same_start > 1 else 0
    if one and (one in other or other in one):
        score += 20
    pairs = {one[at : at + 2] for at in range(len(one) - 1)}
    common = sum(other[at : at + 2] in pairs for at in range(len(other) - 1))
    return score + (4 * common if 2 * common >= max(len(one), len(other)) - 1 else 0)
