"""Every reservation there ever was, as a fold; and what one is worth at a moment.

A reservation is named by the event that made it. Who may end or renew it is judged when the state is read, not when a
line is folded, because lines may arrive in any order: a release or a renewal counts if it is the holder's own, or a
person's; the first end counts, and the latest renewal. A holder or the person may pass one on: then somebody else holds
it from there on, and what its former holder says of it counts no more (`tenures`).

What the person holds is a freeze. It lasts until the person lifts it, or for as long as was said, whoever is at work.

Nothing is written when time passes. When a reservation ends by itself is computed from its holder's last sign of life
(`expiry`): a lease neither lapses under an agent at work nor outlives a dead one.
"""

from __future__ import annotations

from bb.coordination.facts import Expired, Released, Renewed, Reserved, TakenOver, Transferred
from bb.coordination.holdings import scopes
from bb.kernel import clock, ids
from bb.kernel.order import earliest, event, latest, sortable
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.coordination.facts import HoldingFact
    from bb.kernel.order import Place, State

NAME = "reservation"
FACTS = (Reserved, Renewed, Released, Transferred, Expired, TakenOver)

ACTIVE, RELEASED, EXPIRED, TAKEN_OVER = "active", "released", "expired", "taken_over"
ENDED = frozenset([RELEASED, EXPIRED, TAKEN_OVER])
TRANSFERRED = "transferred"  # how it ended for who held it before
PENDING, VOID = "pending", "void"  # a global one that is not published yet, or was not admitted
CONTESTED = "contested"  # made in two clones at once, and another one's stands

LONGEST = 24 * clock.HOUR  # without a word from the holder, no lease lasts longer
FOREVER = (1 << 31) - 1  # minutes: a freeze without an end


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
    why: str | None = None  # of a freeze
    given_by: str | None = None  # who passed it on to this holder

    @property
    def is_freeze(self) -> bool:
        """Whether it is the person's, who holds nothing to work there, but to keep every agent out."""
        return self.agent == ids.PERSON

    @property
    def has_no_end(self) -> bool:
        """Whether it lasts until somebody says otherwise."""
        return self.is_freeze and self.ttl >= FOREVER

    def expiry(self, seen_at: int, now: int) -> int:
        """When it ends by itself, its holder having been SEEN last then. A clock ahead of ours counts as just seen."""
        if self.is_freeze:
            return min(max(self.made_at, self.renewed_at) + self.ttl * clock.MINUTE, clock.LAST)
        since = min(max(self.made_at, self.renewed_at, seen_at), now)
        return min(since + self.ttl * clock.MINUTE, min(self.renewed_at, now) + LONGEST)


class _Word(Record):
    """What somebody said of a reservation: that it ended, and how; or whom it is passed on to."""

    place: list[Any]
    how: str
    by: str
    ts: str
    to: str | None = None


def keys(fact: HoldingFact, at: Place) -> list[str]:
    """The reservation that FACT is about."""
    return [event(at) if isinstance(fact, Reserved) else fact.reservation]


def step(state: State | None, fact: HoldingFact, at: Place, ts: str) -> State:
    """STATE after one more fact. Whose word counts depends on when it was said, so each end is kept."""
    after = dict(state or {})
    match fact:
        case Reserved(agent, scope, bead, ttl, shared, is_file, base, _, why):
            earliest(after, "made", at, [ts, agent, scope, bead, ttl, shared, is_file, base, why])
        case Renewed(agent, _, ttl):
            latest(after, f"renewed {agent}", at, [ts, ttl])
        case Released(agent):
            earliest(after, f"{RELEASED} {agent} {sortable(at)}", at, [ts, None])
        case Expired(agent):
            earliest(after, f"{EXPIRED} {agent} {sortable(at)}", at, [ts, None])
        case TakenOver(agent, archived=archived):
            earliest(after, f"{archived} {agent} {sortable(at)}", at, [ts, None])
        case Transferred(agent, _, to):
            earliest(after, f"{TRANSFERRED} {agent} {sortable(at)}", at, [ts, to])
    return after


def reservation(name: str, state: State | None) -> Reservation | None:
    """The reservation that STATE describes, as its last holder has it; None until it is known here who made it."""
    return next(iter([*tenures(name, state)][-1:]), None)


def tenures(name: str, state: State | None) -> Iterator[Reservation]:
    """The reservation as each of its holders had it, one after the other."""
    if state is None or "made" not in state:
        return
    *place, (ts, agent, scope, bead, ttl, shared, is_file, base, why) = state["made"]
    given_by, words = None, _words(state)
    while True:
        made_at = renewed_at = clock.parse_or(ts, 0)
        since = place if given_by else None
        end = _end(agent, since, words, is_global=base is not None)
        if renewal := _renewal(state, agent, since, end.place if end and end.to else None):
            renewed_at, ttl = max(made_at, clock.parse_or(renewal[0], 0)), renewal[1]
        yield Reservation(
            *(name, agent, scope, bead, ttl, shared, is_file, made_at, renewed_at),
            end.how if end else ACTIVE,
            clock.parse_or(end.ts, 0) if end else None,
            end.by if end else None,
            sortable(place),
            sortable(end.place) if end else None,
            *(base, why, given_by),
        )
        if end is None or end.to is None:
            return
        place, ts, given_by, agent = end.place, end.ts, end.by, end.to


def terms(name: str, state: State) -> list[tuple[str, str]]:
    """What the reservation is found by: (term, place within the term)."""
    if "made" not in state:
        return []
    *at, (_, _, text, bead, _, _, is_file, _, _) = state["made"]
    place = sortable(at)
    holders = list(dict.fromkeys((each.agent, each.state) for each in tenures(name, state)))
    agent, how = holders[-1]
    always = [(f"of {each}", place) for each in dict.fromkeys(each for each, _ in holders)]
    if agent != ids.PERSON:
        always.append((f"bead {bead}", place))
    if how != ACTIVE:
        return [*always, (how, place)]
    scope = scopes.stored(text)
    if scope is None:  # nobody can tell what it is about, so it stands in nobody's way
        return always
    where = "file" if is_file else "at"
    return [*always, ("live", place), (f"live of {agent}", place), (where, scopes.lead(scope))]


def _words(state: State) -> list[_Word]:
    """What was said of how it ended, in order."""
    if len(state) == 1:
        return []
    found = []
    for register, (*place, value) in state.items():
        how, _, rest = register.partition(" ")
        if how in ENDED or how == TRANSFERRED:
            found.append(_Word(place, how, rest.partition(" ")[0], *value))
    return sorted(found, key=lambda word: word.place)


def _end(holder: str, since: Place | None, words: list[_Word], *, is_global: bool) -> _Word | None:
    """How it ended first for who has held it SINCE a place, or from the first, if it did.

    What holds in every clone is not ended by what somebody in one of them says, nor passed on; an admitted take-over
    ends it (`admission`). A freeze is nobody's to take.
    """
    is_open = not is_global and holder != ids.PERSON
    for word in words:
        if since is not None and word.place <= since:
            continue
        is_own = word.by in (holder, ids.PERSON)
        if word.to is not None:
            counts = is_own and is_open and word.to != holder
        else:
            counts = is_own or (is_open and word.how != RELEASED)
        if counts:
            return word
    return None


def _renewal(state: State, holder: str, since: Place | None, upto: Place | None) -> Any:
    """The latest renewal that counts, of somebody who has held it SINCE a place, or from the first, and UPTO another:
    when, and for how many minutes."""
    said = [state[register] for by in (holder, ids.PERSON) if (register := f"renewed {by}") in state]
    counting = [
        register
        for register in said
        if (since is None or register[:3] > since) and (upto is None or register[:3] < upto)
    ]
    return max(counting)[3] if counting else None
