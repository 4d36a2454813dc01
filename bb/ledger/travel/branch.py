"""The published ledger: one orphan branch with the lines of every writer, and the rules for commits on it.

Anyone who may push can put anything there, so every commit is verified. Each commit has one parent, and appends
complete lines to files or starts a writer's next file. Two other changes are allowed: blanking a redacted line, and
archiving files whose lines a snapshot covers (`archive.py`). So published lines stay, a merge is a union, and a
rewritten branch is detected. Only a new epoch has no parent; it contains every earlier line (`rotation.py`).
"""

from __future__ import annotations

from bb.coordination.holdings.admission import Admitted
from bb.kernel import ids
from bb.ledger.git import git, program
from bb.ledger.journal import line as lines
from bb.ledger.published import bounds, differences, order_file, past_epochs
from bb.ledger.published.charter import CHARTER, LEAP, Charter, LedgerRewritten, NotALedger, charter_of
from bb.ledger.published.layout import LARGEST, ORDER, README, SETTLED, SMALL, Change, blob, path_of, segment_of
from bb.ledger.published.tip import Commit, Compacted, Head, Tip
from bb.ledger.travel import archive, charter_rules, numbering
from bb.ledger.travel.archive import Compaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bb.ledger.published.charter import Previous
    from bb.ledger.published.order_file import ArchivedRow
    from bb.ledger.travel.numbering import Numbers

MOST_KEPT = 16 << 20  # bytes of the files that grow


class History:
    """Verifies the commits of a published ledger one by one. After the last one, `tip` is the resulting state."""

    def __init__(self, git_dir: str, known: Tip | None) -> None:
        self._git_dir = git_dir
        self._known = known
        self._heads: dict[str, Head] = dict(known.heads) if known else {}
        self._charter = known.charter if known else None
        self._numbers = numbering.of(known)
        self._last = known.commit if known else ""
        self._blanked = set(known.blanked) if known else set()
        self._compacted = known.compacted if known else Compacted()
        self._commits = known.commits if known else 0
        self._files: dict[str, bytes] = {}  # the contents of files that may grow; if one is not here, git has it
        self._room = MOST_KEPT  # bytes left for them
        self._allowance = bounds.Allowance()
        self.settled = Admitted()  # results of earlier epochs, if the commits include the start of this epoch
        self._taken_over: Admitted | None = None  # results that the current commit takes over from another arbiter
        self._may_take_over = False  # whether the current commit changes the charter
        self._rows: tuple[ArchivedRow, ...] | None = None  # in the `order` of the current commit

    @property
    def tip(self) -> Tip:
        """The last commit that was verified."""
        if self._charter is None:
            raise NotALedger
        heads, blanked = dict(self._heads), frozenset(self._blanked)
        totals = (self._charter, heads, blanked, self._compacted, self._commits)
        return Tip(self._last, self._numbers.generation, *totals, self._numbers.digest)

    def upto(self, commit: str, progress: Callable[..., None] | None = None) -> Iterator[Commit]:
        """Every commit after the known tip up to COMMIT, oldest first. The first invalid commit is a refusal."""
        with git.Conversation(["cat-file", "--batch"], git_dir=self._git_dir) as objects:
            yield from self.upto_with(objects, commit, progress)

    def upto_with(
        self, objects: git.Conversation, commit: str, progress: Callable[..., None] | None = None
    ) -> Iterator[Commit]:
        """The same, with a process that reads OBJECTS. After a refusal, its last answer may be unread."""
        chain = self._short_chain(commit, objects) or self._chain(commit)
        changed = differences.changed_files(self._git_dir, [name for name, _ in chain])
        for place, ((name, changes), (_, parent)) in enumerate(zip(changed, chain, strict=True), 1):
            yield self.verified(name, parent, changes, objects)
            if progress:
                progress(place, len(chain), "Verifying published commits")

    def _short_chain(self, commit: str, objects: git.Conversation) -> list[tuple[str, str | None]]:
        """The same as `_chain`, without another process. Empty if there are more than a few commits, or no valid
        chain."""
        chain: list[tuple[str, str | None]] = []
        while self._known and commit != self._known.commit:
            parent = _only_parent(commit, objects) if len(chain) < differences.FEW else None
            if parent is None:
                return []
            chain.append((commit, parent))
            commit = parent
        return chain[::-1]

    def _chain(self, commit: str) -> list[tuple[str, str | None]]:
        """The commits to verify, each with its parent. They must form one chain that continues from the known tip."""
        behind = [f"^{self._known.commit}"] if self._known else []
        try:
            listing = ["rev-list", "--reverse", "--parents", commit, *behind]
            done = git.ask(listing, git_dir=self._git_dir, most=bounds.MOST_HISTORY)
        except git.TooMuchOutput.error as error:
            raise bounds.LedgerTooLarge("the branch has more commits than a ledger can have") from error
        if done.status and self._known and not self._is_here(self._known.commit):
            # The fetch brought neither the known commit nor a descendant of it.
            raise LedgerRewritten("the published ledger does not continue from the last verified commit")
        if done.status != 0:
            raise program.GitFailed(f"git rev-list failed: {done.err.strip()[-200:] or done.status}")
        chain: list[tuple[str, str | None]] = []
        before = self._known.commit if self._known else None
        for row in done.out.decode("ascii", "replace").splitlines():
            name, *parents = row.split()
            if parents != ([before] if before else []):
                raise LedgerRewritten(f"commit {name[:12]} does not follow the commits published before")
            chain.append((name, before))
            before = name
        if before != commit:
            kind = git.run(["cat-file", "-t", commit], git_dir=self._git_dir).strip()
            if kind != "commit":
                raise NotALedger(f"the branch points to a {kind} instead of a commit")
            raise LedgerRewritten("the published ledger was set back to an older commit")
        return chain

    def _is_here(self, commit: str) -> bool:
        return git.ask(["cat-file", "-e", commit], git_dir=self._git_dir).status == 0

    def verified(self, name: str, parent: str | None, changes: list[Change], objects: git.Conversation) -> Commit:
        """Verify one commit that follows PARENT. After a refusal, this history cannot be used any more."""
        added: list[tuple[str, int, bytes]] = []
        blanked: list[str] = []
        compaction = Compaction(self._compacted, name, parent)
        self._taken_over, self._may_take_over, self._rows = None, False, None
        earlier = self._charter
        for change in sorted(changes, key=lambda change: change.path):
            folder = change.path.partition("/")[0]
            if folder == "w" and not change.is_removal:
                self._read_lines(change, objects, added, blanked)
            elif folder == "w":
                compaction.removed(change, self._before(change, objects))
                self._forget(change.path)
            elif folder == "archive":
                manifest = blob(objects, change.new, archive.LARGEST_MANIFEST)
                self._allowance.take(manifest)
                compaction.manifest(change, manifest)
            elif folder == "snap":
                compaction.snapshot(change)
            else:
                self._read_about(change, objects, is_root=parent is None)
        if self._charter is None:
            raise NotALedger(f"commit {name[:12]} has no {CHARTER}")
        previous = self._charter.previous if parent is None else None
        if previous:
            blanked += _blank_ones(added)
            past_epochs.check(self.settled, added, previous.generation)
        arbiter, terms = self._charter.arbiter, self._charter.fleet
        if arbiter:
            self._take_over(arbiter.generation)
        self._numbers = self._next_numbers(earlier, previous, added)
        self._commits += 1
        if compaction:
            self._compact(compaction, name)
        self._blanked.update(blanked)
        self._last = name
        address = arbiter.address if arbiter else ""
        rows = (self._rows or (), terms.incarnation) if terms else ()
        about = (previous is not None, address, self._taken_over, *rows)
        return Commit(name, parent, self._numbers.generation, tuple(added), tuple(blanked), *about)

    def _next_numbers(
        self, earlier: Charter | None, previous: Previous | None, added: list[tuple[str, int, bytes]]
    ) -> Numbers:
        """The numbers of the current commit, which may begin an epoch after the PREVIOUS one."""
        charter = self._charter
        if charter is None:
            raise NotALedger
        if previous:
            return numbering.of_epoch(charter, previous.generation, self._rows)
        return numbering.after(self._numbers, earlier, charter, self._rows, added)

    def _compact(self, compaction: Compaction, name: str) -> None:
        heads = {writer: head.n for writer, head in self._heads.items()}
        self._compacted = compaction.after(heads, self._numbers.generation)
        if self._compacted.commit == name:
            self._commits = 0

    def _read_lines(
        self, change: Change, objects: git.Conversation, added: list[tuple[str, int, bytes]], blanked: list[str]
    ) -> None:
        """Read a new or changed file of lines. New lines go to ADDED, events with a removed payload to BLANKED."""
        writer, first = segment_of(change.path)
        now = blob(objects, change.new, LARGEST)
        bounds.must_be_lines(now, change.path)
        before = self._before(change, objects)
        if len(now) < len(before):
            raise LedgerRewritten(f"{change.path} has lost lines")
        if not now.endswith(b"\n"):
            raise NotALedger(f"{change.path} does not end with a complete line")
        kept = now[: len(before)]
        if kept != before:
            blanked += _blanked(change.path, writer, first, before, kept)
            self._forget(change.path)
        if more := now[len(before) :]:
            self._allowance.take(more)
            added.append((writer, self._grown(writer, first, bool(before), more, now), more))

    def _before(self, change: Change, objects: git.Conversation) -> bytes:
        if change.is_new:
            return b""
        cached = self._files.get(change.path)
        return blob(objects, change.old, LARGEST) if cached is None else cached

    def _grown(self, writer: str, first: int, has_begun: bool, more: bytes, now: bytes) -> int:
        """The number of the first new line. A writer's last file grows, or a new file continues it."""
        head = self._heads.get(writer, Head(0, 0))
        if has_begun and first != head.first:
            raise LedgerRewritten(f"lines were added to a closed file of writer {writer}")
        if not has_begun:
            if first != head.n + 1:
                raise NotALedger(f"a file of writer {writer} begins with line {first} instead of {head.n + 1}")
            self._forget(path_of(writer, head.first))
        self._keep(path_of(writer, first), now)
        self._heads[writer] = Head(head.n + more.count(b"\n"), first)
        return head.n + 1

    def _keep(self, path: str, octets: bytes) -> None:
        """Keep the contents of a file for the next commit that extends it. With ten thousand writers, not of all."""
        self._forget(path)
        self._files[path] = octets
        self._room -= len(octets)
        while self._room < 0 and len(self._files) > 1:
            self._forget(next(iter(self._files)))

    def _forget(self, path: str) -> None:
        self._room += len(self._files.pop(path, b""))

    def _read_about(self, change: Change, objects: git.Conversation, *, is_root: bool) -> None:
        """Read a file about the ledger itself: README, charter, order, or the results of earlier epochs."""
        if change.path == README:
            blob(objects, change.new, SMALL)
        elif change.path == CHARTER:
            charter = charter_of(blob(objects, change.new, SMALL))
            self._read_charter(charter)
            self._may_take_over = not is_root or charter.previous is None
        elif change.path == ORDER:
            self._rows = order_file.read(blob(objects, change.new, order_file.LARGEST))
        elif change.path == SETTLED and is_root and self._charter and self._charter.previous:
            self.settled = past_epochs.read(blob(objects, change.new, past_epochs.LARGEST))
        elif change.path == SETTLED and self._may_take_over:
            self._taken_over = past_epochs.read(blob(objects, change.new, past_epochs.LARGEST))
        else:
            raise NotALedger(f"{change.path[:200]!r} does not belong in a ledger")

    def _take_over(self, generation: int) -> None:
        """If this commit takes over results, continue after the last GENERATION of the arbiter before, so that tokens
        only rise."""
        settled, last = self._taken_over, self._numbers.generation
        if settled is None:
            return
        if self._charter and self._charter.fleet:
            raise NotALedger("results are taken over although a fleet's engine orders the ledger")
        if settled.latest > generation or generation - last >= LEAP:
            raise NotALedger(f"{SETTLED} names commits that do not exist")
        self._numbers = numbering.Numbers(max(last, generation))

    def _read_charter(self, charter: Charter) -> None:
        earlier = self._charter
        if earlier is None:
            self._numbers = numbering.Numbers(charter.previous.generation if charter.previous else 0)
            charter_rules.must_be_within_reach(charter, self._numbers.generation)
        else:
            charter_rules.must_follow(earlier, charter, self._numbers.generation)
        self._charter = charter


def _only_parent(commit: str, objects: git.Conversation) -> str | None:
    """The parent of a commit; None if it is no commit, or has no parent or several."""
    objects.write(b"%s^{commit}\n" % commit.encode())  # of a large file, git prints nothing
    header = objects.read_line().split()
    if len(header) != 3 or not header[2].isdigit():
        return None
    rows = objects.read(int(header[2]) + 1).partition(b"\n\n")[0].split(b"\n")
    parents = [row[len(b"parent ") :] for row in rows if row.startswith(b"parent ")]
    is_itself = header[0] == commit.encode()  # not a tag
    return parents[0].decode("ascii", "replace") if is_itself and len(parents) == 1 else None


def _blank_ones(added: list[tuple[str, int, bytes]]) -> Iterator[str]:
    """The events in ADDED that have no payload."""
    for writer, first, octets in added:
        for n, raw in enumerate(octets.split(b"\n")[:-1] if lines.may_hold_blanks(octets) else (), first):
            if lines.is_blank(raw):
                yield ids.event_id(writer, n)


def _blanked(path: str, writer: str, first: int, before: bytes, now: bytes) -> list[str]:
    """The events whose payload was blanked. Any other difference between the two versions is a refusal."""
    events = []
    olds, news = before.split(b"\n"), now.split(b"\n")
    if len(olds) != len(news):
        raise LedgerRewritten(f"lines of {path} have changed")
    for n, (old, new) in enumerate(zip(olds, news, strict=True), first):
        if old != new:
            if new != lines.blanked(old):
                raise LedgerRewritten(f"line {n} of {path} has changed")
            events.append(ids.event_id(writer, n))
    return events
