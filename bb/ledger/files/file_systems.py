"""What the index needs to know about a file system: whether it has room, and whether it is on a network."""

from __future__ import annotations

import os

ENOUGH_ROOM = 64 << 20  # bytes
NETWORK_FILE_SYSTEMS = frozenset(["nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "fuse.sshfs", "vboxsf", "prl_fs"])


def has_room(path: str) -> bool:
    """Whether the file at PATH is writable and its disk has enough free space, as far as the system reports it."""
    folder = os.path.dirname(path)
    if not os.access(folder, os.W_OK) or (os.path.lexists(path) and not _is_writable(path)):
        return False
    if not hasattr(os, "statvfs"):
        return True
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize > ENOUGH_ROOM


def _is_writable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.W_OK)


def file_system(path: str) -> str:
    """The type of the file system that contains PATH; empty if it is unknown (anywhere but on Linux)."""
    real = os.path.realpath(path)
    mounts = [
        (point, kind) for point, kind in _read_mounts() if real == point or real.startswith(point.rstrip("/") + "/")
    ]
    return max(mounts, key=lambda mount: len(mount[0]), default=("", ""))[1]


def _read_mounts() -> list[tuple[str, str]]:
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as file:
            rows = [row.split() for row in file]
    except OSError:
        return []
    return [(row[1], row[2]) for row in rows if len(row) > 2]
