"""Making a commit of the lines that are not published yet: one for any number, beside HEAD, index and work tree.

It stands on the published tip and lets files grow, so whoever reads it can check that nothing else has changed. The
lines of every writer in the store go out: ours, a container's that shares the directory, or another remote's.
"""

from __future__ import annotations

from itertools import islice

from bb.kernel import ids
from bb.kernel.record import Record
from bb.ledger import git, redacting
from bb.ledger.journal import Journal
from bb.ledger.line import blanked
from bb.ledger.published import CHARTER, LOCAL, README, Charter, Head, Tip, file_with, is_full, path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bb.ledger.pins import Pins
    from bb.ledger.store import Store

# Its objects stay in the small pack they come in: to take that apart again takes as long as all the rest.
IMPORT = ("-c", "fastimport.unpackLimit=1", "fast-import", "--quiet", "--force", "--done")
IDENTITY = "bb <bb@localhost>"
NAMED = 3  # writers in a subject
ABOUT = b"""# The ledger of this repository

This branch is written by `bb`, which lets coding agents and people work here without stepping on each other. It holds
what they reserved, handed over and said, one JSON line for each fact, chained to the one before.

Do not merge it, rebase it or force it: files on it only ever grow. `bb sync` brings it in and sends yours out;
`bb ledger log` reads it. Everybody who can read this repository can read it.
"""


class Unpublished(Record):
    """What is here and not yet on a tip: how far each writer's lines go, of those that go further."""

    heads: Mapping[str, int]
    count: int
    blanks: tuple[str, ...] = ()  # published events that have been taken back since

    def __bool__(self) -> bool:
        return bool(self.count or self.blanks)


def unpublished(store: Store, tip: Tip | None) -> Unpublished:
    """What TIP lacks of the sound lines here."""
    out = {writer: head.n for writer, head in tip.heads.items()} if tip else {}
    more = {writer: n for writer, n in store.caught_up().heads().items() if n > out.get(writer, 0)}
    taken_back = redacting.redacted(store) if tip else ()
    blanks = tuple(event for event in taken_back if tip and _is_out(event, out) and event not in tip.blanked)
    return Unpublished(more, sum(n - out.get(writer, 0) for writer, n in more.items()), blanks)


def _is_out(event: str, out: Mapping[str, int]) -> bool:
    writer, n = ids.split_event_id(event)
    return n <= out.get(writer, 0)


def commit(store: Store, tip: Tip | None, wanted: Unpublished, now: int) -> Tip:
    """Put what is WANTED into a commit on TIP, and leave it at the local ref."""
    charter = tip.charter if tip else Charter(store.clone.repo)
    charter.may_write()
    generation = tip.generation + 1 if tip else 1
    heads = dict(tip.heads) if tip else {}
    message = _message(heads, wanted, generation).encode()
    with git.Conversation(IMPORT, git_dir=store.place.common) as importer:
        importer.say(
            b"commit %s\nmark :1\ncommitter %s %d +0000\n" % (LOCAL.encode(), IDENTITY.encode(), max(now // 1000, 0))
            + _data(message)
            + (b"from %s\n" % tip.commit.encode() if tip else b"")
        )
        if tip is None:
            importer.say(_file(CHARTER, charter.text().encode()) + _file(README, ABOUT))
        if tip:
            for path, journal, first in _with(store, tip, wanted.blanks):
                out = _published(importer, tip, path)
                kept = islice(_kept(out, journal.lines_from(first)), out.count(b"\n"))
                importer.say(_file(path, b"".join(raw + b"\n" for raw in kept)))
        for writer, last in wanted.heads.items():
            head = heads.get(writer)
            out = _published(importer, tip, path_of(writer, head.first)) if tip and head else b""
            here = Journal(store.path, writer).lines_from(head.first if head else 1)
            for first, octets in _files(_kept(out, here), head, last):
                importer.say(_file(path_of(writer, first), octets))
                if store.progress:
                    store.progress(first, last, "Publishing")
                heads[writer] = Head(last, first)
        importer.say(b"\nget-mark :1\n")
        name = importer.line().strip().decode("ascii", "replace")
        importer.say(b"done\n")
        if importer.end() or not name:
            raise git.GitFailed("git fast-import could not make the commit")
    return Tip(name, generation, charter, heads, (tip.blanked if tip else frozenset()) | set(wanted.blanks))


def _with(store: Store, tip: Tip, events: Sequence[str]) -> Iterator[tuple[str, Journal, int]]:
    """The published files that hold these events, each with the journal it is from and the number of its first line."""
    files = {file_with(store.place.common, tip.commit, event): ids.split_event_id(event)[0] for event in events}
    for (path, first), writer in files.items():
        yield path, Journal(store.path, writer), first


def commit_here(store: Store, known: Pins, now: int) -> tuple[Tip, int]:
    """Put all there is into a commit at the local ref, with no remote; that commit, and how many events are new in it.

    It stands on what was last published, if anything was, so that the next sync only replaces it by a better one.
    """
    published = known.remote(known.arbiter).tip if known.arbiter else None
    here = git.ask(["rev-parse", "--verify", "--quiet", LOCAL], git_dir=store.place.common).out.decode().strip()
    last = known.local if known.local and known.local.commit == here else None
    if last and not unpublished(store, last):
        return last, 0
    base = published or last
    wanted = unpublished(store, base)
    new = unpublished(store, last or published).count
    if wanted or base is None:
        return commit(store, base, wanted, now), new
    git.run(["update-ref", LOCAL, base.commit], git_dir=store.place.common)
    return base, 0


def _published(importer: git.Conversation, tip: Tip, path: str) -> bytes:
    """What a file holds on TIP."""
    importer.say(b"ls %s %s\n" % (tip.commit.encode(), path.encode()))
    found = importer.line().split()
    if len(found) < 3 or found[1] != b"blob":
        raise git.GitFailed(f"git does not find {path} in commit {tip.commit[:12]}")
    importer.say(b"cat-blob %s\n" % found[2])
    size = int(importer.line().split()[2])
    return importer.read(size + 1)[:-1]


def _kept(out: bytes, ours: Iterable[bytes]) -> Iterator[bytes]:
    """OUR lines of a file, but those that are OUT as they are out: what was spoilt here would be a rewriting to
    everybody else. A payload that was taken out here stays out."""
    here = iter(ours)
    for raw in out.split(b"\n")[:-1]:
        mine = next(here, b"")
        yield mine if mine == blanked(raw) else raw
    yield from here


def _files(lines: Iterable[bytes], head: Head | None, last: int) -> Iterator[tuple[int, bytes]]:
    """The files that a writer's LINES make up to number LAST, from the last one that is published on."""
    first = head.first if head else 1
    raws: list[bytes] = []
    size = 0
    for n, raw in enumerate(lines, first):
        if n > last:
            break
        if is_full(len(raws), size):
            if head is None or n > head.n + 1:
                yield first, b"".join(raws)
            raws, size, first = [], 0, n
        raws.append(raw + b"\n")
        size += len(raw) + 1
    yield first, b"".join(raws)


def _message(heads: Mapping[str, Head], wanted: Unpublished, generation: int) -> str:
    """Which lines it brings: the first writers in the subject, all of them beneath."""
    begins = {writer: heads[writer].n + 1 if writer in heads else 1 for writer in wanted.heads}
    ranges = [f"{writer} {begins[writer]}-{last}" for writer, last in wanted.heads.items()]
    some = ", ".join(ranges[:NAMED]) + (", ..." if len(ranges) > NAMED else "")
    trailers = [*(f"Bb-Lines: {each}" for each in ranges), f"Bb-Generation: {generation}"]
    return f"bb: {wanted.count} events, {some} [skip ci]\n\n" + "\n".join(trailers) + "\n"


def _file(path: str, octets: bytes) -> bytes:
    return b"M 100644 inline %s\n" % path.encode() + _data(octets)


def _data(octets: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(octets), octets)
