"""The commit that HEAD names, read from git's files. git is started only for a store of refs that bb cannot read."""

from __future__ import annotations

import os

from bb.ledger.files import disk
from bb.ledger.git import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.git.place import Place

DEEPEST = 5  # symbolic refs that lead to each other; git's own limit
LARGEST = 1 << 26  # bytes of packed-refs
HEX = frozenset(b"0123456789abcdef")
REFTABLE = b"refs/heads/.invalid"  # what HEAD names if the refs are elsewhere


def commit(place: Place) -> str:
    """The id of the commit that is checked out; empty if there is no commit yet."""
    name = b"HEAD"
    for _ in range(DEEPEST):
        found = _read(place, name)
        if not found.startswith(b"ref:"):
            return _id(found) if found else _packed(place, name)
        name = found[4:].strip()
        if name == REFTABLE or not _is_ref(name):
            break
    return by_git(place)


def by_git(place: Place) -> str:
    """The same, as git says it."""
    done = git.ask(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], git_dir=place.git_dir)
    return _id(done.out.strip()) if done.status == 0 else ""


def of_ref(git_dir: str, name: str) -> str:
    """The commit that a ref NAME of a repository is at, just after git has set it. GIT_DIR is the common one."""
    found = _id((disk.read_small(os.path.join(git_dir, name)) or b"").strip())
    return found or git.run(["rev-parse", "--verify", "--quiet", name], git_dir=git_dir).strip()


def branch(place: Place) -> str:
    """The full name of the branch that is checked out; empty if HEAD is detached."""
    found = _read(place, b"HEAD")
    return os.fsdecode(found[4:].strip()) if found.startswith(b"ref:") else ""


def _read(place: Place, name: bytes) -> bytes:
    own = place.git_dir if name == b"HEAD" else place.common
    return (disk.read_small(os.path.join(own, os.fsdecode(name))) or b"").strip()


def _is_ref(name: bytes) -> bool:
    return name.startswith(b"refs/") and b".." not in name and b"\0" not in name


def _packed(place: Place, name: bytes) -> str:
    octets = disk.read_small(os.path.join(place.common, "packed-refs"), LARGEST) or b""
    end = octets.find(b" " + name + b"\n")
    if end < 0 or name == b"HEAD":
        return ""
    return _id(octets[octets.rfind(b"\n", 0, end) + 1 : end])


def _id(found: bytes) -> str:
    return found.decode("ascii") if len(found) in (40, 64) and HEX.issuperset(found) else ""
