"""All reservations, as a fold, and their expiry.

A reservation's id is the id of the event that made it. Authorization is checked when the state is read, not when a line
is folded, because lines may arrive in any order: a release or renewal counts if it is by the holder or a person. The
first end and the latest renewal apply. The holder or a person may transfer a reservation; afterwards the former
holder's facts no longer count (`tenures`).

A reservation of the person is a freeze. It lasts until the person lifts it, or for a given time.

Nothing is recorded when time passes. The expiry is computed from the holder's last heartbeat (`expiry`), so a
reservation does not expire while its holder works, and expires after its holder has stopped.
"""

from __future__ import annotations

from bb.coordination.facts import Expired, Released, Renewed, Reserved, TakenOver, Transferred
from bb.kernel import clock, ids
from bb.kernel.record import Record
from bb.kernel.total_order import earliest, event, latest, sortable
from bb.kernel.validation import AUTO, shown_bead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.coordination.facts import HoldingFact
    from bb.kernel.total_order import Place, State

NAME = "reservation"
FACTS = (Reserved, Renewed, Released, Transferred, Expired, TakenOver)

ACTIVE, RELEASED, EXPIRED, TAKEN_OVER = "active", "released", "expired", "taken_over"
ENDED = frozenset([RELEASED, EXPIRED, TAKEN_OVER])
TRANSFERRED = "transferred"  # how it ended for its former holder
PENDING, VOID = "pending", "void"  # a global reservation that is not published yet, or was not admitted
CONTESTED = "contested"  # made in two clones at once, and the other reservation won

# The kinds of holding. Shared and open ones coexist. In what an agent holds open, others may edit: lines decide.
EXCLUSIVE, SHARED, OPEN = "exclusive", "shared", "open"

LONGEST = 24 * clock.HOUR  # a reservation lasts no longer than this without renewal
FOREVER = (1 << 31) - 1  # minutes: a freeze without an end


class Reservation(Record):
    """One reservation according to the ledger."""

    id: str
    agent: str
    scope: str
    bead: str | None
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
    base: str | None = None  # the published commit that a global reservation was checked against
    why: str | None = None  # the reason for a freeze
    given_by: str | None = None  # the agent that transferred it to this holder
    is_automatic: bool = False  # made by an editor's hook, without a bead
    region: str | None = None  # the part of the file that it is about; SCOPE has it too
    is_open: bool = False
    order: str | None = None  # the incarnation of the engine that decides about a global reservation

    @property
    def is_global(self) -> bool:
        """Whether it is meant for every clone, so that it counts only if it is admitted."""
        return self.base is not None or self.order is not None

    @property
    def path(self) -> str:
        """The scope without its region."""
        return self.scope if self.region is None else self.scope[: -len(self.shown_region) - len("::")]

    @property
    def shown_region(self) -> str:
        """The region as users write it; empty without one."""
        if self.region is None:
            return ""
        from bb.coordination.holdings import regions  # noqa: PLC0415  (few reservations have a region)

        return regions.shown(self.region)

    @property
    def kind(self) -> str:
        """The kind of holding: exclusive, shared or open."""
        return OPEN if self.is_open else SHARED if self.shared else EXCLUSIVE

    @property
    def coexists(self) -> bool:
        """Whether it may be held beside reservations of others that may be, too: it is shared or open."""
        return self.shared or self.is_open

    @property
    def is_freeze(self) -> bool:
        """Whether it is a reservation of the person, which keeps all agents out."""
        return self.agent == ids.PERSON

    @property
    def is_lost(self) -> bool:
        """Whether somebody else ended it: it was taken over, or the person released or transferred it."""
        return not self.is_freeze and self.ended_by not in (None, self.agent)

    @property
    def has_no_end(self) -> bool:
        """Whether it lasts until the person lifts it."""
        return self.is_freeze and self.ttl >= FOREVER

    def expiry(self, seen_at: int, now: int) -> int:
        """The time at which it expires if its holder's last heartbeat was at SEEN_AT. Future times count as NOW."""
        if self.is_freeze:
            return min(max(self.made_at, self.renewed_at) + self.ttl * clock.MINUTE, clock.LAST)
        since = min(max(self.made_at, self.renewed_at, seen_at), now)
        return min(since + self.ttl * clock.MINUTE, min(self.renewed_at, now) + LONGEST)


class _Word(Record):
    """A fact about a reservation: it ended, or it was transferred."""

    place: list[Any]
    how: str
    by: str
    ts: str
    to: str | None = None


def keys(fact: HoldingFact, at: Place) -> list[str]:
    """The reservation that FACT is about."""
    return [event(at) if isinstance(fact, Reserved) else fact.reservation]


def step(state: State | None, fact: HoldingFact, at: Place, ts: str) -> State:
    """STATE after one more fact. All ends are kept, because their validity depends on the order of facts."""
    after = dict(state or {})
    match fact:
        case Reserved(agent, scope, bead, ttl, shared, is_file, base, _, why, region, is_open, order):
            made = [ts, agent, scope, bead, ttl, shared, is_file, base, why, region, is_open, order]
            earliest(after, "made", at, made)
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
    """The reservation that STATE describes, with its current holder; None if the event that made it is not here yet."""
    return next(iter([*tenures(name, state)][-1:]), None)


def maker(state: State) -> str | None:
    """The agent that made the reservation, without the cost of reading all of STATE."""
    return str(state["made"][3][1]) if "made" in state else None


def tenures(name: str, state: State | None) -> Iterator[Reservation]:
    """The reservation once for each holder, in order."""
    if state is None or "made" not in state:
        return
    *place, (ts, agent, path, bead, ttl, shared, is_file, base, why, region, is_open, order) = state["made"]
    scope = path if region is None else _with_region(path, region)
    given_by, words = None, _words(state)
    while True:
        made_at = renewed_at = clock.parse_or(ts, 0)
        since = place if given_by else None
        end = _end(agent, since, words, is_global=base is not None or order is not None)
        if renewal := _renewal(state, agent, since, end.place if end and end.to else None):
            renewed_at, ttl = max(made_at, clock.parse_or(renewal[0], 0)), renewal[1]
        yield Reservation(
            *(name, agent, scope, shown_bead(bead), ttl, shared, is_file, made_at, renewed_at),
            end.how if end else ACTIVE,
            clock.parse_or(end.ts, 0) if end else None,
            end.by if end else None,
            sortable(place),
            sortable(end.place) if end else None,
            *(base, why, given_by, bead == AUTO, region, is_open, order),
        )
        if end is None or end.to is None:
            return
        place, ts, given_by, agent = end.place, end.ts, end.by, end.to


def _with_region(path: str, region: str) -> str:
    from bb.coordination.holdings import scopes  # noqa: PLC0415  (few reservations have a region)

    return scopes.shown(path, region)


def terms(name: str, state: State) -> list[tuple[str, str]]:
    """The search terms of the reservation: (term, place within the term)."""
    if "made" not in state:
        return []
    *at, (_, _, text, bead, _, _, is_file, *_) = state["made"]
    place = sortable(at)
    ever = list(tenures(name, state))
    holders = list(dict.fromkeys((tenure.agent, tenure.state) for tenure in ever))
    agent, how = holders[-1]
    always = [(f"of {holder}", place) for holder in dict.fromkeys(holder for holder, _ in holders)]
    if agent != ids.PERSON and shown_bead(bead):
        always.append((f"bead {bead}", place))
    always += [(lost_term(tenure.agent), tenure.ended_place or "") for tenure in ever if tenure.is_lost]
    if how != ACTIVE:
        return [*always, (how, place)]
    from bb.coordination.holdings import scopes  # noqa: PLC0415  (reading the state needs no scopes)

    scope = scopes.stored(text)
    if scope is None:  # a scope that cannot be parsed cannot conflict
        return always
    where = "file" if is_file else "at"
    return [*always, ("live", place), (f"live of {agent}", place), (where, scopes.lead(scope))]


def lost_term(agent: str) -> str:
    """The search term for the reservations that AGENT lost, at the place of the loss."""
    return f"lost {agent}"


def _words(state: State) -> list[_Word]:
    """The facts about its ends and transfers, in order."""
    if len(state) == 1:
        return []
    words = []
    for register, (*place, value) in state.items():
        how, _, rest = register.partition(" ")
        if how in ENDED or how == TRANSFERRED:
            words.append(_Word(place, how, rest.partition(" ")[0], *value))
    return sorted(words, key=lambda word: word.place)


def _end(holder: str, since: Place | None, words: list[_Word], *, is_global: bool) -> _Word | None:
    """The fact that ended it first for the HOLDER that has held it SINCE a place, or from the start if SINCE is None.

    A global reservation cannot be taken over or transferred in one clone; an admitted takeover ends it (`admission`). A
    freeze cannot be taken over.
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
    """The time and minutes of the latest valid renewal between the places SINCE and UPTO; None is unlimited."""
    registers = [state[register] for by in (holder, ids.PERSON) if (register := f"renewed {by}") in state]
    counting = [
        register
        for register in registers
        if (since is None or register[:3] > since) and (upto is None or register[:3] < upto)
    ]
    return max(counting)[3] if counting else None
