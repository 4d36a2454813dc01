"""The files that an editor's tool would change: their scopes and worktrees, and which the ignore file names."""

from __future__ import annotations

import os

from bb.coordination.holdings.scopes import ScopeOutside
from bb.coordination.wiring import editors
from bb.coordination.wiring.editors import NotUnderstood
from bb.kernel.record import Record
from bb.ledger.git import place, work_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bb.coordination.guards.ignore_files import Ignoring
    from bb.coordination.holdings.scopes import Scope
    from bb.coordination.wiring.editors import HookPayload
    from bb.ops.desk.desk import Desk


class File(Record):
    """A file or folder that a tool would change: its scope and its worktree."""

    scope: Scope
    place: place.Place


def files_of(desk: Desk, paths: Sequence[str]) -> list[File]:
    """The files that a tool would change, without those outside this clone.

    They may be in another worktree of the clone, even a nested one. A path that looks like another path counts as both,
    because the tool writes the one and its user may mean the other.
    """
    if len(paths) > editors.MOST_PATHS:
        raise NotUnderstood(f"it names more than {editors.MOST_PATHS:,} files")
    if any("\0" in path for path in paths):
        raise NotUnderstood("a path in it contains a NUL")
    named = [
        name
        for path in paths
        for name in (path, work_tree.probable_path(desk.place, desk.cwd, path, is_path=True))
        if name
    ]
    files = [file for path in named if (file := _file(desk, path))]
    return list({file.scope.text: file for file in files}.values())


def written_paths(desk: Desk, heard: HookPayload) -> list[str]:
    """The paths that a shell command would write."""
    paths = []
    for write in heard.written:
        path = os.path.join(desk.cwd, write.path)
        if write.name is None or not os.path.isdir(path):
            paths.append(path)
        elif write.name:
            paths.append(os.path.join(path, write.name))
    return paths


def _file(desk: Desk, path: str) -> File | None:
    written = os.path.join(desk.cwd, path)
    for name in dict.fromkeys([written, os.path.realpath(written)]):
        here = _place_of(desk, name)
        try:
            return File(work_tree.scope_of(here, desk.cwd, name, is_path=True, is_exact=True), here)
        except ScopeOutside.error:
            continue
    return None


def _place_of(desk: Desk, path: str) -> place.Place:
    """The worktree of this clone that contains PATH. Files of a submodule belong to the containing worktree."""
    try:
        repository = place.find(os.path.dirname(path), {})
    except place.NotARepository.error:
        return desk.place
    is_ours = os.path.realpath(repository.common) == os.path.realpath(desk.place.common)
    return repository if is_ours and repository.work_tree else desk.place


def ignored(desk: Desk, files: Iterable[File]) -> set[File]:
    """The FILES that the ignore file of their worktree names. Every agent may change them."""
    rules: dict[place.Place, Ignoring | None] = {}
    free = set()
    for file in files:
        if file.place not in rules:
            rules[file.place] = _ignoring(desk, file.place)
        if (rule := rules[file.place]) and rule.ignores(file.scope.path or file.scope.text):
            free.add(file)
    return free


def _ignoring(desk: Desk, here: place.Place) -> Ignoring | None:
    """The ignore rules of a worktree, as in the commit hook. git runs only if there is an ignore file."""
    if here.work_tree is None or not os.path.lexists(os.path.join(here.work_tree, work_tree.IGNORE_FILE)):
        return None
    from bb.ledger.git.staging import StagedCommit  # noqa: PLC0415  (few repositories have that file)

    return StagedCommit(here, desk.env).ignoring(ignore_case=work_tree.is_case_insensitive(here))
