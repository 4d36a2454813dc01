"""What git has been told about repositories of other users: `safe.directory` and `safe.bareRepository`.

Only the configuration of the system, of the user and of the command line counts. The repository's own never does, and
is not even read: git is asked from the root directory. The rule for `safe.directory` is that of git 2.46, whichever git
is installed: a path, `*`, or a path with `/*` at its end; an empty value forgets those before it.
"""

from __future__ import annotations

import os

from bb.kernel.show import quoted
from bb.ledger.git import git, ownership
from bb.ledger.git.ownership import UnsafeRepository

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bb.ledger.git.place import Place

TRUSTED_SCOPES = ("system", "global", "command")
IMPLICIT = ("/.git/worktrees/", "/.git/modules/")


def refuse_unless_declared(place: Place, env: Mapping[str, str]) -> None:
    """Refuse a repository of another user that `safe.directory` does not name."""
    path = title(place)
    values = settings("safe.directory", env)
    if is_safe(path, values, lambda value: _expanded(value, env)):
        return
    part, owner = ownership.foreign_part(place, env) or (path, None)
    whose = "is to count as another user's" if owner is None else f"belongs to user {owner}"
    what = path if part == path else f"{part} in the repository {path}"
    raise UnsafeRepository(
        f"{what} {whose}, and you are user {os.geteuid() if hasattr(os, 'geteuid') else '?'}; "
        "bb changes nothing in it and does not obey its configuration",
        hint=f"if you trust its owner: git config --global --add safe.directory {quoted(path)}",
        path=path,
        owner=owner,
    )


def refuse_bare(place: Place, env: Mapping[str, str]) -> None:
    """Refuse a bare repository that was found by looking around, where git is told to want its name."""
    path = os.path.realpath(place.git_dir)
    if any(each in path.replace(os.sep, "/") for each in IMPLICIT):
        return
    if settings("safe.bareRepository", env)[-1:] == ["explicit"]:
        raise UnsafeRepository(
            f"{path} is a bare repository that was found by chance, and safe.bareRepository is explicit",
            hint=f"if you mean it, name it: GIT_DIR={quoted(path)} bb …",
            path=path,
            owner=None,
        )


def title(place: Place) -> str:
    """The path by which git knows a repository here."""
    return os.path.realpath(place.work_tree or place.git_dir or place.common)


def is_safe(path: str, values: Iterable[str], expanded: Callable[[str], str | None]) -> bool:
    """Whether these VALUES of safe.directory name PATH, which is a real path."""
    found = False
    for value in values:
        if value in ("", "*"):
            found = value == "*"
            continue
        full = expanded(value)
        if full is None or not (os.path.isabs(full) or full == "."):
            continue
        parent = full.removesuffix("/*")
        real = os.path.realpath(parent)
        found = found or (path.startswith(os.path.join(real, "")) if parent != full else path == real)
    return found


def settings(name: str, env: Mapping[str, str]) -> list[str]:
    """The values of a setting that the repository has no part in."""
    done = git.ask_outside(["config", "--show-scope", "-z", "--get-all", name], env=env)
    words = done.out.decode("utf-8", "surrogateescape").split("\0")[:-1]
    return [value for scope, value in zip(words[::2], words[1::2], strict=False) if scope in TRUSTED_SCOPES]


def _expanded(value: str, env: Mapping[str, str]) -> str | None:
    """A path as git understands it: `~/x`, `~user/x` and `%(prefix)/x` are git's to explain."""
    if not value.startswith(("~", "%(prefix)/")):
        return value
    done = git.ask_outside(["-c", f"bb.path={value}", "config", "--type=path", "-z", "--get", "bb.path"], env=env)
    return done.out.decode("utf-8", "surrogateescape").rstrip("\0") if done.status == 0 else None
