"""The history of the code itself: the commits of a change, and the paths that each of them changed.

Only commits and trees are read, never the contents of files. Renames are not detected: a renamed file counts as two
changed paths, one removed and one added. If the history of the clone is incomplete, and it matters, it is read in a
temporary copy that has more of it (`code_source.py`): a commit without its parents appears to change everything, or
hides its changes.
"""

from __future__ import annotations

from bb.coordination.guards import commit_authors
from bb.coordination.guards.ci import Commit
from bb.coordination.guards.commit_authors import Signed, Trailer
from bb.kernel import clock
from bb.kernel.errors import BbError, Refused
from bb.kernel.escaping import harmless
from bb.kernel.record import Record
from bb.ledger.git import git, program
from bb.ledger.published import differences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from bb.ledger.git.program import Done

MOST_COMMITS, MOST_CHANGES = 10_000, 500_000
MOST_SAID = 128 << 20  # bytes of git's output
MOST_SKIPPED = 10 * MOST_COMMITS  # commits that only one of base and head has
NO_REPLACE_OBJECTS = "--no-replace-objects"
SEPARATOR = "\x1e"
TRAILERS = "%(trailers:only=true,unfold=true,separator=%x1e)"
FIELDS = ("%at %ct", "%ae", "%ce", "%P", TRAILERS, "%B")
HINT = "fetch more of it: `fetch-depth: 0` in actions/checkout, GIT_DEPTH: 0 in GitLab, or `git fetch --unshallow`"

# Words in git's errors, which are in English because bb sets the locale, and hints for them.
HINTS = {
    "dubious ownership": "tell git that you trust this directory: `git config --global --add safe.directory PATH`",
    "tree": "a partial clone must have its trees: fetch it with --filter=blob:none",
}

HistoryCut = Refused.declare(
    "HISTORY_CUT", "This clone does not have enough of the history to determine the changes", hint=HINT
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


class Reader(Record):
    """Git in a repository that has the history. CUTS are the commits whose parents it does not have."""

    ask: Callable[..., Done]  # words, and `given` and `most`
    cuts: frozenset[str]

    def said(self, words: list[str], given: bytes = b"", or_status: int = 0) -> bytes:
        """The output of git. git does not fetch missing objects: trees must be there."""
        try:
            done = self.ask([NO_REPLACE_OBJECTS, *words], given=given, most=MOST_SAID)
        except git.TooMuchOutput.error as error:
            raise ChangeTooLarge(f"git's description of the change has more than {MOST_SAID >> 20} MiB") from error
        if done.status not in (0, or_status):
            lines = done.err.splitlines()
            why = next((line for line in lines if line.startswith(("fatal:", "error:"))), "no reason given")
            hint = next((hint for sign, hint in HINTS.items() if sign in why), None)
            raise program.GitFailed(f"git {words[0]} failed: {harmless(why[:300])}", hint=hint)
        return done.out

    def commit_named(self, name: str) -> str | None:
        """The id of the commit that is NAMED. Names go through git's input, so none is taken for an option."""
        answer = self.said(["cat-file", "--batch-check"], f"{name}^{{commit}}\n".encode("utf-8", "surrogateescape"))
        words = answer.decode("utf-8", "replace").split("\n")[0].split(" ")
        return words[0] if words[1:2] == ["commit"] else None


def between(reader: Reader, base: str, head: str) -> Change:
    """The change from the commit BASE to the commit HEAD."""
    ancestors = reader.said(["merge-base", "--all", base, head], or_status=1).split()
    if not ancestors:
        raise _cut("no common ancestor is known") if reader.cuts else BaseUnrelated(base=base, head=head)
    if reader.cuts:
        _refuse_cut(reader, base, head)
    return Change(base, head, ancestors[0].decode(), _commits(reader, f"{base}..{head}"))


def one(reader: Reader, commit: str) -> Change:
    """The change by one commit."""
    if commit in reader.cuts:
        raise _cut(f"the parents of commit {commit[:12]} are missing")
    return Change(commit, commit, commit, _commits(reader, "--no-walk=unsorted", commit))


def parents(reader: Reader, commit: str) -> list[str]:
    """The parents of a commit."""
    listed = reader.said(["rev-list", "--parents", "--max-count=1", commit, "--"])
    return listed.decode("ascii", "replace").split()[1:]


def cuts_below(reader: Reader, commits: list[str]) -> list[str]:
    """The commits without parents that the history of COMMITS ends with."""
    listed = reader.said(["rev-list", f"--max-count={MOST_SKIPPED}", *commits, "--"])
    return [commit for commit in listed.decode("ascii", "replace").split() if commit in reader.cuts]


def _refuse_cut(reader: Reader, base: str, head: str) -> None:
    """Refuse if parents are missing for a commit that only one of BASE and HEAD contains."""
    listed = reader.said(["rev-list", f"--max-count={MOST_SKIPPED}", f"{base}...{head}"])
    for commit in listed.decode("ascii", "replace").split():
        if commit in reader.cuts:
            raise _cut(f"the parents of commit {commit[:12]} are missing")


def _cut(why: str) -> BbError:
    return HistoryCut(f"this clone does not have enough of the history to determine the changes: {why}")


def _commits(reader: Reader, *which: str) -> tuple[Commit, ...]:
    form = f"--format={'%x00'.join(FIELDS)}%x00"
    options = ["--topo-order", "--reverse", f"--max-count={MOST_COMMITS + 1}", "--encoding=UTF-8", form]
    listed = reader.said(["rev-list", *options, *which])
    fields = listed.decode("utf-8", "surrogateescape").split("\0")[:-1]
    entries = [fields[start : start + len(FIELDS)] for start in range(0, len(fields), len(FIELDS))]
    if len(entries) > MOST_COMMITS:
        raise ChangeTooLarge(f"the change consists of more than {MOST_COMMITS:,} commits")
    # Before the first field of a commit git writes a line with its name.
    heads = [entry[0].strip("\n").removeprefix("commit ").partition("\n") for entry in entries]
    paths = _paths(reader, [name for name, _, _ in heads])
    return tuple(
        Commit(name, *_times(times), _signed(*entry[1:3], *entry[4:]), tuple(paths.get(name, ())), _count(entry[3]))
        for (name, _, times), entry in zip(heads, entries, strict=True)
    )


def _count(parents: str) -> int:
    return len(parents.split())


def _signed(author: str, committer: str, trailers: str, message: str) -> Signed:
    return Signed(commit_authors.blocks(message, _trailers(trailers)), author, committer)


def _times(written: str) -> tuple[int, int]:
    """The author time and the commit time; 0, which is in no reservation, if a time is invalid."""
    first, _, second = written.partition(" ")
    return tuple(int(text) * clock.SECOND if text.isdigit() and len(text) < 12 else 0 for text in (first, second))  # type: ignore[return-value]


def _trailers(text: str) -> tuple[Trailer, ...]:
    pairs = (trailer.partition(":") for trailer in text.split(SEPARATOR) if trailer)
    return tuple((name.strip(), value.strip()) for name, _, value in pairs)


def _paths(reader: Reader, commits: list[str]) -> dict[str, list[str]]:
    """The paths that each of the commits changed. For a merge: only paths that differ from every parent."""
    if differences.changes_more_than(reader.said, commits, MOST_CHANGES):
        raise ChangeTooLarge(f"the change touches more than {MOST_CHANGES:,} paths")
    words = ["diff-tree", "--stdin", "-r", "-c", "--raw", "-z", "--root", "--no-renames", "--ignore-submodules=none"]
    listed = reader.said(words, "".join(f"{name}\n" for name in commits).encode())
    paths: dict[str, list[str]] = {}
    entries = iter(listed.decode("utf-8", "surrogateescape").split("\0"))
    current: list[str] = []
    for entry in entries:
        if entry.startswith(":"):
            current.append(next(entries, ""))
        elif entry:
            current = paths.setdefault(entry, [])
    return paths
