"""The queue of processes that wait for a scope in this clone: one file for each, `<store>/queue/<number>.json`.

A waiting process keeps its file locked, and the system releases the lock when the process ends, in whatever way. So an
unlocked file is left over, and the next process that joins removes it.
"""

from __future__ import annotations

import os
import time

from bb.coordination.holdings import scopes
from bb.coordination.holdings.queue import Waiter
from bb.kernel import ids, json_text
from bb.ledger.files import disk
from bb.ledger.files.lock import Lock, try_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

FOLDER, LOCK, SUFFIX = "queue", "lock", ".json"
LARGEST = 1 << 24  # bytes; more scopes than fit in a line of the ledger
GRACE = 5.0  # seconds after the end of its waiting time until a process counts as suspended
FLAGS = ("shared", "takeover", "allow_overlap", "is_open")


class QueuePlace:
    """`with QueuePlace(store, me, seconds, may_join) as place:` waits at the end of the queue, for at most SECONDS.
    MAY_JOIN refuses agents that may not join. It returns the highest number of a place in the ledger, which this place
    comes after."""

    def __init__(self, store: str, me: Waiter, seconds: float, may_join: Callable[[Waiter], int]) -> None:
        self.number = 0
        self.folder = os.path.join(store, FOLDER)
        self._me = me
        self._seconds = seconds
        self._may_join = may_join
        self._path = ""
        self._fd = -1

    def __enter__(self) -> Self:
        disk.make_folder(self.folder)
        lock = os.path.join(self.folder, LOCK)
        disk.make_empty(lock)
        try:
            with Lock(lock):
                _clear(self.folder)
                self.number = 1 + max(self._may_join(self._me), last_number(os.path.dirname(self.folder)))
                self._take_place(self._me.replace(number=self.number))
        except OSError as error:
            raise disk.refusal(error) from error
        return self

    def __exit__(self, *_: object) -> None:
        disk.remove_if_there(self._path)
        os.close(self._fd)

    def _take_place(self, me: Waiter) -> None:
        """Lock the file before it gets the name by which other processes find it."""
        self._path = os.path.join(self.folder, f"{me.number:012}{SUFFIX}")
        fresh = f"{self._path}.{os.getpid()}"
        self._fd = disk.create(fresh, os.O_RDWR | os.O_TRUNC)
        try_lock(self._fd)
        written = {
            "agent": me.agent,
            "scopes": [[scope.where, scope.is_file] for scope in me.scopes],
            "regions": [scope.region for scope in me.scopes],
            "until": time.time() + self._seconds,
            **{flag: getattr(me, flag) for flag in FLAGS},
        }
        disk.write_all(self._fd, json_text.dumps(written).encode())
        os.replace(fresh, self._path)


def last_number(store: str) -> int:
    """The highest number of a waiting process; 0 without one."""
    return max((number for number, _ in _files(os.path.join(store, FOLDER))), default=0)


def waiting(store: str) -> list[Waiter]:
    """The waiting agents, in order."""
    waiters = (_waiter(number, path) for number, path in _files(os.path.join(store, FOLDER)))
    return [waiter for waiter in waiters if waiter]


def _files(folder: str) -> list[tuple[int, str]]:
    stems = [(name[: -len(SUFFIX)], name) for name in disk.names(folder) if name.endswith(SUFFIX)]
    return [
        (int(stem), os.path.join(folder, name))
        for stem, name in stems
        if len(stem) == 12 and stem.isascii() and stem.isdigit()
    ]


def _waiter(number: int, path: str) -> Waiter | None:
    """The agent that waits with this file; None if its process has ended, or the file is invalid.

    A process that is still there after its waiting time is suspended. It keeps no other agent out.
    """
    if not _is_alive(path):
        return None
    try:
        members = json_text.read(disk.read_small(path, LARGEST) or b"")
        regions = members.get("regions") or [None] * len(members["scopes"])
        requested = [
            scopes.in_region(scope.replace(is_file=is_file), region)
            for (text, is_file), region in zip(members["scopes"], regions, strict=True)
            if (scope := scopes.stored(text))
        ]
        flags = {flag: members.get(flag) is True for flag in FLAGS}
        is_right = ids.is_actor_id(members["agent"]) and requested and time.time() < members["until"] + GRACE
        return Waiter(number, members["agent"], tuple(requested), **flags) if is_right else None
    except (ValueError, TypeError, KeyError):
        return None


def _is_alive(path: str) -> bool:
    try:
        fd = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        return False
    except OSError as error:  # unknown, so the waiter must not be skipped
        raise disk.refusal(error) from error
    try:
        return not try_lock(fd, shared=True)
    finally:
        os.close(fd)


def _clear(folder: str) -> None:
    """Remove the files of ended processes."""
    for name in disk.names(folder):
        path = os.path.join(folder, name)
        if SUFFIX in name and not _is_alive(path):  # including files that did not get their final name
            disk.remove_if_there(path)
