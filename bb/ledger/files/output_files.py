"""Files that the user names as an output. They are written under a temporary name and renamed when complete."""

from __future__ import annotations

import os
from typing import IO

from bb.kernel.errors import BbError, Refused
from bb.ledger.files import disk
from bb.ledger.files.disk_refusals import DiskFull

OutputNotWritten = Refused.declare(
    "OUTPUT_NOT_WRITTEN", "The file cannot be written", hint="name a file in a directory that you may write to"
)


class Replacement:
    """A file that is written in pieces under a temporary name and renamed when it is complete.

    It keeps the permissions of the file it replaces, and a symbolic link to that file. A pipe or a device is written
    to directly.
    """

    def __init__(self, path: str) -> None:
        if "\0" in path:
            raise OutputNotWritten("the file cannot be written: its name contains a NUL character")
        self._path = os.path.realpath(path)
        self._is_direct = os.path.exists(self._path) and not os.path.isfile(self._path)
        self._temporary = self._path if self._is_direct else f"{self._path}.{os.urandom(8).hex()}.tmp"

    def __enter__(self) -> IO[bytes]:
        try:
            how = os.O_WRONLY | (0 if self._is_direct else os.O_CREAT | os.O_EXCL) | getattr(os, "O_BINARY", 0)
            self._file = open(os.open(self._temporary, how, disk.PLAIN), "wb")
            if not self._is_direct and os.path.exists(self._path):
                os.chmod(self._temporary, os.stat(self._path).st_mode & 0o7777)
        except OSError as error:
            self._tidy()
            raise not_written(error, self._path) from error
        return self._file

    def __exit__(self, _: type[BaseException] | None, failure: BaseException | None, __: object) -> None:
        try:
            self._file.close()
            if failure is None and not self._is_direct:
                os.replace(self._temporary, self._path)
        except OSError as error:
            raise not_written(error, self._path) from error
        finally:
            self._tidy()
        if isinstance(failure, OSError):
            raise not_written(failure, self._path) from failure

    def _tidy(self) -> None:
        if not self._is_direct:
            disk.remove_if_there(self._temporary)


def not_written(error: OSError, path: str) -> BbError:
    """DiskFull for a full disk; any other error is reported for the file that was named."""
    refusal = disk.refusal(error)
    if isinstance(refusal, DiskFull.error):
        return refusal
    return OutputNotWritten(f"{path} cannot be written: {error.strerror}", path=path)
