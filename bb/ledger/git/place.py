"""Where a repository keeps its ledger: `<git-common-dir>/bb`, found without starting git.

The common directory is shared by all worktrees of a clone, and lies outside every work tree. What git would find is
found by the same rules: `GIT_DIR` when a hook sets it, else the first directory upwards that is a git directory or
has a `.git` directory or a `.git` file that leads to one (worktrees, submodules, `--separate-git-dir`).
"""

from __future__ import annotations

import os

from bb.kernel.errors import NotFound, Refused
from bb.kernel.record import Record
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

STORE = "bb"
LONGEST = 4096 if os.name == "posix" else 1 << 15  # characters of a path that a system takes
SHOWN = 60


class NotARepository(NotFound):
    """This is no git repository."""

    code = "NOT_A_REPOSITORY"
    hint = "go into a git repository, or make one with `git init`"


class NoWorkTree(Refused):
    """This repository has no work tree."""

    code = "NO_WORK_TREE"
    hint = "go into a work tree of the repository"


class Place(Record):
    """A repository, as far as the ledger cares."""

    common: str
    work_tree: str | None
    git_dir: str = ""  # of this work tree: the common directory itself, or what a linked worktree has there
    is_named: bool = False  # the user, or the git that started us, said where it is; nobody looked around for it

    @property
    def store(self) -> str:
        return os.path.join(self.common, STORE)

    @property
    def title(self) -> str:
        """What people call it: the name of its directory."""
        return os.path.basename(os.path.abspath(self.work_tree or self.common)) or "repository"


def find(cwd: str, env: Mapping[str, str]) -> Place:
    """The repository that CWD lies in."""
    named = env.get("GIT_DIR")
    if named and (git_dir := _git_dir(os.path.join(cwd, named))):
        work_tree = env.get("GIT_WORK_TREE")
        root = os.path.join(cwd, work_tree) if work_tree else _work_tree_of(git_dir, cwd)
        return Place(_common(git_dir, env), root, os.path.abspath(git_dir), is_named=True)
    # A hook's GIT_DIR is relative to where git started it. A tool that went elsewhere since finds nothing there,
    # and is better served by where it is than by a refusal.
    ceilings = [os.path.realpath(path) for path in env.get("GIT_CEILING_DIRECTORIES", "").split(os.pathsep) if path]
    if len(cwd) > LONGEST:  # no system has such a folder, and to look through all of its parents would take minutes
        raise NotARepository(f"{cwd[:SHOWN]}… is longer than any path")
    folder = cwd
    while True:
        link = os.path.join(folder, ".git")
        if git_dir := _git_dir(link):
            return Place(_common(git_dir, {}), folder, os.path.abspath(git_dir))
        if os.path.isfile(link):  # what it leads to is gone; the repository around it is another one
            raise NotARepository(f"{link} leads to no repository")
        if _is_git_dir(folder):
            return Place(_common(folder, {}), None, folder)
        parent = os.path.dirname(folder)
        if parent == folder or parent in ceilings:
            raise NotARepository(f"{cwd} is in no git repository")
        folder = parent


def home_ledger(env: Mapping[str, str]) -> str:
    """The bare repository that keeps what belongs to no repository: `<home of bb>/ledger.git`."""
    return os.path.join(home(env), "ledger.git")


def home(env: Mapping[str, str]) -> str:
    """The home directory of bb: BB_HOME, else `~/.bb`."""
    return os.path.abspath(env.get("BB_HOME") or os.path.join(os.path.expanduser("~"), ".bb"))


def at_home(env: Mapping[str, str]) -> Place:
    """The home ledger as a place, whether or not it is there yet."""
    return Place(home_ledger(env), None, is_named=True)


def around(path: str) -> Place:
    """The repository that PATH is in, or is the git directory of; for what knows no more than a path."""
    found = find(path, {})
    if found.work_tree is None and os.path.basename(found.git_dir) == ".git":
        return found.but(work_tree=os.path.dirname(found.git_dir))
    return found


def _git_dir(path: str) -> str | None:
    """The git directory at PATH, or the one that a `.git` file there leads to."""
    if _is_git_dir(path):
        return path
    if not os.path.isfile(path):
        return None
    first = (disk.read_small(path) or b"").split(b"\n")[0]
    if not first.startswith(b"gitdir:"):
        return None
    target = os.path.join(os.path.dirname(path), os.fsdecode(first[len(b"gitdir:") :].strip()))
    return os.path.normpath(target) if _is_git_dir(target) else None


def _is_git_dir(path: str) -> bool:
    """Git's own test: a HEAD, and objects and refs of its own or of a common directory."""
    if not os.path.lexists(os.path.join(path, "HEAD")):
        return False
    if os.path.isfile(os.path.join(path, "commondir")):
        return True
    return os.path.isdir(os.path.join(path, "objects")) and os.path.isdir(os.path.join(path, "refs"))


def _common(git_dir: str, env: Mapping[str, str]) -> str:
    if named := env.get("GIT_COMMON_DIR"):
        return os.path.abspath(named)
    written = disk.read_small(os.path.join(git_dir, "commondir"))
    if written is None:
        return os.path.abspath(git_dir)
    return os.path.abspath(os.path.join(git_dir, os.fsdecode(written.strip())))


def _work_tree_of(git_dir: str, cwd: str) -> str | None:
    """The work tree of a git directory named by GIT_DIR alone: where git started us, if it is not bare."""
    if os.path.basename(git_dir.rstrip("/\\")) == ".git":
        return os.path.dirname(os.path.abspath(git_dir))
    if os.path.isfile(os.path.join(git_dir, "gitdir")):  # a linked worktree keeps the way back
        back = os.fsdecode((disk.read_small(os.path.join(git_dir, "gitdir")) or b"").strip())
        return os.path.dirname(os.path.join(git_dir, back)) if back else cwd
    return cwd
