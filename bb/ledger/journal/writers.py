"""Which journal is ours: one writer per (store, kernel).

A chain must never fork, so two stores must never write under one id, and neither must two kernels that share a
directory, since their locks do not see each other. A writer belongs to a store by the inode and change time of its
lock file, which nobody writes after it was made: a copied or restored directory has others. It belongs to a kernel by
machine and boot: either one equal is enough, so a reboot and a container on the same host both keep their writer.
Whoever finds no writer of its own mints one; an unneeded writer costs one small folder, a shared one costs the chain.
"""

from __future__ import annotations

import os
import sys

from bb.kernel import ids, json_text
from bb.kernel.digest import digest
from bb.kernel.record import Record
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LOCK, OWNER = "lock", "owner.json"
NO_FILE = "none"


class Owner(Record):
    """Whose writer it is."""

    machine: str
    boot: str
    lock: str
    retired: str | None = None  # why it may not be written to any more
    # From where on its whole lines are still to be recorded again: segment file, colon, offset.
    # `ledger/records/set_aside.py` has a word of its own.
    owed: str | None = None

    def is_us(self, here: Owner) -> bool:
        same_kernel = self.machine == here.machine or (self.boot != "" and self.boot == here.boot)
        return self.retired is None and same_kernel and self.lock == here.lock


def ours(journals: str, hint: str | None = None) -> str | None:
    """The writer in JOURNALS that is ours to write to; HINT is tried first."""
    for writer in dict.fromkeys([*([hint] if hint else []), *all_in(journals)]):
        owner = read_owner(journals, writer)
        if owner is not None and owner.is_us(_here(os.path.join(journals, writer))):
            return writer
    return None


def all_in(journals: str) -> list[str]:
    """Every writer that has a journal here."""
    return among(disk.names(journals))


def among(names: list[str]) -> list[str]:
    """The writers among the NAMES in a folder of journals."""
    return [name for name in names if ids.is_writer_id(name)]


def new_id() -> str:
    return ids.writer_id(os.urandom(8))


def mint(journals: str, writer: str) -> str:
    """Make WRITER a writer of our own."""
    folder = os.path.join(journals, writer)
    disk.make_folder(folder)
    try:
        os.close(disk.create(os.path.join(folder, LOCK), os.O_WRONLY))
    except OSError as error:
        raise disk.refusal(error) from error
    _write_owner(folder, _here(folder))
    return writer


def retire(journals: str, writer: str, reason: str, owed: str | None) -> None:
    """Never write under this id again; what is OWED until then is remembered, should this process die."""
    owner = read_owner(journals, writer) or Owner("", "", "")
    _write_owner(os.path.join(journals, writer), owner.but(retired=reason, owed=owed))


def may_be_owed(journals: str, writer: str, owed: str) -> bool:
    """Whether every line behind the published ones was recorded by this very store and machine: lines from elsewhere
    retire a writer before they come. One that was retired counts only if this is what it is OWED."""
    owner = read_owner(journals, writer)
    if owner is None or not (owner.retired is None or owner.owed == owed):
        return False
    return owner.but(retired=None).is_us(_here(os.path.join(journals, writer)))


def were_ours(journals: str) -> list[str]:
    """The writers of this very store and machine that were retired."""
    return [
        writer
        for writer, owner in retired(journals).items()
        if owner.but(retired=None).is_us(_here(os.path.join(journals, writer)))
    ]


def retired(journals: str) -> dict[str, Owner]:
    """The writers that are not written to any more."""
    owners = {writer: read_owner(journals, writer) for writer in all_in(journals)}
    return {writer: owner for writer, owner in owners.items() if owner is not None and owner.retired is not None}


def read_owner(journals: str, writer: str) -> Owner | None:
    """Whose WRITER is; None when that cannot be read, and then it is nobody's."""
    written = disk.read_small(os.path.join(journals, writer, OWNER))
    try:
        found: Any = json_text.read(written or b"")
        owner = Owner(found["machine"], found["boot"], found["lock"], found.get("retired"), found.get("owed"))
        return owner if all(value is None or type(value) is str for value in owner.as_dict().values()) else None
    except (ValueError, TypeError, KeyError):
        return None


def _write_owner(folder: str, owner: Owner) -> None:
    disk.replace(os.path.join(folder, OWNER), json_text.dumps(owner.as_dict()).encode(), durable=True)


def stamp(journals: str, writer: str) -> str:
    """What is another once a writer has another lock file, or something else is said of whose it is."""
    return f"{lock_of(journals, writer)} {_file(os.path.join(journals, writer, OWNER))}"


def lock_of(journals: str, writer: str) -> str:
    """What tells the lock file of a writer from any copy of it."""
    return _file(os.path.join(journals, writer, LOCK))


def _file(path: str) -> str:
    """What tells a file from any copy of it."""
    try:
        status = os.stat(path)
    except OSError:
        return NO_FILE
    return f"{status.st_ino}:{status.st_ctime_ns}"


def _here(folder: str) -> Owner:
    """What an owner record would say if we wrote it now."""
    lock = lock_of(*os.path.split(folder))
    if lock == NO_FILE:
        return Owner(machine="", boot="", lock=NO_FILE)
    return Owner(machine=_machine(), boot=_boot(), lock=lock)


def _machine() -> str:
    """This machine, as a digest: its name is nobody else's business."""
    known = disk.read_small("/etc/machine-id") or b""
    name = os.environ.get("COMPUTERNAME", "") if sys.platform == "win32" else os.uname().nodename
    return digest(known.strip() + b"/" + os.fsencode(name))


def _boot() -> str:
    """This run of the kernel; every container on it has the same. Empty where the system does not tell."""
    return (disk.read_small("/proc/sys/kernel/random/boot_id") or b"").decode("ascii", "replace").strip()
