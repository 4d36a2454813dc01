"""The list of programs that the daemon started, on disk, so that the next daemon finds programs left running.

Process numbers are reused. A process is therefore identified by its number, its start time and the machine's boot id.
If the system does not provide these, no process is signalled.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard

from bb.daemon.terminal.processes import signal_group
from bb.kernel import json_text
from bb.kernel.errors import BbError
from bb.kernel.record import Record
from bb.ledger.files import disk

SIGKILL, SIGTERM = 9, 15
MOST = 4 << 20  # bytes; far more than any real list needs
NAME = 200  # characters of a program's name
ENDED = ("Z", "X")  # process states: zombie, dead


class Child(Record):
    """A started program: its actor and its process."""

    group: str
    actor: str
    pid: int
    began: int | None  # clock ticks since BOOT
    boot: str | None
    program: str


class LeftOver(Record):
    """A child of an earlier daemon, and whether it is still running."""

    child: Child
    is_running: bool


class Children:
    """The file with the list of children."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._children = {(child.group, child.actor): child for child in _read(path)}

    def __iter__(self) -> Iterator[Child]:
        return iter(list(self._children.values()))

    def add(self, group: str, actor: str, pid: int, program: str) -> Child:
        """Record that process PID was started for an actor."""
        child = Child(group, actor, pid, start_time(pid), _boot(), program[:NAME])
        self._children[group, actor] = child
        self._write()
        return child

    def remove(self, group: str, actor: str) -> None:
        """Record that an actor's program has ended."""
        if self._children.pop((group, actor), None):
            self._write()

    def left_over(self) -> list[LeftOver]:
        """The children that the last daemon recorded. The caller stops those that are running and removes all."""
        return [LeftOver(child, is_running(child)) for child in self._children.values()]

    def _write(self) -> None:
        listed = [child.as_dict() for child in self._children.values()]
        disk.replace(self._path, json_text.dumps_ascii({"v": 1, "children": listed}).encode() + b"\n", mode=0o600)


def is_running(child: Child) -> bool:
    """Whether the child's process is still running."""
    return child.began is not None and child.boot == _boot() and start_time(child.pid) == child.began


def stop(child: Child) -> bool:
    """Send SIGTERM to the child's process group if it is running; whether it is."""
    return _signal(child, SIGTERM)


def kill(child: Child) -> bool:
    """Send SIGKILL to the child's process group if it is running; whether it was."""
    return _signal(child, SIGKILL)


def _signal(child: Child, number: int) -> bool:
    if not is_running(child):
        return False
    signal_group(child.pid, number)
    return True


def start_time(pid: int) -> int | None:
    """A process's start time; None if the system does not tell it or the process has ended."""
    try:
        octets = disk.read_small(f"/proc/{pid}/stat")
    except BbError:  # the process ended during the read
        return None
    # The second field is the program's name in parentheses, which may hold spaces and parentheses of its own.
    fields = (octets or b"").rpartition(b")")[2].decode("ascii", "replace").split()
    if len(fields) < 20 or fields[0] in ENDED or not fields[19].isdecimal():
        return None
    return int(fields[19])


def _boot() -> str | None:
    octets = disk.read_small("/proc/sys/kernel/random/boot_id")
    return octets.decode("ascii", "replace").strip() if octets else None


def _read(path: str) -> list[Child]:
    """The recorded children. An invalid file counts as empty; invalid entries are skipped."""
    try:
        content = json_text.read(disk.read_small(path, MOST) or b"")
    except json_text.NotJson:
        return []
    listed = content.get("children") if isinstance(content, dict) else None
    return [child for entry in (listed if isinstance(listed, list) else []) if (child := _child(entry))]


def _child(written: Any) -> Child | None:
    if not isinstance(written, dict):
        return None
    group, actor, program = (written.get(name) for name in ("group", "actor", "program"))
    pid, began, boot = (written.get(name) for name in ("pid", "began", "boot"))
    if not (isinstance(group, str) and isinstance(actor, str) and isinstance(program, str)):
        return None
    if not (isinstance(boot, str | None) and _is_number(pid) and pid > 1 and (began is None or _is_number(began))):
        return None
    return Child(group, actor, pid, began, boot, program)


def _is_number(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
