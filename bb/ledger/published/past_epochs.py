"""`settled.json`: the results of publication order from before an epoch began, checked against the lines they name."""

from __future__ import annotations

from bb.coordination.facts import Registered, Reserved
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
    """Parse the file."""
    try:
        return Admitted.from_dict(json_text.read(octets))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise NotALedger(f"{SETTLED} cannot be read") from error


def to_bytes(settled: Admitted) -> bytes:
    return json_text.canonical(settled.as_json()).encode() + b"\n"


def check(settled: Admitted, added: Sequence[tuple[str, int, bytes]], generation: int) -> None:
    """Refuse SETTLED if it names a generation after GENERATION, or disagrees with the reservations in the lines
    ADDED."""
    if not settled.is_possible_at(generation):
        raise NotALedger(f"{SETTLED} names commits that do not exist")
    registrations = {event: name for name, events in settled.names.items() for event in events}
    missing = settled.grants.keys() | settled.generations.keys() | registrations.keys()
    for event, raw in _lines_of(missing, added):
        fact = kinds.fact_on(raw)
        if event in registrations and isinstance(fact, Registered) and fact.agent == registrations[event]:
            missing -= {event}
            continue
        if not isinstance(fact, Reserved):
            raise NotALedger(f"{SETTLED} names {event}, which is not a reservation")
        if event in settled.grants and not (fact.is_global and _is_of(settled.grants[event], fact)):
            raise NotALedger(f"{SETTLED} contradicts the line of {event}")
        missing -= {event}
    if missing:
        raise NotALedger(f"{SETTLED} names {min(missing)}, which is not among the lines")


def _lines_of(events: set[str], added: Sequence[tuple[str, int, bytes]]) -> Iterator[tuple[str, bytes]]:
    for writer, first, octets in added:
        raws = octets.split(b"\n")
        numbers = {n for w, n in map(ids.split_event_id, events) if w == writer and first <= n < first + len(raws) - 1}
        yield from ((ids.event_id(writer, n), raws[n - first]) for n in sorted(numbers))


def _is_of(grant: Grant, fact: Reserved) -> bool:
    recorded = (fact.agent, fact.scope, fact.is_file, fact.shared)
    return (grant.agent, grant.scope, grant.is_file, grant.shared) == recorded
