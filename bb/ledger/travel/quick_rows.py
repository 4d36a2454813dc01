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
    from bb.ledger.journal.kinds import Maker
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
# The data of most lines. Its groups: the name of a member whose text is another one in each line, the text, and the
# rest, which many lines have alike.
DATA = re.compile(rb"""\{"_":"[a-z0-9]*","([a-z_]+)":"([ !#-\[\]-~]*)"(.*)\}""")
DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"0" * 9)
TIME = validation.TIME.encode()

MOST_MAKERS, LONGEST_REST = 10_000, 500
# Makers of facts, by what a valid line was about, the member with the text, and the rest of its data.
_MAKERS: dict[tuple[bytes, bytes, bytes], Maker] = {}


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
            fact = _usual_fact(time, about, recorder, data) if recorder and not key else None
            fact = fact or _fact(b'%b,"data":%b}' % (head, data), about, kind, data)
            if fact is not None:
                facts.append((ids.event_id(row.writer, number), fact))
    return Link(number, clock, link), facts, list(recorders)


def _usual_fact(time: bytes, about: bytes, by: str, data: bytes) -> HoldingFact | AgentFact | None:
    """The fact on a line by a valid author, if a valid line differed only in its time, its author, its salt and one
    text. None if it must be read member by member."""
    parts = DATA.fullmatch(data)
    if parts is None or time.translate(DIGITS_TO_ZERO) != TIME:
        return None
    member, text, rest = parts.groups()
    make = _MAKERS.get((about, member, rest))
    fact = make(by, text.decode()) if make else None
    return fact if isinstance(fact, row_facts.FACTS) else None


def _fact(raw: bytes, about: bytes, kind: bytes, data: bytes) -> HoldingFact | AgentFact | None:
    """The fact on a line, read member by member. Its maker is kept, so that lines like it are read more quickly."""
    fact = row_facts.fact_on(raw, decode)
    parts = DATA.fullmatch(data)
    if fact is None or parts is None:
        return fact
    member, _, rest = parts.groups()
    may_repeat = b'"%b"' % member in rest or b"\\" in rest  # the member, so that the text is not its value
    if may_repeat or len(rest) > LONGEST_REST or not _is_object(data):
        return fact
    if make := kinds.maker(kind.decode(), fact, member.decode()):
        if len(_MAKERS) >= MOST_MAKERS:
            _MAKERS.clear()
        _MAKERS[about, member, rest] = make
    return fact


def _is_object(data: bytes) -> bool:
    """Whether DATA ends where its object ends, and has no members of the line behind it."""
    try:
        return type(decode(data)) is dict
    except ValueError:
        return False
