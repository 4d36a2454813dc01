"""A ledger that joins another: its writers' journals become journals of the other, as if they had been synced.

Every line keeps its name and its place in the total order, so whatever refers to it still finds it.
"""

from __future__ import annotations

from bb.ledger import disk
from bb.ledger.journal import Journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.store import Store


def into(source: Store, target: Store) -> int:
    """Take every line of SOURCE into TARGET; how many. Nobody may write to SOURCE afterwards.

    A run that was interrupted is repeated: what is there already is passed over.
    """
    count = 0
    for journal in source.journals():
        with journal.lock_if_any():
            journal.mend()
            count += _copied(journal, Journal(target.path, journal.writer))
    target.caught_up()
    return count


def _copied(journal: Journal, into: Journal) -> int:
    disk.make_folder(into.folder)
    known = into.tail().n
    octets = b"".join(raw + b"\n" for raw in journal.lines_from(known + 1))
    if octets:
        into.extend(octets)
    return octets.count(b"\n")
