"""Safe writing of files into a work tree: settings of editors and hosts, the skill, the mirror.

A repository can contain symbolic links, and a link may lead anywhere. So bb never writes through a link to a file, nor
through a linked folder that leads out of the work tree or into `.git`. A linked folder that stays in the same work tree
is followed: the author of such a link could have committed the file itself. The path is resolved first. Then bb walks
it from the top without following links, so a link that appears in the meantime is refused too.

A path that the user gives as an option is trusted and written by `output_files.Replacement` instead.
"""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager, suppress

from bb.kernel.errors import BbError, Refused
from bb.ledger.files import disk, output_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

GIT = ".git"
FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
# Windows has no folder descriptors. There the path is checked for links once more, and then used.
BY_NUMBER = {os.open, os.mkdir, os.rename, os.unlink, os.rmdir, os.stat} <= os.supports_dir_fd

LinkInTheWay = Refused.declare(
    "LINK_IN_THE_WAY",
    "The path that bb would write goes through a symbolic link",
    hint="replace the link by a regular file or folder, or change the link's target by hand",
)


def read(root: str, path: str, most: int = disk.SMALL) -> bytes | None:
    """The contents of the file at PATH in the work tree ROOT; None if it does not exist."""
    return read_file(os.path.join(root, *_steps(root, path)), path, most)


def read_file(whole: str, path: str, most: int = disk.SMALL) -> bytes | None:
    """The contents of a file of the work tree. It may be a link, but only to a regular file."""
    try:
        return disk.read_small(whole, most)
    except Refused as error:
        if error.code != "NOT_A_FILE":
            raise
        raise LinkInTheWay(f"{path} is not a regular file", path=path) from error


def write(root: str, path: str, octets: bytes) -> None:
    """Write OCTETS to PATH in the work tree ROOT atomically. An existing file keeps its permissions."""
    *folders, name = _steps(root, path)
    with _refusals(root, path), _folder(root, folders, is_made=True) as folder:
        temporary = f".{name}.{os.urandom(8).hex()}.tmp"
        how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW | getattr(os, "O_BINARY", 0)
        fd = os.open(folder.path(temporary), how, disk.PLAIN, dir_fd=folder.number)
        try:
            try:
                with suppress(FileNotFoundError):
                    before = os.stat(folder.path(name), dir_fd=folder.number, follow_symlinks=False)
                    if os.name != "nt":
                        os.fchmod(fd, before.st_mode & 0o7777)
                disk.write_all(fd, octets)
            finally:
                os.close(fd)
            os.replace(folder.path(temporary), folder.path(name), src_dir_fd=folder.number, dst_dir_fd=folder.number)
        except BaseException:
            with suppress(OSError):
                os.unlink(folder.path(temporary), dir_fd=folder.number)
            raise


def remove(root: str, path: str, *, keeps_folders: bool = False) -> None:
    """Remove the file at PATH in the work tree ROOT, if it exists, and the folders that become empty."""
    steps = _steps(root, path)
    with _refusals(root, path), suppress(FileNotFoundError), _folder(root, steps[:-1]) as folder:
        os.unlink(folder.path(steps[-1]), dir_fd=folder.number)
    for depth in () if keeps_folders else range(len(steps) - 1, 0, -1):
        with suppress(OSError), _folder(root, steps[: depth - 1]) as folder:
            os.rmdir(folder.path(steps[depth - 1]), dir_fd=folder.number)


def refuse_links(root: str, path: str) -> None:
    """Refuse a PATH in the work tree ROOT that is a link, or that a linked folder leads out of the work tree."""
    _steps(root, path)


class _Folder:
    """A folder that was reached without following links, as a descriptor or, on Windows, as a path."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.number: int | None = os.open(path, FOLDER) if BY_NUMBER else None

    def path(self, name: str) -> str:
        return name if self.number is not None else os.path.join(self._path, name)

    def enter(self, name: str, *, is_made: bool) -> None:
        """Move to a folder inside this one."""
        if is_made:
            with suppress(FileExistsError):
                os.mkdir(self.path(name), disk.PLAIN_FOLDER, dir_fd=self.number)
        deeper = os.path.join(self._path, name)
        if self.number is None:
            if os.path.islink(deeper):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        else:
            fd = os.open(name, FOLDER | NO_FOLLOW, dir_fd=self.number)
            os.close(self.number)
            self.number = fd
        self._path = deeper

    def close(self) -> None:
        if self.number is not None:
            os.close(self.number)


@contextmanager
def _folder(root: str, steps: list[str], *, is_made: bool = False) -> Iterator[_Folder]:
    """The folder that STEPS lead to from ROOT; with IS_MADE, missing folders are made."""
    folder = _Folder(root)
    try:
        for step in steps:
            folder.enter(step, is_made=is_made)
        yield folder
    finally:
        folder.close()


def _steps(root: str, path: str) -> list[str]:
    """The names that lead from ROOT to PATH. Folders that are links within the work tree are resolved."""
    top = os.path.realpath(root)
    folder, name = os.path.split(os.path.join(top, *path.split("/")))
    real = os.path.realpath(folder)
    inside = os.path.relpath(real, top)
    steps = [] if inside == os.curdir else inside.split(os.sep)
    if steps[:1] == [os.pardir] or os.path.isabs(inside):
        raise _leads(path, folder, f"out of the work tree, to {real}")
    if any(step.lower() == GIT for step in (*steps, name)):
        raise _leads(path, folder, "into a git directory")
    whole = os.path.join(real, name)
    if os.path.islink(whole):
        raise LinkInTheWay(f"{path} is a symbolic link to {os.readlink(whole)}", path=path)
    return [*steps, name]


def _leads(path: str, folder: str, where: str) -> BbError:
    return LinkInTheWay(f"{path} would be written {where}: a folder on the way is a symbolic link", path=folder)


@contextmanager
def _refusals(root: str, path: str) -> Iterator[None]:
    """Translate system errors into refusals."""
    try:
        yield
    except OSError as error:
        raise _refusal(root, path, error) from error


def _refusal(root: str, path: str, error: OSError) -> BbError:
    whole = os.path.join(root, *path.split("/"))
    if error.errno in (errno.ELOOP, errno.ENOTDIR) and any(map(os.path.islink, _above(root, path))):
        return LinkInTheWay(f"{path} cannot be written: it goes through a symbolic link", path=whole)

    return output_files.not_written(error, whole)


def _above(root: str, path: str) -> list[str]:
    steps = path.split("/")
    return [os.path.join(root, *steps[: depth + 1]) for depth in range(len(steps))]
