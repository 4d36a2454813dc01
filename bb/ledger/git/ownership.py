"""Whose repository it is: asked before anything in it is changed, and before git is started with its configuration.

The configuration of a repository can start programs, so obeying it means trusting its owner. The rule is git's own: the
user owns the work tree, the `.git` in it and the git directory, or has named the repository in `safe.directory`. bb
always passes `--git-dir`, which tells git not to ask, so bb asks itself. Ordinarily that costs a few `stat` calls.
git's settings are looked up only where something belongs to another user (`ledger/git/safe_directory.py`).
"""

from __future__ import annotations

import os
import time

from bb.kernel.errors import Forbidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from bb.ledger.git.place import Place

ROOT = 0
KIND, LINK = 0o170000, 0o120000  # as `stat` has them; the module of that name is not loaded for two numbers
# git's own switch for its tests. It makes us ask, as it makes git; nothing switches the question off.
ASSUME_ANOTHER = "GIT_TEST_ASSUME_DIFFERENT_OWNER"
TRUSTED_FOR = 60.0  # seconds until git's settings are read again; a server runs longer, a command does not
_trusted: dict[str, float] = {}


class UnsafeRepository(Forbidden):
    """This repository belongs to another user."""

    code = "UNSAFE_REPOSITORY"
    hint = "if you trust its owner, name it in git's safe.directory: `git config --global --add safe.directory PATH`"


def refuse_foreign(place: Place, env: Mapping[str, str] | None = None) -> None:
    """Refuse to act in a repository of another user, or in a bare one that the user wants to name and has not."""
    env = os.environ if env is None else env
    refuse_another_users(place, env)
    if place.work_tree is None and place.git_dir and not place.is_named and os.path.basename(place.git_dir) != ".git":
        from bb.ledger.git import safe_directory  # noqa: PLC0415  (few work in a bare repository)

        safe_directory.refuse_bare(place, env)


def refuse_another_users(place: Place, env: Mapping[str, str] | None = None) -> None:
    """Refuse to act in a repository of another user, unless git has been told that it is safe."""
    env = os.environ if env is None else env
    if place.is_named:
        _trust(place, float("inf"))
    elif foreign_part(place, env) or is_assumed_foreign(env):
        from bb.ledger.git import safe_directory  # noqa: PLC0415  (git's settings decide)

        safe_directory.refuse_unless_declared(place, env)
        _trust(place, time.monotonic() + TRUSTED_FOR)


def is_trusted(path: str) -> bool:
    """Whether the repository at PATH was found to be safe lately although another user owns it, or was named."""
    return path in _trusted and time.monotonic() < _trusted[path]


def _trust(place: Place, until: float) -> None:
    _trusted.update({path: until for path in (place.work_tree, place.git_dir, place.common) if path})


def is_ours(place: Place, env: Mapping[str, str] | None = None) -> bool:
    """Whether we may act in a repository."""
    try:
        refuse_foreign(place, env)
    except UnsafeRepository:
        return False
    return True


def is_assumed_foreign(env: Mapping[str, str]) -> bool:
    """Whether git itself would take every repository for another user's."""
    return env.get(ASSUME_ANOTHER, "").lower() in ("1", "true", "yes", "on")


def foreign_part(place: Place, env: Mapping[str, str]) -> tuple[str, int] | None:
    """The first part of a repository that belongs to another user, and to whom. Windows knows no such numbers."""
    if not hasattr(os, "geteuid"):
        return None
    euid, sudo = os.geteuid(), env.get("SUDO_UID", "")
    for path in parts(place):
        for look in (os.lstat, os.stat):
            try:
                found = look(path)
            except OSError:
                break  # what is not there says nothing
            if not is_owned(found.st_uid, euid, sudo):
                return path, found.st_uid
            if found.st_mode & KIND != LINK:  # there is nothing behind it to look at
                break
    return None


def parts(place: Place) -> list[str]:
    """What must belong to the user: the work tree, the `.git` in it, the git directory and the one it shares."""
    git_dir = place.git_dir or place.common
    found = [git_dir] if place.work_tree is None else [place.work_tree, os.path.join(place.work_tree, ".git")]
    found += [path for path in (git_dir, place.common) if path not in found]
    return found


def is_owned(owner: int, euid: int, sudo: str) -> bool:
    """Whether what belongs to OWNER is this user's. Root counts as the user who called `sudo`, too, as with git."""
    if owner == euid:
        return True
    return euid == ROOT and sudo.isascii() and sudo.isdigit() and int(sudo) == owner
