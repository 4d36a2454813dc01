"""What happened to agents, and to what they hold."""

from __future__ import annotations

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# how an INCURSION ended
REFUSED, OVERLAPPING, TAKEN_OVER, TOUCHED = "refused", "overlapping", "taken_over", "touched"
CONTESTED = "contested"  # made in two clones at once; it is OWNER's that stands
# what it was found by that somebody had touched what another agent holds
HOOK, COMMIT, CI = "hook", "commit", "ci"
# what became of an INCURSION that was open
ACCEPTED, REVERTED, TRANSFERRED = "accepted", "reverted", "transferred"


class Registered(Record):
    """An agent took an identity: a new one, or a retired one again. An actor of CCCC has a PROFILE: how it runs.

    SESSION is the session that works under the name from here on (`callers`); None where nobody knows.
    """

    agent: str
    role: str
    title: str
    profile: dict[str, Any] | None = None
    session: str | None = None


class Updated(Record):
    """An identity changed; what is None, or not in the PROFILE, stayed as it was. Adoption says its new SESSION."""

    agent: str
    role: str | None = None
    title: str | None = None
    profile: dict[str, Any] | None = None
    session: str | None = None


class Started(Record):
    """An actor is to run from now on."""

    agent: str


class Stopped(Record):
    """An actor is not to run any more."""

    agent: str


class Retired(Record):
    """An identity is finished with; its history stays."""

    agent: str


class Seen(Record):
    """An agent was heard of again; AFTER is what it had come to count as. SESSION confirms one that bb had named."""

    agent: str
    after: str
    session: str | None = None


class Paused(Record):
    """AGENT, or everybody, is to change nothing until it is let go on. Only the person's word counts."""

    by: str
    agent: str
    why: str | None = None


class Unpaused(Record):
    """AGENT, or everybody, may go on."""

    by: str
    agent: str


class Pinned(Record):
    """After how many MINUTES of silence an agent counts as stale, in every clone; 0 leaves it to each clone again. Only
    the person's word counts."""

    by: str
    minutes: int


class Reserved(Record):
    """AGENT holds SCOPE from now on, for TTL minutes without a sign of life. The person's is a freeze, and says WHY."""

    agent: str
    scope: str
    bead: str
    ttl: int
    shared: bool = False
    is_file: bool = False  # SCOPE was a file then, and so has nothing beneath it
    base: str | None = None  # for a global one: the published commit it was checked against
    takes: str | None = None  # and the admitted reservations it takes over, their names with a space between
    why: str | None = None


class Renewed(Record):
    """The holder wants to keep its reservation: everything is counted anew from here."""

    agent: str
    reservation: str
    ttl: int


class Released(Record):
    """A reservation was given back."""

    agent: str
    reservation: str


class Transferred(Record):
    """A reservation is the agent's from now on that it was given TO, as it is. Its holder's word counts, and the
    person's."""

    agent: str
    reservation: str
    to: str


class Expired(Record):
    """A reservation was found to have outlived its time."""

    agent: str
    reservation: str


class TakenOver(Record):
    """AGENT took the scope of somebody who had fallen silent; ARCHIVED is the state the old reservation ends in."""

    agent: str
    reservation: str
    owner: str
    liveness: str
    archived: str


class Incurred(Record):
    """An INCURSION: INCOMING wants, or has, what overlaps a reservation of OWNER. OUTCOME says how it ended.

    Where INCOMING has TOUCHED it already, SCOPE is the first of the paths.
    """

    incoming: str
    owner: str
    reservation: str
    kind: str
    scope: str
    held: str
    liveness: str
    bead: str
    outcome: str
    hint: str
    found_by: str = ""
    paths: tuple[str, ...] = ()  # the first of them
    count: int = 0  # of all of them
    commit: str = ""
    mark: str = ""  # stands for what was touched, where no commit does

    @property
    def incident(self) -> str:
        """What makes two of them one and the same. Trying again elsewhere in the same reservation is nothing new;
        to hold, or to have changed, another part of it is."""
        what = {OVERLAPPING: self.scope, CONTESTED: self.scope, TOUCHED: self.commit or self.mark}.get(
            self.outcome, self.kind
        )
        return f"incident {self.reservation} {self.incoming} {self.outcome} {what}"

    @property
    def where(self) -> str:
        """What was wanted or touched, in a few words."""
        return f"{self.scope} and {self.count - 1} more" if self.count > 1 else self.scope


class Resolved(Record):
    """What becomes of an INCURSION: STATE says whether it stands, was taken back, or is INCOMING's to go on with."""

    agent: str
    event: str
    state: str
    note: str | None = None


class Redacted(Record):
    """AGENT takes an event back: its payload is hidden, for a REASON."""

    agent: str
    event: str
    reason: str


class Resumed(Record):
    """A RESUME: AGENT goes on under an identity that was there before, for a REASON and on EVIDENCE."""

    agent: str
    prior: str
    adopted: str
    reason: str
    evidence: str
    bead: str  # the first of the BEADS; empty where none is known
    beads: tuple[str, ...] = ()
    scope: str | None = None  # where the evidence lies


class Overridden(Record):
    """AGENT committed PATHS although others hold RESERVATIONS there, and gave a REASON."""

    agent: str
    reason: str
    paths: tuple[str, ...]
    reservations: tuple[str, ...]


AgentFact = Registered | Updated | Retired | Started | Stopped | Seen
PauseFact = Paused | Unpaused
ThresholdFact = Pinned
HoldingFact = Reserved | Renewed | Released | Transferred | Expired | TakenOver
NoticeFact = Incurred | Resumed | Resolved
GuardFact = Overridden
