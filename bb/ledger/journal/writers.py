"""Finds the journal that this process may write: one writer per store and kernel.

A chain must never fork. So two stores must never write under one id, nor two kernels that share a directory, because
their locks do not see each other. A writer belongs to a store by the inode and change time of its lock file, which is
never written again: in a copied or restored directory they differ. It belongs to a kernel: in one boot to every
container on the host, as long as they see the file on the same device; after a reboot, to the machine.

Containers of one image see the image's files with equal inodes and change times, but each on a device of its own. After
a reboot, nothing distinguishes them, so a writer in such a file system (LAYERED) is not kept then.

A process without a writer makes a new one. A needless writer costs a small folder; a shared writer would break the
chain.
"""

from __future__ import annotations

import os
import sys
import time

from bb.kernel import ids, json_text
from bb.kernel.digest import digest
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.journal import received

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.files.lock import Lock

JOURNALS = "j"  # the folder of the journals that processes with access to a store write
LOCK, OWNER = "lock", "owner.json"
NO_FILE = "none"
SAME_MOMENT = 3_000_000_000  # nanoseconds; some file systems count two seconds as one moment
LAYERED = frozenset(["overlay", "aufs", "fuse.fuse-overlayfs"])  # file systems that show an image's files


class Owner(Record):
    """The owner of a writer."""

    machine: str
    boot: str
    lock: str
    retired: str | None = None  # the reason why this writer must not be used any more
    # Start of the lines that must still be recorded again: segment file, colon, offset.
    # `ledger/records/set_aside.py` uses a special value.
    owed: str | None = None
    device: str | None = None  # of the lock file; None in records of earlier versions

    def is_us(self, here: Owner, path: str) -> bool:
        """Whether this process may write under it. HERE is the owner that this process would record at PATH."""
        if self.retired is not None or self.lock != here.lock:
            return False
        if self.boot != "" and self.boot == here.boot:
            return self.device is None or self.device == here.device
        return self.machine == here.machine and not _is_layered(path)


def own_writer(journals: str, hint: str | None = None) -> str | None:
    """The writer in JOURNALS that this process may use; None if there is none. HINT is tried first."""
    for writer in dict.fromkeys([*([hint] if hint else []), *all_in(journals)]):
        owner = read_owner(journals, writer)
        if owner is not None and _is_us(owner, os.path.join(journals, writer)):
            return writer
    return None


def all_in(journals: str) -> list[str]:
    """Every writer with a journal in JOURNALS, without received ones."""
    return writer_ids_in(disk.names(journals))


class KnownWriters:
    """The writers with a journal in JOURNALS, for a process that asks often: it lists the folder after changes only."""

    def __init__(self, journals: str) -> None:
        self._journals = journals
        self._changed = 0  # when the folder was last changed, as far as it is listed
        self._names: list[str] = []

    def all(self) -> list[str]:
        try:
            changed = os.stat(self._journals).st_mtime_ns
        except OSError:
            return []
        if changed != self._changed:
            self._names = all_in(self._journals)
            # A writer that comes in the same moment may leave the folder with the same time.
            self._changed = changed if time.time_ns() - changed > SAME_MOMENT else 0
        return self._names


def folder_of(journals: str, writer: str) -> str:
    """The folder of WRITER's journal: in JOURNALS, or among the received ones."""
    own = os.path.join(journals, writer)
    return own if os.path.isdir(own) else received.folder_of(os.path.dirname(journals), writer)


def writer_ids_in(names: list[str]) -> list[str]:
    """The writers among the NAMES in a folder of journals."""
    return [name for name in names if ids.is_writer_id(name)]


def new_id() -> str:
    """A new writer. Two virtual machines that were started from one snapshot may have the same random numbers."""
    moment = time.time_ns().to_bytes(8, "big")
    return ids.writer_id(bytes(one ^ other for one, other in zip(os.urandom(8), moment, strict=True)))


def mint(journals: str, writer: str) -> str:
    """Create the writer WRITER, owned by this store and kernel."""
    folder = os.path.join(journals, writer)
    disk.make_folder(folder)
    disk.make_empty(os.path.join(folder, LOCK))
    _write_owner(folder, _here(folder))
    return writer


def store_lock(store: str) -> Lock:
    """The lock for changes of the store itself: creating it, or giving it another writer."""
    from bb.ledger.files.lock import Lock  # noqa: PLC0415  (a heartbeat locks nothing)

    path = os.path.join(store, LOCK)
    disk.make_empty(path)
    return Lock(path)


def retire(journals: str, writer: str, reason: str, owed: str | None) -> None:
    """Mark WRITER as never to be used again. OWED lines are noted, in case this process dies before recording them."""
    owner = read_owner(journals, writer) or Owner("", "", "")
    _write_owner(folder_of(journals, writer), owner.replace(retired=reason, owed=owed))


def may_be_owed(journals: str, writer: str, owed: str) -> bool:
    """Whether this store and machine recorded every unpublished line of WRITER: a writer is retired before foreign
    lines are added to its journal. A retired writer counts only if its record says OWED."""
    owner = read_owner(journals, writer)
    if owner is None or not (owner.retired is None or owner.owed == owed):
        return False
    return _is_us(owner.replace(retired=None), os.path.join(journals, writer))


def retired_own_writers(journals: str) -> list[str]:
    """The retired writers of this store and machine."""
    return [
        writer
        for writer, owner in retired(journals).items()
        if _is_us(owner.replace(retired=None), os.path.join(journals, writer))
    ]


def retired(journals: str) -> dict[str, Owner]:
    """The retired writers among those in JOURNALS, with their owners."""
    owners = {writer: read_owner(journals, writer) for writer in all_in(journals)}
    return {writer: owner for writer, owner in owners.items() if owner is not None and owner.retired is not None}


def is_retired(journals: str, writer: str) -> bool:
    """Whether WRITER must not be used any more."""
    owner = read_owner(journals, writer)
    return owner is not None and owner.retired is not None


def read_owner(journals: str, writer: str) -> Owner | None:
    """The owner of WRITER; None if the record is missing or not valid."""
    written = disk.read_small(os.path.join(folder_of(journals, writer), OWNER))
    try:
        data: Any = json_text.read(written or b"")
        rest = (data.get(name) for name in ("retired", "owed", "device"))
        owner = Owner(data["machine"], data["boot"], data["lock"], *rest)
        return owner if all(value is None or type(value) is str for value in owner.as_dict().values()) else None
    except (ValueError, TypeError, KeyError):
        return None


def _write_owner(folder: str, owner: Owner) -> None:
    disk.replace(os.path.join(folder, OWNER), json_text.dumps(owner.as_dict()).encode(), durable=True)


def owner_fingerprint(journals: str, writer: str) -> str:
    """A text that changes whenever the lock file or the owner record of a writer is replaced."""
    return f"{lock_file_identity(journals, writer)} {_file(os.path.join(journals, writer, OWNER))}"


def lock_file_identity(journals: str, writer: str) -> str:
    """The identity of a writer's lock file, which no copy shares."""
    return _file(os.path.join(journals, writer, LOCK))


def _file(path: str) -> str:
    """The identity of a file, which no copy shares."""
    try:
        status = os.stat(path)
    except OSError:
        return NO_FILE
    return f"{status.st_ino}:{status.st_ctime_ns}"


def _here(folder: str) -> Owner:
    """The owner record for this store and kernel."""
    lock = lock_file_identity(*os.path.split(folder))
    if lock == NO_FILE:
        return Owner(machine="", boot="", lock=NO_FILE)
    return Owner(machine=_machine(), boot=_boot(), lock=lock, device=_device(folder))


def _is_us(owner: Owner, folder: str) -> bool:
    return owner.is_us(_here(folder), folder)


def _is_layered(path: str) -> bool:
    """Whether PATH may be on a file system that shows the files of a container's image."""
    from bb.ledger.files import file_systems  # noqa: PLC0415  (asked only after a reboot)

    return file_systems.file_system(path) in LAYERED


def _device(folder: str) -> str | None:
    try:
        return str(os.stat(os.path.join(folder, LOCK)).st_dev)
    except OSError:
        return None


def _machine() -> str:
    """A digest that identifies this machine without revealing its name."""
    machine_id = disk.read_small("/etc/machine-id") or b""
    name = os.environ.get("COMPUTERNAME", "") if sys.platform == "win32" else os.uname().nodename
    return digest(machine_id.strip() + b"/" + os.fsencode(name))


def _boot() -> str:
    """The id of this run of the kernel, the same in every container on it; empty if the system has none."""
    return (disk.read_small("/proc/sys/kernel/random/boot_id") or b"").decode("ascii", "replace").strip()
