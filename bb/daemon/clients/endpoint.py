"""The daemon's address (CCCC daemon IPC §3) and its single-instance lock.

The system releases the lock when the process ends, so a stale file cannot block a new daemon. The process with the lock
may remove a socket that an earlier daemon left. The descriptor is written after the daemon listens.
"""

from __future__ import annotations

import os
import socket
import stat
import sys
from collections.abc import Mapping

import bb
from bb.kernel import clock, json_text
from bb.kernel.digest import digest
from bb.kernel.errors import Refused, Usage
from bb.ledger.files import disk, disk_refusals
from bb.ledger.files.lock import is_replaced, is_still_at, taken_for_good
from bb.ledger.local import descriptor
from bb.ledger.local.descriptor import LOCK, PID, AlreadyRunning

BACKLOG = 1024
LOOPBACK = ("127.0.0.1", "localhost", "::1")
TO_BE_REACHED_AT = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  (an address to listen on, not to connect to)
ALLOW_ANONYMOUS = "BB_DAEMON_ALLOW_ANONYMOUS_TCP"
TOKEN_BYTES = 32
TRUE = ("1", "true", "yes", "on")
LONGEST_PATH = 100  # bytes; systems limit socket paths to 104 or 108

InvalidEndpoint = Usage.declare(
    "INVALID_ENDPOINT",
    "The daemon cannot listen at that address",
    hint="set CCCC_DAEMON_TRANSPORT to unix or tcp, and CCCC_DAEMON_PORT to a number from 0 to 65535",
)

RemoteRefused = Refused.declare(
    "REMOTE_REFUSED",
    "The daemon listens only on loopback, since it runs programs and its connections are not encrypted",
    hint=(
        "CCCC_DAEMON_ALLOW_REMOTE=1 allows it; anyone who can read that network's traffic can then run programs as you"
    ),
)


class Endpoint:
    """The address of one daemon."""

    def __init__(self, home: str, env: Mapping[str, str]) -> None:
        self.folder = os.path.join(home, "daemon")
        self._env = env
        self._lock = -1
        self._socket_path = ""
        self.warnings: list[str] = []
        self.token: str | None = None  # if set, clients must show it

    def claim(self) -> None:
        """Take the lock of this home directory. Refused if another daemon has it."""
        home = os.path.dirname(self.folder)
        with disk_refusals.InDaemonHome(home):
            _make_own(home)
            _keep_from_others(home)
            _make_own(self.folder)
            os.chmod(self.folder, 0o700)
            lock = taken_for_good(os.path.join(self.folder, LOCK))
        if lock is None:
            raise AlreadyRunning(home=home)
        self._lock = lock

    def listen(self, now: int) -> socket.socket:
        """Listen, and write the descriptor for clients."""
        usual = "tcp" if sys.platform == "win32" else "unix"
        transport = self._env.get("CCCC_DAEMON_TRANSPORT", "").strip().lower() or usual
        if transport not in ("unix", "tcp"):
            raise InvalidEndpoint(f"{transport[:40]!r} is not a transport")
        listener = self._unix() if transport == "unix" else self._tcp()
        listener.listen(BACKLOG)
        listener.setblocking(False)
        host, port = ("", 0) if transport == "unix" else listener.getsockname()[:2]
        described = {
            "v": 1,
            "transport": transport,
            "path": self._socket_path,
            "host": TO_BE_REACHED_AT.get(host, host),
            "port": port,
            "pid": os.getpid(),
            "version": bb.__version__,
            "ts": clock.text(now),
        }
        if transport == "tcp":
            described |= self._token()
        self._write(descriptor.DESCRIPTOR, json_text.dumps(described))
        self._write(PID, str(os.getpid()))
        return listener

    def _token(self) -> dict[str, str]:
        """The descriptor's token, which clients must show. It is new at each start and stored only there."""
        if self._env.get(ALLOW_ANONYMOUS, "").strip().lower() in TRUE:
            self.warnings.append(
                "the daemon does not require a token, so every user of this machine can run programs as you"
            )
            return {}
        self.token = os.urandom(TOKEN_BYTES).hex()
        return {"token": self.token}

    @property
    def is_in_place(self) -> bool:
        """Whether the lock that this process has taken is still in the home directory. If it is not, the directory was
        deleted, or is on a disk that is away, or another daemon may have it by now."""
        return is_still_at(os.path.join(self.folder, LOCK), self._lock)

    @property
    def is_replaced(self) -> bool:
        """Whether the home directory was deleted and made anew."""
        return is_replaced(os.path.join(self.folder, LOCK), self._lock)

    def leave(self) -> None:
        """Remove the descriptor and the socket. The files of another daemon stay. The end of the process releases the
        lock, once all databases are closed: a command that waits for this may touch their files."""
        if not self.is_replaced:
            for name in (descriptor.DESCRIPTOR, PID):
                disk.remove_if_there(os.path.join(self.folder, name))
            if self._socket_path:
                remove_socket(self._socket_path, self.folder)

    def _unix(self) -> socket.socket:
        self._socket_path = socket_path(self.folder, descriptor.SOCKET, self._env)
        disk.remove_if_there(self._socket_path)  # this process has the lock, so no daemon uses the socket
        return bound_socket(self._socket_path)

    def _tcp(self) -> socket.socket:
        host = self._env.get("CCCC_DAEMON_HOST", "").strip() or LOOPBACK[0]
        if host not in LOOPBACK:
            if self._env.get("CCCC_DAEMON_ALLOW_REMOTE", "").strip().lower() not in TRUE:
                raise RemoteRefused(f"{host} is not a loopback address", host=host)
            self.warnings.append(
                f"the daemon listens on {host} without encryption: "
                "anyone who reads a client's token from the network can run programs as you"
            )
        written = self._env.get("CCCC_DAEMON_PORT", "").strip() or "0"
        if not (written.isascii() and written.isdigit() and int(written) <= 65535):
            raise InvalidEndpoint(f"{written[:40]!r} is not a port")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        if sys.platform == "win32":  # SO_REUSEADDR would let another program share the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, int(written)))
        except OSError as error:
            raise InvalidEndpoint(f"cannot listen on {host}:{written}: {error.strerror}") from error
        return listener

    def _write(self, name: str, text: str) -> None:
        disk.replace(os.path.join(self.folder, name), text.encode() + b"\n", mode=0o600)


def socket_path(folder: str, name: str, env: Mapping[str, str]) -> str:
    """The path of a Unix socket: NAME in FOLDER, or in a runtime folder of its own if that path is too long."""
    path = os.path.join(folder, name)
    if len(os.fsencode(path)) <= LONGEST_PATH:
        return path
    short = f"bb-{os.getuid()}-{digest(os.fsencode(path))[:12]}"
    runtime = env.get("XDG_RUNTIME_DIR", "")
    base = runtime if os.path.isdir(runtime) and len(os.fsencode(runtime)) < LONGEST_PATH // 2 else "/tmp"  # noqa: S108
    own = os.path.join(base, short)
    try:
        os.mkdir(own, 0o700)
    except FileExistsError:
        about = os.lstat(own)
        if about.st_uid != os.getuid() or about.st_mode & 0o077 or os.path.islink(own):
            raise disk_refusals.NoPermission(f"{own} is accessible to other users", path=own) from None
    except OSError as error:
        raise disk.refusal(error) from error
    return os.path.join(own, name)


def bound_socket(path: str) -> socket.socket:
    """A Unix socket at PATH, to which no other user can connect."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)  # other users must never be able to connect
    try:
        bound.bind(path)
    except OSError as error:
        bound.close()
        raise disk.refusal(error) from error
    finally:
        os.umask(mask)
    return bound


def remove_socket(path: str, folder: str) -> None:
    """Remove the socket at PATH, and the folder that was made for it if it is not in FOLDER."""
    disk.remove_if_there(path)
    if os.path.dirname(path) != folder:
        disk.remove_folder_if_empty(os.path.dirname(path))


def _make_own(path: str) -> None:
    """Create a folder for this user only, unless it exists."""
    disk.make_private_folder(os.path.dirname(path))
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return


def _keep_from_others(path: str) -> None:
    """Remove other users' write permission, with which they could replace our folder. A sticky folder is safe as it is:
    users can remove only their own entries there."""
    about = os.stat(path)
    is_open = about.st_mode & stat.S_IWOTH and not about.st_mode & stat.S_ISVTX
    if hasattr(os, "geteuid") and is_open and about.st_uid == os.geteuid():
        os.chmod(path, stat.S_IMODE(about.st_mode) & ~stat.S_IWOTH)
