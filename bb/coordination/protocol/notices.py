"""INCURSION and RESUME events, as a fold with one entry for each, and the resolutions of INCURSIONs.

Authorization is checked when the state is read, because lines may arrive in any order. The owner and the person may
resolve an incursion in any way; the incoming agent may resolve it as reverted. The first valid resolution in the total
order applies.

Two clones may record the same incursion independently. Both entries are then one incident: the earliest entry is shown,
and a resolution of one applies to both. The owner gets a notification from each.
"""

from __future__ import annotations

from bb.coordination.facts import CONTESTED, OVERLAPPING, REVERTED, TOUCHED, Incurred, Resolved, Resumed
from bb.coordination.protocol.events import INCURSION, RESUME
from bb.kernel import ids
from bb.kernel.record import Record
from bb.kernel.total_order import earliest, event, sortable
from bb.kernel.validation import shown_bead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bb.coordination.facts import NoticeFact
    from bb.kernel.total_order import Place, State

NAME = "notice"
FACTS = (Incurred, Resumed, Resolved)

SAID = "said"  # the register of the notice itself; the other registers are resolutions
MAY_BE_OPEN = (OVERLAPPING, CONTESTED, TOUCHED)
UNSETTLED = "unsettled"  # the search term of unresolved incursions
OPEN, CLOSED = "open", "closed"


class Resolution(Record):
    """The resolution of an INCURSION."""

    state: str
    by: str
    at: str
    note: str | None


class Incident(Record):
    """An INCURSION with its current state."""

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
    """The entry of FACT. A resolution belongs to the entry of its notice."""
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
    """The search terms of a notice."""
    if not is_known(state):
        return []
    place, fact = sortable(state[SAID][:3]), notice(state)
    if isinstance(fact, Incurred):
        always = [("protocol", place), (INCURSION, place), (fact.incident, place)]
        always += [(f"bead {fact.bead}", place)] if shown_bead(fact.bead) else []
        always += [(overlap_term(*pair), place) for pair in overlaps(fact, [state])]
        is_unsettled = fact.outcome in MAY_BE_OPEN and resolution(fact, [state]) is None
        return [*always, (UNSETTLED, place)] if is_unsettled else always
    beads = dict.fromkeys(bead for bead in (fact.bead, *fact.beads) if bead)
    return [("protocol", place), (RESUME, place), *((f"bead {bead}", place) for bead in beads)]


def is_known(state: State | None) -> bool:
    """Whether the notice itself has arrived in this clone, and not only its resolution."""
    return state is not None and SAID in state


def notice(state: State) -> Incurred | Resumed:
    """The notice that STATE describes."""
    _, event_type, members = state[SAID][3]
    return Incurred(**members) if event_type == INCURSION else Resumed(**members)


def noticed_at(state: State) -> str:
    """The time at which it was recorded, by its writer's clock."""
    return str(state[SAID][3][0])


def may_resolve(fact: Incurred, who: str, state: str) -> bool:
    """Whether WHO may resolve the INCURSION as STATE."""
    return who in (fact.owner, ids.PERSON) or (who == fact.incoming and state == REVERTED)


def overlaps(fact: Incurred, states: Sequence[State]) -> list[tuple[str, str, str]]:
    """The overlaps that both agents know of, by --allow-overlap: the owner's reservation, the incoming agent, and its
    scope. None if it was resolved as reverted."""
    if fact.outcome != OVERLAPPING:
        return []
    resolved = resolution(fact, states)
    is_undone = resolved is not None and resolved.state == REVERTED
    return [] if is_undone else [(name, fact.incoming, fact.scope) for name in (fact.reservation, *fact.others)]


def overlap_term(reservation: str, incoming: str, scope: str) -> str:
    """The search term for a known overlap with a RESERVATION."""
    return f"overlap {reservation} {incoming} {scope}"


def resolution(fact: Incurred, states: Sequence[State]) -> Resolution | None:
    """The resolution of an INCURSION, given all entries that record it."""
    if fact.outcome not in MAY_BE_OPEN:
        return None
    resolutions: list[tuple[Place, Resolution]] = []
    for entry in states:
        for register, (*place, value) in entry.items():
            state, _, who = register.partition(" ")
            if who and may_resolve(fact, who, state):
                resolutions.append((place, Resolution(state, who, *value)))
    return min(resolutions, key=lambda one: one[0])[1] if resolutions else None
