"""What an editor's tool makes of a file, computed from the tool's input before the tool runs.

A tool replaces a text by another, writes the whole file, or applies a patch in Codex's format. If the input does not
fit the content, the tool would fail, and the result is unknown. So is that of a tool that is not in the tables.
"""

from __future__ import annotations

from bb.coordination.lines.splices import Splice, of_lines, spliced
from bb.coordination.wiring import editor_tools
from bb.coordination.wiring.editor_tools import member
from bb.kernel import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Self

    from bb.coordination.lines.splices import Splices

    Step = Callable[[bytes], Splices | None]

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


class ToolEdit:
    """A call of TOOL with the input GIVEN, as far as it changes the file that it calls PATH."""

    def __init__(self, tool: str, given: Mapping[str, Any], path: str) -> None:
        self._call = (tool, given, path)
        self._steps = _steps(tool, dict(given), path)

    @property
    def is_known(self) -> bool:
        """Whether the input tells what becomes of the file."""
        return self._steps is not None

    def steps(self, content: bytes) -> list[tuple[Splices, bytes]] | None:
        """What the tool does to CONTENT, one after the other, each with the content after it; None if that is unknown.

        It is unknown if the tool would fail, too.
        """
        if self._steps is None:
            return None
        found = []
        for step in self._steps:
            splices = step(content)
            if splices is None:
                return None
            content = spliced(content, splices)
            found.append((splices, content))
        return found

    def result(self, content: bytes) -> bytes | None:
        """What the tool makes of CONTENT; None if that is unknown."""
        steps = self.steps(content)
        return None if steps is None else steps[-1][1] if steps else content

    def as_octets(self) -> bytes:
        return json_text.dumps_ascii(self._call).encode()

    @classmethod
    def from_octets(cls, octets: bytes) -> Self | None:
        """The call that `as_octets` wrote; None if they are damaged."""
        try:
            tool, given, path = json_text.loads(octets.decode())
        except (ValueError, TypeError):
            return None
        is_call = isinstance(tool, str) and isinstance(given, dict) and isinstance(path, str)
        return cls(tool, given, path) if is_call else None


def _steps(tool: str, given: dict[str, Any], path: str) -> Sequence[Step] | None:
    """What the tool does to the file that it calls PATH, one after the other; None if that is unknown."""
    name = editor_tools.bare_name(tool)
    if patch := _patch(name, given):
        return _patching(patch, path)
    if name not in editor_tools.EDITS or len(editor_tools.paths(name, given)) > 1:
        return None
    if isinstance(edits := given.get("edits"), list):
        return [_replacing(edit) for edit in edits if isinstance(edit, dict)]
    if any(named in given for named in OLD):
        return [_replacing(given)]
    text = next((given[named] for named in CONTENT if isinstance(given.get(named), str)), None)
    return None if text is None else [_writing(text)]


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


def _writing(text: str) -> Step:
    return lambda content: (Splice(0, len(content), _octets(text)),)


def _replacing(given: dict[str, Any]) -> Step:
    old, new = (_octets(next((member(given, name) for name in names if name in given), "")) for names in (OLD, NEW))
    is_all = any(given.get(name) is True for name in ALL)

    def step(content: bytes) -> Splices | None:
        if not old:
            return (Splice(0, 0, new),) if not content else None
        before, after = old, new
        if before not in content and b"\r\n" in content:  # hosts show the model a file with plain line ends
            before, after = before.replace(b"\n", b"\r\n"), after.replace(b"\n", b"\r\n")
        places = list(_places(before, content))
        if not places or (len(places) > 1 and not is_all):
            return None
        return tuple(Splice(place, place + len(before), after) for place in places)

    return step


def _places(text: bytes, content: bytes) -> Iterator[int]:
    """Where TEXT occurs in CONTENT, without overlaps."""
    place = content.find(text)
    while place >= 0:
        yield place
        place = content.find(text, place + len(text))


# -- patches


def _patching(patch: str, path: str) -> Sequence[Step] | None:
    """What the sections of a PATCH that are about PATH do; None if none is, or the file is deleted or moved."""
    sections = [section for section in _sections(patch) if section[1] == path]
    is_moved = any(kind == DELETE or any(line.startswith(MOVE) for line in lines) for kind, _, lines in sections)
    if not sections or is_moved:
        return None
    return [_section(kind, lines) for kind, _, lines in sections]


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


def _section(kind: str, lines: Sequence[str]) -> Step:
    if kind == ADD:
        added = "".join(line[1:] + "\n" for line in lines if line.startswith("+"))
        return _writing(added)
    return lambda content: _patched(content, lines)


def _patched(content: bytes, lines: Sequence[str]) -> Splices | None:
    """What the chunks of an update do to CONTENT. Each chunk begins with `@@`; its lines are found from there on."""
    have = content.split(b"\n")
    splices: list[Splice] = []
    at = 0
    for anchor, chunk in _chunks(lines):
        if anchor:
            place = _found(have, [_octets(anchor)], at)
            if place is None:
                return None
            at = place + 1
        old = [_octets(line[1:]) for line in chunk if line[:1] != "+"]
        place = _found(have, old, at) if old else len(have) - 1
        if place is None or place < at:
            return None
        splices += _of_chunk(have, place, chunk)
        at = place + len(old)
    return tuple(splices)


def _of_chunk(have: Sequence[bytes], place: int, chunk: Sequence[str]) -> Iterator[Splice]:
    """One splice for each group of lines that go and come. A line of context that differs in the blanks at its end is
    written anew."""
    first, new = place, []  # type: int, list[bytes]
    for line in chunk:
        mark, text = line[:1], _octets(line[1:])
        if mark == " " and have[place] == text:
            if place > first or new:
                yield of_lines(have, first, place, new)
            place += 1
            first, new = place, []
            continue
        place += mark != "+"
        new += [text] if mark != "-" else []
    if place > first or new:
        yield of_lines(have, first, place, new)


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


def _found(have: Sequence[bytes], wanted: Sequence[bytes], start: int) -> int | None:
    """Where the WANTED lines stand, exactly, or else without the blanks at their ends."""
    for same in (bytes, bytes.rstrip):
        target = [same(line) for line in wanted]
        for place in range(start, len(have) - len(wanted) + 1):
            if [same(line) for line in have[place : place + len(wanted)]] == target:
                return place
    return None
