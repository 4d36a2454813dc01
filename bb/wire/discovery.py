"""Where a daemon is to be found, as a client finds it (CCCC daemon IPC §3)."""

from __future__ import annotations

import os

from bb.kernel import jsontext
from bb.kernel.errors import Busy
from bb.kernel.record import Record
from bb.ledger import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DESCRIPTOR, SOCKET = "ccccd.addr.json", "ccccd.sock"
LOCK, PID, LOG = "ccccd.lock", "ccccd.pid", "ccccd.log"


class AlreadyRunning(Busy):
    """A daemon is running for this home directory."""

    code = "ALREADY_RUNNING"
    hint = "`bb daemon status` says which; `bb daemon stop` ends it"


class Address(Record):
    """Where to connect."""

    transport: str
    path: str = ""
    host: str = ""
    port: int = 0
    pid: int = 0
    version: str = ""

    def __str__(self) -> str:
        """As people write it down."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"unix:{self.path}" if self.transport == "unix" else f"tcp://{host}:{self.port}"


def address(home: str) -> Address:
    """Where the daemon of a home directory listens, if there is one."""
    folder = os.path.join(home, "daemon")
    try:
        found: Any = jsontext.read(disk.read_small(os.path.join(folder, DESCRIPTOR)) or b"")
    except ValueError:
        found = None
    return _described(found) or Address("unix", path=os.path.join(folder, SOCKET))


def _described(found: Any) -> Address | None:
    if type(found) is not dict or found.get("v") != 1:
        return None
    pid = found["pid"] if type(found.get("pid")) is int else 0
    version = found["version"] if type(found.get("version")) is str else ""
    path, host, port = found.get("path"), found.get("host"), found.get("port")
    if found.get("transport") == "unix" and type(path) is str and path:
        return Address("unix", path=path, pid=pid, version=version)
    if found.get("transport") == "tcp" and type(port) is int and 0 < port < 1 << 16:
        known = host if type(host) is str and host not in ("", "0.0.0.0") else "127.0.0.1"  # noqa: S104
        return Address("tcp", host="::1" if known == "::" else known, port=port, pid=pid, version=version)
    return None
