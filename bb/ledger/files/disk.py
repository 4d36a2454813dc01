"""File system access: read small files whole, replace files atomically, translate system errors into refusals."""

from __future__ import annotations

import errno
import os
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from bb.kernel.errors import BbError
LONGEST_TICK = 2_000_000_000  # nanoseconds: FAT has the coarsest timestamps of all file systems
ABANDONED = 600  # seconds; replacing a file takes a fraction of one
READING = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_BINARY"))
SMALL = 1 << 16  # bytes; bb writes no small file that is nearly as large
PLAIN, PLAIN_FOLDER = 0o644, 0o755
SETGID, GROUP_WRITES = 0o2000, 0o0020
SHARED, SHARED_FOLDER = 0o664, 0o2775  # the widest permissions that sharing gives; never world-writable


def refusal(error: OSError) -> BbError:
    """Translate a failed system call into a refusal."""
    from bb.ledger.files import disk_refusals  # noqa: PLC0415  (most commands never need it)

    return disk_refusals.refusal_of(error)


def open_to_read(path: str, flags: int = 0) -> tuple[int, os.stat_result]:
    """Open a regular file; return its descriptor and its status. Raise OSError for anything else.

    A repository or a ledger may contain a named pipe or a link to a terminal in place of a file; reading that could
    block for ever. So the file is opened without blocking, and the open descriptor is checked, not the name.
    """
    fd = os.open(path, READING | flags)
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise OSError(errno.ENXIO, "not a regular file", path)
    return fd, status


class Reading:
    """`with Reading(path, flags) as (fd, status):` reads a regular file. Errors of the system become refusals."""

    def __init__(self, path: str, flags: int = 0) -> None:
        self._path = path
        self._flags = flags

    def __enter__(self) -> tuple[int, os.stat_result]:
        try:
            opened = open_to_read(self._path, self._flags)
        except OSError as error:
            raise refusal(error) from error
        self._fd = opened[0]
        return opened

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        os.close(self._fd)
        if isinstance(error, OSError):
            raise refusal(error) from error


def make_empty(path: str, mode: int = PLAIN) -> None:
    """Make an empty file, such as one to be locked, unless there is one."""
    try:
        os.close(create(path, os.O_WRONLY, mode))
    except OSError as error:
        raise refusal(error) from error


def reader(path: str, *, may_wait: bool = False) -> IO[bytes]:
    """Open a regular file as a Python file object; raise OSError for anything else.

    With MAY_WAIT, a pipe is accepted too, and reading can block: a person may pass `<(make)` at a terminal.
    """
    return open(path if may_wait else open_to_read(path)[0], "rb")


def read_small(path: str, most: int = SMALL) -> bytes | None:
    """The first MOST bytes of a file; None if it does not exist. Refused if it is not a regular file."""
    if path == os.devnull:  # users name it to say "no file"
        return b""
    try:
        fd, _ = open_to_read(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise refusal(error) from error
    try:
        return os.read(fd, most)
    except OSError as error:
        raise refusal(error) from error
    finally:
        os.close(fd)


# Only the owner can write the files bb makes, whatever the umask. Exception: a folder that is group-writable and setgid
# was made for `core.sharedRepository` (`ledger/git/sharing.py`), so new files in it are group-writable too.


def create(path: str, flags: int, mode: int = PLAIN) -> int:
    """Open a file; if it does not exist, create it with permissions that follow from MODE and its folder."""
    folder = _mode_of(os.path.dirname(path))
    fd = os.open(path, flags | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), mode & (folder | 0o600))
    if mode == PLAIN and _is_shared(folder):
        status = os.fstat(fd)
        if status.st_mode & 0o777 != folder & SHARED and status.st_uid == os.geteuid():
            os.fchmod(fd, folder & SHARED)
    return fd


def _mode_of(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mode
    except OSError:
        return 0o777  # opening the file will report the error


def _is_shared(mode: int) -> bool:
    """Whether a folder with this MODE shares its contents with a group."""
    return bool(mode & SETGID and mode & GROUP_WRITES) and os.name != "nt"


def replace(path: str, octets: bytes, *, durable: bool = False, mode: int = PLAIN, may_be_undone: bool = False) -> None:
    """Write OCTETS to PATH atomically: a reader sees either the old file or the new one.

    DURABLE means that a power failure does not undo it. If it MAY BE UNDONE, a power failure leaves either of the two
    whole files, which takes half as long.
    """
    try:
        _replace(path, octets, durable, mode, is_named=durable and not may_be_undone)
    except OSError as error:
        raise refusal(error) from error


def replace_in_new_folder(path: str, octets: bytes) -> None:
    """Write OCTETS to PATH atomically. Its folder is made if it is missing."""
    try:
        _replace(path, octets, durable=False, mode=PLAIN, is_named=False)
    except FileNotFoundError:
        make_folder(os.path.dirname(path))
        replace(path, octets)
    except OSError as error:
        raise refusal(error) from error


def _replace(path: str, octets: bytes, durable: bool, mode: int, is_named: bool) -> None:
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        fd = create(temporary, os.O_WRONLY | os.O_EXCL, mode)
        try:
            write_all(fd, octets)
            if durable:
                os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(temporary, path)
        if is_named:
            sync_folder(folder)
    except OSError:
        remove_if_there(temporary)
        raise


def write_all(fd: int, octets: bytes) -> None:
    """Write all OCTETS, or fail. A write of zero bytes is reported as a full disk."""
    written = os.write(fd, octets)
    while written < len(octets):
        more = os.write(fd, octets[written:])
        if not more:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written += more


def remove_if_there(path: str) -> None:
    """Remove a file, if it exists."""
    try:
        os.unlink(path)
    except OSError:
        return


def remove_folder_if_empty(path: str) -> None:
    """Remove a folder, if it is empty."""
    try:
        os.rmdir(path)
    except OSError:
        return


def make_folder(path: str, mode: int = PLAIN_FOLDER) -> None:
    """Make a folder and its missing parents, if it does not exist."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path.rstrip(os.sep))
    if above and above != path:
        make_folder(above, mode)
    try:
        parent_mode = _mode_of(above)
        os.mkdir(path, mode & (parent_mode | 0o700))
        if mode == PLAIN_FOLDER and _is_shared(parent_mode):
            os.chmod(path, parent_mode & SHARED_FOLDER)
    except OSError as error:
        if not os.path.isdir(path):  # otherwise another process made it first
            raise refusal(error) from error


def make_private_folder(path: str) -> None:
    """Make a folder that only its owner can enter. The permissions of an existing folder are not changed."""
    make_folder(path, 0o700)


def temporary_folder(prefix: str) -> str:
    """Make a new private folder in the system's temporary directory. (Importing `tempfile` takes as long as git.)"""
    usual = [os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")]
    where = next((path for path in [*usual, "/tmp", "/var/tmp"] if path and os.path.isdir(path)), ".")  # noqa: S108
    path = os.path.join(os.path.abspath(where), prefix + os.urandom(8).hex())
    try:
        os.mkdir(path, 0o700)
    except OSError as error:
        raise refusal(error) from error
    return path


def remove_folder(path: str) -> None:
    """Remove a folder and its contents. Files that cannot be removed are left."""
    for folder, folders, files in os.walk(path, topdown=False):
        for name in files:
            _remove_read_only(os.path.join(folder, name))
        for name in folders:
            remove_folder_if_empty(os.path.join(folder, name))
    remove_folder_if_empty(path)


def _remove_read_only(path: str) -> None:
    """Remove a file that may be read-only, such as a git object. Windows refuses to remove a read-only file."""
    if os.name == "nt":
        os.chmod(path, 0o600)
    remove_if_there(path)


def names(folder: str) -> list[str]:
    """The names in a folder, sorted; empty if the folder does not exist."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise refusal(error) from error


class FolderListing:
    """The names in a folder. The folder is listed again only if it may have changed.

    Two changes within one tick of the file system's clock leave the same timestamp. So a listing is kept only if the
    folder's last change was older than the longest tick at that time.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._names: list[str] = []
        self._as_of: int | None = None

    def now(self) -> list[str]:
        """The names, sorted; the same list object as before if the names have not changed."""
        try:
            changed = os.stat(self._folder).st_mtime_ns
        except OSError:
            changed = None
        if changed is None or changed != self._as_of:
            listed = names(self._folder)
            is_settled = changed is not None and time.time_ns() - changed > LONGEST_TICK
            self._as_of = changed if is_settled and os.name != "nt" else None  # FAT changes no folder's time there
            self._names = self._names if listed == self._names else listed
        return self._names


def sync_folder(path: str) -> None:
    """Make a new name in a folder survive a power failure, if the system supports that."""
    if os.name == "nt":
        return
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


# Whether `os.sync` waits until everything is on the disk. On macOS it only starts that.
CAN_SYNC_EVERYTHING = sys.platform == "linux"


def sync_everything() -> None:
    """Wait until everything written so far is on the disk. For very many files this is much faster than `sync_data`."""
    if sys.platform != "win32":
        os.sync()


def sync_data(fd: int) -> None:
    """Wait until the data written to FD is on the disk."""
    if hasattr(os, "fdatasync"):
        os.fdatasync(fd)
        return
    try:
        import fcntl  # noqa: PLC0415  (on macOS, fsync does not flush the drive's cache; F_FULLFSYNC does)

        fcntl.fcntl(fd, getattr(fcntl, "F_FULLFSYNC"))  # noqa: B009  (macOS only)
    except (ImportError, AttributeError, OSError):
        os.fsync(fd)


def abandoned_temporary_files(folder: str) -> Iterator[str]:
    """Temporary files in FOLDER that are so old that the process that made them must have been killed."""
    for name in names(folder):
        if name.startswith(".") and name.endswith(".tmp"):
            path = os.path.join(folder, name)
            try:
                if time.time() - os.stat(path).st_mtime > ABANDONED:
                    yield path
            except OSError:
                continue  # its process has just renamed or removed it
