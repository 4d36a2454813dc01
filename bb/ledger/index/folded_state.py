"""Queries of the folded state: an entry of a fold by its key, or several by a term that they have.

A fold keeps one state for each key. Its entries are found by terms, such as "unread mail of amber-otter"; the entries
of a term are ordered by their places.
"""

from __future__ import annotations

from bb.kernel import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from sqlite3 import Cursor
    from typing import Any

FEW, MANY = 12, 200  # rows that are read at once
MOST_AT_ONCE = 500  # values of one query; SQLite allows 999
ALL = -1  # as a limit
BEYOND = chr(0x10FFFF)  # sorts after every character of a place


class FoldedState:
    """What an index has folded."""

    if TYPE_CHECKING:

        def _ask(self, read: Callable[[Cursor], list[Any]], query: str, *values: str | int | None) -> list[Any]:
            """The rows of QUERY, as READ makes them. The index has this."""

    def state(self, fold: str, key: str) -> Any:
        """The folded state of one entry; None if it does not exist."""
        rows = self._ask(parsed_first, "select value from state where fold = ? and key = ?", fold, key)
        return rows[0][0] if rows else None

    def states_of(self, fold: str, keys: Sequence[str]) -> dict[str, Any]:
        """The folded states of the entries KEYS, without those that do not exist."""
        states: dict[str, Any] = {}
        for start in range(0, len(keys), MOST_AT_ONCE):
            some = keys[start : start + MOST_AT_ONCE]
            query = f"select value, key from state where fold = ? and key in ({', '.join('?' * len(some))})"  # noqa: S608
            states |= {key: value for value, key in self._ask(parsed_first, query, fold, *some)}
        return states

    def states(self, fold: str) -> list[tuple[str, Any]]:
        """Every entry of a fold, sorted by key."""
        rows = self._ask(parsed_first, "select value, key from state where fold = ? order by key", fold)
        return [(key, value) for value, key in rows]

    def entries_by_term(self, fold: str, term: str, *, below: str = "", sieve: str = "*") -> list[tuple[str, Any]]:
        """The entries of TERM whose place starts with BELOW and matches the GLOB pattern SIEVE, ordered by place."""
        query = """
            select state.value, term.key from term join state on state.fold = term.fold and state.key = term.key
            where term.fold = ? and term.term = ? and term.place >= ? and term.place < ? and term.place glob ?
            order by term.place"""
        rows = self._ask(parsed_first, query, fold, term, below, below + BEYOND, sieve)
        return [(key, value) for value, key in rows]

    def newest_first(self, fold: str, term: str) -> Iterator[tuple[str, str, Any]]:
        """The place, key and state of the entries of TERM, last place first, read lazily.

        Entries that are added meanwhile do not shift the following ones.
        """
        query = """
            select state.value, term.place, term.key from term
            join state on state.fold = term.fold and state.key = term.key
            where term.fold = ? and term.term = ? and term.place < ? order by term.place desc limit ?"""
        before, many = BEYOND, FEW  # callers mostly need the first few, sometimes all
        while rows := self._ask(parsed_first, query, fold, term, before, many):
            for value, place, key in rows:
                yield place, key, value
            before, many = rows[-1][1], min(4 * many, MANY)

    def newest_keys(
        self, fold: str, term: str, most: int = ALL, *, since: str = "", before: str = BEYOND
    ) -> list[tuple[str, str]]:
        """The place and key of the last MOST entries of TERM, last place first, without reading their states; only
        those from the place SINCE on that are BEFORE another one."""
        query = """
            select place, key from term where fold = ? and term = ? and place >= ? and place < ?
            order by place desc limit ?"""
        return self._ask(list, query, fold, term, since, before, most)

    def entries_at_places(self, fold: str, term: str, places: Sequence[str]) -> list[tuple[str, Any]]:
        """The entries of TERM at one of PLACES."""
        query = f"""
            select state.value, term.key from term join state on state.fold = term.fold and state.key = term.key
            where term.fold = ? and term.term = ? and term.place in ({", ".join("?" * len(places))})"""  # noqa: S608
        return [(key, value) for value, key in self._ask(parsed_first, query, fold, term, *places)]

    def terms(self, fold: str, start: str) -> list[str]:
        """The distinct terms of a fold that begin with START."""
        query = "select distinct term from term where fold = ? and term >= ? and term < ?"
        return [term for (term,) in self._ask(list, query, fold, start, start + BEYOND)]

    def count(self, fold: str, term: str) -> int:
        """The number of entries of TERM."""
        return int(self._ask(list, "select count(*) from term where fold = ? and term = ?", fold, term)[0][0])

    def folds(self) -> list[str]:
        """The folds that have any state."""
        return [fold for (fold,) in self._ask(list, "select distinct fold from state order by fold")]


def parsed_first(rows: Cursor) -> list[Any]:
    """The rows, with their first value decoded from JSON."""
    return [(json_text.loads(first), *others) for first, *others in rows]
