"""The owner of a repository, checked before bb changes anything in it and before it starts git there.

The configuration of a repository can start programs, so bb must trust its owner. The rule is git's own: the user owns
the work tree, its `.git` and the git directory, or has named the repository in `safe.directory`. bb always passes
`--git-dir`, which switches git's own check off, so bb does the check. It usually costs a few `stat` calls. git's
settings are read only if some part belongs to another user (`ledger/git/safe_directory.py`).
"""

from __future__ import annotations

import os
import time

from bb.kernel.errors import Forbidden
from bb.kernel.escaping import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from bb.ledger.git.place import Place

ROOT = 0
KIND, LINK = 0o170000, 0o120000  # S_IFMT and S_IFLNK, without importing `stat` for two numbers
# git's own switch for its tests. It forces the check here, too. Nothing switches the check off.
ASSUME_ANOTHER = "GIT_TEST_ASSUME_DIFFERENT_OWNER"
TRUSTED_FOR = 60.0  # seconds until a long-running process reads git's settings again
_trusted: dict[str, float] = {}


class UnsafeRepository(Forbidden):
    """This repository belongs to another user."""

    code = "UNSAFE_REPOSITORY"
    hint = "if you trust its owner, run: git config --global --add safe.directory PATH"

    def __init__(self, message: str, *, when: str, command: str, path: str, owner: int | None) -> None:
        super().__init__(message, hint=f"{when}: {command}", path=path, owner=owner)
        self.command = command  # that makes bb act in this repository


def refuse_foreign(place: Place, env: Mapping[str, str] | None = None) -> None:
    """Refuse a repository of another user, or a bare one that `safe.bareRepository` requires to be named."""
    env = os.environ if env is None else env
    refuse_another_users(place, env)
    if place.work_tree is None and place.git_dir and not place.is_named and os.path.basename(place.git_dir) != ".git":
        from bb.ledger.git import safe_directory  # noqa: PLC0415  (bare repositories are rare)

        if safe_directory.must_be_named(place, env):
            path = os.path.realpath(place.git_dir)
            raise UnsafeRepository(
                f"{path} is a bare repository that was not named, and git's setting safe.bareRepository is explicit",
                when="to use this repository, name it",
                command=f"GIT_DIR={quoted(path)} bb …",
                path=path,
                owner=None,
            )


def refuse_another_users(place: Place, env: Mapping[str, str] | None = None) -> None:
    """Refuse a repository of another user, unless git's settings declare it safe."""
    env = os.environ if env is None else env
    if place.is_named:
        _trust(place, float("inf"))
    elif foreign_part(place, env) or is_assumed_foreign(env):
        from bb.ledger.git import safe_directory  # noqa: PLC0415  (needed only for a foreign repository)

        if not safe_directory.is_declared(place, env):
            raise _foreign(safe_directory.title(place), foreign_part(place, env))
        _trust(place, time.monotonic() + TRUSTED_FOR)


def _foreign(path: str, part: tuple[str, int] | None) -> UnsafeRepository:
    """The refusal of the repository at PATH, in which PART belongs to another user."""
    where, owner = part or (path, None)
    whose = (
        "counts as another user's (GIT_TEST_ASSUME_DIFFERENT_OWNER)" if owner is None else f"belongs to user {owner}"
    )
    what = path if where == path else f"{where} in the repository {path}"
    return UnsafeRepository(
        f"{what} {whose}, and you are user {os.geteuid() if hasattr(os, 'geteuid') else '?'}; "
        "bb changes nothing in it and ignores its configuration",
        when="if you trust its owner, run",
        command=f"git config --global --add safe.directory {quoted(path)}",
        path=path,
        owner=owner,
    )


def is_trusted(path: str) -> bool:
    """Whether the repository at PATH was named by the user, or was declared safe when last checked."""
    return path in _trusted and time.monotonic() < _trusted[path]


def _trust(place: Place, until: float) -> None:
    _trusted.update({path: until for path in (place.work_tree, place.git_dir, place.common) if path})


def is_ours(place: Place, env: Mapping[str, str] | None = None) -> bool:
    """Whether bb may act in a repository."""
    try:
        refuse_foreign(place, env)
    except UnsafeRepository:
        return False
    return True


def is_assumed_foreign(env: Mapping[str, str]) -> bool:
    """Whether git's test switch makes every repository count as another user's."""
    return env.get(ASSUME_ANOTHER, "").lower() in ("1", "true", "yes", "on")


def foreign_part(place: Place, env: Mapping[str, str]) -> tuple[str, int] | None:
    """The first part of a repository that belongs to another user, and that user's id; always None on Windows."""
    if not hasattr(os, "geteuid"):
        return None
    euid, sudo = os.geteuid(), env.get("SUDO_UID", "")
    for path in parts(place):
        for read_status in (os.lstat, os.stat):
            try:
                status = read_status(path)
            except OSError:
                break  # it does not exist
            if not is_owned(status.st_uid, euid, sudo):
                return path, status.st_uid
            if status.st_mode & KIND != LINK:  # only a link has a target to check
                break
    return None


def parts(place: Place) -> list[str]:
    """The paths that must belong to the user: the work tree, its `.git`, the git directory and the common directory."""
    git_dir = place.git_dir or place.common
    paths = [git_dir] if place.work_tree is None else [place.work_tree, os.path.join(place.work_tree, ".git")]
    paths += [path for path in (git_dir, place.common) if path not in paths]
    return paths


def is_owned(owner: int, euid: int, sudo: str) -> bool:
    """Whether OWNER is this user. As in git, root also counts as the user that called `sudo`."""
    if owner == euid:
        return True
    return euid == ROOT and sudo.isascii() and sudo.isdigit() and int(sudo) == owner
