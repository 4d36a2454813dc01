"""The history of the code itself: which commits a change consists of, and which paths each of them changed.

Commits and trees are all that is read, never the contents of a file: renames are not looked for, so a renamed file is
one path gone and another one come, and both were touched. A history that was cut off, as shallow checkouts have it, is
refused where it matters: a commit without its parents looks as if it had changed everything, or hides what it did.
"""

from __future__ import annotations

import os
from functools import partial

from bb.coordination.guards.ci import Commit
from bb.kernel import clock
from bb.kernel.errors import NotFound, Refused, Usage
from bb.kernel.record import Record
from bb.kernel.show import harmless
from bb.ledger.files import disk
from bb.ledger.git import git
from bb.ledger.published import differences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.git.place import Place

MOST_COMMITS, MOST_CHANGES = 10_000, 500_000
AS_IT_IS = "--no-replace-objects"
MOST_SAID = 128 << 20  # bytes that git may say about it
LARGEST_LIST = 1 << 24  # of the commits where a history is cut off
SEPARATOR = "\x1e"
TRAILERS = "%(trailers:key=BB-Agent,key=BB-Token,unfold=true,separator=%x1e)"
DEEPER = "fetch more of it: `fetch-depth: 0` in actions/checkout, GIT_DEPTH: 0 in GitLab, or `git fetch --unshallow`"

# What git says, in English since we ask it to, and what helps.
HINTS = {
    "dubious ownership": "tell git that you trust this directory: `git config --global --add safe.directory PATH`",
    "tree": "a partial clone must have its trees: fetch it with --filter=blob:none",
}


class InvalidRevision(Usage):
    """That cannot be the name of a commit."""

    code = "INVALID_REVISION"
    hint = "name a commit, for example origin/main or 1a2b3c4"


class RevisionNotFound(NotFound):
    """There is no such commit in this clone."""

    code = "REVISION_NOT_FOUND"
    hint = "fetch it: `git fetch origin REVISION`"


class HistoryCut(Refused):
    """This clone does not have enough of the history to tell what was changed."""

    code = "HISTORY_CUT"
    hint = DEEPER


class BaseUnrelated(Refused):
    """The two commits have no history in common."""

    code = "BASE_UNRELATED"
    hint = "name the branch that the change is meant for, for example --base origin/main"


class ChangeTooLarge(Refused):
    """The change consists of more commits or paths than can be judged."""

    code = "CHANGE_TOO_LARGE"
    hint = "name a later --base, and judge what lies before it by itself"


class Change(Record):
    """What HEAD has that BASE has not: the commits, oldest first."""

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
        raise _cut("no commit is known that both lead to") if cuts else BaseUnrelated(base=base, head=head)
    if cuts:
        _refuse_cut(where, base, head, cuts)
    return Change(base, head, ancestors[0].decode(), _commits(where, base, head))


def file_at(place: Place, commit: str, path: str, most: int) -> bytes | None:
    """What PATH held in COMMIT; None when it was no file, is too large, or its contents are not in this clone."""
    try:
        found = git.ask([AS_IT_IS, *git.IN_PIECES, "cat-file", "blob", f"{commit}:{path}"], at=_where(place), most=most)
    except git.SaidTooMuch:
        return None
    return found.out if found.status == 0 else None


def _where(place: Place) -> str:
    return place.work_tree or place.common


def _said(where: str, words: list[str], given: bytes = b"", or_status: int = 0) -> bytes:
    """What git answers. What it does not find here it is not to fetch: trees have to be there."""
    try:
        done = git.ask([AS_IT_IS, *words], at=where, given=given, most=MOST_SAID)
    except git.SaidTooMuch as error:
        raise ChangeTooLarge("git says more about the change than can be judged") from error
    if done.status not in (0, or_status):
        why = next((line for line in done.err.splitlines() if line.startswith(("fatal:", "error:"))), "no reason given")
        hint = next((hint for sign, hint in HINTS.items() if sign in why), None)
        raise git.GitFailed(f"git {words[0]} failed: {harmless(why[:300])}", hint=hint)
    return done.out


def _cuts(place: Place) -> frozenset[str]:
    """The commits whose parents are not here although they have some."""
    written = disk.read_small(os.path.join(place.common, "shallow"), LARGEST_LIST)
    return frozenset((written or b"").decode("ascii", "replace").split())


def _resolved(where: str, named: dict[str, str], *, is_cut: bool) -> list[str]:
    """The commits that are NAMED. What git is asked for goes through its input, where nothing is an option."""
    for option, name in named.items():
        if not name.strip() or not name.isprintable() or len(name) > 1000:
            raise InvalidRevision(f"{option} {harmless(name[:60])!r} cannot be the name of a commit")
    asked = "".join(f"{name}^{{commit}}\n" for name in named.values())
    answers = _said(where, ["cat-file", "--batch-check"], asked.encode("utf-8", "surrogateescape"))
    found = answers.decode("utf-8", "replace").splitlines()
    for (option, name), answer in zip(named.items(), found, strict=True):
        if answer.split(" ")[1:2] != ["commit"]:
            hint = DEEPER if is_cut else None
            raise RevisionNotFound(f"{option} {harmless(name[:60])!r} is no commit that is here", hint=hint)
    return [answer.split(" ")[0] for answer in found]


def _refuse_cut(where: str, base: str, head: str, cuts: frozenset[str]) -> None:
    """Refuse when a commit that only one of the two leads to has lost its parents: they may lead to anything."""
    listed = _said(where, ["rev-list", f"--max-count={10 * MOST_COMMITS}", f"{base}...{head}"])
    for commit in listed.decode("ascii", "replace").split():
        if commit in cuts:
            raise _cut(f"the parents of commit {commit[:12]} are not here")


def _cut(why: str) -> HistoryCut:
    return HistoryCut(f"this clone does not have enough of the history to tell what was changed: {why}")


def _commits(where: str, base: str, head: str) -> tuple[Commit, ...]:
    form = f"--format=%at %ct%n{TRAILERS}"
    wanted = ["--topo-order", "--reverse", f"--max-count={MOST_COMMITS + 1}", "--encoding=UTF-8", form]
    listed = _said(where, ["rev-list", *wanted, f"{base}..{head}"])
    rows = listed.decode("utf-8", "surrogateescape").split("\n")[:-1]
    entries = [rows[start : start + 3] for start in range(0, len(rows), 3)]
    if len(entries) > MOST_COMMITS:
        raise ChangeTooLarge(f"the change consists of more than {MOST_COMMITS:,} commits")
    names = [entry[0].removeprefix("commit ") for entry in entries]
    paths = _paths(where, names)
    return tuple(
        Commit(name, *_times(times), _trailers(said), tuple(paths.get(name, ())))
        for name, (_, times, said) in zip(names, entries, strict=True)
    )


def _times(written: str) -> tuple[int, int]:
    """When a commit was written, and when it was made; a time that is none lies in no reservation."""
    first, _, second = written.partition(" ")
    return tuple(int(each) * clock.SECOND if each.isdigit() and len(each) < 12 else 0 for each in (first, second))  # type: ignore[return-value]


def _trailers(said: str) -> tuple[tuple[str, str], ...]:
    pairs = (each.partition(":") for each in said.split(SEPARATOR) if each)
    return tuple((name.strip(), value.strip()) for name, _, value in pairs)


def _paths(where: str, commits: list[str]) -> dict[str, list[str]]:
    """What each of the commits changed: of a merge, only what differs from every parent."""
    if differences.many(partial(_said, where), commits, MOST_CHANGES):
        raise ChangeTooLarge(f"the change touches more than {MOST_CHANGES:,} paths")
    words = ["diff-tree", "--stdin", "-r", "-c", "--raw", "-z", "--root", "--no-renames", "--ignore-submodules=none"]
    listed = _said(where, words, "".join(f"{name}\n" for name in commits).encode())
    found: dict[str, list[str]] = {}
    entries = iter(listed.decode("utf-8", "surrogateescape").split("\0"))
    current: list[str] = []
    for entry in entries:
        if entry.startswith(":"):
            current.append(next(entries, ""))
        elif entry:
            current = found.setdefault(entry, [])
    return found
