"""Runs the trials of `bb setup --check`: commands of hooks and MCP servers, and a commit, in a repository of their own.

The repository is in the system's temporary directory and is removed afterwards. Nothing of the user's repository is
changed. Trials are started together, because most of their time is the start of an interpreter.
"""

from __future__ import annotations

import os

from bb.coordination.agents import callers
from bb.kernel.errors import BbError
from bb.kernel.escaping import quoted
from bb.kernel.record import Record
from bb.ledger.files import disk, processes
from bb.ledger.files.child import TooMuch
from bb.ledger.git import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bb.ledger.files.child import Child

PATIENCE = 10.0  # seconds; hosts wait as long for a hook
MOST = 1 << 22
NOT_STARTED = 127  # the exit status of a shell that does not find a program
TRIAL = "BB_HOOK_TRIAL"  # a call with this variable is not remembered as a call of the host
PROJECTS = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR")
KEPT = ("BB_NOW", "BB_HOME")
IDENTITY = {
    f"GIT_{role}_{member}": value
    for role in ("AUTHOR", "COMMITTER")
    for member, value in (("NAME", "bb"), ("EMAIL", "bb@localhost"))
}


class Result(Record):
    """How a program ended. STATUS is None if it was stopped because it took too long."""

    status: int | None
    out: bytes
    err: str


class Folder:
    """`with Folder() as path:` makes an empty repository for trials, and removes it."""

    def __enter__(self) -> str:
        self._path = os.path.realpath(disk.temporary_folder("bb-trial-"))
        try:
            git.run(["init", "--quiet", "--template=", self._path])
        except BaseException:
            self.__exit__()
            raise
        return self._path

    def __exit__(self, *_: object) -> None:
        disk.remove_folder(self._path)


def environment(env: Mapping[str, str], folder: str, agent: str | None) -> dict[str, str]:
    """ENV as a host passes it on in FOLDER, for AGENT, without anything that leads bb or git elsewhere."""
    leads = ("BB_", "GIT_", "_BB")
    plain = {name: value for name, value in env.items() if name in KEPT or not name.startswith(leads)}
    for name in (*callers.HOSTS, "CLAUDE_ENV_FILE"):
        plain.pop(name, None)
    plain |= dict.fromkeys(PROJECTS, folder) | {TRIAL: "1", "BB_SYNC": "off"}
    return plain | ({"BB_AGENT": agent} if agent else {})


def shell_line(shell: Sequence[str], line: str, folder: str) -> list[str]:
    """The command that runs LINE in FOLDER with a host's SHELL."""
    return [*shell, f"cd {quoted(folder)} && {line}"]


def command_in(folder: str, command: Sequence[str]) -> list[str]:
    """The command that runs COMMAND in FOLDER."""
    return ["sh", "-c", f'cd {quoted(folder)} && exec "$0" "$@"', *command]


class Run:
    """A started program with its input."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], given: bytes) -> None:
        self._given = given
        self._child: Child | None = None
        self._why = ""
        self._result: Result | None = None
        try:
            self._child = processes.start(command, env)
        except (OSError, BbError) as error:
            self._why = str(error)

    def result(self) -> Result:
        """How it ends. May be asked more than once."""
        if self._result is None:
            self._result = self._awaited()
        return self._result

    def _awaited(self) -> Result:
        if self._child is None:
            return Result(NOT_STARTED, b"", self._why)
        try:
            status, out, err = self._child.communicate(self._given, PATIENCE, MOST)
        except TooMuch:
            return Result(None, b"", f"it printed more than {MOST:,} bytes")
        return Result(status, out, err.decode("utf-8", "replace"))


def commit_with_hook(folder: str, hook: bytes, path: str, env: Mapping[str, str]) -> Result:
    """Try to commit the file PATH in the repository FOLDER, with HOOK as its pre-commit hook."""
    hooks = os.path.join(folder, ".git", "hooks")
    disk.make_folder(hooks)
    disk.replace(os.path.join(hooks, "pre-commit"), hook, mode=0o755)
    disk.replace(os.path.join(folder, path), b"after\n")
    git.run(["add", "--", path], at=folder)
    words = ["-c", f"core.hooksPath={hooks}", "-c", "commit.gpgSign=false", "commit", "--quiet", "-m", "Trial"]
    done = git.ask(words, at=folder, env={**env, **IDENTITY}, patience=PATIENCE)
    return Result(done.status, done.out, done.err)
