"""What admission by an engine's order reads in the lines of one row: the facts that decide, and who recorded anything.

The relay reads rows as the engine gives them, and every other reader finds them in the published ledger. Both use this
module, so they agree.
"""

from __future__ import annotations

import re

from bb.coordination.facts import NameSettled, Registered, Retired
from bb.coordination.holdings import holdings
from bb.kernel import ids, validation
from bb.ledger.journal import kinds
from bb.ledger.journal import line as lines
from bb.ledger.journal.line import BadLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from bb.coordination.facts import AgentFact, HoldingFact

    Facts = list[tuple[str, HoldingFact | AgentFact]]
    Decoder = Callable[[bytes], Any]
    Counts = Callable[[str, int, int, str], bool]  # writer, number of the line, of the row's last line, author

FACTS = (*holdings.FACTS, Registered, Retired, NameSettled)
KINDS = frozenset(kinds.BY_FACT[fact.__name__][0].encode() for fact in FACTS)
BY, QUOTE = b',"by":"', b'"'

# A line as bb writes it: its time, what it is about (kind, group, directory and author), its kind, its author, its
# idempotency key if it has one, and its data. Other lines that are valid JSON are read member by member.
LINE = re.compile(
    rb"""(?m)^
    \{"v":1,"id":"[a-z0-9.]*","l":[1-9][0-9]*,"ts":"([^"]*)",
    ("kind":"([^"]*)","group_id":"[^"]*","scope_key":"[^"]*","by":"([^"]*)")(,"k":"[^"]*")?,
    "p":"[0-9a-f]{32}","dh":"[0-9a-f]{32}","data":(.*)\}\n
    """.replace(b"\n    ", b"")
)
DEEP = 100  # brackets; data with more of them may be nested too deeply

MOST_AUTHORS = 10_000
_AUTHORS: dict[bytes, str] = {}  # ids that were checked and are valid
_SOUND: dict[bytes, tuple[str, str]] = {}  # kind and author of what valid lines were about


def of_row(
    writer: str, first: int, octets: bytes, counts: Counts | None = None, decoder: Decoder | None = None
) -> tuple[Facts, list[str]]:
    """The facts about reservations and names in the lines of a row, each with its event id, and the agents that
    recorded any line of it. With COUNTS, only of the lines that count. DECODER is a faster reader of JSON."""
    if counts is None and decoder:
        found = LINE.findall(octets)
        if len(found) == octets.count(b"\n"):
            return _of_usual_lines(writer, first, octets, found, decoder)
    facts: Facts = []
    recorders: dict[str, None] = {}
    raws = octets.split(b"\n")[:-1]
    last = first + len(raws) - 1
    for n, raw in enumerate(raws, first):
        by = author(raw)
        if by and (counts is None or counts(writer, n, last, by)):
            recorders[by] = None
        fact = _fact(raw, decoder)
        if fact is not None and (counts is None or counts(writer, n, last, fact.agent)):
            facts.append((ids.event_id(writer, n), fact))
    return facts, list(recorders)


def _of_usual_lines(
    writer: str, first: int, octets: bytes, found: Sequence[Sequence[bytes]], decoder: Decoder
) -> tuple[Facts, list[str]]:
    """The same, for lines that LINE has found."""
    facts: Facts = []
    recorders: dict[str, None] = {}
    for place, (time, about, kind, by, key, data) in enumerate(found):
        known = _AUTHORS.get(by)
        recorder = _author(by) if known is None else known
        if recorder:
            recorders[recorder] = None
        if kind in KINDS:
            fact = None if key else _quick_fact(time, about, data, decoder)
            if fact is None:
                raw = octets.split(b"\n", place + 1)[place]
                fact = _fact(raw, decoder)
                if fact is not None and len(_SOUND) < MOST_AUTHORS:
                    _SOUND[about] = kind.decode(), by.decode()
            if fact is not None:
                facts.append((ids.event_id(writer, first + place), fact))
    return facts, list(recorders)


def _quick_fact(time: bytes, about: bytes, data: bytes, decoder: Decoder) -> HoldingFact | AgentFact | None:
    """The fact on a line, if a valid line was about the same before, so that only its data is new. None if it must be
    read member by member."""
    sound = _SOUND.get(about)
    if sound is None or not time.isascii() or not validation.is_time(time.decode()):
        return None
    if data.count(b"[") + data.count(b"{") > DEEP:
        return None
    try:
        content = decoder(data)
    except ValueError:
        return None
    fact = kinds.fact_of(sound[0], content, sound[1]) if type(content) is dict else None
    return fact if isinstance(fact, FACTS) else None


def _fact(raw: bytes, decoder: Decoder | None) -> HoldingFact | AgentFact | None:
    try:
        if lines.clock_and_kind(raw)[1] not in KINDS:
            return None
    except BadLine:
        return None
    fact = kinds.fact_on(raw, decoder)
    return fact if isinstance(fact, FACTS) else None


def author(raw: bytes) -> str:
    """The author of a line, by its bytes; empty if it names none. No text in a head can contain these bytes."""
    return _author(raw.partition(BY)[2].partition(QUOTE)[0])


def _author(octets: bytes) -> str:
    known = _AUTHORS.get(octets)
    if known is None:
        by = octets.decode("ascii", "replace")
        known = by if ids.is_principal(by) else ""
        if known and len(_AUTHORS) < MOST_AUTHORS:
            _AUTHORS[octets] = known
    return known
