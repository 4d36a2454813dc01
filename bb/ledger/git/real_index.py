"""git's index of a work tree: what is staged, and how bb changes it together with the branch.

As git does itself, bb makes the new index in `index.lock` and renames it after the branch has moved. So no other git
command sees the one without the other. A lock that bb left because it was killed says so in its first line, or in the
note of the commit (`ledger/lines/pending_commit.py`); git's own locks are never touched.
"""

from __future__ import annotations

import os
import time

from bb.kernel.errors import Busy
from bb.ledger.files import disk
from bb.ledger.git import git, program, trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bb.ledger.git.place import Place
    from bb.ledger.git.trees import Entry

LITERAL = "--literal-pathspecs"
PATIENCE = 10.0  # seconds; another git command holds the lock of the index for a moment
PAUSE = 0.004
UNMERGED = "unmerged"  # in the place of a mode
OURS = b"bb "  # begins a lock of bb before the new index is in it; git's index begins with DIRC

IndexBusy = Busy.declare(
    "INDEX_BUSY",
    "Another git command holds the lock of the index",
    hint="try again; if no git command is running here, remove `index.lock` from the git directory",
)


def staged(place: Place, paths: Sequence[str]) -> dict[str, Entry]:
    """The mode and blob of each of the PATHS in the index; a path that is not in it is missing."""
    found: dict[str, Entry] = {}
    arguments = [LITERAL, "ls-files", "-s", "-z", "--"]
    parts = [git.output([*arguments, *part], at=place.work_tree) for part in git.in_parts(paths)]
    for row in b"".join(parts).split(b"\0"):
        how, tab, name = row.partition(b"\t")
        if tab:
            mode, blob, stage = how.decode("ascii").split(" ")
            found[os.fsdecode(name)] = (mode if stage == "0" else UNMERGED, blob)
    return found


def path_of(place: Place) -> str:
    return os.path.join(place.git_dir, "index")


def lock_path(place: Place) -> str:
    return os.path.join(place.git_dir, "index.lock")


def lock(place: Place) -> None:
    """Take git's lock of the index. The caller holds the lock of the work tree's lines."""
    remove_left_lock(place)
    remove_left_copies(place)
    path, deadline = lock_path(place), time.monotonic() + PATIENCE
    new = f"{path_of(place)}.{os.getpid()}.bb"
    try:
        with open(new, "wb") as file:
            file.write(OURS + b"%d\n" % os.getpid())
        while not _taken(new, path):
            if time.monotonic() > deadline:
                raise IndexBusy(f"{path} exists")
            time.sleep(PAUSE)
    except OSError as error:
        raise disk.refusal(error) from error
    finally:
        disk.remove_if_there(new)


def _taken(new: str, path: str) -> bool:
    """Whether the file NEW could be made the lock. It is complete at once, so a lock always says whose it is."""
    try:
        os.link(new, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        return _copied(new, path)
    return True


def _copied(new: str, path: str) -> bool:
    try:
        with open(path, "xb") as lock, disk.reader(new) as file:
            lock.write(file.read())
    except FileExistsError:
        return False
    return True


def remove_left_lock(place: Place) -> None:
    """Remove a lock that a killed bb left before the new index was in it.

    The caller holds the lock of the work tree's lines. Only such a process makes this lock, so whoever did has ended.
    """
    try:
        with disk.reader(lock_path(place)) as file:
            is_ours = file.read(len(OURS)) == OURS
    except OSError:
        return
    if is_ours:
        disk.remove_if_there(lock_path(place))


def remove_left_copies(place: Place) -> None:
    """Remove what a killed bb has prepared beside the index."""
    for name in disk.names(place.git_dir):
        if name.startswith("index.") and name.endswith((".bb", ".bb.lock")):
            disk.remove_if_there(os.path.join(place.git_dir, name))


def prepare(
    place: Place, entries: Mapping[str, Entry | None], length: int, note: Callable[[Sequence[int]], object]
) -> None:
    """Put the index with ENTRIES into the lock; None removes a path.

    LENGTH is that of the repository's object ids. NOTE is called before, with the identity of the lock to come.
    """
    rows = [(path, entry or ("0", "0" * length)) for path, entry in trees.removed_first(entries)]
    given = b"".join(f"{mode} {blob}\t".encode() + os.fsencode(path) + b"\0" for path, (mode, blob) in rows)
    new = f"{path_of(place)}.{os.getpid()}.bb"
    try:
        _copy(path_of(place), new)
        env = {**program.environment(None), "GIT_INDEX_FILE": new, "GIT_DIR": place.git_dir}
        command = ["git", *program.HARMLESS, "update-index", "--replace", "-z", "--index-info"]
        git.refuse_foreign(place.git_dir)
        status, _, err = program.spawned(command, env).communicate(given, program.PATIENCE)
        program.refuse_failure("update-index", status, err.decode("utf-8", "replace"))
        note(identity(new))
        os.replace(new, lock_path(place))
    except OSError as error:
        raise disk.refusal(error) from error
    finally:
        disk.remove_if_there(new)


def identity(path: str) -> Sequence[int]:
    """What tells the file at PATH from every other one: a later file may get the number of one that is gone."""
    try:
        status = os.stat(path)
    except OSError:
        return []
    return [status.st_ino, status.st_size, status.st_mtime_ns]


def _copy(path: str, new: str) -> None:
    try:
        with disk.reader(path) as old:
            octets = old.read()
    except FileNotFoundError:
        return  # nothing was ever staged; git makes the file
    with open(new, "wb") as file:
        file.write(octets)


def unlock(place: Place, *, is_done: bool) -> None:
    """Release the lock. The prepared index becomes the index if IS_DONE."""
    try:
        if is_done:
            os.replace(lock_path(place), path_of(place))
        else:
            os.unlink(lock_path(place))
    except OSError as error:
        raise disk.refusal(error) from error
