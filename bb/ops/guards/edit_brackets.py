"""Brackets an edit by an editor's tool: what the file was before and after, so that bb knows whose lines changed.

Before the tool runs, its edit is judged by the uncommitted lines of other agents (`coordination/lines/harm.py`).
"""

from __future__ import annotations

import os

from bb.coordination.guards import commands
from bb.coordination.lines import harm, line_diff
from bb.coordination.lines.file_state import ENDED, PLAIN
from bb.ledger.lines import bracketed_agents, going_commands, lines_folder, moves, recent_changes, scan, uncommitted
from bb.ledger.lines.act import Act
from bb.ledger.lines.going_commands import Command
from bb.ledger.lines.lines_store import LinesStore
from bb.ops.guards import line_refusals, touched_lines
from bb.ops.guards.edited_files import files_of, written_paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bb.coordination.lines.file_state import FileState
    from bb.coordination.lines.harm import Harm
    from bb.coordination.wiring.editors import HookPayload
    from bb.ops.desk.desk import Desk
    from bb.ops.guards.edited_files import File

MOST_FILES = 50  # files that one tool changes; a tool that changes more of them leaves its changes unattributed


def begin(desk: Desk, heard: HookPayload, who: str) -> str:
    """The edit of WHO begins; empty, or the reason why the tool must not run. Then no file's edit has begun."""
    begun: list[tuple[LinesStore, str]] = []
    for store, file, path in _files(desk, heard):
        bracketed_agents.note(store.place, who)
        going_commands.end(store.folder, who)  # an earlier command of the agent that was not permitted
        edit = touched_lines.tool_edit(desk, heard, file)
        (state,) = uncommitted.begin(store, [path], who, desk.now, edit)
        begun.append((store, path))
        found = _harm(desk, store, state, heard, file, who)
        if found:
            for of_file, named in begun:
                uncommitted.cancel(of_file, named, who, desk.now())
            return line_refusals.reason(desk, store, state, found, who)
    return ""


def end(desk: Desk, heard: HookPayload, who: str) -> str:
    """The edit of WHO has ended; empty, or a warning about lines of others that it has changed all the same."""
    files = list(_files(desk, heard))
    warning = ""
    for store in dict.fromkeys(store for store, _, _ in files):
        acts = {
            path: Act(ENDED, who, touched_lines.tool_edit(desk, heard, file))
            for one, file, path in files
            if one is store
        }
        before = {path: store.state(path) for path in acts}
        for state in moves.looks(store, acts, acts.__getitem__, desk.now()):
            warning = warning or line_refusals.warning(before[state.path], state, who)
    return warning


def begin_command(desk: Desk, heard: HookPayload, who: str) -> None:
    """A shell command of WHO begins. Only one that may change files is bracketed."""
    if desk.place.work_tree is None or desk.place.is_aside:
        return
    effect = commands.effect(heard.command)
    named = list(_named(desk, heard)) if heard.written else []
    if effect == commands.READS and not named:
        if lines_folder.has_command(desk.place, who):  # an earlier command of the agent that was not permitted
            going_commands.end(lines_folder.folder_of(desk.place), who)
        return
    store = LinesStore(desk.place)
    bracketed_agents.note(store.place, who)
    uncommitted.begin(store, named, who, desk.now)
    is_open, is_rewriting = effect != commands.READS, effect == commands.REWRITES
    scan.begin(store, who, Command(desk.now(), tuple(named), is_open, is_rewriting))


def end_command(desk: Desk, who: str) -> str:
    """A shell command of WHO has ended; empty, or a warning about lines of others that it has changed."""
    if desk.place.work_tree is None or desk.place.is_aside:
        return ""
    store = LinesStore(desk.place)
    warnings = (line_refusals.warning(_before(store, state), state, who) for state in scan.end(store, who, desk.now()))
    return next(filter(None, warnings), "")


def _before(store: LinesStore, state: FileState) -> FileState | None:
    """What was known of a file before STATE."""
    return next((one for one in store.log(state.path).recent() if one.n < state.n), None)


def _files(desk: Desk, heard: HookPayload) -> Iterator[tuple[LinesStore, File, str]]:
    files = files_of(desk, heard.paths)
    if len(files) <= MOST_FILES:
        stores: dict[str, LinesStore] = {}
        for file in files:
            if file.place.work_tree and file.scope.path and not file.place.is_aside:
                store = stores.setdefault(file.place.git_dir, LinesStore(file.place))
                yield store, file, file.scope.path


def _named(desk: Desk, heard: HookPayload) -> Iterator[str]:
    """The files of this work tree that a shell command writes by name. What it does elsewhere is not bracketed."""
    for file in files_of(desk, written_paths(desk, heard))[:MOST_FILES]:
        path = file.scope.path
        if path and file.place == desk.place and not os.path.isdir(os.path.join(desk.place.work_tree or "", path)):
            yield path


def _harm(desk: Desk, store: LinesStore, state: FileState, heard: HookPayload, file: File, who: str) -> Harm | None:
    """What the tool would do to the lines of others, as far as its input tells."""
    is_shared = bool(harm.others(state.owners, who))
    is_rewrite = touched_lines.writes_all(desk, heard, file)
    has_lines = bool(state.now.blob) and not state.is_whole and state.form == PLAIN
    edit = touched_lines.tool_edit(desk, heard, file) if has_lines and (is_shared or is_rewrite) else None
    if edit is None:
        return None
    content = store.content(state.now.blob)
    made = edit.result(content)
    if made is None or made == content:
        return None
    after = line_diff.split(made)
    if is_rewrite:
        steps = recent_changes.since(store, state.path, who, state.at)
        versions = [(step.by, store.lines(step.before), store.lines(step.after)) for step in steps]
        if found := harm.undone(versions, after, who):
            return found
    if not is_shared:
        return None
    return harm.of_edit(state.weave, lambda: store.lines(state.base), store.lines(state.now), after, who)
