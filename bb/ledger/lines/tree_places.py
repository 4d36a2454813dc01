"""The folders in which throw-away trees are checked out: `<home of bb>/trees/<digest of the work tree>/<number>`.

A place belongs to whoever holds the lock of its `lock` file. The lock ends with the process, and the commands that it
starts inherit it, so a place is free when nothing runs in it any more, even after a kill. A free place is used again,
because bringing an old tree up to date takes a fraction of the time of a new one (decision 55). A place that was not
used for some days, or whose repository is gone, is removed by the next call.

    lock     held while the tree is in use; its time of change is the last use
    kept     exists if the person wants the tree to stay as it is
    index    git's index of the tree, as it was before a command ran in it
    made     a digest of the settings by which the files were written
    copies   the paths of ignored files that were put into the tree
    git/     the git directory of the tree (`tree_repository.py`)
    work/    contains the tree, in a folder that is called like the work tree
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from bb.kernel.digest import digest
from bb.kernel.errors import Busy
from bb.kernel.record import Record
from bb.ledger.files import disk, lock
from bb.ledger.git import place as places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bb.ledger.git.place import Place

TREES, WORK, LOCK, OWNER, KEPT = "trees", "work", "lock", "of", "kept"
NAME_LENGTH = 16
MOST = 256  # trees of one work tree that are in use or kept
UNUSED = 3 * 86_400  # seconds after which a free place is removed

TooManyTrees = Busy.declare(
    "TOO_MANY_TREES",
    "Too many throw-away trees of this work tree are in use",
    hint="wait until some of the commands in them have ended, or delete trees that were kept",
)


class TreePlace(Record):
    """One place. FD holds its lock."""

    path: str
    title: str
    fd: int

    @property
    def index(self) -> str:
        return os.path.join(self.path, "index")

    @property
    def made(self) -> str:
        return os.path.join(self.path, "made")

    @property
    def copies(self) -> str:
        return os.path.join(self.path, "copies")

    @property
    def git_dir(self) -> str:
        return os.path.join(self.path, "git")

    @property
    def folder(self) -> str:
        """The top folder of the tree."""
        return os.path.join(self.path, WORK, self.title)

    @property
    def is_kept(self) -> bool:
        """Whether the tree is kept. When the person has deleted it, the place is free again."""
        return _is_kept(self.path)

    def keep(self) -> None:
        """Let the tree stay when the lock is released: no later call uses or removes it."""
        disk.make_empty(os.path.join(self.path, KEPT))

    def clear(self) -> None:
        """Remove everything but the lock."""
        for name in disk.names(self.path):
            if name != LOCK:
                remove(os.path.join(self.path, name))

    def make_folder(self) -> None:
        """Make the folder of the tree. A link in its place would lead git elsewhere, so then all begins anew."""
        if not all(map(_is_folder, (os.path.dirname(self.folder), self.folder))):
            self.clear()
            disk.make_private_folder(self.folder)

    def release(self) -> None:
        os.close(self.fd)


def take(place: Place, env: Mapping[str, str]) -> TreePlace:
    """A free place for a tree of the work tree at PLACE."""
    pool = _pool(place, env)
    disk.make_private_folder(pool)
    disk.replace(os.path.join(pool, OWNER), os.fsencode(place.git_dir))
    for number in range(1, MOST + 1):
        path = os.path.join(pool, str(number))
        if found := _taken(path, place.title):
            return found
    raise TooManyTrees()


def sweep(env: Mapping[str, str]) -> None:
    """Remove the places that nobody uses, has used for some days, or can use because their repository is gone."""
    top = os.path.join(os.path.realpath(places.home(env)), TREES)
    for name in disk.names(top):
        pool = os.path.join(top, name)
        owner = disk.read_small(os.path.join(pool, OWNER))
        is_gone = owner is not None and not os.path.isdir(os.fsdecode(owner))
        for path in _unused(pool, is_gone=is_gone):
            _remove_free(path)
        if is_gone:
            _remove_pool(pool)


def _pool(place: Place, env: Mapping[str, str]) -> str:
    name = digest(os.fsencode(os.path.realpath(place.git_dir)))[:NAME_LENGTH]
    return os.path.join(os.path.realpath(places.home(env)), TREES, name)


def _taken(path: str, title: str) -> TreePlace | None:
    """The place at PATH, if it is free."""
    disk.make_private_folder(path)
    fd = _opened(os.path.join(path, LOCK))
    taken = TreePlace(path, title, fd)
    if lock.try_lock(fd) and _is_in_place(fd, path) and not taken.is_kept:
        if os.name != "nt":
            os.set_inheritable(fd, True)  # git and the command keep the place while they run, even if bb is killed
        os.utime(fd if os.utime in os.supports_fd else os.path.join(path, LOCK))
        return taken
    os.close(fd)
    return None


def _opened(path: str) -> int:
    try:
        return disk.create(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError as error:
        raise disk.refusal(error) from error


def _is_in_place(fd: int, path: str) -> bool:
    """Whether the locked file is still that of the place: another process may have removed the place just before."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(os.path.join(path, LOCK)))
    except OSError:
        return False


def _is_kept(path: str) -> bool:
    return os.path.lexists(os.path.join(path, KEPT)) and bool(disk.names(os.path.join(path, WORK)))


def _unused(pool: str, *, is_gone: bool) -> Iterator[str]:
    for number in disk.names(pool):
        path = os.path.join(pool, number)
        try:
            age = time.time() - os.stat(os.path.join(path, LOCK)).st_mtime
        except OSError:
            continue
        if is_gone or (age > UNUSED and not _is_kept(path)):
            yield path


def _remove_free(path: str) -> None:
    fd = _opened(os.path.join(path, LOCK))
    try:
        if lock.try_lock(fd) and _is_in_place(fd, path):
            TreePlace(path, "", fd).clear()
            disk.remove_if_there(os.path.join(path, LOCK))
            disk.remove_folder_if_empty(path)
    finally:
        os.close(fd)


def _remove_pool(pool: str) -> None:
    if disk.names(pool) == [OWNER]:
        disk.remove_if_there(os.path.join(pool, OWNER))
        disk.remove_folder_if_empty(pool)


def remove(path: str) -> None:
    """Remove a file, a link or a folder with its contents, including folders that do not permit it."""
    if not _is_folder(path):
        disk.remove_if_there(path)
        return
    import shutil  # noqa: PLC0415  (rarely needed)

    for folder, _, _ in os.walk(path):  # links are not followed
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            with suppress(OSError):
                os.chmod(folder, 0o700)
    shutil.rmtree(path, ignore_errors=True)


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)
