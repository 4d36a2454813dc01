"""INCURSION and RESUME as they were recorded, each an entry of its own; and what becomes of an INCURSION.

Who may settle one is judged when the state is read, because lines may arrive in any order: its owner and the person may
say anything, who came in may say that it has taken everything back. The first of them in the total order counts.

Two clones may come upon the same thing without knowing of each other. Each then has recorded an entry, and they are
one incident: the earliest is shown, and what is said of either is said of both. The owner has a letter from each.
"""

from __future__ import annotations

from bb.coordination.facts import CONTESTED, OVERLAPPING, REVERTED, TOUCHED, Incurred, Resolved, Resumed
from bb.coordination.protocol.events import INCURSION, RESUME
from bb.kernel import ids
from bb.kernel.order import earliest, event, sortable
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bb.coordination.facts import NoticeFact
    from bb.kernel.order import Place, State

NAME = "notice"
FACTS = (Incurred, Resumed, Resolved)

SAID = "said"  # the register of the notice itself; any other is what somebody says of it
MAY_BE_OPEN = (OVERLAPPING, CONTESTED, TOUCHED)
UNSETTLED = "unsettled"  # the term of those that nobody has settled
OPEN, CLOSED = "open", "closed"


class Resolution(Record):
    """What became of an INCURSION."""

    state: str
    by: str
    at: str
    note: str | None


class Incident(Record):
    """An INCURSION as it stands."""

    id: str
    at: str
    fact: Incurred
    resolution: Resolution | None
    is_open: bool

    @property
    def state(self) -> str:
        if self.resolution:
            return self.resolution.state
        return OPEN if self.is_open else CLOSED


def keys(fact: NoticeFact, at: Place) -> list[str]:
    """A notice is an entry of its own; what becomes of it belongs there."""
    return [fact.event if isinstance(fact, Resolved) else event(at)]


def step(state: State | None, fact: NoticeFact, at: Place, ts: str) -> State:
    """STATE after one more fact."""
    after = dict(state or {})
    if isinstance(fact, Resolved):
        earliest(after, f"{fact.state} {fact.agent}", at, [ts, fact.note])
    else:
        earliest(after, SAID, at, [ts, INCURSION if isinstance(fact, Incurred) else RESUME, fact.as_dict()])
    return after


def terms(name: str, state: State) -> list[tuple[str, str]]:  # noqa: ARG001
    """What a notice is found by."""
    if not is_known(state):
        return []
    place, fact = sortable(state[SAID][:3]), notice(state)
    if isinstance(fact, Incurred):
        found = [("protocol", place), (INCURSION, place), (f"bead {fact.bead}", place), (fact.incident, place)]
        is_unsettled = fact.outcome in MAY_BE_OPEN and resolution(fact, [state]) is None
        return [*found, (UNSETTLED, place)] if is_unsettled else found
    beads = dict.fromkeys(bead for bead in (fact.bead, *fact.beads) if bead)
    return [("protocol", place), (RESUME, place), *((f"bead {bead}", place) for bead in beads)]


def is_known(state: State | None) -> bool:
    """Whether the notice itself has arrived here, and not only what became of it."""
    return state is not None and SAID in state


def notice(state: State) -> Incurred | Resumed:
    """The notice that STATE describes."""
    _, event_type, said = state[SAID][3]
    return Incurred(**said) if event_type == INCURSION else Resumed(**said)


def noticed_at(state: State) -> str:
    """When it was recorded, by its writer's clock."""
    return str(state[SAID][3][0])


def may_resolve(fact: Incurred, who: str, state: str) -> bool:
    """Whether WHO may say that this is what becomes of an INCURSION."""
    return who in (fact.owner, ids.PERSON) or (who == fact.incoming and state == REVERTED)


def resolution(fact: Incurred, states: Sequence[State]) -> Resolution | None:
    """What became of an INCURSION, given every entry that records it."""
    if fact.outcome not in MAY_BE_OPEN:
        return None
    said = []
    for entry in states:
        for register, (*place, value) in entry.items():
            state, _, who = register.partition(" ")
            if who and may_resolve(fact, who, state):
                said.append((place, state, who, *value))
    if not said:
        return None
    _, state, who, ts, note = min(said, key=lambda each: each[0])
    return Resolution(state, who, ts, note)
