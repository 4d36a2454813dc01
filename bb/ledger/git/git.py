"""The only module that runs git: with a time limit, without prompts, and without the variables git sets for hooks.

git is started without `subprocess`, whose import takes longer than most calls of git.
"""

from __future__ import annotations

import _thread
import os

from bb.kernel.errors import NotFound, Refused
from bb.kernel.record import Record
from bb.ledger.files import child, disk, processes
from bb.ledger.files.child import Child
from bb.ledger.git import ownership
from bb.ledger.git import place as places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self


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
# Variables by which git tells a hook about the commit: `git commit -a` and `git commit FILE` use their own index.
OF_THE_COMMIT = ("GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
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
# The umask belongs to the whole process. One thread at a time changes it, and only to a stricter one.
UMASK, PLAIN_UMASK, OTHERS_WRITE = _thread.allocate_lock(), 0o022, 0o002
# Ignore the configuration of the user and of the system.
NO_SETTINGS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "0"}
# Commands that neither need nor search for a repository.
OUTSIDE = ("--version", "init", "clone")


class GitNotFound(NotFound):
    """git was not found on the PATH."""

    code = "GIT_NOT_FOUND"
    hint = "install git, or put it on the PATH"


class GitFailed(Refused):
    """A git command failed."""

    code = "GIT_FAILED"


class SaidTooMuch(GitFailed):
    """git printed more than bb accepts."""

    code = "GIT_SAID_TOO_MUCH"
    hint = "the repository contains an object that is much larger than it looks; `git log --stat` may show which one"


class Done(Record):
    """The result of a git process: its exit status (None if it was stopped for taking too long) and its output."""

    status: int | None
    out: bytes
    err: str


def run(
    arguments: list[str], *, git_dir: str | None = None, at: str | None = None, env: Mapping[str, str] | None = None
) -> str:
    """The output of `git ARGUMENTS` as text, for the repository at GIT_DIR or in the directory AT."""
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
    """The output of `git ARGUMENTS` in bytes, with GIVEN on its standard input; SaidTooMuch beyond MOST bytes."""
    done = ask(arguments, git_dir=git_dir, at=at, env=env, given=given, patience=patience, most=most)
    _refuse_failure(arguments[0], done.status, done.err, patience)
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
    """Run `git ARGUMENTS` for at most PATIENCE seconds; its result. SaidTooMuch if it prints more than MOST bytes."""
    try:
        status, out, err = _started(arguments, git_dir, at, env).finish(given, patience, most)
    except child.TooMuch:
        raise SaidTooMuch(f"git {arguments[0]} printed more than {most:,} bytes") from None
    return Done(status, out, err.decode("utf-8", "replace"))


def _refuse_failure(command: str, status: int | None, err: str, patience: float = PATIENCE) -> None:
    """Raise GitFailed unless git ended with STATUS 0; the last line of its errors says why."""
    if status is None:
        raise GitFailed(f"git {command} took longer than {patience:.0f} s")
    if status:
        lines = err.strip().splitlines()
        raise GitFailed(f"git {command} failed: {lines[-1] if lines else status}")


def ask_outside(arguments: Sequence[str], *, env: Mapping[str, str] | None = None) -> Done:
    """Run `git ARGUMENTS` in the root directory, outside of any repository.

    If the root directory itself lies in a repository, git still reads the configuration of that repository.
    """
    command = ["git", *HARMLESS, "-C", os.path.abspath(os.sep), *arguments]
    status, out, err = _spawned(command, _environment(env)).finish(b"", PATIENCE)
    return Done(status, out, err.decode("utf-8", "replace"))


class Conversation:
    """`with Conversation(arguments, git_dir=…) as git:` exchanges requests and answers with one git process."""

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
            raise GitFailed("git ended before it had read all requests") from error

    def line(self) -> bytes:
        return self._child.line()

    def read(self, length: int) -> bytes:
        octets = self._child.read(length)
        if len(octets) < length:
            raise GitFailed("git ended in the middle of an answer")
        return octets

    def end(self) -> int:
        """Close git's standard input and wait until it ends; its exit status."""
        return self._child.end()


# A pushed object may be small when compressed and huge when unpacked. git refuses to allocate more memory at once than
# this limit, and streams large files instead of keeping them in memory.
FOR_STRANGERS = {"GIT_ALLOC_LIMIT": "96m"}
WHEN_FETCHING = {"GIT_ALLOC_LIMIT": "192m"}  # enough for a table of two million objects
TOO_LARGE = "attempting to allocate "  # git's error message at that limit
IN_PIECES = ("-c", "core.bigFileThreshold=16m")


def _started(arguments: Sequence[str], git_dir: str | None, at: str | None, env: Mapping[str, str] | None) -> Child:
    """Start git for a repository, after checking its owner. Every start of git for a repository goes through here."""
    for path in (at, git_dir):
        if path is not None:
            _refuse_foreign(path)
    if at is None and git_dir is None and arguments[0] not in OUTSIDE:
        raise ValueError(f"git {arguments[0]} without a repository")  # git would search for one by itself
    where = [*(["-C", at] if at is not None else []), *(["--git-dir", git_dir] if git_dir is not None else [])]
    return _spawned(["git", *HARMLESS, *where, *arguments], _environment(env))


def _refuse_foreign(path: str) -> None:
    """Refuse to start git for the repository of another user. If there is no repository, git reports that itself."""
    if ownership.is_trusted(path):
        return
    try:
        ownership.refuse_another_users(places.around(path))
    except places.NotARepository:
        return


def _environment(env: Mapping[str, str] | None) -> Mapping[str, str]:
    return {name: value for name, value in (env or os.environ).items() if name not in SCRUBBED} | QUIET


def _spawned(command: Sequence[str], env: Mapping[str, str]) -> Child:
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
        raise GitNotFound from error
    except OSError as error:
        raise GitFailed(f"git cannot be started: {error.strerror}") from error


def changed(work_tree: str) -> bytes:
    """The files that differ from HEAD in a work tree, in the format of `git status --porcelain=v1 -z -uall`."""
    return output(
        ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=dirty"], at=work_tree
    )


def tracked(work_tree: str) -> list[str]:
    """The paths that git tracks in a work tree, sorted. `os.fsdecode` keeps bytes that are not valid UTF-8."""
    paths = output(["ls-files", "-z", "--full-name", "--", ":/"], at=work_tree)
    return sorted({os.fsdecode(path) for path in paths.split(b"\0") if path})


def forget(git_dir: str, start: str) -> int:
    """Delete the refs whose names begin with START; return their number."""
    names = run(["for-each-ref", "--format=%(refname)", start], git_dir=git_dir).split()
    output(["update-ref", "--stdin"], git_dir=git_dir, given="".join(f"delete {name}\n" for name in names).encode())
    return len(names)


def version() -> str:
    """The version of git."""
    return run(["--version"]).removeprefix("git version").strip()


def init_bare(path: str) -> None:
    """Make a bare repository at PATH, if it does not exist. Only this user can enter it."""
    disk.make_private_folder(path)
    run(["init", "--quiet", "--bare", path])


def root_commit(git_dir: str) -> str | None:
    """The oldest root commit in the history of HEAD; None in a repository without commits."""
    try:
        run(["rev-parse", "--verify", "--quiet", "HEAD"], git_dir=git_dir)
    except GitFailed:
        return None
    return run(["rev-list", "--max-parents=0", "HEAD"], git_dir=git_dir).split()[-1]


def hooks_path(top: str) -> tuple[str, str] | None:
    """The scope and the value of `core.hooksPath`, ignoring the value by which bb switches hooks off for itself."""
    out = run(["config", "--show-scope", "-z", "--type=path", "--get-all", "core.hooksPath"], at=top)
    words = out.split("\0")[:-1]
    settings = [(scope, path) for scope, path in zip(words[::2], words[1::2], strict=True) if scope != "command"]
    return settings[-1] if settings else None


def is_ignored(top: str, path: str) -> bool:
    """Whether git ignores PATH."""
    try:
        run(["check-ignore", "--quiet", path], at=top)
    except GitFailed:
        return False
    return True


# -- what a commit is about to change: read at every commit, from the index that the commit is made from


class Coming:
    """A commit that is about to be made. Its index is the one that git names to the hook, not always the usual one."""

    def __init__(self, git_dir: str, env: Mapping[str, str]) -> None:
        self._git_dir = git_dir
        kept = {name: value for name, value in env.items() if name not in SCRUBBED or name in OF_THE_COMMIT}
        self._env = kept | QUIET

    def changes(self, against: str) -> bytes:
        """The differences between the index and a tree, in the format of `git diff-index --raw -z`.

        A rename is listed as a removed and an added file, because either path may be reserved.
        """
        how = ["--cached", "--raw", "-z", "--no-renames", "--no-abbrev"]
        return self._output(["diff-index", *how, "--ignore-submodules=none", "--ita-invisible-in-index", against, "--"])

    def has(self, revision: str) -> bool:
        """Whether the revision exists."""
        return self._status(["rev-parse", "--verify", "--quiet", "--end-of-options", revision])[0] == 0

    def empty_tree(self) -> str:
        """The id of the empty tree, which depends on the hash function of the repository."""
        return self._output(["hash-object", "-t", "tree", "--stdin"]).decode("ascii", "replace").strip()

    def merged(self, ours: str, theirs: str) -> str | None:
        """The tree of an automatic merge, with its conflicts; None if this version of git cannot compute it."""
        status, out, _ = self._status(["merge-tree", "--write-tree", "--no-messages", "-z", ours, theirs])
        return out.partition(b"\0")[0].decode("ascii", "replace") if status in (0, 1) and out else None

    def blob(self, name: str, most: int) -> bytes | None:
        """A file's contents; None if it is larger than MOST bytes."""
        if int(self._output(["cat-file", "-s", name])) > most:
            return None
        return self._output(["cat-file", "blob", name])

    def sign(self, path: str, trailer: str) -> None:
        """Add a TRAILER to the message in a file, unless the message has one with that name."""
        # interpret-trailers runs any program that a trailer.*.command setting names. So it is run outside the
        # repository and without settings, except for the comment character.
        _, out, _ = self._status(["config", "-z", "--get-regexp", "^core[.]comment(char|string)$"])
        rows = [row.partition("\n") for row in out.decode("utf-8", "surrogateescape").split("\0") if row]
        settings = [word for name, _, value in rows[-1:] for word in ("-c", f"{name}={value}")]
        options = ["--in-place", "--no-divider", "--if-exists", "doNothing", "--trailer", trailer]
        env = dict(os.environ) | NO_SETTINGS
        done = ask_outside([*settings, "interpret-trailers", *options, "--", path], env=env)
        _refuse_failure("interpret-trailers", done.status, done.err)

    def _output(self, arguments: list[str]) -> bytes:
        status, out, err = self._status(arguments)
        _refuse_failure(arguments[0], status, err.decode("utf-8", "replace"))
        return out

    def _status(self, arguments: list[str]) -> tuple[int, bytes, bytes]:
        _refuse_foreign(self._git_dir)
        command = ["git", *HARMLESS, "--git-dir", self._git_dir, *arguments]
        status, out, err = _spawned(command, self._env).finish(b"", PATIENCE)
        if status is None:
            raise GitFailed(f"git {arguments[0]} took longer than {PATIENCE:.0f} s")
        return status, out, err
