"""The throw-away tree in which `bb run` starts a command: HEAD with the caller's changes only."""

from __future__ import annotations

import os

from bb.kernel import ids
from bb.kernel.errors import NotFound, Refused
from bb.kernel.record import Record
from bb.ledger.git import program
from bb.ledger.git.place import NoWorkTree
from bb.ledger.lines import editable_installs, own_tree
from bb.ledger.lines.lines_store import LinesStore
from bb.ledger.lines.throwaway_tree import throwaway_tree
from bb.ops.desk import signs_of_life

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from bb.ledger.git.place import Place
    from bb.ledger.lines.throwaway_tree import ThrowawayTree
    from bb.ops.desk.desk import Desk

TREE = "BB_RUN_TREE"  # the top folder of the tree, for the command

NoCommits = Refused.declare(
    "NO_COMMITS",
    "The repository has no commit yet, so there is no tree to run in",
    hint="make the first commit, then try again",
)
FolderNotInTree = NotFound.declare(
    "FOLDER_NOT_IN_TREE",
    "The current folder is not in the tree of HEAD with your changes",
    hint="run from a folder that is committed or that contains changes of yours",
)


class Surroundings(Record):
    """Where a command runs: its folder, its environment, and the tree that was made for it, if any."""

    folder: str
    env: dict[str, str]
    tree: ThrowawayTree | None = None


def surroundings(desk: Desk, *, is_clean: bool) -> AbstractContextManager[Surroundings]:
    """A throw-away tree for a command of the caller. Inside of such a tree, the command runs in that one."""
    from contextlib import contextmanager, nullcontext  # noqa: PLC0415  (only this op needs them)

    place = desk.place
    if place.work_tree is None:
        raise NoWorkTree()
    if place.is_aside:
        return nullcontext(Surroundings(desk.cwd, dict(desk.env)))
    tree = tree_to_run(desk, place)

    @contextmanager
    def aside() -> Iterator[Surroundings]:
        with throwaway_tree(place, tree, desk.env, with_ignored=not is_clean) as made:
            folder = _same_folder(desk.cwd, place, made.folder)
            yield Surroundings(folder, _environment(desk, place, made.folder, folder), made)

    return aside()


def tree_to_run(desk: Desk, place: Place) -> str:
    """The id of the tree of HEAD with the changes of the caller; a person's are those without a known agent."""
    who = signs_of_life.caller(desk, None, may_be_person=True) if desk.actor(None) else ids.PERSON
    store = LinesStore(place)
    if not store.head:
        raise NoCommits()
    if not desk.store.exists:
        return own_tree.tree_without_ledger(place, desk.now())
    return own_tree.tree_of(store, None if who == ids.PERSON else who, desk.now())


def _same_folder(cwd: str, place: Place, top: str) -> str:
    """The folder of the tree at TOP that corresponds to the directory CWD of the work tree."""
    below = os.path.relpath(os.path.realpath(cwd), os.path.realpath(str(place.work_tree)))
    folder = top if below == os.curdir or below.startswith(os.pardir) else os.path.join(top, below)
    if not os.path.isdir(folder):
        raise FolderNotInTree(f"{below} is not in the tree of HEAD with your changes", path=below)
    return folder


def _environment(desk: Desk, place: Place, top: str, folder: str) -> dict[str, str]:
    """The caller's environment, without what leads git to the real repository, and with the way to the tree."""
    env = {name: value for name, value in desk.env.items() if name not in program.SCRUBBED}
    return {**env, **editable_installs.settings(place, top, env), TREE: top, "PWD": folder}
