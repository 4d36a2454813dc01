"""Removes the payload of redacted lines from the journals here, so that it is not published either. (The index hides
redacted events itself.)

A blanked line follows from the head and the length of the original line alone, so an interrupted blanking is simply
repeated.
"""

from __future__ import annotations

from bb.coordination.records import redactions, signed_lines
from bb.kernel import ids
from bb.kernel.event import SIGNED
from bb.ledger.index import counting
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from bb.ledger.records import rerecording, set_aside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bb.coordination.records.redactions import Hidden
    from bb.ledger.index.index import Index
    from bb.ledger.records.store import Store


def redacted(store: Store, wanted: Callable[[str], bool] = lambda _: True) -> list[str]:
    """The events that are validly redacted here, of those that are WANTED. Reads the line of each."""
    index = store.caught_up()
    hidden = index.hidden()
    redacted_ids = []
    for event in filter(wanted, hidden):
        writer, n = ids.split_event_id(event)
        raw = Journal(store.path, writer).line(n) if n <= index.head_of(writer) else None
        if is_validly_redacted(raw, hidden):
            redacted_ids.append(event)
    return redacted_ids


def blank(store: Store) -> int:
    """Blank the payload of every redacted line here; return how many still had one."""
    from bb.ledger.journal import rewriting  # noqa: PLC0415  (a sync that only pushes blanks nothing)

    count = 0
    for event in redacted(store):
        writer, n = ids.split_event_id(event)
        journal = Journal(store.path, writer)
        if (raw := journal.line(n)) and rerecording.MARK in raw:
            set_aside.blank(store.path, raw)  # first, because only this line tells where the copies are
        with journal.lock_to_change():
            count += rewriting.blank(journal, n)
    return count


def is_validly_redacted(raw: bytes | None, known: Hidden) -> bool:
    """Whether a line was validly redacted."""
    if raw is None:
        return False
    try:
        head = lines.members(lines.blanked(raw) or raw)  # only its head is needed, which is always readable
    except lines.Unreadable:
        return False
    return redactions.is_hidden(head["id"], head["by"], head["kind"], known)


def unexplained_blanks(index: Index, raws: Iterable[bytes]) -> list[str]:
    """The ids of signatures and state-changing events in blank lines RAWS that no valid redaction explains.

    The state without their payload is not reliable. A line that would not count anyway is left out.
    """
    hidden, law = index.hidden(), index.law
    unexplained = []
    for raw in raws:
        if is_validly_redacted(raw, hidden):
            continue
        try:
            head = lines.members(raw)
            writer, n = ids.split_event_id(head["id"])
        except (lines.Unreadable, ids.InvalidEventId.error):  # such a line has no effect, blank or not
            continue
        counts = law is None or n <= law.reach(writer, counting.signatures(index, law.repo)).upto
        if head["kind"] == SIGNED or (counts and signed_lines.changes_how_things_stand(head["kind"])):
            unexplained.append(head["id"])
    return unexplained
