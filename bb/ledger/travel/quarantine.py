"""Finds which commits of the branch count. A stray commit, and everything on top of it, is quarantined: it is skipped.

Anyone who may push can put a commit on the branch that is not a valid part of a ledger. It must not stop other clones.
So the ledger goes on from the last commit before it: a clone publishes a commit on top of the stray one whose files are
those of the last good commit, plus new lines. Its trailer `Bb-Continues` names the last good commit. This is an
ordinary push, so it works on a protected branch.

Every clone must skip the same commits. Therefore the verdict on a commit depends only on the commit and its ancestors,
and never on the clone: `Bb-Continues` counts only if it names the last good commit among the ancestors, and only on top
of a commit that does not count. If a merge joins two different continuations, nobody can know which one was published,
and the branch is refused.
"""

from __future__ import annotations

from bb.coordination.holdings.admission import Admitted
from bb.kernel.record import Record
from bb.ledger.git import git
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from bb.ledger.published import bounds, differences
from bb.ledger.published.charter import LedgerRewritten, NotALedger
from bb.ledger.published.layout import charter_at
from bb.ledger.published.tip import Commit, Tip
from bb.ledger.travel import importing
from bb.ledger.travel.branch import History

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bb.kernel.errors import BbError
    from bb.ledger.git.session import GitSession
    from bb.ledger.journal.line import Link
    from bb.ledger.published.layout import Change

    Progress = Callable[..., None]
    Row = tuple[str, tuple[str, ...]]  # a commit and its parents

CONTINUES = b"Bb-Continues: "
AT_ONCE = 512  # commits whose changes are read together
MOST_WALKS = 50  # changes of direction in a history with merges; an attacker could make each one expensive
MOST_REASONS = 200  # characters
ON_TOP = "it is on top of a commit that does not count"
MERGE = "it is a merge"


class Stray(Record):
    """A commit on the branch that does not count, and why."""

    commit: str
    why: str


class Sound(Record):
    """The commits that count, oldest first, the state after them, and the commits that were skipped."""

    commits: Sequence[Commit]
    tip: Tip
    settled: Admitted  # results of earlier epochs, if the commits include the start of this epoch
    strays: Sequence[Stray] = ()


def read(
    store: str,
    git_dir: str,
    known: Tip | None,
    commit: str,
    progress: Progress | None = None,
    session: GitSession | None = None,
) -> Sound:
    """The commits after KNOWN, up to COMMIT, that count. Lines are checked only if some commit does not count.

    STORE is the folder with the journals: with KNOWN, they have every line up to there. The SESSION of a sync has a
    process that reads objects already.
    """
    history = History(git_dir, known)
    try:
        if session:
            with session.asked() as objects:
                commits = list(history.upto_with(objects, commit, progress))
        else:
            commits = list(history.upto(commit, progress))
    except (NotALedger, LedgerRewritten.error) as refusal:
        return sift(store, git_dir, known, commit, refusal)
    return Sound(commits, history.tip, history.settled)


def sift(store: str, git_dir: str, known: Tip | None, commit: str, refusal: BbError) -> Sound:
    """The commits after KNOWN that count, although the branch up to COMMIT was refused. Raises the REFUSAL if the
    branch does not continue from KNOWN, or has no valid commit at all."""
    if isinstance(refusal, bounds.LedgerTooLarge.error):
        raise refusal
    rows = _rows(git_dir, commit, known, refusal)
    if known and any(len(parents) > 1 for _, parents in rows):
        # A merge may join what branched off before KNOWN, so every clone begins at the same place.
        found = _Walk(store, git_dir, None).to(commit, _rows(git_dir, commit, None, refusal), refusal)
        return found if known.commit == commit else _after(found, known, refusal)
    return _Walk(store, git_dir, known).to(commit, rows, refusal)


def sift_after(git_dir: str, known: Tip, links: Mapping[str, Link], commit: str, refusal: BbError) -> Sound | None:
    """The same for a reader that has no lines up to KNOWN, only the LINKS of each writer's last line there. None if
    that is not enough: for a merge, or a commit that blanked an event."""
    rows = _rows(git_dir, commit, known, refusal)
    if any(len(parents) > 1 for _, parents in rows):
        return None
    try:
        return _Walk("", git_dir, known, links).to(commit, rows, refusal)
    except _Unknown:
        return None


def continued(message: bytes) -> str | None:
    """The last good commit that a commit's MESSAGE names; None if it names none."""
    last = message.rstrip(b"\n").rpartition(b"\n\n")[2]
    named = [row[len(CONTINUES) :] for row in last.split(b"\n") if row.startswith(CONTINUES)]
    return named[0].decode("ascii", "replace").strip() if len(named) == 1 else None


def _after(found: Sound, known: Tip, refusal: BbError) -> Sound:
    """FOUND without the commits up to KNOWN. Raises the REFUSAL if that is not among them."""
    place = next((place for place, one in enumerate(found.commits) if one.id == known.commit), None)
    if place is None:
        raise refusal
    return found.replace(commits=found.commits[place + 1 :], settled=Admitted())


def _rows(git_dir: str, commit: str, known: Tip | None, refusal: BbError) -> list[Row]:
    """The commits after KNOWN up to COMMIT, each after its parents. Raises the REFUSAL if git no longer has KNOWN, or
    if COMMIT is no commit."""
    behind = [f"^{known.commit}"] if known else []
    words = ["rev-list", "--topo-order", "--reverse", "--parents", commit, *behind]
    done = git.ask(words, git_dir=git_dir, most=bounds.MOST_HISTORY)
    if done.status:
        raise refusal
    rows = map(str.split, done.out.decode("ascii", "replace").splitlines())
    return [(name, tuple(parents)) for name, *parents in rows]


class _Unknown(Exception):
    """Earlier lines are needed, and they are not here."""


class _Walk:
    """One walk over commits, parents first. With LINKS, the lines up to KNOWN are not in the STORE."""

    def __init__(self, store: str, git_dir: str, known: Tip | None, links: Mapping[str, Link] | None = None) -> None:
        self._store, self._git_dir, self._known, self._known_links = store, git_dir, known, links
        self._before: dict[str, str | None] = {}  # each commit that counts -> the one before it that counts
        self._ends: dict[str, str | None] = {}  # each commit -> the last one that counts up to it
        self._commits: dict[str, Commit] = {}
        self._why: dict[str, str] = {}
        self._changes: dict[str, list[Change] | BbError] = {}
        self._walks = 0
        self._objects: git.Conversation  # while it walks
        self._begin()
        if known:
            self._ends[known.commit] = known.commit

    def _begin(self) -> None:
        self._at = self._known.commit if self._known else None
        self._history = History(self._git_dir, self._known)
        self._links: dict[str, Link] = dict(self._known_links or {})

    def to(self, commit: str, rows: Sequence[Row], refusal: BbError) -> Sound:
        """What counts up to COMMIT. Raises the REFUSAL if nothing does."""
        rows = self._descended(rows)
        self._objects = self._opened()
        try:
            for start in range(0, len(rows), AT_ONCE):
                part = rows[start : start + AT_ONCE]
                self._changes = self._read([name for name, parents in part if len(parents) < 2])
                for name, parents in part:
                    self._ends[name] = self._end(name, parents)
            end = self._ends.get(commit)
            if end is None:
                raise refusal
            self._go_to(end)
        finally:
            self._objects.close()
        chain = [self._commits[name] for name in self._chain(end)]
        counting = {one.id for one in chain}
        strays = [Stray(name, self._why.get(name, ON_TOP)) for name, _ in rows if name not in counting]
        return Sound(chain, self._history.tip, self._history.settled, strays)

    def _read_anew(self) -> None:
        """Read objects with another process. After a refusal, the last answer of the one before may be unread."""
        self._objects.close()
        self._objects = self._opened()

    def _opened(self) -> git.Conversation:
        return git.Conversation(["cat-file", "--batch"], git_dir=self._git_dir)

    def _descended(self, rows: Sequence[Row]) -> list[Row]:
        """The rows without the history of code that a merge brought along."""
        inside = {self._known.commit} if self._known else set()
        found = []
        for name, parents in rows:
            if inside.intersection(parents) or (not parents and charter_at(self._git_dir, name)):
                inside.add(name)
                found.append((name, parents))
        return found

    def _read(self, names: Sequence[str]) -> dict[str, list[Change] | BbError]:
        try:
            return dict(differences.changed_files(self._git_dir, names))
        except (NotALedger, LedgerRewritten.error):
            return {name: self._read_alone(name) for name in names}

    def _read_alone(self, name: str) -> list[Change] | BbError:
        try:
            return dict(differences.changed_files(self._git_dir, [name]))[name]
        except (NotALedger, LedgerRewritten.error) as refusal:
            return refusal

    # -- judging one commit

    def _end(self, name: str, parents: Sequence[str]) -> str | None:
        """The last commit that counts up to this one."""
        if len(parents) > 1:
            self._why[name] = MERGE
            return self._latest([end for parent in parents if (end := self._ends.get(parent))])
        before = self._ends.get(parents[0]) if parents else None
        if parents and before is None:
            return None
        try:
            changes = self._changed(name, parents, before)
            if changes is None:
                return before
            self._go_to(before)
            self._take(name, before, changes)
        except (NotALedger, LedgerRewritten.error) as refusal:
            if isinstance(refusal, bounds.LedgerTooLarge.error):
                raise
            self._read_anew()
            self._why[name] = refusal.message[:MOST_REASONS]
            return before
        return name

    def _latest(self, ends: Sequence[str]) -> str | None:
        """The END that continues all others. Refused if two continue differently."""
        longest = max(ends, key=lambda end: len(self._chain(end)), default=None)
        if longest and not set(ends) <= {*self._chain(longest)}:
            raise LedgerRewritten(
                "a merge joined two different continuations of the ledger, and only one was published"
            )
        return longest

    def _changed(self, name: str, parents: Sequence[str], before: str | None) -> list[Change] | None:
        """What a commit changes, compared with the last commit that counts; None if it does not continue from there."""
        if not parents or parents[0] == before:
            changes = self._changes[name]
            if isinstance(changes, list):
                return changes
            raise changes
        if before is None or continued(_message(self._objects, name)) != before:
            return None
        return differences.between(self._git_dir, before, name)

    def _take(self, name: str, before: str | None, changes: list[Change]) -> None:
        """Verify a commit, and move to it. After a refusal nothing has changed."""
        last, settled = self._history.tip if before else None, self._history.settled
        try:
            commit = self._history.verified(name, before, changes, self._objects)
            links = self._linked(commit)
            self._refuse_wrong_blanks(commit, before)
        except BaseException:
            self._history = History(self._git_dir, last)
            self._history.settled = settled
            raise
        self._links |= links
        self._commits[name], self._before[name], self._at = commit, before, name

    def _linked(self, commit: Commit) -> Mapping[str, Link]:
        """The last link of each writer after COMMIT. Refused if a line does not follow from the line before it."""
        links: dict[str, Link] = {}
        for writer, first, octets in commit.added:
            link = links.get(writer) or self._links.get(writer) or self._first_link(writer, first)
            for raw in octets.split(b"\n")[:-1]:
                try:
                    link = lines.check(raw, writer, link)
                except lines.BadLine as error:
                    raise NotALedger(f"line {link.n + 1} of writer {writer} is invalid: {error}") from None
            links[writer] = link
        return links

    def _first_link(self, writer: str, first: int) -> Link:
        return lines.START if first == 1 else Journal(self._store, writer).link_before(first)

    def _refuse_wrong_blanks(self, commit: Commit, before: str | None) -> None:
        if commit.blanked and self._known_links is not None:
            raise _Unknown
        if commit.blanked:
            earlier = [self._commits[name] for name in self._chain(before)]
            importing.refuse_wrong_blanks(self._store, [*earlier, commit], self._withdrawn())

    def _withdrawn(self) -> dict[str, frozenset[str]]:
        """The events that were withdrawn up to the known commit."""
        return importing.withdrawn(self._store, self._known.last_lines) if self._known else {}

    # -- moving between commits that count

    def _chain(self, end: str | None) -> list[str]:
        """The commits that count, after the known one and up to END."""
        names = []
        while end is not None and end in self._before:
            names.append(end)
            end = self._before[end]
        return names[::-1]

    def _go_to(self, commit: str | None) -> None:
        """Let the state be that after COMMIT. Only a merge makes steps back necessary."""
        if commit == self._at:
            return
        self._walks += 1
        if self._walks > MOST_WALKS:
            raise bounds.LedgerTooLarge("the branch has more merges than can be verified")
        chain = self._chain(commit)
        self._begin()
        for name in chain:
            before = self._before[name]
            changes = differences.between(self._git_dir, before, name)
            self._links |= self._linked(self._history.verified(name, before, changes, self._objects))
        self._at = commit


def _message(objects: git.Conversation, name: str) -> bytes:
    """The message of a commit; empty if it is very long."""
    objects.write(name.encode() + b"\n")
    size = int(objects.read_line().split()[2])
    octets = objects.read(size + 1)
    return octets.partition(b"\n\n")[2][:-1]
