"""Permissions of the ledger's folder: other users may write it only as far as `core.sharedRepository` says.

bb reads the setting from git once, when it makes the ledger's folder. After that, the folder's mode records it: a
shared folder is group-writable and setgid, which no umask can set by accident. `ledger/files/disk.py` gives new files
in such a folder matching permissions. If the setting changes later, `bb doctor --fix` applies it.
"""

from __future__ import annotations

import os
from contextlib import suppress

from bb.kernel.errors import BbError
from bb.ledger.files import disk
from bb.ledger.git import git, ownership, program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bb.ledger.git.place import Place

NOBODY, GROUP, EVERYBODY_READS = 0, 0o660, 0o664
NAMES = {
    **dict.fromkeys(("", "umask", "false", "no", "off"), NOBODY),
    **dict.fromkeys(("group", "true", "yes", "on"), GROUP),
    **dict.fromkeys(("all", "world", "everybody"), EVERYBODY_READS),
}
OLD_NUMBERS = {0: NOBODY, 1: GROUP, 2: EVERYBODY_READS}
OWNER = 0o600
PRIVATE = ("mcp-token",)  # never shared, even in a shared ledger


def make_store(place: Place) -> None:
    """Make the folder of a ledger, if it does not exist."""
    if os.path.isdir(place.store):
        return
    folder_mode = wanted_folder_mode(place)
    disk.make_folder(place.common)
    try:
        os.mkdir(place.store, disk.PLAIN_FOLDER)
        if folder_mode is not None:
            os.chmod(place.store, folder_mode)
    except OSError as error:
        if not os.path.isdir(place.store):
            raise disk.refusal(error) from error


def wanted_folder_mode(place: Place) -> int | None:
    """The mode that `core.sharedRepository` requires for the ledger's folder; None if the umask decides."""
    if os.name == "nt":
        return None
    try:
        done = git.ask(["config", "--get", "core.sharedRepository"], git_dir=place.common)
    except (program.GitNotFound.error, ownership.UnsafeRepository):
        return None
    return folder_mode(done.out.decode("utf-8", "replace").strip()) if done.status == 0 else None


def folder_mode(setting: str) -> int | None:
    """The mode of a folder for a value of `core.sharedRepository`; None if it is not shared or the value is invalid."""
    files = NAMES.get(setting.lower())
    if files is None:
        if not setting.isdigit() or set(setting) & {"8", "9"}:
            return None
        number = int(setting, 8)
        files = OLD_NUMBERS.get(number, number)
        if files & OWNER != OWNER and files != NOBODY:
            return None
    if files == NOBODY:
        return None
    files &= disk.SHARED
    return disk.SETGID | files | (files & 0o444) >> 2


def paths_too_permissive(place: Place) -> list[str]:
    """The paths of a ledger that others can write although `core.sharedRepository` does not require it."""
    folder_mode = wanted_folder_mode(place)
    return [path for path, mode in _everything(place.store) if mode & 0o022 & ~(folder_mode or 0)]


def lacks_group_permissions(place: Place) -> bool:
    """Whether `core.sharedRepository` requires more permissions than the ledger's folder has."""
    folder_mode = wanted_folder_mode(place)
    return bool(folder_mode and folder_mode & ~os.stat(place.store).st_mode & 0o7777)


def correct_permissions(place: Place) -> int:
    """Correct the permissions of a ledger's files that this user owns; return how many were changed."""
    folder_mode, changed = wanted_folder_mode(place), 0
    for path, mode in [*_everything(place.store)]:
        is_folder = os.path.isdir(path)
        right = mode & ~0o022
        if folder_mode is not None and os.path.basename(path) not in PRIVATE:
            right = folder_mode if is_folder else folder_mode & disk.SHARED
        if right != mode:
            with suppress(OSError, BbError):
                os.chmod(path, right)
                changed += 1
    return changed


def _everything(store: str) -> Iterator[tuple[str, int]]:
    """The folder of a ledger and everything in it except links, each with its permissions."""
    for folder, _, names in os.walk(store):
        for path in (folder, *(os.path.join(folder, name) for name in names)):
            with suppress(OSError):
                if not os.path.islink(path):
                    yield path, os.stat(path).st_mode & 0o7777
