"""Snapshots: the folded state of all lines up to certain heads, for readers that do not need the lines.

    {"after":"<parent>","arbiter":{"…"},"format":2,"generation":7,"heads":{"<writer>":[n,lamport,head]},"rows":2,…}
    {"generations":{"…"},"grants":{"…"},"names":{"…"}}
    ["<fold>","<key>",{"…"}]

The first line names the generation of the snapshot's commit, its parent, and the arbiter in its charter. The second one
has the results of that arbiter's publication order up to then, because they cannot be computed from lines.

A snapshot is a cache. Its name is a digest of the heads. Every clone makes the same snapshot from the same commits, and
a wrong one is replaced. It contains the results of folds, so only a bb with the same folds can use it. Others read the
lines.
"""

from __future__ import annotations

from bb.coordination.holdings import holdings
from bb.coordination.holdings.admission import Admitted
from bb.kernel import ids, json_text
from bb.kernel.digest import HEX_LENGTH, digest
from bb.kernel.record import Record
from bb.ledger.git import git
from bb.ledger.index import database
from bb.ledger.index.index import Index
from bb.ledger.journal import folds
from bb.ledger.journal.journal import Journal, LedgerDamaged
from bb.ledger.journal.line import Link
from bb.ledger.journal.segments import Block
from bb.ledger.published import bounds, layout
from bb.ledger.published.arbiter import Arbiter
from bb.ledger.published.charter import NotALedger
from bb.ledger.published.layout import is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from bb.ledger.index.reader import Progress
    from bb.ledger.journal.journal_reader import Position
    from bb.ledger.journal.segments import Segment
    from bb.ledger.records.store import Store

FORMAT = 2
MOST = 2  # in a commit; bb keeps only the newest
PART = 8 << 20  # approximate bytes of a file; hosts warn about larger ones
PART_DIGITS = 4
LARGEST_PART, LARGEST = 2 * PART, 1 << 28
HEXADECIMAL = frozenset("0123456789abcdef")


class Place(Record):
    """The commit of a snapshot: its parent, its generation, the results of publication order so far, and the arbiter
    that its charter names. To make a snapshot, the results of a later commit will do."""

    parent: str
    generation: int
    admitted: Admitted
    arbiter: Arbiter | None


class Snapshot(Record):
    """The heads that a snapshot was made at, its commit, and every entry of every fold."""

    heads: Mapping[str, Link]
    at: Place
    rows: list[tuple[str, str, Any]]

    @property
    def last_lines(self) -> dict[str, int]:
        """The number of each writer's last line."""
        return {writer: link.n for writer, link in self.heads.items()}


class Header(Record):
    """The first line of a snapshot, as far as any version of bb understands it."""

    heads: Mapping[str, int]
    state: int  # the version of the folds that made it
    is_ours: bool  # whether this version of bb made it


def name_of(heads: Mapping[str, int]) -> str:
    """The name of a snapshot at HEADS."""
    return digest(json_text.canonical(heads).encode())


def path_of(name: str, part: int) -> str:
    return f"snap/{name}/{part:0{PART_DIGITS}}.jsonl"


def name_in(path: str) -> str | None:
    """The name of the snapshot that the file at PATH is a part of; None if PATH does not belong in a ledger."""
    name, _, file = path.removeprefix("snap/").partition("/")
    part = file.removesuffix(".jsonl")
    is_right = len(name) == HEX_LENGTH and HEXADECIMAL.issuperset(name) and is_number(part, PART_DIGITS)
    return name if is_right and path == path_of(name, int(part)) else None


def make(store: Store, heads: Mapping[str, int], at: Place, progress: Progress | None = None) -> list[bytes]:
    """The parts of the snapshot at HEADS in a commit, made from the local journals. Refused if those are damaged."""
    index = Index(":memory:", None)
    try:
        index.rebuild([_Upto(store.path, writer, last) for writer, last in heads.items()], progress)
        if index.heads() != dict(heads):
            damage = next(iter(index.damages()), None)
            about = damage.as_dict() if damage else {}
            raise LedgerDamaged(f"a journal is damaged{f': {damage.reason}' if damage else ''}", **about)
        live = [name for name, _ in index.entries_by_term(holdings.NAME, "live")]
        settled = at.admitted.upto(at.generation).without(index.hidden()).keeping(live)
        return list(_parts(_rows(index, heads, at.replace(admitted=settled))))
    finally:
        index.close()


def _rows(index: Index, heads: Mapping[str, int], at: Place) -> Iterator[bytes]:
    from bb.ledger.journal import bulk_check  # noqa: PLC0415  (slow to import, so only for many lines)

    rows = [bulk_check.canonical([fold, key, state]) for fold in index.folds() for key, state in index.states(fold)]
    links = {writer: index.position(writer).link for writer in sorted(heads)}
    written = {writer: [link.n, link.lamport, link.head_digest] for writer, link in links.items()}
    about = {"after": at.parent, "generation": at.generation, "heads": written, "rows": len(rows)}
    about |= {"arbiter": at.arbiter and at.arbiter.as_dict()}
    yield bulk_check.canonical(about | {"format": FORMAT, "state": database.VERSION})
    yield bulk_check.canonical(at.admitted.as_json())
    yield from rows


def _parts(rows: Iterator[bytes]) -> Iterator[bytes]:
    """ROWS in files of a reasonable size."""
    part: list[bytes] = []
    size = 0
    for row in rows:
        part.append(row + b"\n")
        size += len(row) + 1
        if size >= PART:
            yield b"".join(part)
            part, size = [], 0
    if part:
        yield b"".join(part)


def load(git_dir: str, blobs: Iterable[str]) -> list[bytes] | None:
    """The contents of the published parts in BLOBS; None if they are too large for a snapshot."""
    parts: list[bytes] = []
    left, allowance = LARGEST, bounds.Allowance()
    with git.Conversation(["cat-file", "--batch"], git_dir=git_dir) as objects:
        for blob in blobs:
            try:
                parts.append(layout.blob(objects, blob, min(LARGEST_PART, left)))
                allowance.take(parts[-1])
            except NotALedger:
                return None
            left -= len(parts[-1])
    return parts


def read(octets: bytes) -> Snapshot | None:
    """Parse the joined parts of a snapshot; None if it is incomplete or invalid, or other folds made it."""
    from bb.ledger.journal import bulk_check  # noqa: PLC0415

    try:
        first, settled, rest = octets.split(b"\n", 2)
        header = bulk_check.decode(first)
        if (header["format"], header["state"], header["rows"]) != (FORMAT, database.VERSION, rest.count(b"\n")):
            return None
        arbiter = Arbiter.from_json(header["arbiter"]) if header["arbiter"] is not None else None
        at = Place(header["after"], header["generation"], Admitted.from_dict(bulk_check.decode(settled)), arbiter)
        if type(at.generation) is not int or at.generation < 1 or not at.admitted.is_possible_at(at.generation):
            return None
        rows = (bulk_check.decode(row) for row in rest.split(b"\n")[:-1])  # lazy: the first invalid row stops it
        heads = {writer: _link(writer, *values) for writer, values in header["heads"].items()}
        return Snapshot(heads, at, [_row(*row) for row in rows])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def header_of(octets: bytes) -> Header | None:
    """The header of a snapshot; None if it is invalid."""
    try:
        header = json_text.read(octets.partition(b"\n")[0])
        heads = {writer: _link(writer, *link).n for writer, link in header["heads"].items()}
        state = header["state"]
        if type(state) is not int:
            return None
        return Header(heads, state, (header["format"], state) == (FORMAT, database.VERSION))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def settled_in(parts: list[bytes]) -> Admitted:
    """The results of publication order in a snapshot of ours."""
    return Admitted.from_dict(json_text.read(parts[0].split(b"\n", 2)[1]))


def _link(writer: str, n: int, lamport: int, head: str) -> Link:
    is_right = ids.is_writer_id(writer) and type(n) is type(lamport) is int and n > 0 and lamport > 0
    if not (is_right and type(head) is str and len(head) == HEX_LENGTH):
        raise ValueError(writer)
    return Link(n, lamport, head)


def _row(fold: str, key: str, state: Any) -> tuple[str, str, Any]:
    if fold not in folds.FOLDED or type(key) is not str or type(state) is not dict:
        raise ValueError(fold)
    return fold, key, state


class _Upto(Journal):
    """A journal, read only up to line LAST."""

    def __init__(self, store: str, writer: str, last: int) -> None:
        super().__init__(store, writer)
        self._final = last

    def read(self, start: Position | None = None) -> Iterator[tuple[Segment, int, Block]]:
        n = 0
        for segment, offset, block in super().read(start):
            n += block.octets.count(b"\n")
            if n < self._final:
                yield segment, offset, block
                continue
            kept = block.octets.split(b"\n")[: len(block.lines()) - (n - self._final)]
            yield segment, offset, Block(b"".join(raw + b"\n" for raw in kept))
            return

    def stuck(self, position: Position, sizes: list[tuple[Segment, int]]) -> None:
        """Ignore damage: it is after the last line that is read."""


def fill(index: Index, links: Mapping[str, Link], rows: Iterable[tuple[str, str, Any]]) -> None:
    """Begin with the states of ROWS, the result of the lines up to LINKS, as if those lines had been read."""
    from bb.ledger.journal import bulk_check  # noqa: PLC0415

    index.cursors.forget()
    at = (
        (writer, 0, 0, link.n, link.lamport, link.head_digest, None, None, None, True) for writer, link in links.items()
    )
    index.ask_many("insert into cursor values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", at)
    terms_of: dict[str, Callable[[str, Any], Iterable[tuple[str, str]]] | None] = {}
    states: list[tuple[str, str, str]] = []
    terms: list[tuple[str, str, str, str]] = []
    for fold, key, state in rows:
        if fold not in terms_of:
            terms_of[fold] = getattr(folds.fold_module(fold), "terms", None)
        states.append((fold, key, bulk_check.canonical(state).decode()))
        if of := terms_of[fold]:
            terms += [(fold, *term, key) for term in of(key, state)]
    with index.writing():
        index.ask_many("insert into state values (?, ?, ?)", states)
        index.ask_many("insert or ignore into term values (?, ?, ?, ?)", terms)
