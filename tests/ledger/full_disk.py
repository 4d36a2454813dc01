"""`python -m tests.ledger.full_disk FOLDER`: verbs on a real file system that is full, in a mount of this process only.

FOLDER is an empty folder, on which a small file system is mounted. Each line of the output is one call: the verb, what
was left, how it ended, and what was recorded. `unshare --mount` starts it; see `test_full_disk.py`.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from bb.ledger.journal.writers import LOCK
from tests.faces import good_calls
from tests.near import Near
from tests.support import scratch

PAGE = 4096
SIZE = 12 << 20
PLAIN = ["--bead", "bb-1", "--category", "INFO", "--subject", "Padding"]
# Verbs that are about other files than the ledger's, or that need a daemon; and the one that changes old lines.
ELSEWHERE = frozenset(
    [
        *("demo", "init", "setup", "hooks.install", "hooks.uninstall", "mcp.install", "attach", "blob.get"),
        *("cbcl.keygen", "group_create_from_template", "ledger.rotate", "ledger.redact"),
    ]
)


def mount(folder: Path) -> bool:
    """Mount a small file system on FOLDER. It is seen by this process and its children only."""
    libc = ctypes.CDLL(None, use_errno=True)
    private = 1 << 18 | 1 << 14  # MS_PRIVATE | MS_REC: nothing of this is seen outside
    if libc.mount(None, b"/", None, private, None) != 0:
        return False
    return libc.mount(b"bb", os.fsencode(folder), b"tmpfs", 0, f"size={SIZE}".encode()) == 0


def journals(repo: Near) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted((repo.store / "j").glob("*/*.jsonl"))}


def lines(repo: Near) -> list[bytes]:
    """Every whole line of the journals."""
    return [line for octets in journals(repo).values() for line in octets.split(b"\n")[:-1]]


class Disk:
    """The small file system, with a repository that is as it was before each call."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.filler = folder / "filler"
        self.kept = Path(str(folder) + "-kept")
        made = scratch(folder / "repo")
        self.repo = Near(made.path, made.settings)
        good_calls.prepare(self.repo)
        shutil.copytree(self.repo.path, self.kept, symlinks=True)

    def renew(self) -> Near:
        """The repository as it was. The locks stay, because a writer whose lock is another file is another writer."""
        self.filler.unlink(missing_ok=True)
        for where, folders, files in os.walk(self.repo.path, topdown=False):
            kept = self.kept / Path(where).relative_to(self.repo.path)
            for name in files:
                if name != LOCK or not (kept / name).exists():
                    (Path(where) / name).unlink()
            for name in folders:
                if not (kept / name).exists():
                    (Path(where) / name).rmdir()
        shutil.copytree(
            self.kept, self.repo.path, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns(LOCK)
        )
        return self.repo

    def fill(self, left: int) -> None:
        """Fill it, but for so many pages."""
        free = os.statvfs(self.folder).f_bavail - left
        with self.filler.open("wb") as file:
            for _ in range(max(free, 0)):
                file.write(b"\0" * PAGE)

    def call(self, words: list[str], left: int, about: str) -> None:
        """Call a verb with so many pages LEFT, and again when there is room; print what was seen."""
        before = lines(self.repo)
        self.fill(left)
        ran = self.repo.bb(*words, "--json")
        found = lines(self.repo)
        is_torn = any(octets and not octets.endswith(b"\n") for octets in journals(self.repo).values())
        self.filler.unlink()
        answer = json.loads(ran.out) if ran.out.strip() else {"ok": False, "error": {"code": f"NOTHING {ran.err}"}}
        doctor = json.loads(self.repo.bb("doctor", "--json").out)
        seen = {
            "verb": about,
            "left": left,
            "code": "" if answer["ok"] else answer["error"]["code"],
            "message": "" if answer["ok"] else answer["error"]["message"],
            "details": {} if answer["ok"] else answer["error"].get("details", {}),
            "recorded": len(found) - len(before),
            "changed": not set(before) <= set(found),
            "torn": is_torn,
            "sound": doctor["ok"],
        }
        print(json.dumps(seen), flush=True)


def verbs(disk: Disk, names: list[str], most: int) -> None:
    """Each verb with 0 to MOST pages left."""
    for name in names:
        for left in range(most):
            repo = disk.renew()
            op = good_calls.find(name)
            disk.call(good_calls.good_words(op, repo), left, name)


def writing_verbs() -> Iterator[str]:
    """The verbs that record something."""
    for name, op in good_calls.commands().items():
        if not op.reads and not op.is_live and name not in (*ELSEWHERE, *good_calls.STREAMS):
            yield name


def positions(disk: Disk, every: int) -> None:
    """A record whose append meets the end of the disk after each byte of its line; EVERY says how many are left out."""
    repo = disk.renew()
    words = ["agent", "reserve", "--agent", good_calls.AMBER, "--scope", "src/parser", "--bead", "bb-1"]
    before = repo.journal().stat().st_size
    assert repo.bb(*words).status == 0
    length = repo.journal().stat().st_size - before
    for at in range(0, length + 1, every):
        repo = disk.renew()
        pad(repo, at)
        disk.call(words, 0, f"byte {at} of {length}")


def hub(disk: Disk, most: int) -> None:
    """A sync to a hub on the full disk, from a clone that is elsewhere, with 0 to MOST pages left."""
    there, here = disk.folder / "hub.git", Path(str(disk.folder) + "-clone")
    shutil.copytree(disk.kept, here, symlinks=True)
    repo = Near(here, disk.repo.settings)
    repo.git("init", "--quiet", "--bare", str(there))
    repo.git("remote", "add", "origin", str(there))
    assert repo.bb("sync", "--publish").status == 0
    disk.repo = repo
    for left in range(0, most, 2):
        assert repo.bb("send", good_calls.COBALT, "Hello", "--agent", good_calls.AMBER).status == 0
        disk.call(["sync"], left, "sync")
        assert repo.bb("sync").status == 0


def pulled(disk: Disk, most: int) -> None:
    """A pull into a clone on the full disk, from a hub that is elsewhere, with 0 to MOST pages left."""
    there = Path(str(disk.folder) + "-hub.git")
    repo = disk.repo
    repo.git("init", "--quiet", "--bare", str(there))
    repo.git("remote", "add", "origin", str(there))
    assert repo.bb("sync", "--publish").status == 0
    other = Near(Path(str(disk.folder) + "-clone"), repo.settings)
    shutil.copytree(disk.kept, other.path, symlinks=True)
    other.git("remote", "add", "origin", str(there))
    for left in range(0, most, 3):
        assert other.bb("send", good_calls.COBALT, "Hello", "--agent", good_calls.AMBER).status == 0
        assert other.bb("sync", "--publish").status == 0
        disk.call(["sync", "--pull"], left, "sync")
        assert repo.bb("sync", "--pull").status == 0


def pad(repo: Near, slack: int) -> None:
    """Make the journal so long that SLACK bytes are left in its last page."""
    letter = ["agent", "send", "--from", good_calls.AMBER, "--to", good_calls.COBALT, *PLAIN, "--body"]
    size = repo.journal().stat().st_size
    assert repo.bb(*letter, "x").status == 0
    plain = repo.journal().stat().st_size - size
    more = (-(repo.journal().stat().st_size + plain + slack)) % PAGE
    assert repo.bb(*letter, "x" * (more + 1)).status == 0
    over = (repo.journal().stat().st_size + slack) % PAGE
    if over:  # the number of the line, or of the text, has become longer
        assert repo.bb(*letter, "x" * ((-over - plain) % PAGE + 1)).status == 0


def main() -> None:
    folder = Path(sys.argv[1])
    if not mount(folder):
        print("not permitted")
        return
    disk = Disk(folder)
    by_name = {"positions": positions, "hub": hub, "pulled": pulled}
    if sys.argv[2] in by_name:
        by_name[sys.argv[2]](disk, int(sys.argv[3]))
    else:
        verbs(disk, sys.argv[4:] or list(writing_verbs()), int(sys.argv[3]))


if __name__ == "__main__":
    main()
