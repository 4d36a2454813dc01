"""Refusals for failed system calls. A command imports this only when a call has failed."""

from __future__ import annotations

import errno

from bb.kernel.errors import BbError, Busy, Forbidden, Refusal, Refused

DiskFull = Refused.declare(
    "DISK_FULL", "The disk is full; nothing was recorded", hint="free some space and repeat the command"
)

ReadOnlyStore = Refused.declare(
    "STORE_READ_ONLY",
    "The ledger's directory cannot be written",
    hint="reading works; to write, remount the file system read-write",
)

NoPermission = Forbidden.declare(
    "NO_PERMISSION",
    "Permission to access the ledger's directory was denied",
    hint="check who owns the repository's .git/bb directory",
)

DiskFailed = Refused.declare(
    "DISK_FAILED", "The disk reported an error; nothing was acknowledged", hint="check the disk, then run `bb doctor`"
)
NoSuchFolder = Refused.declare("FOLDER_MISSING", "A folder of the ledger is missing", hint="run `bb doctor`")
TooManyFiles = Busy.declare(
    "TOO_MANY_FILES", "The system has no file handles left", hint="try again, or raise the limit on open files"
)

NotAFile = Refused.declare(
    "NOT_A_FILE",
    "The path is a pipe, a device, a socket or a folder, not a regular file",
    hint="inspect the path with `ls -l`, then remove it or replace it by a regular file",
)

REFUSALS: dict[int | None, Refusal] = {
    errno.ENOSPC: DiskFull,
    errno.EDQUOT: DiskFull,
    errno.EFBIG: DiskFull,
    errno.EROFS: ReadOnlyStore,
    errno.EACCES: NoPermission,
    errno.EPERM: NoPermission,
    errno.ENOENT: NoSuchFolder,
    errno.EISDIR: NotAFile,
    errno.ENXIO: NotAFile,  # also the system's error for a socket, and for a terminal that does not exist
    errno.EMFILE: TooManyFiles,
    errno.ENFILE: TooManyFiles,
}

# The message if the path is known: it may be outside the ledger's directory.
NAMED = {ReadOnlyStore.code: "{} cannot be written", NoPermission.code: "Permission to access {} was denied"}

HOME_HINT = "set CCCC_HOME to a folder that you can write, for all commands and for the daemon"


def refusal_of(error: OSError) -> BbError:
    """The refusal for a failed system call."""
    refusal = REFUSALS.get(error.errno, DiskFailed)
    if refusal is NotAFile and error.filename:
        return NotAFile(f"{error.filename} is not a regular file", path=str(error.filename))
    about = {"path": str(error.filename)} if error.filename else {}
    message = NAMED[refusal.code].format(error.filename) if about and refusal.code in NAMED else refusal.message
    return refusal(f"{message}: {error.strerror or error}", **about)


class InDaemonHome:
    """`with InDaemonHome(home):` a system call that fails is refused with the path of the daemon's home directory. The
    refusal would be about the ledger otherwise."""

    def __init__(self, home: str) -> None:
        self._home = home

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        cause = error.__cause__ if isinstance(error, BbError) else error
        if not isinstance(cause, OSError):
            return
        refusal = REFUSALS.get(cause.errno, DiskFailed)
        if refusal in (DiskFull, TooManyFiles):
            raise refusal_of(cause) from cause
        path = str(cause.filename or self._home)
        message = f"The home directory of bb's daemon, {self._home}, cannot be used: {cause.strerror or cause}: {path}"
        raise refusal(message, hint=HOME_HINT, path=path) from cause
