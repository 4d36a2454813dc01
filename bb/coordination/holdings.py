"""Every reservation there ever was, as a fold; and what one is worth at a moment.

A reservation is named by the event that made it. Who may end or renew it is judged when the state is read, not when a
line is folded, because lines may arrive in any order: a release or a renewal counts if it is the holder's own, or a
person's; the first end counts, and the latest renewal.

Nothing is written when time passes. When a reservation ends by itself is computed from its holder's last sign of life
(`expiry`): a lease neither lapses under an agent at work nor outlives a dead one.
"""

from __future__ import annotations

from bb.coordination import scopes
from bb.coordination.facts import Expired, Released, Renewed, Reserved, TakenOver
from bb.kernel import clock, ids
from bb.kernel.order import earliest, event, latest, sortable
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.coordination.facts import HoldingFact
    from bb.kernel.order import Place, State

NAME = "reservation"
FACTS = (Reserved, Renewed, Released, Expired, TakenOver)

ACTIVE, RELEASED, EXPIRED, TAKEN_OVER = "active", "released", "expired", "taken_over"
ENDED = frozenset([RELEASED, EXPIRED, TAKEN_OVER])
PENDING, VOID = "pending", "void"  # a global one that is not published yet, or was not admitted
CONTESTED = "contested"  # made in two clones at once, and another one's stands

LONGEST = 24 * clock.HOUR  # without a word from the holder, no lease lasts longer


class Reservation(Record):
    """One reservation, as the ledger has it."""

    id: str
    agent: str
    scope: str
    bead: str
    ttl: int  # minutes
    shared: bool
    is_file: bool
    made_at: int
    renewed_at: int
    state: str
    ended_at: int | None
    ended_by: str | None
    place: str  # in the total order; sorts
    ended_place: str | None
    base: str | None = None  # the published commit that a global one was checked against

    def expiry(self, seen_at: int, now: int) -> int:
        """When it ends by itself, its holder having been SEEN last then. A clock ahead of ours counts as just seen."""
        since = min(max(self.made_at, self.renewed_at, seen_at), now)
        return min(since + self.ttl * clock.MINUTE, min(self.renewed_at, now) + LONGEST)


def keys(fact: HoldingFact, at: Place) -> list[str]:
    """The reservation that FACT is about."""
    return [event(at) if isinstance(fact, Reserved) else fact.reservation]


def step(state: State | None, fact: HoldingFact, at: Place, ts: str) -> State:
    """STATE after one more fact."""
    after = dict(state or {})
    match fact:
        case Reserved(agent, scope, bead, ttl, shared, is_file, base, _):
            earliest(after, "made", at, [ts, agent, scope, bead, ttl, shared, is_file, base])
        case Renewed(agent, _, ttl):
            latest(after, f"renewed {agent}", at, [ts, ttl])
        case Released(agent):
            earliest(after, f"{RELEASED} {agent}", at, ts)
        case Expired(agent):
            earliest(after, f"{EXPIRED} {agent}", at, ts)
        case TakenOver(agent, archived=archived):
            earliest(after, f"{archived} {agent}", at, ts)
    return after


def reservation(name: str, state: State | None) -> Reservation | None:
    """The reservation that STATE describes; None until it is known here who made it."""
    if state is None or "made" not in state:
        return None
    *place, (ts, agent, scope, bead, ttl, shared, is_file, base) = state["made"]
    made_at = renewed_at = clock.parse_or(ts, 0)
    renewals = [state[register] for by in (agent, ids.PERSON) if (register := f"renewed {by}") in state]
    if renewals:
        *_, (renewed, ttl) = max(renewals)
        renewed_at = max(made_at, clock.parse_or(renewed, 0))
    how, by, ended_at, ended_place = ACTIVE, None, None, None
    if end := _end(state, agent):
        at, how, by, ts = end
        ended_at, ended_place = clock.parse_or(ts, 0), sortable(at)
    return Reservation(
        *(name, agent, scope, bead, ttl, shared, is_file, made_at, renewed_at),
        *(how, ended_at, by, sortable(place), ended_place, base),
    )


def terms(name: str, state: State) -> list[tuple[str, str]]:  # noqa: ARG001
    """What the reservation is found by: (term, place within the term)."""
    if "made" not in state:
        return []
    *at, (_, agent, text, bead, _, _, is_file, _) = state["made"]
    place = sortable(at)
    always = [(f"of {agent}", place), (f"bead {bead}", place)]
    if len(state) > 1 and (end := _end(state, agent)):
        return [*always, (end[1], place)]
    scope = scopes.stored(text)
    if scope is None:  # nobody can tell what it is about, so it stands in nobody's way
        return always
    where = "file" if is_file else "at"
    return [*always, ("live", place), (f"live of {agent}", place), (where, scopes.lead(scope))]


def _end(state: State, agent: str) -> tuple[list[Any], str, str, str] | None:
    """How it ended first, if it did: at what place, how, by whom and when.

    What holds in every clone is not ended by what somebody in one of them says; an admitted take-over ends it
    (`admission`).
    """
    ends: list[tuple[list[Any], str, str, str]] = []
    is_global = state["made"][3][-1] is not None
    for register, (*place, ts) in state.items():
        how, _, by = register.partition(" ")
        is_own = by in (agent, ids.PERSON)
        if how in ENDED and (is_own or (how != RELEASED and not is_global)):
            ends.append((place, how, by, ts))
    return min(ends) if ends else None
