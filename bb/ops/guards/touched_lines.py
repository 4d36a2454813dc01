"""Which lines of a file an edit by an editor's tool changes: before it, by the tool's input; after it, by whose lines
are there."""

from __future__ import annotations

import os

from bb.coordination.lines import line_diff, own_part
from bb.coordination.wiring import tool_edits
from bb.coordination.wiring.tool_edits import ToolEdit
from bb.ledger.lines import work_files
from bb.ledger.lines.lines_folder import has_lines
from bb.ledger.lines.lines_store import LinesStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bb.coordination.holdings.regions import Range
    from bb.coordination.wiring.editors import HookPayload
    from bb.ops.desk.desk import Desk
    from bb.ops.guards.edited_files import File


def tool_edit(desk: Desk, heard: HookPayload, file: File) -> ToolEdit | None:
    """What the tool does to a file; None if that is unknown. The tool may have several names for one file."""
    names = _names(desk, heard, file)
    edit = ToolEdit(heard.tool, heard.given, names[0]) if names else None
    return edit if edit and edit.is_known else None


def writes_all(desk: Desk, heard: HookPayload, file: File) -> bool:
    """Whether the tool writes the whole file, so that it need not know what is in it."""
    names = _names(desk, heard, file)
    return bool(names) and tool_edits.writes_all(heard.tool, heard.given, names[0])


def _names(desk: Desk, heard: HookPayload, file: File) -> list[str]:
    """What the tool calls a file."""
    wanted = os.path.realpath(os.path.join(file.place.work_tree or "", file.scope.path or ""))
    return [name for name in heard.paths if os.path.realpath(os.path.join(desk.cwd, name)) == wanted]


def before(desk: Desk, heard: HookPayload) -> Callable[[File], Sequence[Range] | None]:
    """The lines that the tool will change, of each file; None if that is unknown."""

    def touched(file: File) -> Sequence[Range] | None:
        edit = tool_edit(desk, heard, file)
        octets = work_files.read(file.place, file.scope.path).octets if edit and file.scope.path else None
        after = edit.result(octets) if edit and octets is not None else None
        if octets is None or after is None:
            return None
        return [(a, b) for a, b, _, _ in line_diff.changes(line_diff.split(octets), line_diff.split(after))]

    return touched


def after(who: str) -> Callable[[File], Sequence[Range] | None]:
    """The lines of each file that WHO has changed and not committed; None if bb does not know them."""

    def touched(file: File) -> Sequence[Range] | None:
        path = file.scope.path
        state = LinesStore(file.place).state(path) if path and has_lines(file.place) else None
        return own_part.touched(state, who) if state else None

    return touched
