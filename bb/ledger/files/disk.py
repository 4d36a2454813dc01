"""The door to the file system: whole small files, replaced at once, and the system's refusals in our words."""

from __future__ import annotations

import errno
import os
import stat
import time

from bb.kernel.errors import BbError, Busy, Forbidden, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

NETWORK_FILE_SYSTEMS = frozenset(["nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "fuse.sshfs", "vboxsf", "prl_fs"])
LONGEST_TICK = 2_000_000_000  # nanoseconds; the coarsest clock of a file system, FAT's
ENOUGH_ROOM = 64 << 20  # bytes
ABANDONED = 600  # seconds; replacing a file takes a fraction of one
READING = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_BINARY"))
SMALL = 1 << 16  # no small file of ours comes near this; a larger one is not ours


class DiskFull(Refused):
    """The disk is full; nothing was recorded."""

    code = "DISK_FULL"
    hint = "free some space and repeat the command"


class ReadOnlyStore(Refused):
    """The ledger's directory cannot be written."""

    code = "STORE_READ_ONLY"
    hint = "reading works; to write, remount the file system read-write"


class NoPermission(Forbidden):
    """The system does not let you into the ledger's directory."""

    code = "NO_PERMISSION"
    hint = "check who owns the repository's .git/bb directory"


class DiskFailed(Refused):
    """The disk reported an error; nothing was acknowledged."""

    code = "DISK_FAILED"
    hint = "check the disk, then run `bb doctor`"


class NoSuchFolder(Refused):
    """A folder of the ledger is gone."""

    code = "FOLDER_MISSING"
    hint = "run `bb doctor`"


class TooManyFiles(Busy):
    """The system has no file handles left."""

    code = "TOO_MANY_FILES"
    hint = "try again, or raise the limit on open files"


class NotAFile(Refused):
    """A pipe, a device, a socket or a folder stands where an ordinary file should be."""

    code = "NOT_A_FILE"
    hint = "look at it with `ls -l`, and put an ordinary file in its place or remove it"


REFUSALS: dict[int | None, type[BbError]] = {
    errno.ENOSPC: DiskFull,
    errno.EDQUOT: DiskFull,
    errno.EFBIG: DiskFull,
    errno.EROFS: ReadOnlyStore,
    errno.EACCES: NoPermission,
    errno.EPERM: NoPermission,
    errno.ENOENT: NoSuchFolder,
    errno.EISDIR: NotAFile,
    errno.ENXIO: NotAFile,  # also what the system says of a socket, and of a terminal that is not there
    errno.EMFILE: TooManyFiles,
    errno.ENFILE: TooManyFiles,
}


def refusal(error: OSError) -> BbError:
    """What a failed system call means to a user."""
    family = REFUSALS.get(error.errno, DiskFailed)
    if family is NotAFile and error.filename:
        return NotAFile(f"{error.filename} is no ordinary file", path=str(error.filename))
    what = f"{(family.__doc__ or '').splitlines()[0].rstrip('.')}: {error.strerror or error}"
    return family(what, **({"path": str(error.filename)} if error.filename else {}))


def open_to_read(path: str, flags: int = 0) -> tuple[int, os.stat_result]:
    """Open an ordinary file, and say what it is; OSError for anything else, which could make us wait for ever.

    A repository or a ledger may hold a named pipe, or a link to a terminal, where a file should be. So nothing is
    waited for in opening it, and what was opened is looked at, not its name.
    """
    fd = os.open(path, READING | flags)
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise OSError(errno.ENXIO, "it is no ordinary file", path)
    return fd, status


def reader(path: str, *, may_wait: bool = False) -> IO[bytes]:
    """An ordinary file, to be read like any other of Python's; OSError for anything else.

    What a person names at a terminal may also be a pipe (`<(make)`): then reading MAY WAIT for whoever writes into it.
    """
    return open(path if may_wait else open_to_read(path)[0], "rb")


def read_small(path: str, most: int = SMALL) -> bytes | None:
    """The contents of a file, as far as a small one goes; None when there is none. Refused when it is no file."""
    if path == os.devnull:  # how users say that there is none
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


# Nobody else writes what we make, whatever the umask. A folder that its group writes and hands on (setgid) was made so
# because `core.sharedRepository` asks for it (`ledger/git/sharing.py`): what is made in it is for the group, too.
PLAIN, PLAIN_FOLDER = 0o644, 0o755
SETGID, GROUP_WRITES = 0o2000, 0o0020
SHARED, SHARED_FOLDER = 0o664, 0o2775  # the most that sharing gives; what anybody may write is no ledger


def create(path: str, flags: int, mode: int = PLAIN) -> int:
    """Open a file that is made if there is none, with permissions that follow from MODE and its folder."""
    folder = _mode_of(os.path.dirname(path))
    fd = os.open(path, flags | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), mode & (folder | 0o600))
    if mode == PLAIN and _is_shared(folder):
        found = os.fstat(fd)
        if found.st_mode & 0o777 != folder & SHARED and found.st_uid == os.geteuid():
            os.fchmod(fd, folder & SHARED)
    return fd


def _mode_of(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mode
    except OSError:
        return 0o777  # whoever opens the file says what is wrong


def _is_shared(mode: int) -> bool:
    """Whether a folder of this MODE shares what is in it with a group."""
    return bool(mode & SETGID and mode & GROUP_WRITES) and os.name != "nt"


def replace(path: str, octets: bytes, *, durable: bool = False, mode: int = PLAIN) -> None:
    """Put OCTETS at PATH in one step: a reader sees the old file or the new one, never half of either."""
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
        if durable:
            sync_folder(folder)
    except OSError as error:
        remove_if_there(temporary)
        raise refusal(error) from error


class OutputNotWritten(Refused):
    """The file cannot be written."""

    code = "OUTPUT_NOT_WRITTEN"
    hint = "name a file in a directory that you may write to"


class Replacement:
    """A file written piece by piece that takes its name only when it is whole.

    It keeps the permissions of the file it replaces and the link that leads there. A pipe or a device is written to.
    """

    def __init__(self, path: str) -> None:
        if "\0" in path:
            raise OutputNotWritten("no file has such a name")
        self._path = os.path.realpath(path)
        self._is_direct = os.path.exists(self._path) and not os.path.isfile(self._path)
        self._temporary = self._path if self._is_direct else f"{self._path}.{os.urandom(8).hex()}.tmp"

    def __enter__(self) -> IO[bytes]:
        try:
            how = os.O_WRONLY | (0 if self._is_direct else os.O_CREAT | os.O_EXCL) | getattr(os, "O_BINARY", 0)
            self._file = open(os.open(self._temporary, how, PLAIN), "wb")
            if not self._is_direct and os.path.exists(self._path):
                os.chmod(self._temporary, os.stat(self._path).st_mode & 0o7777)
        except OSError as error:
            self._tidy()
            raise self._refusal(error) from error
        return self._file

    def __exit__(self, _: type[BaseException] | None, failure: BaseException | None, __: object) -> None:
        try:
            self._file.close()
            if failure is None and not self._is_direct:
                os.replace(self._temporary, self._path)
        except OSError as error:
            raise self._refusal(error) from error
        finally:
            self._tidy()
        if isinstance(failure, OSError):
            raise self._refusal(failure) from failure

    def _tidy(self) -> None:
        if not self._is_direct:
            remove_if_there(self._temporary)

    def _refusal(self, error: OSError) -> BbError:
        """A full disk is one anywhere; whatever else it is, it is about the file that was named."""
        if REFUSALS.get(error.errno) is DiskFull:
            return refusal(error)
        return OutputNotWritten(f"{self._path} cannot be written: {error.strerror}", path=self._path)


def write_all(fd: int, octets: bytes) -> None:
    """Write OCTETS, or fail: a short write is a full disk until proven otherwise."""
    written = os.write(fd, octets)
    while written < len(octets):
        more = os.write(fd, octets[written:])
        if not more:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written += more


def remove_if_there(path: str) -> None:
    """Remove a file that may be gone already, or may never have come to be."""
    try:
        os.unlink(path)
    except OSError:
        return


def remove_folder_if_empty(path: str) -> None:
    """Remove a folder in which nothing is left."""
    try:
        os.rmdir(path)
    except OSError:
        return


def make_folder(path: str, mode: int = PLAIN_FOLDER) -> None:
    """Make a folder and what leads to it; one that is there is fine."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path.rstrip(os.sep))
    if above and above != path:
        make_folder(above, mode)
    try:
        around = _mode_of(above)
        os.mkdir(path, mode & (around | 0o700))
        if mode == PLAIN_FOLDER and _is_shared(around):
            os.chmod(path, around & SHARED_FOLDER)
    except OSError as error:
        if not os.path.isdir(path):  # else another process was faster
            raise refusal(error) from error


def make_private_folder(path: str) -> None:
    """The same for nobody else to enter. One that is there stays as its owner made it."""
    make_folder(path, 0o700)


def temporary_folder(prefix: str) -> str:
    """A new folder of our own, where the system keeps what nobody needs for long. (`tempfile` costs as much as git.)"""
    usual = [os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")]
    where = next((path for path in [*usual, "/tmp", "/var/tmp"] if path and os.path.isdir(path)), ".")  # noqa: S108
    path = os.path.join(os.path.abspath(where), prefix + os.urandom(8).hex())
    try:
        os.mkdir(path, 0o700)
    except OSError as error:
        raise refusal(error) from error
    return path


def remove_folder(path: str) -> None:
    """Remove a folder of ours with all that is in it, as far as the system lets us."""
    for folder, folders, files in os.walk(path, topdown=False):
        for name in files:
            _remove_read_only(os.path.join(folder, name))
        for name in folders:
            _remove_empty(os.path.join(folder, name))
    _remove_empty(path)


def _remove_read_only(path: str) -> None:
    """Remove a file, as git's objects are; Windows does not let go of one that may not be written."""
    if os.name == "nt":
        os.chmod(path, 0o600)
    remove_if_there(path)


def _remove_empty(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        return


def names(folder: str) -> list[str]:
    """The names in a folder, sorted; none when there is no folder."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise refusal(error) from error


class Names:
    """The names in a folder, which is listed again only when something may have come or gone.

    A folder that changes twice within a tick of its file system's clock looks as if it had changed once. So what was
    listed counts only when the last change was a while ago by then.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._names: list[str] = []
        self._as_of: int | None = None

    def now(self) -> list[str]:
        """The names, sorted; the very same list as long as they are the same."""
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


def has_room(path: str) -> bool:
    """Whether the file at PATH can be written to and could grow, as far as the system tells."""
    folder = os.path.dirname(path)
    if not os.access(folder, os.W_OK) or (os.path.lexists(path) and not _is_writable(path)):
        return False
    if not hasattr(os, "statvfs"):
        return True
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize > ENOUGH_ROOM


def _is_writable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.W_OK)


def sync_folder(path: str) -> None:
    """Make a new name in a folder survive a power cut, where the system can."""
    if os.name == "nt":
        return
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_data(fd: int) -> None:
    """Wait until what was written to FD is on the disk itself."""
    if hasattr(os, "fdatasync"):
        os.fdatasync(fd)
        return
    try:
        import fcntl  # noqa: PLC0415  (macOS: fsync stops at the drive's cache, this does not)

        fcntl.fcntl(fd, getattr(fcntl, "F_FULLFSYNC"))  # noqa: B009  (macOS only)
    except (ImportError, AttributeError, OSError):
        os.fsync(fd)


def leftovers(folder: str) -> Iterator[str]:
    """Temporary files that killed processes left in FOLDER: those too old to be anybody's work under way."""
    for name in names(folder):
        if name.startswith(".") and name.endswith(".tmp"):
            path = os.path.join(folder, name)
            try:
                if time.time() - os.stat(path).st_mtime > ABANDONED:
                    yield path
            except OSError:
                continue  # its owner has just finished with it


def file_system(path: str) -> str:
    """The type of the file system that PATH is on, where Linux tells; else empty."""
    mounts = _read_mounts()
    real = os.path.realpath(path)
    holding = [(point, kind) for point, kind in mounts if real == point or real.startswith(point.rstrip("/") + "/")]
    return max(holding, key=lambda mount: len(mount[0]), default=("", ""))[1]


def _read_mounts() -> list[tuple[str, str]]:
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as file:
            rows = [row.split() for row in file]
    except OSError:
        return []
    return [(row[1], row[2]) for row in rows if len(row) > 2]
