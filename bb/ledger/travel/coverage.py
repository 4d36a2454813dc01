"""Compares the lines here with those of a published tip: what is missing here, and what is not published yet.

With thousands of writers, a comparison of all of them takes longer than a sync in which nothing happens. So its result
is noted in the index, for the tip and for the mark in the log of received lines. Received lines do not change without a
new mark, and lines that were read are only forgotten by a rebuild of the index, which also forgets the notes. The
writers of this store are always compared; they are few.
"""

from __future__ import annotations

from bb.kernel.record import Record
from bb.ledger.files.sqlite import sqlite3

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from bb.ledger.index.index import Index
    from bb.ledger.published.tip import Tip
    from bb.ledger.records.store import Store

SCHEMA = """
create table if not exists covered (place integer primary key, tip text, inode integer, size integer)"""
MOST_NOTES = 8  # tips: of several remotes, and of the local ref


class Coverage(Record):
    """How the lines here compare with those of a tip: whether they are WHOLE, that is, include every published line;
    and the heads of the writers that have MORE."""

    whole: bool
    more: Mapping[str, int]


def compare(store: Store, tip: Tip | None) -> Coverage:
    """Compare the lines here with those of TIP."""
    index = store.caught_up()
    if tip is None or not tip.has_many_writers:
        return _compared(index.heads(), tip)
    index.add_view(SCHEMA)
    is_noted = "select 1 from covered join received on (covered.inode, covered.size) = (received.inode, received.size)"
    if index.ask(f"{is_noted} where tip = ?", tip.commit):
        return Coverage(True, {writer: n for writer in index.cursors.local() if (n := _more(index, tip, writer))})
    found = _compared(index.heads(), tip)
    if found.whole and set(index.cursors.local()).issuperset(found.more):
        _note(index, tip)
    return found


def has_all(store: Store, tip: Tip) -> bool:
    """Whether this clone has every line that is published up to TIP."""
    if not store.exists:
        return not tip.heads
    return compare(store, tip).whole


def _compared(heads: Mapping[str, int], tip: Tip | None) -> Coverage:
    out = tip.last_lines if tip else {}
    more = {writer: n for writer, n in heads.items() if n > out.get(writer, 0)}
    return Coverage(all(heads.get(writer, 0) >= n for writer, n in out.items()), more)


def _more(index: Index, tip: Tip, writer: str) -> int:
    """The number of the writer's last line, if it is not on TIP."""
    n = index.head_of(writer)
    return n if n > tip.last_line(writer) else 0


def _note(index: Index, tip: Tip) -> None:
    """Note that every line on TIP is here, and that every received line is on TIP."""
    old = "delete from covered where tip = ? or place <= (select max(place) from covered) - ?"
    try:
        index.ask(old, tip.commit, MOST_NOTES)
        index.ask("insert into covered (tip, inode, size) select ?, inode, size from received", tip.commit)
    except sqlite3.OperationalError:  # another process writes; it is noted another time
        return
