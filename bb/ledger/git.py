"""The only door to git. Bounded, never prompting, deaf to the environment a hook leaves behind."""

from __future__ import annotations

import os
import subprocess

from bb.kernel.errors import NotFound, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PATIENCE = 30.0

# What git sets for its hooks would point a second git at the wrong repository or index.
SCRUBBED = (
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_WORK_TREE",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
)
QUIET = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
# A repository's own settings must not start programs on our behalf.
HARMLESS = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
)


class GitNotFound(NotFound):
    """There is no `git` on the PATH."""

    code = "GIT_NOT_FOUND"
    hint = "install git, or put it on the PATH"


class GitFailed(Refused):
    """git could not do what was asked."""

    code = "GIT_FAILED"


def run(arguments: list[str], *, git_dir: str | None = None, env: Mapping[str, str] | None = None) -> str:
    """What `git ARGUMENTS` prints."""
    return _output(arguments, git_dir, env).decode("utf-8", "replace")


def _output(arguments: list[str], git_dir: str | None = None, env: Mapping[str, str] | None = None) -> bytes:
    where = ["--git-dir", git_dir] if git_dir else []
    clean = {name: value for name, value in (env or os.environ).items() if name not in SCRUBBED}
    try:
        done = subprocess.run(
            ["git", *HARMLESS, *where, *arguments],
            env=clean | QUIET,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except FileNotFoundError as error:
        raise GitNotFound from error
    except subprocess.TimeoutExpired as error:
        raise GitFailed(f"git {arguments[0]} took longer than {PATIENCE:.0f} s") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitFailed(f"git {arguments[0]} failed: {said[-1] if said else done.returncode}")
    return done.stdout


def changed(work_tree: str) -> bytes:
    """What differs from HEAD in a work tree, file by file, as `git status --porcelain=v1 -z -uall` says it."""
    return _output(["-C", work_tree, "status", "--porcelain=v1", "-z", "--untracked-files=all"])


def version() -> str:
    """The version git reports."""
    return run(["--version"]).removeprefix("git version").strip()


def init_bare(path: str) -> None:
    """Make a bare repository at PATH, if there is none."""
    run(["init", "--quiet", "--bare", path])


def root_commit(git_dir: str) -> str | None:
    """The oldest commit without parents that HEAD leads to; None in a repository that has no commit yet."""
    try:
        run(["rev-parse", "--verify", "--quiet", "HEAD"], git_dir=git_dir)
    except GitFailed:
        return None
    return run(["rev-list", "--max-parents=0", "HEAD"], git_dir=git_dir).split()[-1]
