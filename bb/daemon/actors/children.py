"""The programs that run for the daemon, written down, so that the next one knows of those that this one left behind.

A number of a process is given to another one some day. So it counts only together with the moment at which the process
began, and with the boot of the machine in which that was; where the system tells neither, nobody is ever signalled.
"""

from __future__ import annotations

from bb.daemon.terminal.terminal import signal_group
from bb.kernel import json_text
from bb.kernel.errors import BbError
from bb.kernel.record import Record
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeGuard

SIGKILL, SIGTERM = 9, 15
MOST = 4 << 20  # bytes; a thousand times more children than anybody has
NAME = 200  # characters of a program's name
ENDED = ("Z", "X")  # states of a process that is only waited for


class Child(Record):
    """A program that was started: for which actor, and which process it is."""

    group: str
    actor: str
    pid: int
    began: int | None  # in the system's own count, since BOOT
    boot: str | None
    program: str


class LeftOver(Record):
    """What became of a child while no daemon was there to see."""

    child: Child
    is_running: bool


class Children:
    """The file in which they are written down."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._children = {(child.group, child.actor): child for child in _read(path)}

    def __iter__(self) -> Iterator[Child]:
        return iter(list(self._children.values()))

    def add(self, group: str, actor: str, pid: int, program: str) -> Child:
        """Write down that PID has just been started for an actor."""
        child = Child(group, actor, pid, began(pid), _boot(), program[:NAME])
        self._children[group, actor] = child
        self._write()
        return child

    def remove(self, group: str, actor: str) -> None:
        """It has ended."""
        if self._children.pop((group, actor), None):
            self._write()

    def left_over(self) -> list[LeftOver]:
        """What became of those that the last daemon wrote down: who is running is to be stopped, then all are to be
        removed."""
        return [LeftOver(child, is_running(child)) for child in self._children.values()]

    def _write(self) -> None:
        listed = [child.as_dict() for child in self._children.values()]
        disk.replace(self._path, json_text.dumps_ascii({"v": 1, "children": listed}).encode() + b"\n", mode=0o600)


def is_running(child: Child) -> bool:
    """Whether it is still the process that was started."""
    return child.began is not None and child.boot == _boot() and began(child.pid) == child.began


def stop(child: Child) -> bool:
    """Ask it and its process group to end, if it is still running; whether it is."""
    return _signal(child, SIGTERM)


def kill(child: Child) -> bool:
    """End it and its process group, if it is still running; whether it was."""
    return _signal(child, SIGKILL)


def _signal(child: Child, number: int) -> bool:
    if not is_running(child):
        return False
    signal_group(child.pid, number)
    return True


def began(pid: int) -> int | None:
    """When a process began, as far as the system tells; None also when there is no such process any more."""
    try:
        octets = disk.read_small(f"/proc/{pid}/stat")
    except BbError:  # it ended while it was read about
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
    """Those that are written down; what is no such file is none, and what does not fit is skipped."""
    try:
        found = json_text.read(disk.read_small(path, MOST) or b"")
    except json_text.NotJson:
        return []
    listed = found.get("children") if isinstance(found, dict) else None
    return [child for each in (listed if isinstance(listed, list) else []) if (child := _child(each))]


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
