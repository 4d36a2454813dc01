"""The only door to git. Bounded, never prompting, deaf to the environment a hook leaves behind.

What the guard of a commit asks is asked without `subprocess`, whose import takes longer than git does to answer.
"""

from __future__ import annotations

import _thread
import os

from bb.kernel.errors import NotFound, Refused
from bb.kernel.record import Record
from bb.ledger.files import disk, processes
from bb.ledger.git import ownership
from bb.ledger.git import place as places

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
# What a hook is told about the commit it is asked about: `git commit -a` and `git commit FILE` have their own index.
OF_THE_COMMIT = ("GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
# No setting that bb does not need may start a program on our behalf: docs/security.md has the whole table.
HARMLESS = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.alternateRefsCommand=true"),  # the program of that name: alternates announce nothing
    *("-c", "protocol.ext.allow=never"),
    *("-c", "protocol.fd.allow=never"),  # a number among our own streams
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
)
# The umask is the whole process's. One thread at a time changes it, and only ever to something stricter.
UMASK, PLAIN_UMASK, OTHERS_WRITE = _thread.allocate_lock(), 0o022, 0o002
# Neither the user's nor the system's.
NO_SETTINGS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "0"}
# The commands that need no repository and look around for none.
OUTSIDE = ("--version", "init", "clone")


class GitNotFound(NotFound):
    """There is no `git` on the PATH."""

    code = "GIT_NOT_FOUND"
    hint = "install git, or put it on the PATH"


class GitFailed(Refused):
    """git could not do what was asked."""

    code = "GIT_FAILED"


class SaidTooMuch(GitFailed):
    """git says more than there can be a reason for."""

    code = "GIT_SAID_TOO_MUCH"
    hint = "the repository holds something that is much larger than it looks; `git log --stat` may tell what"


class Done(Record):
    """What a git process left: its exit status, None when it was stopped for taking too long, and what it said."""

    status: int | None
    out: bytes
    err: str


def run(
    arguments: list[str], *, git_dir: str | None = None, at: str | None = None, env: Mapping[str, str] | None = None
) -> str:
    """What `git ARGUMENTS` prints, for the repository at GIT_DIR, or in the directory AT."""
    return output(arguments, git_dir=git_dir, at=at, env=env).decode("utf-8", "replace")


def output(
    arguments: Sequence[str],
    *,
    git_dir: str | None = None,
    at: str | None = None,
    env: Mapping[str, str] | None = None,
    given: bytes = b"",
    patience: float = PATIENCE,
    most: int | None = None,
) -> bytes:
    """What `git ARGUMENTS` prints, byte for byte, being GIVEN that on its standard input; SaidTooMuch where that is
    more than so many bytes."""
    done = ask(arguments, git_dir=git_dir, at=at, env=env, given=given, patience=patience, most=most)
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
    at: str | None = None,
    env: Mapping[str, str] | None = None,
    given: bytes = b"",
    patience: float = PATIENCE,
    most: int | None = None,
) -> Done:
    """Run `git ARGUMENTS` to its end, for at most PATIENCE seconds and MOST bytes, and say how it ended."""
    try:
        status, out, err = _started(arguments, git_dir, at, env).finish(given, patience, most)
    except processes.TooMuch:
        raise SaidTooMuch(f"git {arguments[0]} says more than {most:,} bytes") from None
    return Done(status, out, err.decode("utf-8", "replace"))


def ask_outside(arguments: Sequence[str], *, env: Mapping[str, str] | None = None) -> Done:
    """Ask git about what belongs to no repository: it stands in the root directory. If that should be in a repository,
    its configuration may still be among the answers."""
    command = ["git", *HARMLESS, "-C", os.path.abspath(os.sep), *arguments]
    status, out, err = _spawned(command, _environment(env)).finish(b"", PATIENCE)
    return Done(status, out, err.decode("utf-8", "replace"))


class Conversation:
    """`with Conversation(arguments, git_dir=…) as git:` talks with a git process that answers line by line."""

    def __init__(self, arguments: Sequence[str], *, git_dir: str) -> None:
        self._child = _started([*IN_PIECES, *arguments], git_dir, None, {**os.environ, **FOR_STRANGERS})

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


# What somebody else has pushed may be a small object that becomes a huge one. git gives up where one piece of memory
# would be larger than this, and passes on a large file without keeping all of it.
FOR_STRANGERS = {"GIT_ALLOC_LIMIT": "96m"}
WHEN_FETCHING = {"GIT_ALLOC_LIMIT": "192m"}  # with room for a table of two million objects
TOO_LARGE = "attempting to allocate "  # what git says then
IN_PIECES = ("-c", "core.bigFileThreshold=16m")


def _started(
    arguments: Sequence[str], git_dir: str | None, at: str | None, env: Mapping[str, str] | None
) -> processes.Child:
    """git, for a repository that we may start it for: everything that starts git for one comes through here."""
    for path in (at, git_dir):
        if path is not None:
            _refuse_foreign(path)
    if at is None and git_dir is None and arguments[0] not in OUTSIDE:
        raise ValueError(f"git {arguments[0]} without a repository")  # it would look around for one by itself
    where = [*(["-C", at] if at is not None else []), *(["--git-dir", git_dir] if git_dir is not None else [])]
    return _spawned(["git", *HARMLESS, *where, *arguments], _environment(env))


def _refuse_foreign(path: str) -> None:
    """Refuse to start git for the repository of another user. Where there is none, git says so itself."""
    if ownership.is_trusted(path):
        return
    try:
        ownership.refuse_another_users(places.around(path))
    except places.NotARepository:
        return


def _environment(env: Mapping[str, str] | None) -> Mapping[str, str]:
    return {name: value for name, value in (env or os.environ).items() if name not in SCRUBBED} | QUIET


def _spawned(command: Sequence[str], env: Mapping[str, str]) -> processes.Child:
    """A git that was started. Its errors are ours where it could not be.

    Whatever git writes for us, nobody else may write. Whether a group may is between git, the umask and
    `core.sharedRepository`.
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
        raise GitNotFound from error
    except OSError as error:
        raise GitFailed(f"git cannot be started: {error.strerror}") from error


def changed(work_tree: str) -> bytes:
    """What differs from HEAD in a work tree, file by file, as `git status --porcelain=v1 -z -uall` says it."""
    return output(
        ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=dirty"], at=work_tree
    )


def tracked(work_tree: str) -> list[str]:
    """The paths that git tracks in a work tree, sorted. A byte that is no text is kept as it is by `os.fsdecode`."""
    named = output(["ls-files", "-z", "--full-name", "--", ":/"], at=work_tree)
    return sorted({os.fsdecode(path) for path in named.split(b"\0") if path})


def forget(git_dir: str, start: str) -> int:
    """Delete the refs whose names begin with START; how many there were."""
    names = run(["for-each-ref", "--format=%(refname)", start], git_dir=git_dir).split()
    output(["update-ref", "--stdin"], git_dir=git_dir, given="".join(f"delete {name}\n" for name in names).encode())
    return len(names)


def version() -> str:
    """The version git reports."""
    return run(["--version"]).removeprefix("git version").strip()


def init_bare(path: str) -> None:
    """Make a bare repository at PATH, if there is none. It is for this user alone."""
    disk.make_private_folder(path)
    run(["init", "--quiet", "--bare", path])


def root_commit(git_dir: str) -> str | None:
    """The oldest commit without parents that HEAD leads to; None in a repository that has no commit yet."""
    try:
        run(["rev-parse", "--verify", "--quiet", "HEAD"], git_dir=git_dir)
    except GitFailed:
        return None
    return run(["rev-list", "--max-parents=0", "HEAD"], git_dir=git_dir).split()[-1]


def hooks_path(top: str) -> tuple[str, str] | None:
    """Where `core.hooksPath` is set and what it is, past the setting by which we switch hooks off for ourselves."""
    said = run(["config", "--show-scope", "-z", "--type=path", "--get-all", "core.hooksPath"], at=top)
    words = said.split("\0")[:-1]
    found = [(scope, path) for scope, path in zip(words[::2], words[1::2], strict=True) if scope != "command"]
    return found[-1] if found else None


def is_ignored(top: str, path: str) -> bool:
    """Whether an ignore file keeps PATH out of the repository."""
    try:
        run(["check-ignore", "--quiet", path], at=top)
    except GitFailed:
        return False
    return True


# -- what a commit is about to change: asked at every commit, and about the very index that the commit is made from


class Coming:
    """A commit that is about to be made from an index, which a hook may find elsewhere than where it usually is."""

    def __init__(self, git_dir: str, env: Mapping[str, str]) -> None:
        self._git_dir = git_dir
        kept = {name: value for name, value in env.items() if name not in SCRUBBED or name in OF_THE_COMMIT}
        self._env = kept | QUIET

    def changes(self, against: str) -> bytes:
        """What differs between the index and a tree, as `git diff-index --raw -z` says it.

        A renamed file is told as one that went and one that came, for either path may be somebody's.
        """
        how = ["--cached", "--raw", "-z", "--no-renames", "--no-abbrev"]
        return self._said(["diff-index", *how, "--ignore-submodules=none", "--ita-invisible-in-index", against, "--"])

    def has(self, revision: str) -> bool:
        """Whether there is such an object."""
        return self._status(["rev-parse", "--verify", "--quiet", "--end-of-options", revision])[0] == 0

    def empty_tree(self) -> str:
        """The name of the tree that has nothing in it, which depends on how this repository names things."""
        return self._said(["hash-object", "-t", "tree", "--stdin"]).decode("ascii", "replace").strip()

    def merged(self, ours: str, theirs: str) -> str | None:
        """The tree that git would make of a merge by itself, conflicts and all; None where this git cannot tell."""
        status, out, _ = self._status(["merge-tree", "--write-tree", "--no-messages", "-z", ours, theirs])
        return out.partition(b"\0")[0].decode("ascii", "replace") if status in (0, 1) and out else None

    def blob(self, name: str, most: int) -> bytes | None:
        """A file's contents, unless there are too many."""
        if int(self._said(["cat-file", "-s", name])) > most:
            return None
        return self._said(["cat-file", "blob", name])

    def sign(self, path: str, trailer: str) -> None:
        """Add a TRAILER to the message in a file, unless one of that name is there."""
        # `git commit` runs no program for this, but interpret-trailers would, by any trailer.*.command that is set. So
        # it stands outside the repository, hears of no settings, and is told the only one that matters.
        _, out, _ = self._status(["config", "-z", "--get-regexp", "^core[.]comment(char|string)$"])
        rows = [row.partition("\n") for row in out.decode("utf-8", "surrogateescape").split("\0") if row]
        known = [word for name, _, value in rows[-1:] for word in ("-c", f"{name}={value}")]
        how = ["--in-place", "--no-divider", "--if-exists", "doNothing", "--trailer", trailer]
        done = ask_outside([*known, "interpret-trailers", *how, "--", path], env=dict(os.environ) | NO_SETTINGS)
        if done.status:
            said = done.err.strip().splitlines()
            raise GitFailed(f"git interpret-trailers failed: {said[-1] if said else done.status}")

    def _said(self, arguments: list[str]) -> bytes:
        status, out, err = self._status(arguments)
        if status:
            said = err.decode("utf-8", "replace").strip().splitlines()
            raise GitFailed(f"git {arguments[0]} failed: {said[-1] if said else status}")
        return out

    def _status(self, arguments: list[str]) -> tuple[int, bytes, bytes]:
        _refuse_foreign(self._git_dir)
        command = ["git", *HARMLESS, "--git-dir", self._git_dir, *arguments]
        status, out, err = _spawned(command, self._env).finish(b"", PATIENCE)
        if status is None:
            raise GitFailed(f"git {arguments[0]} took longer than {PATIENCE:.0f} s")
        return status, out, err
