"""Reads the facts of a row as `row_facts` does, and several times as fast if its lines are as bb writes them. The relay
of a fleet does this for every row of every machine.
"""

from __future__ import annotations

import re

from bb.kernel import ids, validation
from bb.ledger.journal import kinds
from bb.ledger.journal.bulk_check import decode
from bb.ledger.travel import row_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.coordination.facts import AgentFact, HoldingFact
    from bb.ledger.travel.row_facts import Facts

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

MOST_SOUND = 10_000
_SOUND: dict[bytes, tuple[str, str]] = {}  # kind and author of what valid lines were about


def of_row(writer: str, first: int, octets: bytes) -> tuple[Facts, list[str]]:
    """The same as `row_facts.of_row`, where all lines count."""
    found = LINE.findall(octets)
    if len(found) != octets.count(b"\n"):
        return row_facts.of_row(writer, first, octets, None, decode)
    facts: Facts = []
    recorders: dict[str, None] = {}
    for place, (time, about, kind, by, key, data) in enumerate(found):
        if recorder := row_facts.principal(by):
            recorders[recorder] = None
        if kind in row_facts.KINDS:
            fact = None if key else _fact(time, about, data)
            if fact is None:
                raw = octets.split(b"\n", place + 1)[place]
                fact = row_facts.fact_on(raw, decode)
                if fact is not None and len(_SOUND) < MOST_SOUND:
                    _SOUND[about] = kind.decode(), by.decode()
            if fact is not None:
                facts.append((ids.event_id(writer, first + place), fact))
    return facts, list(recorders)


def _fact(time: bytes, about: bytes, data: bytes) -> HoldingFact | AgentFact | None:
    """The fact on a line, if a valid line was about the same before, so that only its data is new. None if it must be
    read member by member."""
    sound = _SOUND.get(about)
    if sound is None or not time.isascii() or not validation.is_time(time.decode()):
        return None
    if data.count(b"[") + data.count(b"{") > DEEP:
        return None
    try:
        content = decode(data)
    except ValueError:
        return None
    fact = kinds.fact_of(sound[0], content, sound[1]) if type(content) is dict else None
    return fact if isinstance(fact, row_facts.FACTS) else None
