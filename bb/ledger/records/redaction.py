"""Taking the payload out of the lines that were redacted, in the journals here. The index hides them by itself; this is
about what stands in the files, and is published from them.

A line keeps its head, so what it is to become follows from the head and the length alone: a blanking that was cut
short is simply done again.
"""

from __future__ import annotations

from bb.coordination.records import redactions, vouching
from bb.kernel import ids
from bb.kernel.event import SIGNED
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from bb.ledger.records import recording_again, set_aside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bb.coordination.records.redactions import Hidden
    from bb.ledger.index.index import Index
    from bb.ledger.records.store import Store


def redacted(store: Store, wanted: Callable[[str], bool] = lambda _: True) -> list[str]:
    """The events here that were rightly taken back, of those that are WANTED: each one's line is looked at."""
    index = store.caught_up()
    heads, known = index.heads(), index.hidden()
    found = []
    for event in filter(wanted, known):
        writer, n = ids.split_event_id(event)
        raw = Journal(store.path, writer).line(n) if n <= heads.get(writer, 0) else None
        if may_be_hidden(raw, known):
            found.append(event)
    return found


def blank(store: Store) -> int:
    """Take the payload out of every line here that was taken back; how many still had theirs."""
    count = 0
    for event in redacted(store):
        writer, n = ids.split_event_id(event)
        journal = Journal(store.path, writer)
        if (raw := journal.line(n)) and recording_again.MARK in raw:
            set_aside.blank(store.path, raw)  # first, for only this line says where the copies are
        with journal.lock_if_any():
            count += journal.blank(n)
    return count


def may_be_hidden(raw: bytes | None, known: Hidden) -> bool:
    """Whether a line was rightly taken back."""
    if raw is None:
        return False
    try:
        found = lines.members(lines.blanked(raw) or raw)  # only its head is asked, which is always whole
    except lines.Unreadable:
        return False
    return redactions.is_hidden(found["id"], found["by"], found["kind"], known)


def not_believed(index: Index, raws: Iterable[bytes]) -> list[str]:
    """The events on blank lines (RAWS) that change how things stand, or sign, and that nobody whose word counts has
    taken back: what the index lacks of them, nobody can know. A line that would count for nothing anyway is none."""
    known, law = index.hidden(), index.law
    found = []
    for raw in raws:
        if may_be_hidden(raw, known):
            continue
        try:
            head = lines.members(raw)
            writer, n = ids.split_event_id(head["id"])
        except (lines.Unreadable, ids.InvalidEventId):  # such a line says nothing, with its payload or without
            continue
        counts = law is None or n <= law.reach(writer, index.signatures(law.repo)).upto
        if head["kind"] == SIGNED or (counts and vouching.changes_how_things_stand(head["kind"])):
            found.append(head["id"])
    return found
