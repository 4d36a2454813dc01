"""Refusals for failed system calls. A command imports this only when a call has failed."""

from __future__ import annotations

import errno

from bb.kernel.errors import BbError, Busy, Forbidden, Refused


class DiskFull(Refused):
    """The disk is full; nothing was recorded."""

    code = "DISK_FULL"
    hint = "free some space and repeat the command"


class ReadOnlyStore(Refused):
    """The ledger's directory cannot be written."""

    code = "STORE_READ_ONLY"
    hint = "reading works; to write, remount the file system read-write"


class NoPermission(Forbidden):
    """Permission to access the ledger's directory was denied."""

    code = "NO_PERMISSION"
    hint = "check who owns the repository's .git/bb directory"


class DiskFailed(Refused):
    """The disk reported an error; nothing was acknowledged."""

    code = "DISK_FAILED"
    hint = "check the disk, then run `bb doctor`"


class NoSuchFolder(Refused):
    """A folder of the ledger is missing."""

    code = "FOLDER_MISSING"
    hint = "run `bb doctor`"


class TooManyFiles(Busy):
    """The system has no file handles left."""

    code = "TOO_MANY_FILES"
    hint = "try again, or raise the limit on open files"


class NotAFile(Refused):
    """The path is a pipe, a device, a socket or a folder, not a regular file."""

    code = "NOT_A_FILE"
    hint = "inspect the path with `ls -l`, then remove it or replace it by a regular file"


REFUSALS: dict[int | None, type[BbError]] = {
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


def refusal_of(error: OSError) -> BbError:
    """The refusal for a failed system call."""
    family = REFUSALS.get(error.errno, DiskFailed)
    if family is NotAFile and error.filename:
        return NotAFile(f"{error.filename} is not a regular file", path=str(error.filename))
    message = f"{(family.__doc__ or '').splitlines()[0].rstrip('.')}: {error.strerror or error}"
    return family(message, **({"path": str(error.filename)} if error.filename else {}))
