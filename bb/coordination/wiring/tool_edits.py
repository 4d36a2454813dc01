"""What an editor's tool makes of a file, computed from the tool's input before the tool runs.

A tool replaces a text by another, writes the whole file, or applies a patch in Codex's format. If the input does not
fit the content, the tool would fail, and the result is unknown. So is that of a tool that is not in the tables.
"""

from __future__ import annotations

from bb.coordination.wiring import editor_tools
from bb.coordination.wiring.editor_tools import member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    Makes = Callable[[bytes], bytes | None]

OLD = ("old_string", "oldString", "old_str")
NEW = ("new_string", "newString", "new_str")
ALL = ("replace_all", "replaceAll", "allow_multiple")
CONTENT = ("content", "file_text", "contents", "fileText")
ADD, UPDATE, DELETE, MOVE, END = (
    "*** Add File: ",
    "*** Update File: ",
    "*** Delete File: ",
    "*** Move to: ",
    "*** End Patch",
)


def result(tool: str, tool_input: Mapping[str, Any], path: str) -> Makes | None:
    """The function from a content to what the tool makes of it, for the file that the tool calls PATH. None if that is
    unknown."""
    name, given = editor_tools.bare_name(tool), dict(tool_input)
    if patch := _patch(name, given):
        return _patching(patch, path)
    if name not in editor_tools.EDITS or len(editor_tools.paths(name, given)) > 1:
        return None
    if isinstance(edits := given.get("edits"), list):
        return _in_turn([_replacing(edit) for edit in edits if isinstance(edit, dict)])
    if any(named in given for named in OLD):
        return _replacing(given)
    return next((_writing(given[named]) for named in CONTENT if isinstance(given.get(named), str)), None)


def writes_all(tool: str, given: Mapping[str, Any], path: str) -> bool:
    """Whether the tool writes the whole file that it calls PATH, so that it need not know what is in it."""
    name = editor_tools.bare_name(tool)
    if patch := _patch(name, given):
        return any(kind == ADD for kind, named, _ in _sections(patch) if named == path)
    is_edit = name in editor_tools.EDITS
    return is_edit and not any(named in given for named in (*OLD, "edits")) and any(named in given for named in CONTENT)


def _patch(name: str, given: Mapping[str, Any]) -> str:
    """The patch that a tool of this NAME applies, also one in a shell command; empty if it applies none."""
    found = [member(dict(given), named) for named in editor_tools.PATCHES.get(name, ())]
    line = editor_tools.command(name, dict(given)) if name in editor_tools.SHELLS else ""
    return next(filter(None, found), line if editor_tools.BEGIN_PATCH in line else "")


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _writing(text: str) -> Makes:
    return lambda _: _octets(text)


def _replacing(given: dict[str, Any]) -> Makes:
    old, new = (_octets(next((member(given, name) for name in names if name in given), "")) for names in (OLD, NEW))
    is_all = any(given.get(name) is True for name in ALL)

    def make(content: bytes) -> bytes | None:
        if not old:
            return new if not content else None
        before, after = old, new
        if before not in content and b"\r\n" in content:  # hosts show the model a file with plain line ends
            before, after = before.replace(b"\n", b"\r\n"), after.replace(b"\n", b"\r\n")
        count = content.count(before)
        if count == 0 or (count > 1 and not is_all):
            return None
        return content.replace(before, after)

    return make


def _in_turn(steps: Sequence[Makes]) -> Makes:
    def make(content: bytes) -> bytes | None:
        found: bytes | None = content
        for step in steps:
            found = step(found) if found is not None else None
        return found

    return make


# -- patches


def _patching(patch: str, path: str) -> Makes | None:
    """The result of the sections of a PATCH that are about PATH; None if none is, or the file is deleted or moved."""
    sections = [section for section in _sections(patch) if section[1] == path]
    if not sections or any(
        kind == DELETE or any(line.startswith(MOVE) for line in lines) for kind, _, lines in sections
    ):
        return None
    return _in_turn([_section(kind, lines) for kind, _, lines in sections])


def _sections(patch: str) -> Iterator[tuple[str, str, list[str]]]:
    """The header, the path and the lines of each file in a patch."""
    current: tuple[str, str, list[str]] | None = None
    for line in patch.split("\n"):
        header = next((one for one in (ADD, UPDATE, DELETE) if line.strip().startswith(one)), None)
        if header or line.strip() == END:
            if current:
                yield current
            current = (header, line.strip()[len(header) :].strip(), []) if header else None
        elif current:
            current[2].append(line)
    if current:
        yield current


def _section(kind: str, lines: Sequence[str]) -> Makes:
    if kind == ADD:
        added = "".join(line[1:] + "\n" for line in lines if line.startswith("+"))
        return _writing(added)
    return lambda content: _patched(content, lines)


def _patched(content: bytes, lines: Sequence[str]) -> bytes | None:
    """CONTENT after the chunks of an update. Each chunk begins with `@@`; its lines are found from there on."""
    have = content.decode("utf-8", "surrogateescape").split("\n")
    at = 0
    for anchor, chunk in _chunks(lines):
        if anchor:
            place = _found(have, [anchor], at)
            if place is None:
                return None
            at = place + 1
        old = [line[1:] for line in chunk if line[:1] != "+"]
        new = [line[1:] for line in chunk if line[:1] != "-"]
        place = _found(have, old, at) if old else max(len(have) - 1, 0)
        if place is None:
            return None
        have[place : place + len(old)] = new
        at = place + len(new)
    return _octets("\n".join(have))


def _chunks(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    anchor, chunk = "", []  # type: tuple[str, list[str]]
    for line in lines:
        if line.startswith("@@"):
            if chunk:
                yield anchor, chunk
            anchor, chunk = line[2:].strip(), []
        elif line[:1] in ("+", "-", " "):
            chunk.append(line)
        elif not line and chunk:
            chunk.append(" ")  # an empty line of context that has lost its blank
    while chunk and chunk[-1] == " ":
        chunk.pop()
    if chunk:
        yield anchor, chunk


def _found(have: Sequence[str], wanted: Sequence[str], start: int) -> int | None:
    """Where the WANTED lines stand, exactly, or else without the blanks at their ends."""
    for same in (str, str.rstrip):
        target = [same(line) for line in wanted]
        for place in range(start, len(have) - len(wanted) + 1):
            if [same(line) for line in have[place : place + len(wanted)]] == target:
                return place
    return None
