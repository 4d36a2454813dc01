"""`settled.json`: what publication had settled before an epoch began, checked against the lines it is about."""

from __future__ import annotations

from bb.coordination.facts import Reserved
from bb.coordination.holdings.admission import Admitted
from bb.kernel import ids, json_text
from bb.ledger.journal import kinds
from bb.ledger.published.charter import NotALedger
from bb.ledger.published.layout import SETTLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bb.coordination.holdings.admission import Grant

LARGEST = 1 << 26


def read(octets: bytes) -> Admitted:
    """What the file says."""
    try:
        return Admitted.from_dict(json_text.read(octets))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise NotALedger(f"{SETTLED} cannot be read") from error


def written(settled: Admitted) -> bytes:
    return json_text.canonical(settled.as_plain()).encode() + b"\n"


def check(settled: Admitted, added: Sequence[tuple[str, int, bytes]], generation: int) -> None:
    """Refuse what is said to be SETTLED unless it was by that GENERATION, of reservations among the lines ADDED, and as
    those say."""
    if settled.latest > generation:
        raise NotALedger(f"{SETTLED} tells of commits that were never made")
    wanted = settled.grants.keys() | settled.generations.keys()
    for event, raw in _lines_of(wanted, added):
        found = kinds.fact_on(raw)
        if not isinstance(found, Reserved):
            raise NotALedger(f"{SETTLED} names {event}, which is no reservation")
        if event in settled.grants and not (found.base and _is_of(settled.grants[event], found)):
            raise NotALedger(f"{SETTLED} says of {event} what its line does not say")
        wanted -= {event}
    if wanted:
        raise NotALedger(f"{SETTLED} names {min(wanted)}, which is not there")


def _lines_of(events: set[str], added: Sequence[tuple[str, int, bytes]]) -> Iterator[tuple[str, bytes]]:
    for writer, first, octets in added:
        raws = octets.split(b"\n")
        numbers = {n for w, n in map(ids.split_event_id, events) if w == writer and first <= n < first + len(raws) - 1}
        yield from ((ids.event_id(writer, n), raws[n - first]) for n in sorted(numbers))


def _is_of(grant: Grant, fact: Reserved) -> bool:
    said = (fact.agent, fact.scope, fact.is_file, fact.shared)
    return (grant.agent, grant.scope, grant.is_file, grant.shared) == said
