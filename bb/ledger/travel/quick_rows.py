"""Checks a row and reads its facts in one pass, if its lines are as bb writes them. The relay of a fleet does this for
every row of every machine, so its cost limits how many reservations a fleet can make.

It finds what `carrier/sound_rows.py` and `row_facts.py` find, or nothing: then they are asked.
"""

from __future__ import annotations

import re

from bb.kernel import ids, validation
from bb.kernel.digest import digest
from bb.ledger.journal import kinds
from bb.ledger.journal import line as lines
from bb.ledger.journal.bulk_check import decode
from bb.ledger.journal.line import LEAP, Link
from bb.ledger.travel import row_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.coordination.facts import AgentFact, HoldingFact
    from bb.ledger.carrier.door import Row
    from bb.ledger.travel.row_facts import Facts

# A line as bb writes it. Its groups: the head, its writer and number, its Lamport time and its time, what it is about
# (kind, group and directory), its kind, its author, its key if it has one, the two digests, and the data.
LINE = re.compile(
    rb"""(?m)^
    (\{"v":1,"id":"([a-z0-9]*)\.([1-9][0-9]*)","l":([1-9][0-9]{0,15}),"ts":"([^"]*)",
    ("kind":"([^"]*)","group_id":"[^"]*","scope_key":"[^"]*"),"by":"([^"]*)"(,"k":"[^"]*")?,
    "p":"([0-9a-f]{32})","dh":"([0-9a-f]{32})"),"data":(.*)\}\n
    """.replace(b"\n    ", b"")
)
DEEP = 100  # brackets; data with more of them may be nested too deeply
DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"0" * 9)
TIME = validation.TIME.encode()

MOST_SOUND = 10_000
_SOUND: dict[bytes, str] = {}  # what valid lines were about, and their kind


def read(row: Row, before: Link) -> tuple[Link, Facts, list[str]] | None:
    """The link of the last line of ROW, whose writer's last line that counts has the link BEFORE; and its facts and
    recorders, as `row_facts.of_row` finds them where all lines count. None if it must be read in the other way."""
    octets, writer = row.octets, row.writer.encode()
    found = LINE.findall(octets)
    if row.first != before.n + 1 or not octets.endswith(b"\n") or len(octets) >= lines.MAX_LINE:
        return None
    if len(found) != octets.count(b"\n"):  # so each line feed ends a match
        return None
    number, clock, link = before.n, before.lamport, before.head_digest
    facts: Facts = []
    recorders: dict[str, None] = {}
    for head, of, n, lamport, time, about, kind, by, key, p, dh, data in found:
        number, earlier, clock = number + 1, clock, int(lamport)
        if of != writer or n != b"%d" % number or not earlier < clock <= earlier + LEAP:
            return None
        if p != link.encode() or dh != digest(data).encode():
            return None
        link = digest(head)
        if recorder := row_facts.principal(by):
            recorders[recorder] = None
        if kind in row_facts.KINDS:
            is_usual = recorder and not key and about in _SOUND
            fact = _usual_fact(time, _SOUND[about], recorder, data) if is_usual else None
            fact = fact or _fact(b'%b,"data":%b}' % (head, data), about, kind)
            if fact is not None:
                facts.append((ids.event_id(row.writer, number), fact))
    return Link(number, clock, link), facts, list(recorders)


def _fact(raw: bytes, about: bytes, kind: bytes) -> HoldingFact | AgentFact | None:
    """The fact on a line, read member by member."""
    fact = row_facts.fact_on(raw, decode)
    if fact is not None and len(_SOUND) < MOST_SOUND:
        _SOUND[about] = kind.decode()
    return fact


def _usual_fact(time: bytes, kind: str, by: str, data: bytes) -> HoldingFact | AgentFact | None:
    """The fact on a line by a valid author, if a valid line was about the same before, so that only the data is to be
    checked. None if it must be read member by member."""
    if time.translate(DIGITS_TO_ZERO) != TIME:
        return None
    if data.count(b"[") + data.count(b"{") > DEEP:
        return None
    try:
        content = decode(data)
    except ValueError:
        return None
    fact = kinds.fact_of(kind, content, by) if type(content) is dict else None
    return fact if isinstance(fact, row_facts.FACTS) else None
