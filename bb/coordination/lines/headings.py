"""The headings of documents: Markdown and reStructuredText. A section ends at the next heading of its level or above.

The name of a heading has the names of the headings above it, except for the title: the only heading of the highest
level. So `Install` in a page with one title is called `Install`.
"""

from __future__ import annotations

from bb.coordination.lines.symbol import HEADING, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Heading = tuple[int, int, str]  # level, first line, text

FENCES = (b"```", b"~~~")
RULES = frozenset(b"=-`:.'\"~^_*+#")
LONGEST = 200


def symbols(lines: Sequence[bytes], language: str) -> Iterator[Symbol]:
    found = list(_markdown(lines) if language == "markdown" else _restructured(lines))
    return sections(found, len(lines))


def sections(found: Sequence[Heading], count: int) -> Iterator[Symbol]:
    """The sections of a document of COUNT lines whose headings are FOUND."""
    if not found:
        return
    highest = min(level for level, _, _ in found)
    title = highest if [level for level, _, _ in found].count(highest) == 1 and found[0][0] == highest else 0
    above: list[tuple[int, str]] = []
    for at, (level, first, text) in enumerate(found):
        above = [one for one in above if one[0] < level]
        end = next((row for lower, row, _ in found[at + 1 :] if lower <= level), count)
        yield Symbol(".".join([*(name for _, name in above), text]), HEADING, first, end)
        if level != title:
            above.append((level, text))


def plain(text: bytes) -> str:
    """The TEXT of a heading without its marks."""
    words = text.decode("utf-8", "replace").strip().rstrip("#").strip()
    return words.replace("`", "").replace("**", "")[:LONGEST]


def _markdown(lines: Sequence[bytes]) -> Iterator[Heading]:
    fence = b""
    start = 0
    if lines and lines[0].rstrip() == b"---":  # front matter
        start = next((at + 1 for at, line in enumerate(lines[1:], 1) if line.rstrip() in (b"---", b"...")), 0)
    for at in range(start, len(lines)):
        line = lines[at]
        text = line.lstrip(b" ")
        if len(line) - len(text) > 3:
            continue
        if text[:3] in FENCES and (not fence or (text.startswith(fence) and not text.strip().strip(fence[:1]))):
            fence = b"" if fence else text[: len(text) - len(text.lstrip(text[:1]))]
        elif fence:
            continue
        elif text[:1] == b"#":
            level = len(text) - len(text.lstrip(b"#"))
            rest = text[level:]
            if level <= 6 and rest[:1] in (b" ", b"\t") and (name := plain(rest)):
                yield level, at, name
        elif text[:1] in (b"=", b"-") and at > start and len(set(text.strip())) == 1:
            above = lines[at - 1].strip()
            is_text = (
                bool(above) and above[:1] not in (b"#", b">", b"|", b"-", b"*", b"`") and lines[at - 1][:1] != b"\t"
            )
            is_alone = at < start + 2 or not lines[at - 2].strip() or lines[at - 2].lstrip()[:1] == b"#"
            if is_text and is_alone and (name := plain(above)):
                yield (1 if text[:1] == b"=" else 2), at - 1, name


def _restructured(lines: Sequence[bytes]) -> Iterator[Heading]:
    levels: list[tuple[int, bool]] = []
    for at in range(1, len(lines)):
        rule, text = lines[at].rstrip(), lines[at - 1].rstrip()
        if len(rule) < 3 or rule[0] not in RULES or len(set(rule)) > 1 or not text or len(set(text)) == 1:
            continue
        has_line_above = at > 1 and lines[at - 2].rstrip() == rule
        if len(rule) < len(text.strip()) or (text[:1] == b" " and not has_line_above):
            continue
        if not has_line_above and at > 1 and lines[at - 2].strip():
            continue
        mark = (rule[0], has_line_above)
        if mark not in levels:
            levels.append(mark)
        yield levels.index(mark) + 1, at - 1 - has_line_above, plain(text)
