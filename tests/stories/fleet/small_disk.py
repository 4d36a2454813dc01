"""`python -m tests.stories.fleet.small_disk FOLDER STORY`: a clone of a fleet whose store is on a small file system
of its own, in a mount of this process only. Each line of the output is what one command said.

FOLDER is an empty folder. `unshare --mount` starts it; see `test_small_disks.py`.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from tests import engines
from tests.stories.fleet.client_support import Fleet, fleet
from tests.support import Ran
from tests.waiting import until

MADE_PRIVATE = 1 << 18 | 1 << 14  # MS_PRIVATE | MS_REC: nothing of this is seen outside
WRITABLE, READ_ONLY, REMOUNT = 0, 1, 32
LIBC = ctypes.CDLL(None, use_errno=True)


def tell(about: str, ran: Ran) -> None:
    """Print what a command said."""
    print(json.dumps({"about": about, "status": ran.status, "out": ran.out, "err": ran.err}), flush=True)


def reserve_theirs(two: Fleet) -> None:
    """Let the other machine hold `theirs`, and this one have read that: a fact that is under way may come later than
    the end of the daemon, and without it `theirs` is free as far as this machine knows."""
    assert two.there.reserve("theirs").status == 0
    until(lambda: two.here.json("check", "theirs").status == 7, "the row")


@contextlib.contextmanager
def small_store(two: Fleet) -> Iterator[Path]:
    """The store of the first clone, moved to a small file system. Its daemon does not run."""
    store = Path(two.here.store)
    assert two.here.text("daemon", "stop").status == 0
    kept = store.with_name("bb-before")
    store.rename(kept)
    store.mkdir()
    assert LIBC.mount(b"bb", os.fsencode(store), b"tmpfs", 0, b"size=3m,nr_inodes=400") == 0
    shutil.copytree(kept, store, dirs_exist_ok=True)
    try:
        yield store
    finally:
        two.here.text("daemon", "stop")
        LIBC.umount2(os.fsencode(store), 2)  # MNT_DETACH


def fill(store: Path) -> Path:
    """Use the last byte of the disk."""
    filler = store / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while file.write(b"x" * size):
                    continue
    return filler


def full(two: Fleet) -> None:
    """The disk fills while the relay runs, and then there is room again."""
    with small_store(two) as store:
        assert two.here.text("daemon", "start").status == 0
        assert two.here.reserve("before").status == 0
        filler = fill(store)
        scopes = map(str, itertools.count())  # the last pages of the files still have room for some lines
        refused = next(ran for scope in scopes if (ran := two.here.reserve(scope)).status)
        tell("reserve", refused)
        for words in (["fleet", "status"], ["status"], ["doctor"]):
            tell(" ".join(words), two.here.text(*words))
        filler.unlink()
        until(lambda: two.here.reserve("x").status == 0, "room on the disk")


def read_only(two: Fleet) -> None:
    """The disk is read-only, and no relay runs; then one that was killed has left its log."""
    reserve_theirs(two)
    with small_store(two) as store:
        for has_log in (False, True):
            mount_again(store, READ_ONLY)
            tell("check", two.here.json("check", "theirs"))
            mount_again(store, WRITABLE)
            if has_log:
                break
            assert two.here.text("daemon", "start").status == 0
            assert two.there.text("release", "theirs").status == 0
            until(lambda: two.here.json("check", "theirs").status == 0, "the row that releases it")
            reserve_theirs(two)
            two.here.kill_daemon()


def no_inode(two: Fleet) -> None:
    """No file can be made any more, and no relay runs."""
    reserve_theirs(two)
    with small_store(two) as store:
        with contextlib.suppress(OSError):
            for number in itertools.count():
                (store / f"filler-{number}").touch()
        tell("check", two.here.json("check", "theirs"))


def mount_again(store: Path, how: int) -> None:
    """Mount it again, when the last process that writes there has ended."""
    until(lambda: LIBC.mount(None, os.fsencode(store), None, REMOUNT | how, None) == 0, "the mount")


def main() -> None:
    folder, story = Path(sys.argv[1]), sys.argv[2]
    if LIBC.mount(None, b"/", None, MADE_PRIVATE, None) != 0:
        print("not permitted")
        return
    with fleet(folder, engines.shared_postgres()) as two:
        {"full": full, "read_only": read_only, "no_inode": no_inode}[story](two)


if __name__ == "__main__":
    main()
