"""Taking the payload out of the lines that were redacted, in the journals here. The index hides them by itself; this is
about what stands in the files, and is published from them.

A line keeps its head, so what it is to become follows from the head and the length alone: a blanking that was cut
short is simply done again.
"""

from __future__ import annotations

from bb.coordination import redactions
from bb.kernel import ids
from bb.ledger import line as lines
from bb.ledger.journal import Journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from bb.coordination.redactions import Hidden
    from bb.ledger.store import Store


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
