"""The terms of a fleet, as the charter of a published ledger names them: the engine that orders its lines.

While a charter has them, the branch is the archive of an engine: its commits have the rows of the engine's log, in its
order. The push of the first charter with terms is the switch, and so is the push of the first one without.
"""

from __future__ import annotations

from bb.kernel import ids
from bb.kernel.errors import Refused
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

FORMAT = 2  # of a ledger whose branch is, or was, such an archive
RULE = 2  # of admission (`coordination/holdings/ordered_admission.py`); readers of another rule would disagree
CARRIERS = ("postgres", "nats")
INCARNATION_LENGTH = ids.INCARNATION_LENGTH

FleetIsOn = Refused.declare(
    "FLEET_IS_ON",
    "A fleet's engine orders the lines of this ledger",
    hint="fetch its charter: `bb sync --pull`; then connect this clone: `bb fleet join ENGINE`",
)
NoFleet = Refused.declare(
    "NO_FLEET",
    "No fleet's engine orders the lines of this ledger",
    hint="`bb sync` publishes them; to begin a fleet: `bb fleet begin --help`",
)


class FleetTerms(Record):
    """The kind of engine, the INCARNATION of its log, the FIRST place in it, and the number of the RULE of admission.
    The first place is higher than every generation and place before. BY, REASON and TS say who began it."""

    carrier: str
    incarnation: str
    first: int
    rule: int = RULE
    by: str = ""
    reason: str = ""
    ts: str = ""

    @classmethod
    def from_json(cls, found: Any) -> Self:
        """The terms from their JSON form. Raises ValueError, or another error, if the form is invalid."""
        read = cls(**{name: found[name] for name in cls.__match_args__})
        if not all(type(text) is str for text in (read.carrier, read.incarnation, read.by, read.reason, read.ts)):
            raise ValueError("a text of the fleet is invalid")
        if not ids.is_incarnation(read.incarnation):
            raise ValueError("the incarnation of the fleet is invalid")
        if not all(type(number) is int and number > 0 for number in (read.first, read.rule)):
            raise ValueError("a number of the fleet is invalid")
        return read
