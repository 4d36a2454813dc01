"""Makes one commit with all unpublished lines. HEAD, git's index and the work tree are not touched.

The commit's parent is the published tip, and it only extends files, so readers can check that nothing else has changed.
It contains the lines of every writer in the store: ours, those of a container that shares the directory, and those of
other remotes.
"""

from __future__ import annotations

import os
from itertools import islice

from bb.kernel import ids
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.git import git, program, trees
from bb.ledger.index import counting
from bb.ledger.journal.journal import Journal
from bb.ledger.journal.line import blanked
from bb.ledger.published import past_epochs
from bb.ledger.published.charter import CHARTER, Charter
from bb.ledger.published.layout import LOCAL, README, SETTLED, is_full, path_of
from bb.ledger.published.tip import Head, Tip
from bb.ledger.records import events, payload_removal
from bb.ledger.signing import ssh_signatures
from bb.ledger.travel.authorship import GitSigningFailed, authorship

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Self

    from bb.coordination.holdings.admission import Admitted
    from bb.ledger.published.arbiter import Arbiter
    from bb.ledger.published.pins import Pins
    from bb.ledger.records.store import Store
    from bb.ledger.signing.keys import Key

IMPORT = ("fast-import", "--quiet", "--force", "--done")
# The import is left as a small pack, because unpacking it takes as long as the rest. But with fifty packs git repacks
# the whole repository, and bb must not cause that. So above MOST_PACKS packs the import is unpacked.
AS_A_PACK, MOST_PACKS = ("-c", "fastimport.unpackLimit=1"), 20
NAMED = 3  # writers in a subject
SHA1 = 40  # digits of an object name; more with SHA-256
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


class Unpublished(Record):
    """Local lines that a tip does not have: the last line's number of each writer that has more lines here."""

    heads: Mapping[str, int]
    count: int  # of events, without signatures
    blanks: tuple[str, ...] = ()  # published events that were withdrawn since

    def __bool__(self) -> bool:
        return bool(self.heads or self.blanks)

    def is_in(self, tip: Tip) -> bool:
        """Whether TIP has all of them."""
        out = tip.last_lines
        return tip.blanked.issuperset(self.blanks) and all(out.get(writer, 0) >= n for writer, n in self.heads.items())


def unpublished(store: Store, tip: Tip | None) -> Unpublished:
    """The valid local lines that TIP does not have."""
    out, index = tip.last_lines if tip else {}, store.caught_up()
    more = {writer: n for writer, n in index.heads().items() if n > out.get(writer, 0)}
    blanks = tuple(payload_removal.redacted(store, lambda event: _is_to_blank(event, tip))) if tip else ()
    count = sum(n - out.get(writer, 0) for writer, n in more.items()) - counting.signatures_behind(index, more, out)
    return Unpublished(more, count, blanks)


def lines_of(store: Store, before: Tip | None, wanted: Unpublished) -> Iterator[tuple[str, int, bytes]]:
    """The WANTED lines after BEFORE: the writer, the number of the first line, and the lines."""
    for writer, last in sorted(wanted.heads.items()):  # in the order of the files, in which readers find them
        first = before.heads[writer].n + 1 if before and writer in before.heads else 1
        yield writer, first, events.octets(store, writer, first, last)


def _is_to_blank(event: str, tip: Tip) -> bool:
    """Whether the payload of EVENT is still in the files of TIP. Archived payloads are removed by a new epoch only."""
    writer, n = ids.split_event_id(event)
    is_out = n <= tip.last_lines.get(writer, 0)
    return is_out and event not in tip.blanked and not tip.has_archived(writer, n)


def commit(
    store: Store,
    tip: Tip | None,
    wanted: Unpublished,
    now: int,
    key: Key | None = None,
    begins: Epoch | None = None,
    names: Arbiter | None = None,
    takes_over: Admitted | None = None,
) -> Tip:
    """Make a commit of the WANTED lines on TIP, or one that BEGINS an epoch, at the local ref. It is signed if there is
    a KEY. Its charter NAMES the arbiter, if one is given; the branch TAKES OVER results from the arbiter before."""
    before = tip.charter if tip else begins.charter if begins else Charter(store.clone.repo)
    before.may_write()
    charter = before.replace(arbiter=names) if names else before
    generation = _next_generation(tip, charter, takes_over)
    heads = dict(tip.heads) if tip else {}
    message = _message(heads, wanted, generation, names).encode()
    with Importer(store.place.common, message, tip.commit if tip else None, now, key) as importer:
        settled = begins.settled if begins else None if takes_over is None else past_epochs.to_bytes(takes_over)
        _write_about(importer, charter if tip is None or charter != before else None, settled, is_first=tip is None)
        if tip and wanted.blanks:
            for path, journal, first in _with(store, tip, wanted.blanks):
                out = _published(importer, tip, path)
                kept = islice(_kept(out, journal.lines_from(first)), out.count(b"\n"))
                importer.file(path, b"".join(raw + b"\n" for raw in kept))
        for writer, last in wanted.heads.items():
            head = heads.get(writer, Head(0, 1))
            is_in_tree = tip is not None and head.n > 0 and not tip.has_archived(writer, head.n)
            start = head.first if is_in_tree else head.n + 1
            out = _published(importer, tip, path_of(writer, start)) if tip and is_in_tree else b""
            here = Journal(store.path, writer).lines_from(start)
            for first, octets in _files(_kept(out, here), start, head.n, last):
                importer.file(path_of(writer, first), octets)
                if store.progress:
                    store.progress(first, last, "Publishing")
                heads[writer] = Head(last, first)
        name = importer.finish()
    if tip:
        tip = tip.replace(commit=name, generation=generation, heads=heads, blanked=tip.blanked | set(wanted.blanks))
        return tip.replace(charter=charter)
    return Tip(name, generation, charter, heads, frozenset(payload_removal.redacted(store) if begins else ()))


def _next_generation(tip: Tip | None, charter: Charter, takes_over: Admitted | None) -> int:
    """The number of the next commit. The numbers only rise, in the order of another arbiter too."""
    last = tip.generation if tip else charter.previous.generation if charter.previous else 0
    return 1 + (max(last, charter.arbiter.generation) if charter.arbiter and takes_over is not None else last)


def _write_about(importer: Importer, charter: Charter | None, settled: bytes | None, *, is_first: bool) -> None:
    """Write the files about the ledger itself that this commit adds or changes."""
    if charter:
        importer.file(CHARTER, charter.text().encode())
    if is_first:
        importer.file(README, ABOUT)
    if settled is not None:
        importer.file(SETTLED, settled)


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


def commit_here(store: Store, known: Pins, now: int, key: Key | None) -> tuple[Tip, int]:
    """Make a commit of all lines at the local ref, without a remote. It is signed if there is a KEY. Returns the tip,
    and the number of new events.

    The parent is the last published commit, if any, so the next sync can replace the commit.
    """
    published = known.remote(known.home).tip if known.home else None
    here = git.ask(["rev-parse", "--verify", "--quiet", LOCAL], git_dir=store.place.common).out.decode().strip()
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


class Importer(git.Conversation):
    """`git fast-import`, making one commit at the local ref: add and remove files, then `finish`."""

    def __init__(self, git_dir: str, message: bytes, parent: str | None, now: int, key: Key | None = None) -> None:
        packs = disk.names(os.path.join(git_dir, "objects", "pack"))
        are_few = sum(name.endswith(".pack") for name in packs) < MOST_PACKS
        super().__init__([*(AS_A_PACK if are_few else ()), *IMPORT], git_dir=git_dir)
        self._git_dir, self._key, self._parent, self._message = git_dir, key, parent, message
        self._authorship, self._time = authorship(git_dir), f"{max(now // 1000, 0)} +0000"
        who = self._authorship.author, self._authorship.committer
        self._who = b"author %s\ncommitter %s\n" % tuple(f"{name} {self._time}".encode() for name in who)
        self._start = (
            b"commit %s\nmark :1\n%s" % (LOCAL.encode(), self._who)
            + _data(message)
            + (b"from %s\n" % parent.encode() if parent else b"")
        )

    def __enter__(self) -> Self:
        super().__enter__()
        self.write(self._start)
        return self

    def file(self, path: str, octets: bytes) -> None:
        """Add or replace a file."""
        self.write(b"M 100644 inline %s\n" % path.encode() + _data(octets))

    def remove(self, path: str) -> None:
        """Remove a file from the tree."""
        self.write(b"D %s\n" % path.encode())

    def finish(self) -> str:
        """Make the commit. Returns its name."""
        self.write(b"\nget-mark :1\n")
        name = self.read_line().strip().decode("ascii", "replace")
        if self._key and not self._authorship.is_signed:
            name = self._signed(self._key)
        self.write(b"done\n")
        if self.end() or not name:
            raise self._died("git fast-import could not make the commit")
        return self._signed_by_git(name) if self._authorship.is_signed else name

    def _signed_by_git(self, name: str) -> str:
        """Make the same commit again, signed by git as it is configured, at the local ref. Returns its name."""
        env = dict(os.environ)
        for role, who in (("AUTHOR", self._authorship.author), ("COMMITTER", self._authorship.committer)):
            person, _, address = who.partition(" <")
            values = {"NAME": person, "EMAIL": address.rstrip(">"), "DATE": self._time}
            env |= {f"GIT_{role}_{part}": value for part, value in values.items()}
        parent = ["-p", self._parent] if self._parent else []
        words = ["commit-tree", "-S", *parent, f"{name}^{{tree}}"]
        done = git.ask(words, git_dir=self._git_dir, env=env, given=self._message)
        if done.status != 0:
            raise GitSigningFailed(f"git could not sign the commit: {done.err.strip()[:300] or 'no reason given'}")
        signed = done.out.decode("ascii", "replace").strip()
        git.run(["update-ref", LOCAL, signed, name], git_dir=self._git_dir)
        return signed

    def _signed(self, key: Key) -> str:
        """Make the same commit again, signed as by `git commit -S`, and put it at the local ref. Returns its name."""
        self.write(b'ls :1 ""\n')
        tree = self.read_line().split()[2]
        head = b"tree %s\n" % tree + (b"parent %s\n" % self._parent.encode() if self._parent else b"")
        head += self._who
        signature = ssh_signatures.armored(key.sign(head + b"\n" + self._message, ssh_signatures.GIT)).strip()
        signed = b"gpgsig " + signature.replace("\n", "\n ").encode() + b"\n"
        if len(tree) > SHA1:
            signed = signed.replace(b"gpgsig", b"gpgsig-sha256", 1)
        commit_id = trees.keep_in(self._git_dir, "commit", head + signed + b"\n" + self._message, len(tree))
        self.write(b"reset %s\nfrom %s\n\n" % (LOCAL.encode(), commit_id.encode()))
        return commit_id


def _published(importer: git.Conversation, tip: Tip, path: str) -> bytes:
    """The contents of a file on TIP."""
    importer.write(b"ls %s %s\n" % (tip.commit.encode(), path.encode()))
    words = importer.read_line().split()
    if len(words) < 3 or words[1] != b"blob":
        raise program.GitFailed(f"git cannot find {path} in commit {tip.commit[:12]}")
    importer.write(b"cat-blob %s\n" % words[2])
    size = int(importer.read_line().split()[2])
    return importer.read(size + 1)[:-1]


def _kept(out: bytes, ours: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a file: published ones as in OUT, then the rest from OURS. Damaged local lines must not go out,
    because other clones would refuse the change. Payloads that are blanked here are blanked there."""
    here = iter(ours)
    for raw in out.split(b"\n")[:-1]:
        mine = next(here, b"")
        yield mine if mine == blanked(raw) else raw
    yield from here


def _files(lines: Iterable[bytes], first: int, published: int, last: int) -> Iterator[tuple[int, bytes]]:
    """The files for a writer's LINES from FIRST to LAST, without full files that are PUBLISHED already."""
    raws: list[bytes] = []
    size = 0
    for n, raw in enumerate(lines, first):
        if n > last:
            break
        if is_full(len(raws), size):
            if n > published + 1:
                yield first, b"".join(raws)
            raws, size, first = [], 0, n
        raws.append(raw + b"\n")
        size += len(raw) + 1
    yield first, b"".join(raws)


def _message(heads: Mapping[str, Head], wanted: Unpublished, generation: int, names: Arbiter | None) -> str:
    """The commit's message: the first writers in the subject, all of them in trailers. A commit without lines NAMES the
    arbiter."""
    begins = {writer: heads[writer].n + 1 if writer in heads else 1 for writer in wanted.heads}
    ranges = [f"{writer} {begins[writer]}-{last}" for writer, last in wanted.heads.items()]
    some = ", ".join(ranges[:NAMED]) + (", ..." if len(ranges) > NAMED else "")
    some = some or (f"the arbiter is {names.url}" if names and names.url.isprintable() else "")
    trailers = [*(f"Bb-Lines: {lines}" for lines in ranges), f"Bb-Generation: {generation}"]
    return f"bb: {wanted.count} events, {some} [skip ci]\n\n" + "\n".join(trailers) + "\n"


def _data(octets: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(octets), octets)
