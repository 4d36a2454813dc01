"""git's settings about repositories of other users: `safe.directory` and `safe.bareRepository`.

Only the configuration of the system, of the user and of the command line counts. The repository's own configuration is
not read, because git runs in the root directory. The rule for `safe.directory` is that of git 2.46, whatever version is
installed: a value is a path, `*`, or a path that ends in `/*`; an empty value cancels the values before it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping

from bb.ledger.git import program
from bb.ledger.git.place import Place

TRUSTED_SCOPES = ("system", "global", "command")
IMPLICIT = ("/.git/worktrees/", "/.git/modules/")


def is_declared(place: Place, env: Mapping[str, str]) -> bool:
    """Whether `safe.directory` names the repository."""
    return is_safe(title(place), settings("safe.directory", env), lambda value: _expanded(value, env))


def must_be_named(place: Place, env: Mapping[str, str]) -> bool:
    """Whether `safe.bareRepository` requires that this bare repository is named. It was found by searching."""
    path = os.path.realpath(place.git_dir).replace(os.sep, "/")
    return not any(part in path for part in IMPLICIT) and settings("safe.bareRepository", env)[-1:] == ["explicit"]


def title(place: Place) -> str:
    """The path of a repository as git compares it with `safe.directory`."""
    return os.path.realpath(place.work_tree or place.git_dir or place.common)


def is_safe(path: str, values: Iterable[str], expanded: Callable[[str], str | None]) -> bool:
    """Whether these VALUES of safe.directory cover PATH, which has no links."""
    is_covered = False
    for value in values:
        if value in ("", "*"):
            is_covered = value == "*"
            continue
        full = expanded(value)
        if full is None or not (os.path.isabs(full) or full == "."):
            continue
        parent = full.removesuffix("/*")
        real = os.path.realpath(parent)
        is_covered = is_covered or (path.startswith(os.path.join(real, "")) if parent != full else path == real)
    return is_covered


def settings(name: str, env: Mapping[str, str]) -> list[str]:
    """The values of a setting, without those of the repository's own configuration."""
    done = program.ask_outside(["config", "--show-scope", "-z", "--get-all", name], env=env)
    words = done.out.decode("utf-8", "surrogateescape").split("\0")[:-1]
    return [value for scope, value in zip(words[::2], words[1::2], strict=False) if scope in TRUSTED_SCOPES]


def _expanded(value: str, env: Mapping[str, str]) -> str | None:
    """A path with `~/`, `~user/` and `%(prefix)/` expanded by git; None if git cannot expand it."""
    if not value.startswith(("~", "%(prefix)/")):
        return value
    done = program.ask_outside(["-c", f"bb.path={value}", "config", "--type=path", "-z", "--get", "bb.path"], env=env)
    return done.out.decode("utf-8", "surrogateescape").rstrip("\0") if done.status == 0 else None
