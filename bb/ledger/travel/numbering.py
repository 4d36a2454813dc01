"""The generation of a published commit, and the rows of an engine's log in it.

Without a fleet, each commit has the next generation. While the charter has the terms of a fleet, the branch is the
archive of the engine's log: the lines that a commit adds are rows of that log, its file `order` lists them, and its
generation is the place of the last one. Places have no gaps, and each row has a running digest. So a commit can neither
leave a row out nor change one, and a reader of the branch knows the place that the engine gave to each line.

The commit that begins or ends a fleet adds no lines. After the end, generations go on after the last place.
"""

from __future__ import annotations

from bb.kernel.record import Record
from bb.ledger.carrier.door import first_digest, next_digest
from bb.ledger.journal import line as lines
from bb.ledger.published import fleet_terms, order_file
from bb.ledger.published.charter import NotALedger
from bb.ledger.published.layout import ORDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bb.ledger.published.charter import Charter
    from bb.ledger.published.order_file import ArchivedRow
    from bb.ledger.published.tip import Tip

    Added = Sequence[tuple[str, int, bytes]]  # writer, number of the first line, the lines


COMMITS = "Bb-Commits"  # trailer: the number of commits since the newest snapshot


class Numbers(Record):
    """The generation of a commit, and the running digest of the last row up to it; empty without a fleet."""

    generation: int
    digest: str = ""


def of(tip: Tip | None) -> Numbers:
    """The numbers of TIP; those before the first commit without one."""
    return Numbers(tip.generation, tip.digest) if tip else Numbers(0)


def after(
    before: Numbers, earlier: Charter | None, charter: Charter, rows: Sequence[ArchivedRow] | None, added: Added
) -> Numbers:
    """The numbers of a commit that follows BEFORE, adds lines, and lists ROWS in its `order`; None if it has no such
    file. Its CHARTER may be another one than EARLIER."""
    was, terms = earlier.fleet if earlier else None, charter.fleet
    if was != terms and (added or rows is not None):
        raise NotALedger("a commit that begins or ends a fleet must not add lines")
    if terms is None:
        if rows is not None:
            raise NotALedger(f"{ORDER!r} does not belong in a ledger without a fleet")
        return Numbers(1 + (max(before.generation, was.first - 1) if was else before.generation))
    if was != terms:
        return Numbers(before.generation, first_digest(charter.repo, terms.incarnation))
    if rows is None and added:
        raise NotALedger("a commit adds lines without their places, although a fleet's engine orders them")
    if rows is None:
        return before
    if rows[0].place != max(before.generation + 1, terms.first):
        raise NotALedger(f"the row at place {rows[0].place} does not follow the rows before it")
    return Numbers(rows[-1].place, _digest_after(before.digest, rows, added))


def of_epoch(charter: Charter, generation: int, rows: Sequence[ArchivedRow] | None) -> Numbers:
    """The numbers of the commit that begins a new epoch after the last GENERATION of the one before. While a fleet is
    on, its `order` repeats the last row."""
    terms = charter.fleet
    is_first = terms is None or generation < terms.first
    if is_first != (rows is None) or (rows and rows[-1].place != generation):
        raise NotALedger("a new epoch does not go on after the last row of the fleet")
    if rows:
        return Numbers(generation, rows[-1].digest)
    return Numbers(generation, first_digest(charter.repo, terms.incarnation)) if terms else Numbers(generation + 1)


def at_snapshot(charter: Charter, generation: int, order: bytes) -> Numbers:
    """The numbers of a commit of that GENERATION which adds no lines, in whose tree the file `order` is ORDER."""
    terms = charter.fleet
    if terms is None or generation < terms.first:
        return Numbers(generation, first_digest(charter.repo, terms.incarnation) if terms else "")
    rows = order_file.read(order)
    if rows[-1].place != generation:
        raise NotALedger("the order in the last commit ends at another place than its snapshot")
    return Numbers(generation, rows[-1].digest)


def trailers(charter: Charter, generation: int, commits: int) -> str:
    """The last lines of a commit's message. If generations are, or were, places of rows, readers without a clone cannot
    tell from them how far the newest snapshot is: that is a number of COMMITS."""
    counted = f"{COMMITS}: {commits}\n" if charter.format >= fleet_terms.FORMAT else ""
    return f"Bb-Generation: {generation}\n{counted}"


def _digest_after(digest: str, rows: Sequence[ArchivedRow], added: Added) -> str:
    """The running digest after ROWS, which must be exactly the lines ADDED. The digest of a row whose lines do not
    count, or one of whose lines has lost its payload, cannot be recomputed. It is believed."""
    place = rows[0].place
    for row, octets in cut(rows, added):
        if row.place != place:
            raise NotALedger(f"the row at place {row.place} does not follow the rows before it")
        computed = next_digest(digest, row.place, row.writer, row.first, octets)
        if computed != row.digest and octets and not lines.may_hold_blanks(octets):
            raise NotALedger(f"the digest of the row at place {row.place} is wrong")
        digest, place = row.digest, place + 1
    return digest


def cut(rows: Sequence[ArchivedRow], added: Added) -> Iterator[tuple[ArchivedRow, bytes]]:
    """Each of ROWS with its lines, which are those that a commit ADDED. Refused if they are not exactly these."""
    runs: dict[str, tuple[int, list[bytes]]] = {}
    for writer, first, octets in added:
        runs.setdefault(writer, (first, []))[1].append(octets)
    joined = {writer: b"".join(octets) for writer, (_, octets) in runs.items()}
    at = {writer: (first, 0) for writer, (first, _) in runs.items()}
    for row in rows:
        if not row.count:
            yield row, b""
            continue
        first, start = at.get(row.writer, (0, 0))
        end, octets = start, joined.get(row.writer, b"")
        for _ in range(row.count):
            end = octets.find(b"\n", end) + 1
            if not end:
                break
        if row.first != first or not end:
            raise NotALedger(f"the row at place {row.place} has lines that its commit does not add")
        at[row.writer] = row.first + row.count, end
        yield row, octets[start:end]
    for writer, (n, end) in at.items():
        if end != len(joined[writer]):
            raise NotALedger(f"line {n} of writer {writer} is in no row")
