"""Makes one commit with all unpublished lines. HEAD, git's index and the work tree are not touched.

The commit's parent is the published tip, and it only extends files, so readers can check that nothing else has changed.
It contains the lines of every writer in the store: ours, those of a container that shares the directory, and those of
other remotes.
"""

from __future__ import annotations

from itertools import islice

from bb.kernel import ids
from bb.kernel.record import Record
from bb.ledger.git import git
from bb.ledger.index import counting
from bb.ledger.journal.journal import Journal
from bb.ledger.journal.line import blanked
from bb.ledger.published import fleet_terms, order_file, past_epochs
from bb.ledger.published.charter import CHARTER, Charter
from bb.ledger.published.layout import LOCAL, ORDER, README, SETTLED, is_full, path_of
from bb.ledger.published.tip import Head, Tip
from bb.ledger.records import payload_removal
from bb.ledger.travel import coverage, numbering
from bb.ledger.travel.commit_writer import CommitWriter
from bb.ledger.travel.numbering import Numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bb.coordination.holdings.admission import Admitted
    from bb.ledger.published.arbiter import Arbiter
    from bb.ledger.published.pins import Pins
    from bb.ledger.records.store import Store
    from bb.ledger.signing.keys import Key
    from bb.ledger.travel.commit_writer import WrittenCommit

    AddedLines = tuple[str, int, bytes]  # writer, number of the first line, the lines

NAMED = 3  # writers in a subject
ABOUT = b"""# The ledger of this repository

`bb` writes this branch. It coordinates coding agents and people who work in this repository. The branch has their
reservations, hand-offs and messages: one JSON line for each fact, chained to the line before.

Do not merge, rebase or force-push this branch: `bb` in every clone detects that and refuses it. `bb sync` imports lines
and publishes yours. `bb ledger log` shows them. Everyone who can read this repository can read the branch.
"""


class Epoch(Record):
    """A new epoch: its charter, and the results of publication order before it."""

    charter: Charter
    settled: bytes
    last_row: bytes = b""  # of the fleet's engine, as in the file `order`, if one orders the ledger


class Unpublished(Record):
    """Local lines that a tip does not have: the last line's number of each writer that has more lines here."""

    heads: Mapping[str, int]
    count: int  # of events, without signatures
    blanks: tuple[str, ...] = ()  # published events that were withdrawn since

    def __bool__(self) -> bool:
        return bool(self.heads or self.blanks)

    def is_in(self, tip: Tip) -> bool:
        """Whether TIP has all of them."""
        are_out = all(tip.last_line(writer) >= n for writer, n in self.heads.items())
        return are_out and tip.blanked.issuperset(self.blanks)


def unpublished(store: Store, tip: Tip | None) -> Unpublished:
    """The valid local lines that TIP does not have. While a fleet's engine orders the lines, only withdrawals: lines go
    to the engine first, and come to the branch as rows of its log (`row_archive.py`)."""
    blanks = tuple(payload_removal.redacted(store, lambda event: _is_to_blank(event, tip))) if tip else ()
    if tip and tip.charter.fleet:
        return Unpublished({}, 0, blanks)
    return Unpublished(*lines_beyond(store, tip), blanks)


def lines_beyond(store: Store, tip: Tip | None) -> tuple[Mapping[str, int], int]:
    """The valid local lines that TIP does not have: the number of the last one of each writer, and how many there are,
    without signatures."""
    index, more = store.caught_up(), coverage.compare(store, tip).more
    out = {writer: tip.last_line(writer) if tip else 0 for writer in more}
    return more, sum(n - out[writer] for writer, n in more.items()) - counting.signatures_behind(index, more, out)


def _is_to_blank(event: str, tip: Tip) -> bool:
    """Whether the payload of EVENT is still in the files of TIP. Archived payloads are removed by a new epoch only."""
    writer, n = ids.split_event_id(event)
    is_out = n <= tip.last_line(writer)
    return is_out and event not in tip.blanked and not tip.has_archived(writer, n)


def commit(
    store: Store, tip: Tip | None, wanted: Unpublished, now: int, key: Key | None = None, begins: Epoch | None = None
) -> Tip:
    """Make a commit of the WANTED lines on TIP, or one that BEGINS an epoch, at the local ref. It is signed if there is
    a KEY."""
    after, _, made = commit_aside(store, tip, wanted, now, key, begins)
    made.settle()
    return after


def commit_aside(
    store: Store,
    tip: Tip | None,
    wanted: Unpublished,
    now: int,
    key: Key | None = None,
    begins: Epoch | None = None,
    names: Arbiter | None = None,
    takes_over: Admitted | None = None,
    over: str | None = None,
    charter: Charter | None = None,
) -> tuple[Tip, tuple[AddedLines, ...], WrittenCommit]:
    """The same, but the caller settles the local ref; and the lines that the commit adds. Its charter NAMES the
    arbiter, if one is given; the branch TAKES OVER results from the arbiter before. Its parent is OVER, if that is a
    quarantined commit on top of TIP (`quarantine.py`). A CHARTER replaces the one so far, if one is given."""
    before = tip.charter if tip else begins.charter if begins else Charter(store.clone.repo)
    before.may_write()
    if before.fleet and wanted.heads and not begins:
        raise fleet_terms.FleetIsOn("a fleet's engine orders the lines, so they cannot be published without it")
    charter = charter or before
    charter = charter.replace(arbiter=names) if names else charter
    numbers, commits = _numbers(tip, charter, takes_over, begins), tip.commits + 1 if tip else 1
    heads = dict(tip.heads) if tip else {}
    base = tip.commit if tip else None
    trailers = numbering.trailers(charter, numbers.generation, commits)
    message = _message(heads, wanted, _said(before, charter, names), trailers, base if over else None).encode()
    writer = CommitWriter(store, message, over or base, now, key, base)
    settled = begins.settled if begins else None if takes_over is None else past_epochs.to_bytes(takes_over)
    _write_about(writer, charter if tip is None or charter != before else None, settled, is_first=tip is None)
    if begins and begins.last_row:
        writer.file(ORDER, begins.last_row)
    if tip and wanted.blanks:
        for path, journal, first in _with(store, tip, wanted.blanks):
            out = writer.published(path)
            writer.file(path, b"".join(raw + b"\n" for raw in _kept(out, journal.lines_from(first))))
    added = []
    for name, last in sorted(wanted.heads.items()):  # in the order of the files, in which readers find them
        heads[name], lines = _write_lines(writer, store, tip, name, last)
        added.append(lines)
    made = writer.finish_aside()
    about = (numbers.generation, charter, heads)
    if tip:
        blanked = tip.blanked | set(wanted.blanks)
        after = Tip(made.commit, *about, blanked, tip.compacted, commits, numbers.digest)
    else:
        blanked = frozenset(payload_removal.redacted(store) if begins else ())
        after = Tip(made.commit, *about, blanked, commits=commits, digest=numbers.digest)
    return after, tuple(added), made


def _write_lines(writer: CommitWriter, store: Store, tip: Tip | None, name: str, last: int) -> tuple[Head, AddedLines]:
    """Write the lines of the writer NAME up to LAST that are not on TIP. Returns how far it is published then, and the
    lines that were added."""
    head, start, out = _last_file(writer, tip, name)
    lines = list(islice(Journal(store.path, name).lines_from(start), last + 1 - start))
    lines[: head.n + 1 - start] = _kept(out, lines)
    added = b"".join(raw + b"\n" for raw in lines[head.n + 1 - start :])
    after = head
    for first, octets in _files(lines, start, head.n):
        writer.file(path_of(name, first), octets)
        if store.progress:
            store.progress(first, last, "Publishing")
        after = Head(last, first)
    return after, (name, head.n + 1, added)


def append_lines(writer: CommitWriter, tip: Tip, name: str, octets: bytes) -> Head:
    """Write the lines OCTETS after those of the writer NAME that are on TIP. Returns how far it is published then."""
    head, start, out = _last_file(writer, tip, name)
    lines, after = (out + octets).split(b"\n")[:-1], head
    for first, content in _files(lines, start, head.n):
        writer.file(path_of(name, first), content)
        after = Head(start + len(lines) - 1, first)
    return after


def _last_file(writer: CommitWriter, tip: Tip | None, name: str) -> tuple[Head, int, bytes]:
    """How far the writer NAME is published on TIP, and the file that its next lines go to: the number of the first
    line, and the contents so far."""
    head = (tip.heads.get(name) if tip else None) or Head(0, 1)
    is_in_tree = tip is not None and head.n > 0 and not tip.has_archived(name, head.n)
    start = head.first if is_in_tree else head.n + 1
    return head, start, writer.published(path_of(name, start)) if is_in_tree else b""


def _numbers(tip: Tip | None, charter: Charter, takes_over: Admitted | None, begins: Epoch | None) -> Numbers:
    """The numbers of the next commit. They only rise, in the order of another arbiter too."""
    if begins and charter.previous:
        rows = order_file.read(begins.last_row) if begins.last_row else None
        return numbering.of_epoch(charter, charter.previous.generation, rows)
    before = numbering.of(tip)
    if charter.arbiter and takes_over is not None:
        before = Numbers(max(before.generation, charter.arbiter.generation))
    return numbering.after(before, tip.charter if tip else None, charter, None, ())


def _write_about(writer: CommitWriter, charter: Charter | None, settled: bytes | None, *, is_first: bool) -> None:
    """Write the files about the ledger itself that this commit adds or changes."""
    if charter:
        writer.file(CHARTER, charter.text().encode())
    if is_first:
        writer.file(README, ABOUT)
    if settled is not None:
        writer.file(SETTLED, settled)


def _with(store: Store, tip: Tip, events: Sequence[str]) -> Iterator[tuple[str, Journal, int]]:
    """The published files that contain these events, each with its journal and the number of its first line."""
    from bb.ledger.travel import archive  # noqa: PLC0415  (withdrawals are rare)

    lines: dict[str, list[int]] = {}
    for writer, n in map(ids.split_event_id, events):
        lines.setdefault(writer, []).append(n)
    for writer, numbers in lines.items():
        files = archive.files(store.place.common, tip.commit, writer)
        for first in sorted({max(first for first in files if first <= n) for n in numbers}):
            yield path_of(writer, first), Journal(store.path, writer), first


def made_here(store: Store) -> str:
    """The last commit that was made in this clone, at the local ref; empty if there is none."""
    return git.ask(["rev-parse", "--verify", "--quiet", LOCAL], git_dir=store.place.common).out.decode().strip()


def commit_here(store: Store, known: Pins, now: int, key: Key | None) -> tuple[Tip, int]:
    """Make a commit of all lines at the local ref, without a remote. It is signed if there is a KEY. Returns the tip,
    and the number of new events.

    The parent is the last published commit, if any, so the next sync can replace the commit.
    """
    published = known.remote(known.home).tip if known.home else None
    here = made_here(store)
    last = known.local if known.local and known.local.commit == here else None
    if last and not unpublished(store, last):
        return last, 0
    base = published or last
    pending = unpublished(store, base)
    new = unpublished(store, last or published).count
    if pending or base is None:
        return commit(store, base, pending, now, key), new
    git.run(["update-ref", LOCAL, base.commit], git_dir=store.place.common)
    return base, 0


def _kept(out: bytes, ours: Iterable[bytes]) -> list[bytes]:
    """The published lines in OUT. Damaged local lines must not go out, because other clones would refuse the change.
    Payloads that are blanked in OURS are blanked there."""
    here = iter(ours)
    published = out.split(b"\n")[:-1]
    return [mine if (mine := next(here, b"")) != raw and mine == blanked(raw) else raw for raw in published]


def _files(lines: Sequence[bytes], first: int, published: int) -> Iterator[tuple[int, bytes]]:
    """The files for a writer's LINES from number FIRST on, without full files that are PUBLISHED already."""
    raws: list[bytes] = []
    size = 0
    for n, raw in enumerate(lines, first):
        if is_full(len(raws), size):
            if n > published + 1:
                yield first, b"".join(raws)
            raws, size, first = [], 0, n
        raws.append(raw + b"\n")
        size += len(raw) + 1
    yield first, b"".join(raws)


def _said(before: Charter, charter: Charter, names: Arbiter | None) -> str:
    """What a commit without lines says in its subject: what it changes in the charter."""
    if charter.fleet != before.fleet:
        return f"a fleet begins at place {charter.fleet.first}" if charter.fleet else "the fleet has ended"
    return f"the arbiter is {names.url}" if names and names.url.isprintable() else ""


def _message(heads: Mapping[str, Head], wanted: Unpublished, said: str, trailers: str, continues: str | None) -> str:
    """The commit's message: the first writers in the subject, all of them in trailers. If the commit that it CONTINUES
    is not its parent, the message names it."""
    begins = {writer: heads[writer].n + 1 if writer in heads else 1 for writer in wanted.heads}
    ranges = [f"{writer} {begins[writer]}-{last}" for writer, last in wanted.heads.items()]
    some = ", ".join(ranges[:NAMED]) + (", ..." if len(ranges) > NAMED else "")
    what = [f"{wanted.count} events", some or said, "after a quarantined commit" if continues else ""]
    lines = "".join(f"Bb-Lines: {lines}\n" for lines in ranges)
    trailers = lines + trailers + (f"Bb-Continues: {continues}\n" if continues else "")
    return f"bb: {', '.join(filter(None, what))} [skip ci]\n\n{trailers}"
