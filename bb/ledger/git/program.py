"""Starts git: with a time limit, without prompts, and without the variables git sets for hooks.

git is started without `subprocess`, whose import takes longer than most calls of git. Whether git may be started for a
repository is decided in `git.py`, which calls this module.
"""

from __future__ import annotations

import _thread
import os

from bb.kernel.errors import NotFound, Refused
from bb.kernel.record import Record
from bb.ledger.files import processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bb.ledger.files.child import Child

PATIENCE = 30.0

# git sets these for its hooks. They would point a second git at the wrong repository or index.
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
# No prompts: no terminal, no password window, no editor. Missing objects of a partial clone are not fetched.
QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_EDITOR": "false",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}
# Settings that could start a program that bb does not need are switched off; docs/security.md has the whole table.
HARMLESS = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.alternateRefsCommand=true"),  # the program `true`: alternates announce no refs
    *("-c", "protocol.ext.allow=never"),
    *("-c", "protocol.fd.allow=never"),  # a file descriptor of this process
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
)
FULL = ("No space left on device", "Disk quota exceeded")  # in git's errors
# The umask belongs to the whole process. One thread at a time changes it, and only to a stricter one.
UMASK, PLAIN_UMASK, OTHERS_WRITE = _thread.allocate_lock(), 0o022, 0o002

GitNotFound = NotFound.declare(
    "GIT_NOT_FOUND", "git was not found on the PATH", hint="install git, or put it on the PATH"
)


class GitFailed(Refused):
    """A git command failed."""

    code = "GIT_FAILED"


class Done(Record):
    """The result of a git process: its exit status (None if it was stopped for taking too long) and its output."""

    status: int | None
    out: bytes
    err: str


def refuse_failure(command: str, status: int | None, err: str, patience: float = PATIENCE) -> None:
    """Raise GitFailed unless git ended with STATUS 0; the last line of its errors says why."""
    if status is None:
        raise GitFailed(f"git {command} took longer than {patience:.0f} s")
    if status:
        lines = err.strip().splitlines()
        if any(words in err for words in FULL):
            from bb.ledger.files.disk_refusals import DiskFull  # noqa: PLC0415  (rarely needed)

            raise DiskFull(f"{DiskFull.message}: git {command}: {lines[-1]}")
        raise GitFailed(f"git {command} failed: {lines[-1] if lines else status}")


def ask_outside(arguments: Sequence[str], *, env: Mapping[str, str] | None = None) -> Done:
    """Run `git ARGUMENTS` in the root directory, outside of any repository.

    If the root directory itself lies in a repository, git still reads the configuration of that repository.
    """
    command = ["git", *HARMLESS, "-C", os.path.abspath(os.sep), *arguments]
    status, out, err = spawned(command, environment(env)).communicate(b"", PATIENCE)
    return Done(status, out, err.decode("utf-8", "replace"))


def environment(env: Mapping[str, str] | None) -> dict[str, str]:
    return {name: value for name, value in (env or os.environ).items() if name not in SCRUBBED} | QUIET


def spawned(command: Sequence[str], env: Mapping[str, str]) -> Child:
    """Start git; GitNotFound or GitFailed if that is not possible.

    The umask keeps other users from writing the files that git makes. git, the umask and `core.sharedRepository`
    decide about the group.
    """
    try:
        with UMASK:
            before = os.umask(PLAIN_UMASK)
            os.umask(before if before & OTHERS_WRITE else before | PLAIN_UMASK)
            try:
                return processes.start(command, env)
            finally:
                os.umask(before)
    except FileNotFoundError as error:
        raise GitNotFound() from error
    except OSError as error:
        raise GitFailed(f"git cannot be started: {error.strerror}") from error
