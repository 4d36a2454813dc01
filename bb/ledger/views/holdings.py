"""The current reservations, with the liveness of their holders and the time left.

The index finds overlapping scopes: two scopes can overlap only if the lead of one is a prefix of the other's lead
(`scopes.lead`). So the cost of a query does not grow with the number of reservations.
"""

from __future__ import annotations

from itertools import islice

from bb.coordination.agents import liveness, name_claims, pauses, roster
from bb.coordination.holdings import holdings, scopes
from bb.coordination.holdings.held import Held, Overlap, is_admitted, loses_to, may_contest, without_lost
from bb.kernel import ids
from bb.ledger.index.folded_state import BEYOND
from bb.ledger.local import presence
from bb.ledger.published import heard_elsewhere

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence
    from typing import Any

    from bb.coordination.agents.hearing import Hearing
    from bb.coordination.holdings.admission import Admitted
    from bb.coordination.holdings.holdings import Reservation
    from bb.coordination.holdings.scopes import Scope
    from bb.ledger.index.index import Index
    from bb.ledger.lines.regions_now import RegionsNow
    from bb.ledger.published.pins import Pins


class Holdings:
    """The reservations in one store, as of NOW. An agent is stale after THRESHOLD without a sign of life.

    WORK_TREE has the files in which regions are looked up. Without one, their names decide.
    """

    def __init__(
        self, index: Index, store: str, now: int, threshold: int, *, ignore_case: bool, work_tree: str | None = None
    ) -> None:
        self._index = index
        self._store = store
        self._now = now
        self._threshold = threshold
        self._ignore_case = ignore_case
        self._files = work_tree
        self._regions: RegionsNow | None = None
        self._seen: dict[str, tuple[int, str]] = {}
        self._pauses: dict[str, Any] | None = None
        self._pins: Pins | None = None
        self._is_alone: bool | None = None
        self._rivals: dict[str, frozenset[str]] | None = None
        self._hearing: tuple[Hearing | None] | None = None

    @property
    def now(self) -> int:
        """The moment of this view."""
        return self._now

    @property
    def ignore_case(self) -> bool:
        """Whether the work tree ignores case."""
        return self._ignore_case

    def overlaps(
        self, wanted: Iterable[Scope], *, in_any_clone: bool = False, whose: str | None = None
    ) -> list[Overlap]:
        """The overlaps of the WANTED scopes with current reservations, exact ones first. IN_ANY_CLONE compares as a
        file system that ignores case would. Reservations that do not count are left out, unless WHOSE has them."""
        overlaps = []
        for scope in wanted:
            lies = scopes.comparison(scope, ignore_case=self._ignore_case or in_any_clone)
            for reservation in _reservations(self._near(scope)):
                other = scope_of(reservation)
                if (
                    other
                    and (reservation.agent == whose or self.counts(reservation) or self.is_unknown(reservation))
                    and (kind := lies(other)) != scopes.DISJOINT
                ):
                    if scope.region is not None or other.region is not None:
                        kind = self.regions.overlap(scope, other, kind)
                    if kind != scopes.DISJOINT:
                        overlaps.append(Overlap(scope, self._held_on(other, reservation), kind))
        return sorted(overlaps, key=_most_in_the_way)

    @property
    def regions(self) -> RegionsNow:
        """The regions of scopes, as the files in the work tree have them now."""
        if self._regions is None:
            from bb.ledger.lines.regions_now import RegionsNow  # noqa: PLC0415  (few scopes have a region)

            self._regions = RegionsNow(self._files, None if self._index.is_in_memory else self._store)
        return self._regions

    def counts(self, reservation: Reservation) -> bool:
        """Whether a reservation keeps other agents out. A global reservation does once it is admitted. A freeze ends
        when its time is over, without a takeover."""
        if reservation.is_freeze:
            return reservation.expiry(self._now, self._now) > self._now
        if not reservation.is_global:
            return True
        return is_admitted(reservation, self.settled)

    def token(self, reservation: Reservation) -> int | None:
        """The fencing token of a global reservation that was admitted."""
        grant = self.settled.grants.get(reservation.id)
        return grant.token if grant else None

    def state_of(self, reservation: Reservation, *, is_over: bool) -> str:
        """The state of a reservation that was not ended by an event, as one word."""
        if not self.counts(reservation):
            if reservation.id in self.settled.grants or self.is_forgotten(reservation):
                return holdings.TAKEN_OVER
            return holdings.VOID if reservation.id in self.settled.generations else holdings.PENDING
        if is_over:
            return holdings.EXPIRED
        is_contested = self.is_of_rival(reservation) or self._is_contested(reservation)
        return holdings.CONTESTED if is_contested else holdings.ACTIVE

    def _is_contested(self, reservation: Reservation) -> bool:
        """Whether a reservation of another clone takes precedence over this one, as far as this clone knows."""
        held = self.held(reservation) if self._has_company else None
        return held is not None and self.contested_by(held) is not None

    @property
    def _has_company(self) -> bool:
        """Whether this clone has lines of other writers."""
        if self._is_alone is None:
            self._is_alone = not self._index.has_company()
        return not self._is_alone

    def contested_by(self, held: Held) -> Held | None:
        """The reservation of another clone, made without knowledge of HELD, that takes precedence over it, or None. A
        freeze is never contested."""
        mine = held.reservation
        for overlap in self.overlaps([held.scope], in_any_clone=True) if not mine.is_freeze else ():
            other = overlap.held
            if other.is_over or not may_contest(mine, other.reservation):
                continue  # the results of publication order are not needed, and not read
            if loses_to(mine, other.reservation, self.settled, self._know_each_other):
                return other
        return None

    def in_way_of(self, agent: str, met: Sequence[Overlap]) -> list[Overlap]:
        """The overlaps MET with a global request of AGENT, without the reservations that have lost to its grants."""
        has_own = self._has_company and any(one.held.reservation.agent == agent for one in met)
        return without_lost(agent, met, self.settled, self._know_each_other) if has_own else list(met)

    def _know_each_other(self, one: Reservation, other: Reservation) -> bool:
        """Whether one of the two was made with --allow-overlap, in knowledge of the other one."""
        from bb.coordination.protocol import notices  # noqa: PLC0415  (most scopes are not contested)

        terms = (
            notices.overlap_term(theirs.id, mine.agent, mine.scope) for mine, theirs in ((one, other), (other, one))
        )
        return any(self._index.count(notices.NAME, term) for term in terms)

    @property
    def settled(self) -> Admitted:
        """The results of publication order, read on first use."""
        return self._published.in_force

    @property
    def _published(self) -> Pins:
        if self._pins is None:
            from bb.ledger.published import pins  # noqa: PLC0415  (most reservations are local)

            self._pins = pins.read(self._store)
        return self._pins

    def is_unknown(self, reservation: Reservation) -> bool:
        """Whether this is a global reservation, and it is not known here whether it was admitted, because this clone
        does not read the arbiter, or its relay has never read the whole log. It keeps other agents out, and excuses
        nothing."""
        if not reservation.is_global or not self._published.lacks_order:
            return False
        return reservation.id not in self.settled.grants and reservation.id not in self.settled.generations

    def is_forgotten(self, reservation: Reservation) -> bool:
        """Whether this is a global reservation so old that nobody knows any more if it was admitted: a fleet forgets
        grants long after they ended. The order of one that was ended by a word may be forgotten earlier."""
        if not reservation.is_global or reservation.id in self.settled.grants:
            return False
        from bb.coordination.holdings import admission  # noqa: PLC0415  (most reservations are local)

        floor, at = admission.floor_of(self.settled), self.settled.generations.get(reservation.id)
        return bool(floor) and (reservation.ended_at is not None if at is None else at < floor)

    def excuses(self, held: Held) -> bool:
        """Whether a reservation permits its holder's changes, unless it is contested."""
        return self.counts(held.reservation) and not held.is_of_rival

    def is_of_rival(self, reservation: Reservation) -> bool:
        """Whether another agent of the holder's name made it, which registered the name later (`name_claims`)."""
        if self._rivals is None:
            self._rivals = self._rivals_by_name() if self._index.count(roster.NAME, roster.RIVALS) else {}
        return ids.split_event_id(reservation.id)[0] in self._rivals.get(reservation.agent, ())

    def _rivals_by_name(self) -> dict[str, frozenset[str]]:
        """The writers of rivals, by the name that they registered."""
        names = self.settled.names
        agents = roster.in_service(self._index.entries_by_term(roster.NAME, roster.RIVALS))
        late = {agent.agent_id: name_claims.rivals(agent, names.get(agent.agent_id, ())) for agent in agents}
        return {name: frozenset(one.writer for one in several) for name, several in late.items()}

    def covers(self, held: Held, path: Scope) -> bool:
        """Whether PATH is entirely in the scope of HELD."""
        if held.scope.region is not None:
            return path.region is not None and self.regions.contains(held.scope, path)
        return scopes.covers(held.scope, path, ignore_case=self._ignore_case)

    def reservations_of_scope(self, scope: Scope) -> list[Held]:
        """The reservations of exactly this scope."""
        return [overlap.held for overlap in self.overlaps([scope]) if overlap.kind == scopes.EXACT]

    def reservations_of_agent(self, agent: str) -> list[Held]:
        """The current reservations of AGENT, without those of a rival of its name."""
        held = self._held(self._index.entries_by_term(holdings.NAME, f"live of {agent}"))
        return [one for one in held if not one.is_of_rival]

    def of_writers(self, writers: Container[str]) -> list[Held]:
        """The current reservations that these writers recorded, oldest first. The others are not read."""
        keys = [key for _, key in self._index.newest_keys(holdings.NAME, "live")]
        ours = [key for key in keys if ids.split_event_id(key)[0] in writers]
        return self._held(list(self._index.states_of(holdings.NAME, ours).items()))

    def everything(self) -> list[Held]:
        """All current reservations, oldest first, without freezes whose time is over."""
        return _without_ended_freezes(self._held(self._index.entries_by_term(holdings.NAME, "live")))

    def latest(self, most: int, first: Sequence[str]) -> tuple[list[Held], int]:
        """At most MOST current reservations, oldest first, and the number of those left out, which are not read. The
        person's freezes are chosen first, then the reservations of the agents FIRST, then the latest ones."""
        total = self._index.count(holdings.NAME, "live")
        if total <= most:
            return self.everything(), 0
        chosen: dict[str, None] = {}
        for term in [*(f"live of {agent}" for agent in (ids.PERSON, *first)), "live"]:
            if len(chosen) < most:
                chosen |= dict.fromkeys(key for _, key in self._index.newest_keys(holdings.NAME, term, most))
        names = list(chosen)[:most]
        held = self._held(sorted(self._index.states_of(holdings.NAME, names).items()))
        return sorted(_without_ended_freezes(held), key=lambda one: one.reservation.place), total - len(names)

    def count_by_holder(self) -> dict[str, int]:
        """The number of current reservations of each agent that made some, without reading these."""
        start = "live of "
        query = "select term, count(*) from term where fold = ? and term >= ? and term < ? group by term"
        rows = self._index.ask(query, holdings.NAME, start, start + BEYOND)
        counts = {term.removeprefix(start): count for term, count in rows}
        return {agent: count for agent, count in counts.items() if agent != ids.PERSON}

    def latest_of(self, counts: Mapping[str, int], most: int) -> list[Held]:
        """At most MOST current reservations of some agents, the latest ones, oldest first. COUNTS has the agents, and
        how many each of them has."""
        if sum(counts.values()) <= most:
            found = [one for agent in counts for one in self.reservations_of_agent(agent)]
            return sorted(found, key=lambda one: one.reservation.place)
        latest = (self._held([(name, state)]) for _, name, state in self._index.newest_first(holdings.NAME, "live"))
        of_them = (one for held in latest for one in held if one.reservation.agent in counts)
        return list(islice(of_them, most))[::-1]

    def ever_about(self, bead: str) -> list[Reservation]:
        """Every reservation ever made for a bead, oldest first. A transferred one is listed once for each holder."""
        return _tenures(self._index.entries_by_term(holdings.NAME, f"bead {bead}"))

    def current_about(self, bead: str) -> list[Held]:
        """The current reservations for a bead, oldest first."""
        ever = self._index.entries_by_term(holdings.NAME, f"bead {bead}")
        return self._held([(name, state) for name, state in ever if _is_current(name, state)])

    def count_ended(self, how: str, agent: str | None, bead: str | None) -> int:
        """The number of reservations that ended in state HOW, optionally of one agent and for one bead."""
        if agent is None and bead is None:
            return self._index.count(holdings.NAME, how)
        ever = self.ever_of(agent) if agent else self.ever_about(bead or "")
        return sum(reservation.state == how and bead in (None, reservation.bead) for reservation in ever)

    def ever_of(self, agent: str) -> list[Reservation]:
        """Every reservation AGENT ever had, newest first."""
        entries = ((name, state) for _, name, state in self._index.newest_first(holdings.NAME, f"of {agent}"))
        return [reservation for reservation in _tenures(entries) if reservation.agent == agent]

    def released_lately(self, since: int, most: int, who: str) -> list[tuple[str, Scope]]:
        """The holders and scopes of the latest MOST released reservations, without those of WHO and those that ended
        before SINCE."""
        found: list[tuple[str, Scope]] = []
        for _, name, state in self._index.newest_first(holdings.NAME, holdings.RELEASED):
            most -= 1
            ended = None if holdings.maker(state) == who else holdings.reservation(name, state)
            if ended and ended.agent not in (who, ids.PERSON) and (ended.ended_at or 0) >= since:
                found += [(ended.agent, scope)] if (scope := scope_of(ended)) else []
            if most <= 0:
                break
        return found

    def meet(self, one: Scope, other: Scope) -> bool:
        """Whether two scopes share a path. Regions of one file are told apart by their names."""
        return scopes.compare_by_name(one, other, ignore_case=self._ignore_case) != scopes.DISJOINT

    def claimed_by(self, agent: str) -> list[tuple[Scope, str | None]]:
        """The scopes that AGENT holds, with their beads. If it holds none: those of its last reservations, which all
        ended at the same moment. Transferred reservations are left out."""
        if held := self.reservations_of_agent(agent):
            return [(one.scope, one.reservation.bead) for one in held]
        ended = [one for one in self.ever_of(agent) if one.state in holdings.ENDED]
        last = max((one.ended_at or 0 for one in ended), default=0)
        return [(scope, one.bead) for one in ended if one.ended_at == last and (scope := scope_of(one))]

    def worked_in(self, agent: str, bead: str, wanted: Iterable[Scope]) -> bool | None:
        """Whether AGENT ever held a scope for BEAD that overlaps one of the WANTED ones; None if it held none for
        BEAD."""
        ever = [scope for held in self.ever_about(bead) if held.agent == agent and (scope := scope_of(held))]
        met = (scopes.compare(one, other, ignore_case=self._ignore_case) for one in wanted for other in ever)
        return any(kind != scopes.DISJOINT for kind in met) if ever else None

    def lies_in(self, path: str, scope: Scope) -> bool:
        """Whether a PATH, as git writes it, is in SCOPE."""
        return scopes.covers(scope, scopes.existing(path), ignore_case=self._ignore_case)

    def all_ever(self) -> list[Reservation]:
        """Every reservation ever made. A transferred one is listed once for each holder."""
        return _tenures(self._index.states(holdings.NAME))

    def seen_at(self, agent: str) -> int:
        """The time of the agent's last sign of life."""
        return self._seen_of(agent)[0]

    def liveness_of(self, agent: str) -> str:
        """The liveness of the agent."""
        return self._seen_of(agent)[1]

    def by_id(self, reservation: str) -> Reservation | None:
        """One reservation by its id, current or ended."""
        return holdings.reservation(reservation, self._index.state(holdings.NAME, reservation))

    def held(self, reservation: Reservation) -> Held | None:
        """RESERVATION with its current liveness and expiry; None if this version does not understand its scope."""
        scope = scope_of(reservation)
        return self._held_on(scope, reservation) if scope else None

    def live(self, reservation: str) -> Held | None:
        """One reservation with its current liveness and expiry; None if it has ended, or is not understood."""
        current = self.by_id(reservation)
        return self.held(current) if current and current.state == holdings.ACTIVE else None

    def _held_on(self, scope: Scope, reservation: Reservation) -> Held:
        seen_at, state = self._seen_of(reservation.agent)
        expires_at = reservation.expiry(seen_at, self._now)
        is_of_rival = self.is_of_rival(reservation)
        return Held(reservation, scope, state, expires_at, expires_at <= self._now, is_of_rival)

    def _near(self, scope: Scope) -> list[tuple[str, Any]]:
        """The reservations that may overlap SCOPE."""
        lead = scopes.lead(scope)
        above = [lead[:end] for end in range(1, len(lead))]
        sieve = "*" if scope.is_literal else scopes.sieve(scope)
        return [
            *(self._index.entries_at_places(holdings.NAME, "at", above) if above else []),
            *(self._index.entries_at_places(holdings.NAME, "file", above) if above else []),
            *self._index.entries_by_term(holdings.NAME, "at", below=lead),
            *self._index.entries_by_term(holdings.NAME, "file", below=lead, sieve=sieve),
        ]

    def _held(self, entries: Sequence[tuple[str, Any]]) -> list[Held]:
        return [
            held
            for reservation in _reservations(entries)
            if not self._is_taken(reservation) and (held := self.held(reservation))
        ]

    def _is_taken(self, reservation: Reservation) -> bool:
        """Whether an admitted global reservation replaced this one."""
        grant = self.settled.grants.get(reservation.id) if reservation.is_global else None
        return grant is not None and grant.ended is not None

    def _seen_of(self, agent: str) -> tuple[int, str]:
        """The time when AGENT was last seen, and its liveness. The person is always active, and so is a paused agent. A
        retired agent counts as evicted."""
        if agent == ids.PERSON:
            return self._now, liveness.ACTIVE
        if agent not in self._seen:
            registered = roster.agent(agent, self._index.state(roster.NAME, agent))
            last = presence.read(self._store, agent, self._now)
            seen_at = presence.last_seen(registered.heard_at if registered else None, last, self._now)
            if last is None or last.is_remote:
                seen_at = self._seen_elsewhere(seen_at)
            if self.is_paused(agent):
                seen_at, last = self._now, None
            state = liveness.liveness(seen_at, self._now, self._threshold, last.ended_at if last else 0)
            self._seen[agent] = (seen_at, liveness.EVICTED if registered is None or registered.is_retired else state)
        return self._seen[agent]

    def _seen_elsewhere(self, seen_at: int) -> int:
        """When an agent in another clone was last seen, as far as that is known: time in which this clone heard nothing
        of other machines counts as nobody's silence."""
        if self._hearing is None:
            self._hearing = (heard_elsewhere.in_fleet(self._store),)
        hearing = self._hearing[0]
        return seen_at if hearing is None else hearing.seen_at(seen_at, self._now)

    def is_paused(self, agent: str) -> bool:
        """Whether the person has paused AGENT."""
        if self._pauses is None:
            self._pauses = dict(self._index.states(pauses.NAME))
        return bool(self._pauses) and pauses.pause(self._pauses, agent) is not None


def _most_in_the_way(overlap: Overlap) -> tuple[bool, bool]:
    """Exact overlaps first, and of these what holds in every clone: what a clone has beside it is contested."""
    return overlap.kind != scopes.EXACT, not overlap.held.reservation.is_global


def _without_ended_freezes(all_held: Iterable[Held]) -> list[Held]:
    return [held for held in all_held if not (held.is_over and held.reservation.is_freeze)]


def _is_current(name: str, state: Any) -> bool:
    reservation = holdings.reservation(name, state)
    return reservation is not None and reservation.state == holdings.ACTIVE


def _reservations(entries: Iterable[tuple[str, Any]]) -> list[Reservation]:
    return [reservation for name, state in entries if (reservation := holdings.reservation(name, state))]


def _tenures(entries: Iterable[tuple[str, Any]]) -> list[Reservation]:
    return [reservation for name, state in entries for reservation in holdings.tenures(name, state)]


def scope_of(reservation: Reservation) -> Scope | None:
    """The scope of a reservation; None if this version does not understand it."""
    scope = scopes.stored(reservation.path)
    return scope and scopes.in_region(scope.replace(is_file=reservation.is_file), reservation.region)
