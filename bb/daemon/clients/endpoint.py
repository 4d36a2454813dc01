"""Where the daemon is found (CCCC daemon IPC §3), and that there is only one of it.

One instance is a matter of a lock that the system takes away with the process, not of a file that says so: whoever has
the lock may remove a socket that somebody left behind. The descriptor is written once somebody listens.
"""

from __future__ import annotations

import os
import socket
import stat
import sys
import time

import bb
from bb.kernel import clock, json_text
from bb.kernel.digest import digest
from bb.kernel.errors import Refused, Usage
from bb.ledger.files import disk
from bb.ledger.files.lock import try_lock
from bb.ledger.local import descriptor
from bb.ledger.local.descriptor import LOCK, PID, AlreadyRunning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

BACKLOG = 1024
LOOPBACK = ("127.0.0.1", "localhost", "::1")
TO_BE_REACHED_AT = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  (who listens everywhere, listens here too)
ALLOW_ANONYMOUS = "BB_DAEMON_ALLOW_ANONYMOUS_TCP"
TOKEN_BYTES = 32
TRUE = ("1", "true", "yes", "on")
GLANCES, GLANCE = 20, 0.005
LONGEST_PATH = 100  # bytes; systems allow 104 to 108 for the name of a socket


class InvalidEndpoint(Usage):
    """The daemon cannot listen there."""

    code = "INVALID_ENDPOINT"
    hint = "CCCC_DAEMON_TRANSPORT is unix or tcp, CCCC_DAEMON_PORT a number from 0 to 65535"


class RemoteRefused(Refused):
    """The daemon runs programs, and nothing that is said to it is encrypted, so it only listens to this machine."""

    code = "REMOTE_REFUSED"
    hint = "CCCC_DAEMON_ALLOW_REMOTE=1 lets it; whoever can read what goes over that network can then use it"


class Endpoint:
    """The place where one daemon listens."""

    def __init__(self, home: str, env: Mapping[str, str]) -> None:
        self.folder = os.path.join(home, "daemon")
        self._env = env
        self._lock = -1
        self._socket_path = ""
        self.warnings: list[str] = []
        self.token: str | None = None  # what a client has to show, where one has to

    def claim(self) -> None:
        """Be the daemon of this home directory, or refuse."""
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        try:
            _make_own(os.path.dirname(self.folder))
            _keep_from_others(os.path.dirname(self.folder))
            _make_own(self.folder)
            os.chmod(self.folder, 0o700)
            self._lock = os.open(os.path.join(self.folder, LOCK), flags, 0o600)
        except OSError as error:
            raise disk.refusal(error) from error
        if not self._is_free():
            os.close(self._lock)
            self._lock = -1
            raise AlreadyRunning(home=os.path.dirname(self.folder))

    def _is_free(self) -> bool:
        """Take the lock, if no daemon has it. Whoever looks whether one has takes it for a moment, too."""
        for _ in range(GLANCES):
            if try_lock(self._lock):
                return True
            time.sleep(GLANCE)
        return False

    def listen(self, now: int) -> socket.socket:
        """Listen, and tell clients where."""
        usual = "tcp" if sys.platform == "win32" else "unix"
        transport = self._env.get("CCCC_DAEMON_TRANSPORT", "").strip().lower() or usual
        if transport not in ("unix", "tcp"):
            raise InvalidEndpoint(f"{transport[:40]!r} is no transport")
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
        """What stands in the descriptor for clients to show: made anew at each start, and known nowhere else."""
        if self._env.get(ALLOW_ANONYMOUS, "").strip().lower() in TRUE:
            self.warnings.append(
                "every user of this machine can run programs as you: the daemon asks no client for its token"
            )
            return {}
        self.token = os.urandom(TOKEN_BYTES).hex()
        return {"token": self.token}

    def leave(self) -> None:
        """Be found no longer, and let the next one be the daemon."""
        for name in (descriptor.DESCRIPTOR, PID):
            disk.remove_if_there(os.path.join(self.folder, name))
        if self._socket_path:
            disk.remove_if_there(self._socket_path)
            if os.path.dirname(self._socket_path) != self.folder:
                disk.remove_folder_if_empty(os.path.dirname(self._socket_path))
        if self._lock >= 0:
            os.close(self._lock)

    def _unix(self) -> socket.socket:
        self._socket_path = self._free_path()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o177)  # nobody else may connect, from the first moment on
        try:
            listener.bind(self._socket_path)
        except OSError as error:
            raise disk.refusal(error) from error
        finally:
            os.umask(mask)
        return listener

    def _free_path(self) -> str:
        """Where the socket goes: beside its descriptor, or, where that name is too long, where there are short ones."""
        path = os.path.join(self.folder, descriptor.SOCKET)
        if len(os.fsencode(path)) > LONGEST_PATH:
            short = f"bb-{os.getuid()}-{digest(os.fsencode(path))[:12]}"
            runtime = self._env.get("XDG_RUNTIME_DIR", "")
            base = runtime if os.path.isdir(runtime) and len(os.fsencode(runtime)) < LONGEST_PATH // 2 else "/tmp"  # noqa: S108
            folder = os.path.join(base, short)
            try:
                os.mkdir(folder, 0o700)
            except FileExistsError:
                about = os.lstat(folder)
                if about.st_uid != os.getuid() or about.st_mode & 0o077 or os.path.islink(folder):
                    raise disk.NoPermission(f"{folder} is not ours alone", path=folder) from None
            path = os.path.join(folder, descriptor.SOCKET)
        disk.remove_if_there(path)  # we have the lock: whoever listened there is gone
        return path

    def _tcp(self) -> socket.socket:
        host = self._env.get("CCCC_DAEMON_HOST", "").strip() or LOOPBACK[0]
        if host not in LOOPBACK:
            if self._env.get("CCCC_DAEMON_ALLOW_REMOTE", "").strip().lower() not in TRUE:
                raise RemoteRefused(f"{host} is not this machine alone", host=host)
            self.warnings.append(
                f"everybody who can reach {host} can speak to this daemon, and nothing said to it is encrypted: "
                "whoever reads a client's token on its way can run programs as you"
            )
        written = self._env.get("CCCC_DAEMON_PORT", "").strip() or "0"
        if not (written.isascii() and written.isdigit() and int(written) <= 65535):
            raise InvalidEndpoint(f"{written[:40]!r} is no port")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        if sys.platform == "win32":  # there the other option would let a second program have the same port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, int(written)))
        except OSError as error:
            raise InvalidEndpoint(f"{host}:{written} cannot be listened on: {error.strerror}") from error
        return listener

    def _write(self, name: str, text: str) -> None:
        disk.replace(os.path.join(self.folder, name), text.encode() + b"\n", mode=0o600)


def _make_own(path: str) -> None:
    """Make a folder that nobody else may enter, unless there is one."""
    disk.make_private_folder(os.path.dirname(path))
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return


def _keep_from_others(path: str) -> None:
    """Take from all other users the right to put another folder in the place of ours; where one's own is set up so
    that each may only remove what is their own, they have no such right."""
    about = os.stat(path)
    is_open = about.st_mode & stat.S_IWOTH and not about.st_mode & stat.S_ISVTX
    if hasattr(os, "geteuid") and is_open and about.st_uid == os.geteuid():
        os.chmod(path, stat.S_IMODE(about.st_mode) & ~stat.S_IWOTH)
