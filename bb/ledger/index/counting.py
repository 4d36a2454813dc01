"""Tells which lines are signed, and which count, for code that reads journals directly instead of the folded state.

The index decides this for each writer when it reads the lines (table `counted`). If all lines count, there is no
`Counting`, and no check is needed.
"""

from __future__ import annotations

from bb.kernel import ids
from bb.ledger.files.sqlite import sqlite3
from bb.ledger.journal import line as lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.coordination.records.signed_lines import Reach
    from bb.kernel.event import Event
    from bb.ledger.index.index import Index
    from bb.ledger.signing.verdicts import Signatures, SigningLaw

PERSON, ESCAPED = ids.PERSON.encode(), b"\\u"
UNVERIFIED: dict[str, Any] = {"signature": {"verdict": "unverified"}}  # the member of an answer that marks an event


class Counting:
    """How far the lines of each writer count, as decided by the index."""

    def __init__(self, index: Index, law: SigningLaw) -> None:
        from bb.coordination.records import signed_lines, signers  # noqa: PLC0415  (only where a line might not count)

        self._is_order, self._no_orders = signed_lines.is_order, signed_lines.NO_ORDERS
        self._names_the_person = law.policy.names_the_person
        # Under `require`, lines that do not count are not shown; under `warn`, they are shown with a mark.
        self.leaves_out = law.mode == signers.REQUIRE
        rows = index.ask("select writer, upto, orders from counted")
        self._reaches = {writer: signed_lines.Reach(upto, orders) for writer, upto, orders in rows}
        self._nothing = signed_lines.Reach(0, 0)

    def of(self, writer: str) -> Reach:
        """How far the lines of WRITER count."""
        return self._reaches.get(writer, self._nothing)

    def counts(self, event: Event) -> bool:
        """Whether EVENT counts."""
        writer, n = ids.split_event_id(event.id)
        reach = self.of(writer)
        return n <= reach.upto and (n <= reach.orders or not self._is_order(event.kind, event.by))

    def counts_as_written(self, writer: str, n: int, raw: bytes) -> bool:
        """Whether a raw line counts. The line is parsed only if it might be an order of the person."""
        reach = self.of(writer)
        if n > reach.upto or n <= reach.orders:
            return n <= reach.upto
        if PERSON not in raw and ESCAPED not in raw:
            return True
        try:
            return not self._is_order((members := lines.members(raw))["kind"], members["by"])
        except lines.Unreadable:
            return True  # an unreadable line is not an order

    def is_doubted(self, event_id: str, kind: str, by: str) -> bool:
        """Whether an event has the person as its author, but is not signed with the person's listed key."""
        return by == ids.PERSON and kind not in self._no_orders and self.is_unsigned_by_the_person(event_id)

    def is_unsigned_by_the_person(self, event_id: str) -> bool:
        """Whether a key is listed for the person, and the line with that id is not signed with one."""
        if not self._names_the_person or not ids.is_event_id(event_id):
            return False
        writer, n = ids.split_event_id(event_id)
        return n > self.of(writer).orders


def counts(index: Index, event: Event) -> bool:
    """Whether EVENT counts here."""
    counted = for_index(index)
    return counted is None or counted.counts(event)


def signature_mark(index: Index, event_id: str, kind: str, by: str) -> dict[str, Any]:
    """Members to add to an answer about an event: a mark if it names the person as its author and is unverified."""
    if by != ids.PERSON or (counted := for_index(index)) is None:
        return {}
    return UNVERIFIED if counted.is_doubted(event_id, kind, by) else {}


def for_index(index: Index) -> Counting | None:
    """Tells which lines count here; None if all lines count."""
    law = index.law
    return Counting(index, law) if law and law.may_exclude_lines else None


def signatures(index: Index, repo: str) -> Signatures:
    """The signatures in the chains here, to be checked against the id REPO."""
    from bb.ledger.signing.verdicts import Signatures  # noqa: PLC0415  (needed only to verify signatures)

    def tell(query: str, *values: str | int) -> None:
        try:
            index.ask_many(query, [values])
        except sqlite3.OperationalError:  # the result is stored another time
            return

    return Signatures(repo, index.ask, tell)


def signed_upto(index: Index, writer: str) -> tuple[int, str]:
    """The number of WRITER's last signature line, and the signature; 0 if there is none."""
    rows = index.ask("select n, said from signature where writer = ? order by n desc limit 1", writer)
    return rows[0] if rows else (0, "")


def signatures_behind(index: Index, heads: Mapping[str, int], out: Mapping[str, int]) -> int:
    """The number of signature lines of these writers after the lines OUT, which are published."""
    query = "select count(*) from signature where writer = ? and n > ?"
    return sum(index.ask(query, writer, out.get(writer, 0))[0][0] for writer in heads)
