"""The accounts of our writers: which lines of other writers their markers have merged, and which not yet.

    own         the writers of this store that have opened the index
    accounted   for each of them, the last line of each other writer that a marker merged
    unmerged    for each of them, the last line of each other writer that has lines after that

The tables are kept up to date line by line, so no command has to look at every writer.
"""

from __future__ import annotations

from bb.kernel import ids, json_text
from bb.ledger.journal import received

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any

LONGEST = 10**12  # lines; no chain is longer, so a forged marker cannot make sums overflow

UNMERGED = """
    insert or replace into unmerged select ?1, ?2, ?3
    where not exists (select 1 from accounted where own = ?1 and writer = ?2 and head >= ?3)"""


def own_writers(connection: sqlite3.Connection) -> list[str]:
    """The writers that have an account."""
    return [writer for (writer,) in connection.execute("select writer from own")]


def note_growth(connection: sqlite3.Connection, own: list[str], writer: str, last: int) -> None:
    """Note that WRITER has lines up to LAST."""
    connection.executemany(UNMERGED, [(one, writer, last) for one in own if one != writer])


def note_marker(
    connection: sqlite3.Connection, own: list[str], store: str, writer: str, n: int, data: dict[str, Any]
) -> None:
    """Store the marker in line N of WRITER. STORE has the heads of our own markers for very many writers."""
    claimed = data.get("heads")
    if writer in own and type(data.get("digest")) is str:
        claimed = received.kept_heads(store, data["digest"])
    heads = {
        other: head
        for other, head in (claimed if isinstance(claimed, dict) else {}).items()
        if ids.is_writer_id(other) and other != writer and type(head) is int and 0 < head < LONGEST
    }
    if writer in own:
        before, runs = _merge(connection, writer, heads)
    else:
        before, runs = 0, {other: (0, head) for other, head in heads.items()}
    connection.execute("insert into merged values (?, ?, ?, ?)", (writer, n, before, json_text.dumps(runs)))


def recount(connection: sqlite3.Connection, own: str) -> None:
    """Make the account of a writer from the markers and cursors that were read already."""
    rows = connection.execute("select n, runs from merged where writer = ? order by n", (own,)).fetchall()
    for n, written in rows:
        heads = {other: last for other, (_, last) in json_text.loads(written).items()}
        before, runs = _merge(connection, own, heads)
        query = "update merged set foreign_before = ?, runs = ? where writer = ? and n = ?"
        connection.execute(query, (before, json_text.dumps(runs), own, n))
    for writer, last in connection.execute("select writer, n from cursor where n > 0").fetchall():
        note_growth(connection, [own], writer, last)


def _merge(connection: sqlite3.Connection, own: str, heads: dict[str, int]) -> tuple[int, dict[str, tuple[int, int]]]:
    """Merge the lines up to HEADS. Returns the number of foreign lines merged so far, and the runs merged now."""
    query = "select foreign_before from merged where writer = ? and foreign_before > 0 order by n desc limit 1"
    row = connection.execute(query, (own,)).fetchone()
    count, runs = int(row[0]) if row else 0, {}
    for other, head in heads.items():
        row = connection.execute("select head from accounted where own = ? and writer = ?", (own, other)).fetchone()
        after = int(row[0]) if row else 0
        if head > after:
            count += head - after
            runs[other] = after, head
    rows = [(own, other, head) for other, (_, head) in runs.items()]
    connection.executemany("insert or replace into accounted values (?, ?, ?)", rows)
    connection.executemany("delete from unmerged where own = ? and writer = ? and head <= ?", rows)
    return count, runs
