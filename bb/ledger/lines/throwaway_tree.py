"""A throw-away tree: the files of one tree object, checked out beside the work tree. What happens in it stays in it.

The files are written by git with the repository's own attributes and filters. A tree that was used before is brought
up to date by differences: git writes what the last command changed or the new tree has otherwise, and removes the rest.
If that fails, or if the settings by which files are written have changed, everything is written anew. Decision 55 has
the reasons and the figures.

No file is a link to one of the work tree. So a command that writes in place changes only the tree.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from bb.kernel.digest import digest
from bb.kernel.errors import BbError
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.git import git
from bb.ledger.git.place import NoWorkTree
from bb.ledger.git.program import refuse_failure
from bb.ledger.lines import ignored_files, tree_places, tree_repository

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bb.ledger.git.place import Place
    from bb.ledger.lines.tree_places import TreePlace
    from bb.ledger.lines.tree_repository import Settings

PATIENCE = 600.0  # seconds; a filter may download large files
WORKERS = ("-c", "checkout.workers=4", "-c", "checkout.thresholdForParallelism=100")
SUBMODULE = b"160000"
ATTRIBUTES = b".gitattributes"
INDEX = "index"


class ThrowawayTree(Record):
    """A tree that is checked out at FOLDER.

    GIT_DIR is its own repository, in which git commands of others run. INDEX is the index there: it has the tree and
    the fresh status of its files, so it can also serve as GIT_INDEX_FILE beside the real repository, with FOLDER as
    GIT_WORK_TREE. FD is held while the tree is in use; a child process that inherits it keeps the tree.
    """

    folder: str
    index: str
    git_dir: str
    fd: int
    place: TreePlace

    def keep(self) -> None:
        """Let the folder stay as it is, until the person deletes it."""
        self.place.keep()


@contextmanager
def throwaway_tree(
    place: Place, tree: str, env: Mapping[str, str], *, with_ignored: bool = True
) -> Iterator[ThrowawayTree]:
    """A folder that contains exactly the TREE of the repository at PLACE, until the end of the block.

    WITH_IGNORED adds files that git ignores and that tests usually need, such as `node_modules` (`ignored_files.py`).
    """
    if place.work_tree is None:
        raise NoWorkTree()
    taken = tree_places.take(place, env)
    try:
        _set_up(place, tree, taken, with_ignored=with_ignored)
        yield ThrowawayTree(taken.folder, os.path.join(taken.git_dir, INDEX), taken.git_dir, taken.fd, taken)
    finally:
        if not taken.is_kept:
            ignored_files.remove(taken)
        taken.release()
        tree_places.sweep(env)


def _set_up(place: Place, tree: str, taken: TreePlace, *, with_ignored: bool) -> None:
    ignored = ignored_files.wanted(place) if with_ignored else []
    found = tree_repository.settings(place)
    taken.make_folder()
    ignored_files.remove(taken)  # those of a command that was killed
    is_new = not os.path.exists(taken.index)
    try:
        is_sound = _check_out(place, tree, taken, found, ignored) or is_new
    except BbError:
        if is_new:
            raise
        is_sound = False
    if not is_sound:
        taken.clear()
        taken.make_folder()
        _check_out(place, tree, taken, found, ignored)
    _copy_index(os.path.join(taken.git_dir, INDEX), taken.index)
    ignored_files.put(place, taken, ignored)


def _check_out(place: Place, tree: str, taken: TreePlace, found: Settings, ignored: Sequence[str]) -> bool:
    """Make the folder contain exactly TREE. Whether the files that were there were written by the same settings."""
    for path in (taken.git_dir, os.path.join(taken.folder, ".git")):  # a command may have changed anything there
        tree_places.remove(path)
    disk.make_private_folder(taken.git_dir)
    tree_repository.write(place, taken.git_dir, taken.folder, found, ignored)
    is_used = os.path.exists(taken.index)
    if is_used:
        _copy_index(taken.index, os.path.join(taken.git_dir, INDEX))
    _git(taken, "read-tree", "--reset", "-u", tree, settings=WORKERS)
    listed = _git(taken, "ls-files", "--stage", "-z")
    if is_used:
        _git(taken, "clean", "-ffdxq")
    attributes: list[bytes] = []
    for row in listed.split(b"\0"):
        if row.startswith(SUBMODULE):
            _empty(os.path.join(taken.folder, os.fsdecode(row.partition(b"\t")[2])))
        elif row.endswith(ATTRIBUTES):
            attributes.append(row)
    made = digest(b"\0".join([*tree_repository.what_files_depend_on(place, found), *attributes])).encode()
    is_same = disk.read_small(taken.made) == made
    disk.replace(taken.made, made)
    return is_same


def _git(taken: TreePlace, *command: str, settings: Sequence[str] = ()) -> bytes:
    """The output of a git command in the tree's own repository."""
    arguments = ["--work-tree", taken.folder, *settings, *command]
    done = git.ask(arguments, git_dir=taken.git_dir, patience=PATIENCE)
    refuse_failure(command[0], done.status, done.err, PATIENCE)
    return done.out


def _copy_index(source: str, target: str) -> None:
    """Copy git's index with its time: by it, git knows which files may have changed after the index was written."""
    with disk.reader(source) as file:
        octets, status = file.read(), os.fstat(file.fileno())
    disk.replace(target, octets)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def _empty(submodule: str) -> None:
    """Make the folder of a SUBMODULE an empty one, as git does."""
    if os.path.islink(submodule) or not os.path.isdir(submodule) or disk.names(submodule):
        tree_places.remove(submodule)
        disk.make_folder(submodule)
