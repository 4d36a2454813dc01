"""Finds the repository and its ledger, `<git-common-dir>/bb`, without starting git.

All worktrees of a clone share the common directory, which lies outside every work tree. The rules are git's: `GIT_DIR`
if it is set, as in a hook; else the first directory upwards that is a git directory, or that contains a `.git`
directory or a `.git` file leading to one (worktrees, submodules, `--separate-git-dir`).
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
THROWAWAY = "bb-real-git-dir"  # in the git directory of a throw-away tree: names the git directory of the work tree
LONGEST = 4096 if os.name == "posix" else 1 << 15  # characters: the system's limit for a path
SHOWN = 60

NotARepository = NotFound.declare(
    "NOT_A_REPOSITORY",
    "This directory is not in a git repository",
    hint="change to a git repository, or make one with `git init`",
)

NoWorkTree = Refused.declare(
    "NO_WORK_TREE", "This repository has no work tree", hint="change to a work tree of the repository"
)


class Place(Record):
    """The directories of a repository that the ledger needs."""

    common: str
    work_tree: str | None
    git_dir: str = ""  # of this work tree: the common directory itself, or the linked worktree's own directory in it
    is_named: bool = False  # the user or git named it (GIT_DIR); it was not found by searching upwards
    is_aside: bool = False  # the work tree is a throw-away tree; the rest is that of the real work tree

    @property
    def store(self) -> str:
        return os.path.join(self.common, STORE)

    @property
    def title(self) -> str:
        """The name of its directory, for display."""
        return os.path.basename(os.path.abspath(self.work_tree or self.common)) or "repository"


def find(cwd: str, env: Mapping[str, str]) -> Place:
    """The repository that contains CWD."""
    named = env.get("GIT_DIR")
    if named and (git_dir := _git_dir(os.path.join(cwd, named))):
        work_tree = env.get("GIT_WORK_TREE")
        root = os.path.join(cwd, work_tree) if work_tree else _work_tree_of(git_dir, cwd)
        aside = _git_dir(os.path.join(cwd, work_tree, ".git")) if work_tree else None
        is_aside = aside is not None and _real_git_dir(aside) != ""
        return Place(_common(git_dir, env), root, os.path.abspath(git_dir), is_named=True, is_aside=is_aside)
    # A hook's GIT_DIR is relative to the directory where git started the hook. If a tool has changed its directory
    # since, GIT_DIR leads nowhere, and searching from CWD is better than a refusal.
    ceilings = [os.path.realpath(path) for path in env.get("GIT_CEILING_DIRECTORIES", "").split(os.pathsep) if path]
    if len(cwd) > LONGEST:  # such a folder cannot exist, and checking all of its parents would take minutes
        raise NotARepository(f"{cwd[:SHOWN]}… is longer than a path can be")
    folder = cwd
    while True:
        link = os.path.join(folder, ".git")
        if git_dir := _git_dir(link):
            if git_dir != link and (real := _real_git_dir(git_dir)):
                return Place(_common(real, {}), folder, real, is_aside=True)
            return Place(_common(git_dir, {}), folder, os.path.abspath(git_dir))
        if os.path.isfile(link):  # its target is gone; a repository further up would be a different one
            raise NotARepository(f"{link} does not lead to a git repository")
        if _is_git_dir(folder):
            return Place(_common(folder, {}), None, folder)
        parent = os.path.dirname(folder)
        if parent == folder or parent in ceilings:
            raise NotARepository(f"{cwd} is not in a git repository")
        folder = parent


def home_ledger(env: Mapping[str, str]) -> str:
    """The bare repository for events that belong to no other repository: `<home of bb>/ledger.git`."""
    return os.path.join(home(env), "ledger.git")


def home(env: Mapping[str, str]) -> str:
    """The home directory of bb: BB_HOME, else `~/.bb`."""
    return os.path.abspath(env.get("BB_HOME") or os.path.join(os.path.expanduser("~"), ".bb"))


def home_place(env: Mapping[str, str]) -> Place:
    """The home ledger as a place, even if it does not exist yet."""
    return Place(home_ledger(env), None, is_named=True)


def place_containing(path: str) -> Place:
    """The repository that contains PATH, or whose git directory is PATH."""
    place = find(path, {})
    if place.work_tree is None and os.path.basename(place.git_dir) == ".git":
        return place.replace(work_tree=os.path.dirname(place.git_dir))
    return place


def _git_dir(path: str) -> str | None:
    """The git directory at PATH, or the one that a `.git` file at PATH leads to."""
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
    """git's own test: it has a HEAD, and objects and refs of its own or a common directory."""
    if not os.path.lexists(os.path.join(path, "HEAD")):
        return False
    if os.path.isfile(os.path.join(path, "commondir")):
        return True
    return os.path.isdir(os.path.join(path, "objects")) and os.path.isdir(os.path.join(path, "refs"))


def _real_git_dir(git_dir: str) -> str:
    """For the GIT_DIR of a throw-away tree, the real one, with which bb works there; otherwise empty."""
    return os.fsdecode(disk.read_small(os.path.join(git_dir, THROWAWAY)) or b"")


def _common(git_dir: str, env: Mapping[str, str]) -> str:
    if named := env.get("GIT_COMMON_DIR"):
        return os.path.abspath(named)
    written = disk.read_small(os.path.join(git_dir, "commondir"))
    if written is None:
        return os.path.abspath(git_dir)
    return os.path.abspath(os.path.join(git_dir, os.fsdecode(written.strip())))


def _work_tree_of(git_dir: str, cwd: str) -> str | None:
    """The work tree of the git directory that GIT_DIR names, if GIT_WORK_TREE is not set."""
    if os.path.basename(git_dir.rstrip("/\\")) == ".git":
        return os.path.dirname(os.path.abspath(git_dir))
    if os.path.isfile(os.path.join(git_dir, "gitdir")):  # in a linked worktree, this file names the work tree
        back = os.fsdecode((disk.read_small(os.path.join(git_dir, "gitdir")) or b"").strip())
        return os.path.dirname(os.path.join(git_dir, back)) if back else cwd
    return cwd
