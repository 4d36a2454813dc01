"""What admission by an engine's order reads in the lines of one row: the facts that decide, and who recorded anything.

The relay reads rows as the engine gives them, and every other reader finds them in the published ledger. Both use this
module, so they agree.
"""

from __future__ import annotations

from bb.coordination.facts import NameSettled, Registered, Retired
from bb.coordination.holdings import holdings
from bb.kernel import ids
from bb.ledger.journal import kinds
from bb.ledger.journal import line as lines
from bb.ledger.journal.line import BadLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bb.coordination.facts import AgentFact, HoldingFact

    Facts = list[tuple[str, HoldingFact | AgentFact]]
    Decoder = Callable[[bytes], Any]
    Counts = Callable[[str, int, int, str], bool]  # writer, number of the line, of the row's last line, author

FACTS = (*holdings.FACTS, Registered, Retired, NameSettled)
KINDS = frozenset(kinds.BY_FACT[fact.__name__][0].encode() for fact in FACTS)
BY, QUOTE = b',"by":"', b'"'

MOST_AUTHORS = 10_000
_AUTHORS: dict[bytes, str] = {}  # ids that were checked and are valid


def of_row(
    writer: str, first: int, octets: bytes, counts: Counts | None = None, decoder: Decoder | None = None
) -> tuple[Facts, list[str]]:
    """The facts about reservations and names in the lines of a row, each with its event id, and the agents that
    recorded any line of it. With COUNTS, only of the lines that count. DECODER is a faster reader of JSON."""
    facts: Facts = []
    recorders: dict[str, None] = {}
    raws = octets.split(b"\n")[:-1]
    last = first + len(raws) - 1
    for n, raw in enumerate(raws, first):
        by = author(raw)
        if by and (counts is None or counts(writer, n, last, by)):
            recorders[by] = None
        fact = fact_on(raw, decoder)
        if fact is not None and (counts is None or counts(writer, n, last, fact.agent)):
            facts.append((ids.event_id(writer, n), fact))
    return facts, list(recorders)


def fact_on(raw: bytes, decoder: Decoder | None) -> HoldingFact | AgentFact | None:
    """The fact on a line, if it decides; else None."""
    try:
        if lines.clock_and_kind(raw)[1] not in KINDS:
            return None
    except BadLine:
        return None
    fact = kinds.fact_on(raw, decoder)
    return fact if isinstance(fact, FACTS) else None


def author(raw: bytes) -> str:
    """The author of a line, by its bytes; empty if it names none. No text in a head can contain these bytes."""
    return principal(raw.partition(BY)[2].partition(QUOTE)[0])


def principal(octets: bytes) -> str:
    """An author by the bytes of the name; empty if they name none."""
    known = _AUTHORS.get(octets)
    if known is None:
        by = octets.decode("ascii", "replace")
        known = by if ids.is_principal(by) else ""
        if known and len(_AUTHORS) < MOST_AUTHORS:
            _AUTHORS[octets] = known
    return known
