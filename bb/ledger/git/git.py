"""The only door to git for a repository. Before git starts, the owner of the repository is checked.

`program.py` starts git. What bb asks about the commit that is about to be made is in `commit_index.py`.
"""

from __future__ import annotations

import os

from bb.kernel.errors import BbError
from bb.ledger.files import child, disk
from bb.ledger.files.child import Child
from bb.ledger.git import ownership, program
from bb.ledger.git import place as places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Self


# Commands that neither need nor search for a repository.
OUTSIDE = ("--version", "init", "clone")
MOST_PATHS = 200  # on one command line; a path has up to 4 KiB

TooMuchOutput = program.GitFailed.declare(
    "GIT_SAID_TOO_MUCH",
    "git printed more than bb accepts",
    hint="the repository contains an object that is much larger than it looks; `git log --stat` may show which one",
)


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
    patience: float = program.PATIENCE,
    most: int | None = None,
) -> bytes:
    """The output of `git ARGUMENTS` in bytes, with GIVEN on its standard input; SaidTooMuch beyond MOST bytes."""
    done = ask(arguments, git_dir=git_dir, at=at, env=env, given=given, patience=patience, most=most)
    program.refuse_failure(arguments[0], done.status, done.err, patience)
    return done.out


def ask(
    arguments: Sequence[str],
    *,
    git_dir: str | None = None,
    at: str | None = None,
    env: Mapping[str, str] | None = None,
    given: bytes = b"",
    patience: float = program.PATIENCE,
    most: int | None = None,
    fetches_objects: bool = False,
) -> program.Done:
    """Run `git ARGUMENTS` for at most PATIENCE seconds; its result. SaidTooMuch if it prints more than MOST bytes. With
    FETCHES_OBJECTS, git may fetch objects that are missing in a partial clone."""
    started = _started(arguments, git_dir, at, env, fetches_objects=fetches_objects)
    return Asked(arguments[0], started).done(given, patience, most)


def start(arguments: Sequence[str], *, git_dir: str, at: str | None = None) -> Asked:
    """Start `git ARGUMENTS`, whose answer is needed later."""
    return Asked(arguments[0], _started(arguments, git_dir, at, None))


class Asked:
    """A git process that was started; `done` waits for its result."""

    def __init__(self, verb: str, started: Child) -> None:
        self.verb = verb
        self._child = started

    def done(self, given: bytes = b"", patience: float = program.PATIENCE, most: int | None = None) -> program.Done:
        """Its result, after at most PATIENCE seconds."""
        try:
            status, out, err = self._child.communicate(given, patience, most)
        except child.TooMuch:
            raise TooMuchOutput(f"git {self.verb} printed more than {most:,} bytes") from None
        return program.Done(status, out, err.decode("utf-8", "replace"))

    def stop(self) -> None:
        """Stop it; its result is not needed."""
        self._child.stop()


class Conversation:
    """`with Conversation(arguments, git_dir=…) as git:` exchanges requests and answers with one git process."""

    def __init__(self, arguments: Sequence[str], *, git_dir: str) -> None:
        self._verb = arguments[0]
        self._child = _started([*IN_PIECES, *arguments], git_dir, None, {**os.environ, **MEMORY_LIMITS})
        self.has_died = False  # whether it ended too early; then it answers nothing more

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._child.end()
        finally:
            self._child.stop()

    def write(self, octets: bytes) -> None:
        try:
            self._child.write(octets)
        except OSError as error:
            raise self._died("git ended before it had read all requests") from error

    def read_line(self) -> bytes:
        line = self._child.read_line()
        if not line.endswith(b"\n"):
            raise self._died("git ended in the middle of an answer")
        return line

    def read(self, length: int) -> bytes:
        octets = self._child.read(length)
        if len(octets) < length:
            raise self._died("git ended in the middle of an answer")
        return octets

    def _died(self, otherwise: str) -> BbError:
        """The refusal for a git process that has ended too early, by its own words if it said any."""
        self.has_died = True
        try:
            status = self._child.end()
            said = self._child.errors().decode("utf-8", "replace")
            program.refuse_failure(self._verb, status or 1, said or otherwise)
        except (OSError, BbError) as error:
            return error if isinstance(error, BbError) else program.GitFailed(otherwise)
        return program.GitFailed(otherwise)

    def read_until(self, mark: bytes, most: int) -> bytes:
        """Read up to a MARK, which ends what git prints for the requests so far and is not returned. TooMuchOutput if
        more than MOST bytes come before it."""
        try:
            octets = self._child.read_until(mark, most)
        except child.TooMuch:
            raise TooMuchOutput(f"git printed more than {most:,} bytes") from None
        if not octets.endswith(mark):
            raise program.GitFailed("git ended in the middle of an answer")
        return octets[: -len(mark)]

    def close(self) -> None:
        """End it. What it would still answer is not needed."""
        try:
            self._child.end()  # stopping it by a signal takes longer
        except OSError:
            pass
        finally:
            self._child.stop()

    def end(self) -> int:
        """Close git's standard input and wait until it ends; its exit status."""
        return self._child.end()


# A pushed object may be small when compressed and huge when unpacked. git refuses to allocate more memory at once than
# this limit, and streams large files instead of keeping them in memory.
MEMORY_LIMITS = {"GIT_ALLOC_LIMIT": "96m"}
WHEN_FETCHING = {"GIT_ALLOC_LIMIT": "192m"}  # enough for a table of two million objects
TOO_LARGE = "attempting to allocate "  # git's error message at that limit
IN_PIECES = ("-c", "core.bigFileThreshold=16m")


def _started(
    arguments: Sequence[str],
    git_dir: str | None,
    at: str | None,
    env: Mapping[str, str] | None,
    *,
    fetches_objects: bool = False,
) -> Child:
    """Start git for a repository, after checking its owner. Every start of git for a repository goes through here."""
    for path in (at, git_dir):
        if path is not None:
            refuse_foreign(path)
    if at is None and git_dir is None and arguments[0] not in OUTSIDE:
        raise ValueError(f"git {arguments[0]} without a repository")  # git would search for one by itself
    settings = program.environment(env) | ({"GIT_NO_LAZY_FETCH": "0"} if fetches_objects else {})
    where = [*(["-C", at] if at is not None else []), *(["--git-dir", git_dir] if git_dir is not None else [])]
    return program.spawned(["git", *program.HARMLESS, *where, *arguments], settings)


def refuse_foreign(path: str) -> None:
    """Refuse to start git for the repository of another user. If there is no repository, git reports that itself."""
    if ownership.is_trusted(path):
        return
    try:
        ownership.refuse_another_users(places.place_containing(path))
    except places.NotARepository.error:
        return


def in_parts(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    """PATHS in parts that fit on a command line."""
    for start in range(0, len(paths), MOST_PATHS):
        yield paths[start : start + MOST_PATHS]


def status_porcelain(work_tree: str) -> bytes:
    """The files that differ from HEAD in a work tree, in the format of `git status --porcelain=v1 -z -uall`."""
    return output(
        ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=dirty"], at=work_tree
    )


def tracked(work_tree: str) -> list[str]:
    """The paths that git tracks in a work tree, sorted. `os.fsdecode` keeps bytes that are not valid UTF-8."""
    paths = output(["ls-files", "-z", "--full-name", "--", ":/"], at=work_tree)
    return sorted({os.fsdecode(path) for path in paths.split(b"\0") if path})


def delete_refs(git_dir: str, start: str) -> int:
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
    except program.GitFailed:
        return None
    return run(["rev-list", "--max-parents=0", "HEAD"], git_dir=git_dir).split()[-1]


def hooks_path(top: str) -> tuple[str, str] | None:
    """The scope and the value of `core.hooksPath`, ignoring the value by which bb switches hooks off for itself."""
    out = run(["config", "--show-scope", "-z", "--type=path", "--get-all", "core.hooksPath"], at=top)
    words = out.split("\0")[:-1]
    settings = [(scope, path) for scope, path in zip(words[::2], words[1::2], strict=True) if scope != "command"]
    return settings[-1] if settings else None


def ignored(top: str, paths: Sequence[str]) -> frozenset[str]:
    """Those of the PATHS that git ignores. What is in the index is not ignored."""
    given = b"".join(os.fsencode(path) + b"\0" for path in paths)
    done = ask(["check-ignore", "-z", "--stdin"], at=top, given=given) if given else None
    return frozenset(os.fsdecode(path) for path in done.out.split(b"\0") if path) if done else frozenset()


def is_ignored(top: str, path: str) -> bool:
    """Whether git ignores PATH."""
    try:
        run(["check-ignore", "--quiet", path], at=top)
    except program.GitFailed:
        return False
    return True
