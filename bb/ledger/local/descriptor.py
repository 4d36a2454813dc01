"""The daemon's descriptor (CCCC daemon IPC §3), as a client reads it: the address at which the daemon listens.

For TCP the descriptor also has the token that a client must present, so only the daemon's own user can read it. A
descriptor that belongs to another user is refused, because requests would go to that user.
"""

from __future__ import annotations

import os
from typing import Any

from bb.kernel import json_text
from bb.kernel.errors import Busy, Forbidden
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.files.lock import is_held

DESCRIPTOR, SOCKET = "ccccd.addr.json", "ccccd.sock"
LOCK, PID, LOG = "ccccd.lock", "ccccd.pid", "ccccd.log"
MOST = 1 << 16  # bytes of a descriptor
MOST_TOKEN = 256  # characters
ROOT = 0

AlreadyRunning = Busy.declare(
    "ALREADY_RUNNING",
    "A daemon is already running for this home directory",
    hint="`bb daemon status` shows it; `bb daemon stop` stops it",
)

DescriptorNotOurs = Forbidden.declare(
    "DESCRIPTOR_NOT_OURS",
    "The daemon's descriptor belongs to another user, so bb does not connect to the address in it",
    hint="set CCCC_HOME to your own directory, or remove the file if it is not needed",
)


class Address(Record):
    """The address of a daemon, and the token to present there."""

    transport: str
    path: str = ""
    host: str = ""
    port: int = 0
    pid: int = 0
    version: str = ""
    token: str = ""

    def __str__(self) -> str:
        """The address for display, without the token."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"unix:{self.path}" if self.transport == "unix" else f"tcp://{host}:{self.port}"

    @property
    def is_anonymous(self) -> bool:
        """Whether the daemon serves every client that can connect. Any user of the machine can connect to a port."""
        return self.transport == "tcp" and not self.token

    @property
    def warning(self) -> str | None:
        """A warning for the daemon's user, if the address needs one."""
        return (
            f"every user of this machine can run programs as you: {self} requires no token"
            if self.is_anonymous
            else None
        )


def address(home: str) -> Address:
    """The address of a home directory's daemon: as its descriptor says, else the default socket."""
    folder = os.path.join(home, "daemon")
    octets, owner = _read(os.path.join(folder, DESCRIPTOR))
    try:
        members: Any = json_text.read(octets)
    except ValueError:
        members = None
    described = _described(members)
    if described and not _may_be_believed(described, owner):
        raise DescriptorNotOurs(path=os.path.join(folder, DESCRIPTOR))
    return described or Address("unix", path=os.path.join(folder, SOCKET))


def _may_be_believed(described: Address, owner: int) -> bool:
    """Whether the descriptor belongs to this user. root may also use another user's daemon at its Unix socket."""
    if not hasattr(os, "geteuid"):
        return True
    me = os.geteuid()
    return owner == me or (me == ROOT and described.transport == "unix")


def is_running(home: str) -> bool:
    """Whether a daemon is running for that home directory."""
    return is_held(os.path.join(home, "daemon", LOCK))


def _read(path: str) -> tuple[bytes, int]:
    """The contents of a file and its owner; empty and -1 if it does not exist."""
    try:
        fd, status = disk.open_to_read(path)
    except (FileNotFoundError, NotADirectoryError):
        return b"", -1
    except OSError as error:
        raise disk.refusal(error) from error
    try:
        return os.read(fd, MOST), status.st_uid
    except OSError as error:
        raise disk.refusal(error) from error
    finally:
        os.close(fd)


def _described(found: Any) -> Address | None:
    if type(found) is not dict or found.get("v") != 1:
        return None
    pid = found["pid"] if type(found.get("pid")) is int else 0
    version = found["version"] if type(found.get("version")) is str else ""
    path, host, port, token = found.get("path"), found.get("host"), found.get("port"), found.get("token")
    if found.get("transport") == "unix" and type(path) is str and path:
        return Address("unix", path=path, pid=pid, version=version)
    if found.get("transport") == "tcp" and type(port) is int and 0 < port < 1 << 16:
        reachable_host = host if type(host) is str and host not in ("", "0.0.0.0") else "127.0.0.1"  # noqa: S104
        valid_token = token if type(token) is str and len(token) <= MOST_TOKEN else ""
        return Address(
            "tcp",
            host="::1" if reachable_host == "::" else reachable_host,
            port=port,
            pid=pid,
            version=version,
            token=valid_token,
        )
    return None
