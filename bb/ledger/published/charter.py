"""`bb.json`: the charter of a published ledger. It names the repository and the formats needed to read and write it."""

from __future__ import annotations

from bb.kernel import json_text
from bb.kernel.errors import Conflict, Refused
from bb.kernel.record import Record
from bb.ledger.journal import clone
from bb.ledger.published import fleet_terms
from bb.ledger.published.arbiter import Arbiter
from bb.ledger.published.fleet_terms import FleetTerms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

CHARTER = "bb.json"
HIGHEST = 1 << 48  # epoch or generation; a higher number is an attempt to overflow sums
LEAP = 1 << 32  # generations that one commit may skip
READS = fleet_terms.FORMAT  # the highest format of a published ledger that this bb reads and writes


class NotALedger(Refused):
    """The branch holds something that is not a ledger."""

    code = "NOT_A_LEDGER"
    hint = "nothing was imported; look at the branch with `git log`, and ask who pushed to it"


LedgerRewritten = Refused.declare(
    "LEDGER_REWRITTEN",
    "The published ledger was rewritten: published lines are missing or changed",
    hint="nothing was imported, and your own copy is complete; to compare: `bb ledger restore --dry-run`",
)

NotOurLedger = Conflict.declare(
    "NOT_OUR_LEDGER",
    "The branch holds the ledger of a repository that the reviewed .bb/allowed_signers does not name",
    hint=(
        "nothing was imported; ask who pushed another repository's ledger there, and restore the branch. "
        "If the ledger is this repository's, correct `#bb repo` in .bb/allowed_signers"
    ),
)


def must_be_ours(repo: str, expected: str | None) -> None:
    """Refuse the ledger of REPO if another repository is EXPECTED."""
    if expected is not None and repo != expected:
        raise NotOurLedger(f"the ledger there belongs to {repo}, and this repository's is {expected or 'not known'}")


class Previous(Record):
    """The previous epoch: its last commit, its number of commits, and the agent that ended it, why and when."""

    commit: str
    generation: int
    by: str
    reason: str
    ts: str


class Charter(Record):
    """The repository a ledger belongs to, the formats needed to read and write it, its epoch, its arbiter, and the
    terms of its fleet if it has one. Ledgers that were published by earlier versions name no arbiter."""

    repo: str
    format: int = clone.FORMAT
    min_reader: int = clone.FORMAT
    min_writer: int = clone.FORMAT
    epoch: int = 1
    previous: Previous | None = None
    arbiter: Arbiter | None = None
    fleet: FleetTerms | None = None

    def as_json(self) -> dict[str, Any]:
        records = {"previous": self.previous, "arbiter": self.arbiter, "fleet": self.fleet}
        plain = {name: value for name, value in self.as_dict().items() if name not in records}
        return plain | {name: record.as_dict() for name, record in records.items() if record}

    @classmethod
    def from_json(cls, found: Any) -> Self:
        previous = Previous(**found["previous"]) if "previous" in found else None
        arbiter = Arbiter.from_json(found["arbiter"]) if "arbiter" in found else None
        fleet = FleetTerms.from_json(found["fleet"]) if "fleet" in found else None
        names = (name for name in cls.__match_args__ if name not in ("previous", "arbiter", "fleet"))
        return cls(**{name: found[name] for name in names}, previous=previous, arbiter=arbiter, fleet=fleet)

    def text(self) -> str:
        return json_text.dumps(self.as_json()) + "\n"

    def is_valid(self) -> bool:
        numbers = [self.format, self.min_reader, self.min_writer, self.epoch]
        if self.previous:
            texts = [value for name, value in self.previous.as_dict().items() if name != "generation"]
            numbers += [self.previous.generation]
            if not all(type(text) is str for text in texts):
                return False
        if self.arbiter:
            numbers += [self.arbiter.turn, self.arbiter.generation + 1]
        if self.fleet:
            numbers += [self.fleet.first]
            if any(type(level) is int and level < fleet_terms.FORMAT for level in numbers[:3]):
                return False
        is_first = self.epoch == 1
        are_right = all(type(number) is int and 0 < number < HIGHEST for number in numbers)
        return clone.is_repo_id(self.repo) and are_right and is_first == (self.previous is None)

    def may_read(self) -> None:
        if self.min_reader > READS:
            raise clone.LedgerTooNew(f"the published ledger is in format {self.format}, this bb reads up to {READS}")
        if self.fleet and (self.fleet.rule > fleet_terms.RULE or self.fleet.carrier not in fleet_terms.CARRIERS):
            rule, carrier = self.fleet.rule, self.fleet.carrier[:40]
            raise clone.LedgerTooNew(
                f"the fleet of this ledger uses {carrier!r} and rule {rule} of admission; "
                f"this bb knows {' and '.join(fleet_terms.CARRIERS)}, and rules up to {fleet_terms.RULE}"
            )

    def may_write(self) -> None:
        self.may_read()
        if self.min_writer > READS:
            raise clone.LedgerTooNew(
                f"the published ledger is in format {self.format}, this bb writes up to {READS}; "
                "`bb sync --pull` still works"
            )


def charter_of(octets: bytes) -> Charter:
    """The charter in `bb.json`. Refused if it is invalid, or needs a newer format than this bb reads."""
    try:
        charter = Charter.from_json(json_text.read(octets))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise NotALedger(f"{CHARTER} cannot be read") from error
    if not charter.is_valid():
        raise NotALedger(f"{CHARTER} has invalid values")
    charter.may_read()
    return charter
