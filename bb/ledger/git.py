"""The only door to git. Bounded, never prompting, deaf to the environment a hook leaves behind."""

from __future__ import annotations

import os

from bb.kernel.errors import NotFound, Refused
from bb.kernel.record import Record
from bb.ledger import child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self


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
    "GIT_QUARANTINE_PATH",
    "GIT_SHALLOW_FILE",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
)
# Nothing asks anybody anything: no terminal, no window for a password, no editor. What is not here is not fetched.
QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_EDITOR": "false",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}
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


class Done(Record):
    """What a git process left: its exit status, None when it was stopped for taking too long, and what it said."""

    status: int | None
    out: bytes
    err: str


def run(arguments: list[str], *, git_dir: str | None = None, env: Mapping[str, str] | None = None) -> str:
    """What `git ARGUMENTS` prints."""
    return output(arguments, git_dir=git_dir, env=env).decode("utf-8", "replace")


def output(
    arguments: Sequence[str],
    *,
    git_dir: str | None = None,
    env: Mapping[str, str] | None = None,
    given: bytes = b"",
    patience: float = PATIENCE,
) -> bytes:
    """What `git ARGUMENTS` prints, byte for byte, being GIVEN that on its standard input."""
    done = ask(arguments, git_dir=git_dir, env=env, given=given, patience=patience)
    if done.status is None:
        raise GitFailed(f"git {arguments[0]} took longer than {patience:.0f} s")
    if done.status:
        said = done.err.strip().splitlines()
        raise GitFailed(f"git {arguments[0]} failed: {said[-1] if said else done.status}")
    return done.out


def ask(
    arguments: Sequence[str],
    *,
    git_dir: str | None = None,
    env: Mapping[str, str] | None = None,
    given: bytes = b"",
    patience: float = PATIENCE,
) -> Done:
    """Run `git ARGUMENTS` to its end, for at most PATIENCE seconds, and say how it ended."""
    status, out, err = _started(arguments, git_dir, env).finish(given, patience)
    return Done(status, out, err.decode("utf-8", "replace"))


class Conversation:
    """`with Conversation(arguments, git_dir=…) as git:` talks with a git process that answers line by line."""

    def __init__(self, arguments: Sequence[str], *, git_dir: str) -> None:
        self._child = _started(arguments, git_dir, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._child.end()
        finally:
            self._child.stop()

    def say(self, octets: bytes) -> None:
        try:
            self._child.say(octets)
        except OSError as error:
            raise GitFailed("git went away in the middle of a conversation") from error

    def line(self) -> bytes:
        return self._child.line()

    def read(self, length: int) -> bytes:
        octets = self._child.read(length)
        if len(octets) < length:
            raise GitFailed("git went away in the middle of an answer")
        return octets

    def end(self) -> int:
        """Say no more, and wait for git to finish; its exit status."""
        return self._child.end()


def _started(arguments: Sequence[str], git_dir: str | None, env: Mapping[str, str] | None) -> child.Child:
    where = ["--git-dir", git_dir] if git_dir else []
    clean = {name: value for name, value in (env or os.environ).items() if name not in SCRUBBED}
    try:
        return child.start(["git", *HARMLESS, *where, *arguments], clean | QUIET)
    except FileNotFoundError as error:
        raise GitNotFound from error


def changed(work_tree: str) -> bytes:
    """What differs from HEAD in a work tree, file by file, as `git status --porcelain=v1 -z -uall` says it."""
    return output(["-C", work_tree, "status", "--porcelain=v1", "-z", "--untracked-files=all"])


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
