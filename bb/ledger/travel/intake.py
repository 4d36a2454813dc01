"""Taking in what others have published: every line checked against what is here, before any is written.

Lines of a writer go to the end of its journal, as they stand. What is here already is compared: the same line is
passed over, one whose payload was redacted is blanked here too, and a different line under the same number means that
two stores wrote under one id. Then the published one counts, because everybody else has it, and ours is put aside
(`ledger/records/set_aside.py`); unless ours is published elsewhere, and then nothing is taken over at all.
"""

from __future__ import annotations

from itertools import islice

from bb.coordination.facts import Redacted
from bb.kernel import ids
from bb.kernel.errors import Conflict
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.journal import kinds
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from bb.ledger.journal.line import BadLine
from bb.ledger.published.charter import LedgerRewritten, NotALedger
from bb.ledger.records import redaction, set_aside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bb.ledger.published.tip import Commit
    from bb.ledger.records.store import Store

REDACTED = b'"kind":"x.bb.redacted"'
GLANCE = 1000  # lines between two words about how far we are


class LedgerForked(Conflict):
    """Two different lines have been published under one number."""

    code = "LEDGER_FORKED"
    hint = "two stores have written under one id; docs/sync.md says what to do"


class Incoming(Record):
    """What is to be done to one writer's journal."""

    writer: str
    cut: int | None  # from this number on, what is here makes way
    is_fork: bool  # because it is another line than the published one; else it is damaged
    more: bytes  # then come these lines
    upto: int  # the number of the last of them


def checked(store: Store, commits: Sequence[Commit], published: dict[str, int]) -> list[Incoming]:
    """What COMMITS bring to the journals here; refused, and nothing done, when a line cannot be right.

    PUBLISHED says up to which number each writer's lines are out on some remote.
    """
    _refuse_wrong_blanks(store, commits)
    runs: dict[str, list[bytes]] = {}
    starts: dict[str, int] = {}
    for commit in commits:
        for writer, first, octets in commit.added:
            starts.setdefault(writer, first)
            runs.setdefault(writer, []).append(octets)
    return [_checked(store, writer, starts[writer], b"".join(run), published) for writer, run in runs.items()]


def _refuse_wrong_blanks(store: Store, commits: Sequence[Commit]) -> None:
    """Refuse commits that blank what nobody has taken back."""
    if any(commit.blanked for commit in commits):
        refuse_wrong_blanks(store.path, commits, store.caught_up().hidden())


def refuse_wrong_blanks(store: str, commits: Sequence[Commit], known: dict[str, frozenset[str]]) -> None:
    """Refuse commits that blank what nobody who may has taken back, as far as is KNOWN or they say themselves."""
    blanked = {event for commit in commits for event in commit.blanked}
    raws = {}
    for writer, first, octets in (added for commit in commits for added in commit.added):
        for n, raw in enumerate(octets.split(b"\n")[:-1], first):
            if REDACTED in raw and isinstance(fact := kinds.fact_on(raw), Redacted):
                known = known | {fact.event: known.get(fact.event, frozenset()) | {fact.agent}}
            if (event := ids.event_id(writer, n)) in blanked:
                raws[event] = raw
    for event in sorted(blanked):
        writer, n = ids.split_event_id(event)
        if not redaction.may_be_hidden(raws.get(event) or Journal(store, writer).line(n), known):
            raise LedgerRewritten(f"the payload of {event} is gone, and nobody who may has redacted it")


def _checked(store: Store, writer: str, first: int, octets: bytes, published: dict[str, int]) -> Incoming:
    index, journal = store.caught_up(), Journal(store.path, writer)
    position = index.position(writer)
    head, link = position.link.n, position.link
    raws = octets.split(b"\n")[:-1]
    if first > head + 1:
        raise NotALedger(f"lines of writer {writer} before {first} are missing")
    known = islice(journal.lines_from(first), head - first + 1) if first <= head else ()
    same, is_fork = 0, False
    for ours, theirs in zip(known, raws, strict=False):
        if not lines.is_same_event(ours, theirs):
            is_fork = True
            break
        same += 1
    cut = first + same if is_fork else None
    if cut is not None:
        if cut <= published.get(writer, 0):
            raise LedgerForked(f"line {cut} of writer {writer} is published in two forms", writer=writer, n=cut)
        link = journal.link_before(cut)
    more = raws[same:]
    if more and cut is None and writer in {damage.writer for damage in index.damages()}:
        store.refuse_damage()  # ours is mended first, so that nothing behind the damage is forgotten
        cut = head + 1
    for place, raw in enumerate(more):
        if store.progress and not place % GLANCE:
            store.progress(place, len(more), "Checking lines")
        try:
            link = lines.check(raw, writer, link)
        except BadLine as error:
            raise NotALedger(f"line {link.n + 1} of writer {writer} cannot be right: {error}") from None
    return Incoming(writer, cut, is_fork, b"".join(raw + b"\n" for raw in more), first + len(raws) - 1)


def write(store: Store, incoming: Sequence[Incoming]) -> None:
    """Put what was checked into the journals."""
    for each in incoming:
        journal = Journal(store.path, each.writer)
        disk.make_folder(journal.folder)
        if each.cut is not None:
            set_aside.put(store.path, journal, each.cut, is_fork=each.is_fork, upto=each.upto)
        with journal.lock_if_any():
            journal.extend(each.more)
