"""The history of the code itself: the commits of a change, and the paths that each of them changed.

Only commits and trees are read, never the contents of files. Renames are not detected: a renamed file counts as two
changed paths, one removed and one added. An incomplete history, as in a shallow clone, is refused if it matters: a
commit without its parents appears to change everything, or hides its changes.
"""

from __future__ import annotations

import os
from functools import partial

from bb.coordination.guards.ci import Commit
from bb.kernel import clock
from bb.kernel.errors import BbError, NotFound, Refused, Usage
from bb.kernel.escaping import harmless
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.git import git, program
from bb.ledger.git.place import Place
from bb.ledger.published import differences

MOST_COMMITS, MOST_CHANGES = 10_000, 500_000
NO_REPLACE_OBJECTS = "--no-replace-objects"
MOST_SAID = 128 << 20  # bytes of git's output
LARGEST_LIST = 1 << 24  # bytes of git's list of commits without parents (`shallow`)
SEPARATOR = "\x1e"
TRAILERS = "%(trailers:key=BB-Agent,key=BB-Token,unfold=true,separator=%x1e)"
DEEPER = "fetch more of it: `fetch-depth: 0` in actions/checkout, GIT_DEPTH: 0 in GitLab, or `git fetch --unshallow`"

# Words in git's errors, which are in English because bb sets the locale, and hints for them.
HINTS = {
    "dubious ownership": "tell git that you trust this directory: `git config --global --add safe.directory PATH`",
    "tree": "a partial clone must have its trees: fetch it with --filter=blob:none",
}

InvalidRevision = Usage.declare(
    "INVALID_REVISION",
    "The text is not a valid name of a commit",
    hint="name a commit, for example origin/main or 1a2b3c4",
)

RevisionNotFound = NotFound.declare(
    "REVISION_NOT_FOUND", "This clone does not have that commit", hint="fetch it: `git fetch origin REVISION`"
)
HistoryCut = Refused.declare(
    "HISTORY_CUT", "This clone does not have enough of the history to determine the changes", hint=DEEPER
)

BaseUnrelated = Refused.declare(
    "BASE_UNRELATED",
    "The two commits have no history in common",
    hint="name the branch that the change is meant for: `bb ci check --base origin/main`",
)

ChangeTooLarge = Refused.declare(
    "CHANGE_TOO_LARGE",
    "The change consists of more commits or paths than can be judged",
    hint="name a later --base, and check the commits before it separately",
)


class Change(Record):
    """The commits that HEAD has and BASE does not have, oldest first."""

    base: str
    head: str
    merge_base: str
    commits: tuple[Commit, ...]


def between(place: Place, base: str, head: str) -> Change:
    """The change from BASE to HEAD."""
    where = _where(place)
    cuts = _cuts(place)
    base, head = _resolved(where, {"--base": base, "--head": head}, is_cut=bool(cuts))
    ancestors = _said(where, ["merge-base", "--all", base, head], or_status=1).split()
    if not ancestors:
        raise _cut("no common ancestor is known") if cuts else BaseUnrelated(base=base, head=head)
    if cuts:
        _refuse_cut(where, base, head, cuts)
    return Change(base, head, ancestors[0].decode(), _commits(where, base, head))


def file_at(place: Place, commit: str, path: str, most: int) -> bytes | None:
    """The contents of PATH in COMMIT; None if it is not a file, is too large, or is not in this clone."""
    try:
        done = git.ask(
            [NO_REPLACE_OBJECTS, *git.IN_PIECES, "cat-file", "blob", f"{commit}:{path}"], at=_where(place), most=most
        )
    except git.TooMuchOutput.error:
        return None
    return done.out if done.status == 0 else None


def versions(place: Place, commit: str, path: str, most: int) -> tuple[list[bytes | None], bytes | None]:
    """The contents of PATH in each parent of COMMIT, and in COMMIT; empty where it is not there, None if unknown."""
    listed = _said(_where(place), ["rev-list", "--parents", "--max-count=1", commit, "--"])
    parents = listed.decode("ascii", "replace").split()[1:]
    return [_content(place, parent, path, most) for parent in parents] or [b""], _content(place, commit, path, most)


def _content(place: Place, commit: str, path: str, most: int) -> bytes | None:
    octets = file_at(place, commit, path, most)
    if octets is not None:
        return octets
    name = path.encode("utf-8", "surrogateescape")
    listed = _said(_where(place), ["ls-tree", "--full-tree", "-z", "--name-only", commit, "--", os.fsdecode(name)])
    return None if listed else b""


def _where(place: Place) -> str:
    return place.work_tree or place.common


def _said(where: str, words: list[str], given: bytes = b"", or_status: int = 0) -> bytes:
    """The output of git. git does not fetch missing objects: trees must be in this clone."""
    try:
        done = git.ask([NO_REPLACE_OBJECTS, *words], at=where, given=given, most=MOST_SAID)
    except git.TooMuchOutput.error as error:
        raise ChangeTooLarge(f"git's description of the change has more than {MOST_SAID >> 20} MiB") from error
    if done.status not in (0, or_status):
        why = next((line for line in done.err.splitlines() if line.startswith(("fatal:", "error:"))), "no reason given")
        hint = next((hint for sign, hint in HINTS.items() if sign in why), None)
        raise program.GitFailed(f"git {words[0]} failed: {harmless(why[:300])}", hint=hint)
    return done.out


def _cuts(place: Place) -> frozenset[str]:
    """The commits whose parents are missing in this shallow clone."""
    written = disk.read_small(os.path.join(place.common, "shallow"), LARGEST_LIST)
    return frozenset((written or b"").decode("ascii", "replace").split())


def _resolved(where: str, named: dict[str, str], *, is_cut: bool) -> list[str]:
    """The ids of the commits that are NAMED. Names go through git's input, so none is taken for an option."""
    for option, name in named.items():
        if not name.strip() or not name.isprintable() or len(name) > 1000:
            raise InvalidRevision(f"{option} {harmless(name[:60])!r} is not a valid name of a commit")
    queries = "".join(f"{name}^{{commit}}\n" for name in named.values())
    answers = _said(where, ["cat-file", "--batch-check"], queries.encode("utf-8", "surrogateescape"))
    objects = answers.decode("utf-8", "replace").splitlines()
    for (option, name), answer in zip(named.items(), objects, strict=True):
        if answer.split(" ")[1:2] != ["commit"]:
            hint = DEEPER if is_cut else None
            raise RevisionNotFound(f"{option} {harmless(name[:60])!r} is not a commit in this clone", hint=hint)
    return [answer.split(" ")[0] for answer in objects]


def _refuse_cut(where: str, base: str, head: str, cuts: frozenset[str]) -> None:
    """Refuse if parents are missing for a commit that only one of BASE and HEAD contains."""
    listed = _said(where, ["rev-list", f"--max-count={10 * MOST_COMMITS}", f"{base}...{head}"])
    for commit in listed.decode("ascii", "replace").split():
        if commit in cuts:
            raise _cut(f"the parents of commit {commit[:12]} are missing")


def _cut(why: str) -> BbError:
    return HistoryCut(f"this clone does not have enough of the history to determine the changes: {why}")


def _commits(where: str, base: str, head: str) -> tuple[Commit, ...]:
    form = f"--format=%at %ct%n{TRAILERS}"
    options = ["--topo-order", "--reverse", f"--max-count={MOST_COMMITS + 1}", "--encoding=UTF-8", form]
    listed = _said(where, ["rev-list", *options, f"{base}..{head}"])
    rows = listed.decode("utf-8", "surrogateescape").split("\n")[:-1]
    entries = [rows[start : start + 3] for start in range(0, len(rows), 3)]
    if len(entries) > MOST_COMMITS:
        raise ChangeTooLarge(f"the change consists of more than {MOST_COMMITS:,} commits")
    names = [entry[0].removeprefix("commit ") for entry in entries]
    paths = _paths(where, names)
    return tuple(
        Commit(name, *_times(times), _trailers(trailers), tuple(paths.get(name, ())))
        for name, (_, times, trailers) in zip(names, entries, strict=True)
    )


def _times(written: str) -> tuple[int, int]:
    """The author time and the commit time; 0, which is in no reservation, if a time is invalid."""
    first, _, second = written.partition(" ")
    return tuple(int(text) * clock.SECOND if text.isdigit() and len(text) < 12 else 0 for text in (first, second))  # type: ignore[return-value]


def _trailers(text: str) -> tuple[tuple[str, str], ...]:
    pairs = (trailer.partition(":") for trailer in text.split(SEPARATOR) if trailer)
    return tuple((name.strip(), value.strip()) for name, _, value in pairs)


def _paths(where: str, commits: list[str]) -> dict[str, list[str]]:
    """The paths that each of the commits changed. For a merge: only paths that differ from every parent."""
    if differences.changes_more_than(partial(_said, where), commits, MOST_CHANGES):
        raise ChangeTooLarge(f"the change touches more than {MOST_CHANGES:,} paths")
    words = ["diff-tree", "--stdin", "-r", "-c", "--raw", "-z", "--root", "--no-renames", "--ignore-submodules=none"]
    listed = _said(where, words, "".join(f"{name}\n" for name in commits).encode())
    paths: dict[str, list[str]] = {}
    entries = iter(listed.decode("utf-8", "surrogateescape").split("\0"))
    current: list[str] = []
    for entry in entries:
        if entry.startswith(":"):
            current.append(next(entries, ""))
        elif entry:
            current = paths.setdefault(entry, [])
    return paths
