"""The processes around this one: they tell which session a program belongs to if its host passes no session id.

Gemini CLI sets GEMINI_SESSION_ID for its hooks, but only GEMINI_CLI=1 for its shell and its MCP servers. One process
starts all of them. Only Linux is supported; elsewhere no process is found.
"""

from __future__ import annotations

import os

from bb.kernel.errors import BbError
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SHELLS = frozenset(["ash", "bash", "busybox", "dash", "fish", "ksh", "mksh", "sh", "zsh"])
OURS = frozenset(["bb", "beadboard"])  # scripts that start bb; the system names them after their file
MOST = 16  # processes between a command and its host
PARENT, START = 1, 19  # fields of /proc/PID/stat after the name


def around() -> Iterator[str]:
    """Ids of the processes around this one, the nearest first. Shells are left out: hosts start them for commands; and
    so are scripts that start bb."""
    pid = os.getppid()
    for _ in range(MOST):
        process = _process(pid)
        if process is None:
            return
        name, parent, start = process
        if name not in SHELLS and name not in OURS:
            yield f"process {pid} {start}"
        pid = parent


def _process(pid: int) -> tuple[str, int, str] | None:
    """The name, the parent and the start time of a process; None if it cannot be read, or is the first process."""
    try:
        octets = disk.read_small(f"/proc/{pid}/stat") or b"" if pid > 1 else b""
    except BbError:  # the process ended during the read
        return None
    # The name is in parentheses, and may hold spaces and parentheses of its own.
    head, _, rest = octets.rpartition(b")")
    fields = rest.decode("ascii", "replace").split()
    if len(fields) <= START or not fields[PARENT].isdecimal():
        return None
    return head.partition(b"(")[2].decode("utf-8", "replace"), int(fields[PARENT]), fields[START]
