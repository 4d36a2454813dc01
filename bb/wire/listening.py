"""A Unix socket in the file system with exactly one server.

The server holds a lock beside the socket. The system releases the lock when the process ends, so the next holder of the
lock may remove a stale socket.
"""

from __future__ import annotations

import os
import socket
import stat
from typing import Self

from bb.kernel.errors import Busy, Refused
from bb.ledger.files import disk
from bb.ledger.files.lock import try_lock
from bb.wire import access

LONGEST_PATH = 100  # bytes; systems allow 104 to 108
BACKLOG = 64
LOCK = ".lock"

AlreadyServing = Busy.declare(
    "ALREADY_SERVING",
    "Another process already serves on that socket",
    hint="connect to that socket, or name another path",
)

CannotListen = Refused.declare(
    "CANNOT_LISTEN", "The socket cannot be created there", hint="name a short path in a directory of your own"
)
TooManyHarnesses = Busy.declare(
    "TOO_MANY_HARNESSES", "Too many harnesses are connected", hint="close unused connections, and try again"
)


class Listener:
    """`with Listener(path):` listens on the socket at PATH."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        if not hasattr(socket, "AF_UNIX"):
            raise CannotListen("this system has no Unix sockets", hint="use --stdio")
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
        """The next connection; None if it has closed again, or belongs to another user."""
        try:
            connection = self.socket.accept()[0]
        except OSError:
            return None
        if access.is_own(connection):
            return connection
        connection.close()
        return None

    def _claim(self) -> None:
        if not try_lock(self._lock):
            raise AlreadyServing(path=self.path)

    def _make_room(self) -> None:
        """Remove a stale socket; never another file."""
        try:
            about = os.lstat(self.path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise CannotListen(f"{self.path}: {error.strerror}", path=self.path) from error
        if not stat.S_ISSOCK(about.st_mode):
            raise CannotListen(f"{self.path} exists, but is not a socket", path=self.path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            if probe.connect_ex(self.path) == 0:
                raise AlreadyServing(path=self.path)
        disk.remove_if_there(self.path)

    def _bound(self) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o177)  # so that other users can never connect
        try:
            listener.bind(self.path)
            listener.listen(BACKLOG)
            listener.setblocking(False)
        except OSError as error:
            listener.close()
            raise CannotListen(f"{self.path}: {error.strerror}", path=self.path) from error
        finally:
            os.umask(mask)
        return listener
