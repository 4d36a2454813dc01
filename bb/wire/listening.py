"""A socket of one's own in the file system, at which there is only ever one server.

That there is one is told by a lock beside the socket, which the system takes away with the process; so whoever has the
lock may remove a socket that somebody left behind.
"""

from __future__ import annotations

import os
import socket
import stat

from bb.kernel.errors import Busy, Refused
from bb.ledger.files import disk
from bb.ledger.files.lock import try_lock
from bb.wire import access

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

LONGEST_PATH = 100  # bytes; systems allow 104 to 108
BACKLOG = 64
LOCK = ".lock"


class AlreadyServing(Busy):
    """Somebody serves at that socket."""

    code = "ALREADY_SERVING"
    hint = "connect to it, or name another path"


class CannotListen(Refused):
    """Nobody can be served there."""

    code = "CANNOT_LISTEN"
    hint = "name a short path in a directory that is yours"


class TooManyHarnesses(Busy):
    """Too many harnesses are connected."""

    code = "TOO_MANY_HARNESSES"
    hint = "close connections that are done, and try again"


class Listener:
    """`with Listener(path):` serves there, alone."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        if not hasattr(socket, "AF_UNIX"):
            raise CannotListen("this system has no such sockets", hint="use --stdio")
        if len(os.fsencode(self.path)) > LONGEST_PATH:
            raise CannotListen(f"a socket's path has at most {LONGEST_PATH} bytes", path=self.path)

    def __enter__(self) -> Self:
        try:
            self._lock = os.open(self.path + LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        except OSError as error:
            raise CannotListen(f"{self.path}: {error.strerror}", path=self.path) from error
        try:
            self._claim()
            self._make_room()
            self.socket = self._bound()
        except BaseException:
            os.close(self._lock)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
        disk.remove_if_there(self.path)
        os.close(self._lock)

    def accept(self) -> socket.socket | None:
        """Whoever has connected; nobody where it has left again, or is another user."""
        try:
            found = self.socket.accept()[0]
        except OSError:
            return None
        if access.is_own(found):
            return found
        found.close()
        return None

    def _claim(self) -> None:
        if not try_lock(self._lock):
            raise AlreadyServing(path=self.path)

    def _make_room(self) -> None:
        """Remove a socket that nobody listens at; nothing else is ever removed."""
        try:
            about = os.lstat(self.path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise CannotListen(f"{self.path}: {error.strerror}", path=self.path) from error
        if not stat.S_ISSOCK(about.st_mode):
            raise CannotListen(f"{self.path} is there, and is no socket", path=self.path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            if probe.connect_ex(self.path) == 0:
                raise AlreadyServing(path=self.path)
        disk.remove_if_there(self.path)

    def _bound(self) -> socket.socket:
        found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o177)  # nobody else may connect, from the first moment on
        try:
            found.bind(self.path)
            found.listen(BACKLOG)
            found.setblocking(False)
        except OSError as error:
            found.close()
            raise CannotListen(f"{self.path}: {error.strerror}", path=self.path) from error
        finally:
            os.umask(mask)
        return found
