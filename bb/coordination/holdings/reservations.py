"""Who may hold what (Operative Protocol §4.4).

    the holder is …                          without a flag            --takeover-stale
    active, its time not over                RESERVATION_CONFLICT      RESERVATION_CONFLICT
    stale                                    RESERVATION_STALE_FOUND   taken over; the old one ends as taken_over
    evicted, retired, or its time is over    RESERVATION_STALE_FOUND   taken over; the old one ends as expired

Any overlap counts, exact or partial. `--allow-overlap` goes ahead where an overlap is partial; with `--takeover-stale`
what a silent holder has is taken over all the same, and only living holders are gone beside. Shared reservations do not
stand in each other's way. One thing in the way, and nothing of what was asked for is done. Every outcome that
touches somebody else's active reservation, or ends one, is an INCURSION, recorded once.
"""

from __future__ import annotations

from bb.coordination.agents import liveness
from bb.coordination.facts import (
    OVERLAPPING,
    REFUSED,
    TAKEN_OVER,
    Expired,
    Incurred,
    Released,
    Renewed,
    Reserved,
    TakenOver,
)
from bb.coordination.holdings import freezing, holdings, scopes
from bb.kernel import clock, ids, show
from bb.kernel.errors import Conflict, Forbidden, NotFound, Usage
from bb.kernel.record import Record
from bb.kernel.validity import BEAD_LENGTH, is_bead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from bb.coordination.facts import HoldingFact, NoticeFact
    from bb.coordination.holdings.holdings import Reservation
    from bb.coordination.holdings.scopes import Scope

MINUTES_ALLOWED = range(5, 1441)
SHOWN = 20  # of the reservations in the way; the refusal tells how many there are
MOST_NAMED = 5  # of an agent's other reservations, in a sentence

TIME_OVER = "time_over"  # why something was taken over, where its holder had not fallen silent


class InvalidArgs(Usage):
    """A reservation needs a scope, a bead, and a time to live from 5 to 1440 minutes."""

    code = "INVALID_ARGS"
    hint = "for example --scope src/parser --bead bb-12 --ttl 120"


class ReservationConflict(Conflict):
    """Another agent holds that scope, or a part of it."""

    code = "RESERVATION_CONFLICT"
    hint = "narrow the scope, wait for it with --wait SECONDS, or message the holder"


class ReservationStaleFound(Conflict):
    """An agent that has fallen silent holds that scope, or a part of it."""

    code = "RESERVATION_STALE_FOUND"
    hint = "take it over with --takeover-stale; its holder is told"


class ReservationNotFound(NotFound):
    """Nothing live is held there."""

    code = "RESERVATION_NOT_FOUND"
    hint = "`bb agent status` shows what is held"


class ReleaseForbidden(Forbidden):
    """Another agent holds that scope."""

    code = "RELEASE_FORBIDDEN"
    hint = "only its holder may give it back; a silent holder's can be taken over: `bb agent reserve --takeover-stale`"


class RenewForbidden(Forbidden):
    """Another agent holds that scope, so it is not yours to keep."""

    code = "RENEW_FORBIDDEN"
    hint = "reserve a scope of your own: `bb agent reserve`"


class Held(Record):
    """A reservation that has not ended, at one moment."""

    reservation: Reservation
    scope: Scope
    liveness: str  # of its holder
    expires_at: int
    is_over: bool

    @property
    def ends_at(self) -> str | None:
        """When it ends by itself; None where it does not."""
        return None if self.reservation.has_no_end else clock.text(self.expires_at)

    @property
    def is_protected(self) -> bool:
        return self.liveness == liveness.ACTIVE and not self.is_over

    @property
    def archived(self) -> str:
        """The state it ends in when it is taken over."""
        is_stale = self.liveness == liveness.STALE and not self.is_over
        return holdings.TAKEN_OVER if is_stale else holdings.EXPIRED

    def shown(self) -> dict[str, Any]:
        """What somebody in whose way it is needs to know."""
        return {
            "reservation_id": self.reservation.id,
            "agent_id": self.reservation.agent,
            "scope": self.reservation.scope,
            "bead_id": self.reservation.bead,
            "shared": self.reservation.shared,
            "liveness": self.liveness,
            "expires_at": self.ends_at,
            "is_expired": self.is_over,
            **freezing.shown(self.reservation),
        }


class Overlap(Record):
    """A wanted scope that meets one that is held."""

    wanted: Scope
    held: Held
    kind: str

    def shown(self) -> dict[str, Any]:
        return {"wanted": self.wanted.text, "class": self.kind, **self.held.shown()}


class Wanted(Record):
    """What a reservation is to be."""

    agent: str
    scopes: tuple[Scope, ...]
    bead: str
    ttl: int
    shared: bool = False
    takeover: bool = False
    allow_overlap: bool = False
    base: str | None = None  # the published commit that a global one is checked against

    def facts(self) -> list[Reserved]:
        """What is recorded when it is granted."""
        return [
            Reserved(self.agent, scope.text, self.bead, self.ttl, self.shared, scope.is_file, self.base)
            for scope in self.scopes
        ]


def minutes(text: str) -> int:
    """TEXT as a reservation's time to live."""
    is_number = text.isascii() and text.isdigit() and len(text) < 8
    if not (is_number and int(text) in MINUTES_ALLOWED):
        raise InvalidArgs(f"--ttl must be a whole number of minutes from 5 to 1440, not {text[:40]!r}", path="$.ttl")
    return int(text)


def bead(text: str) -> str:
    """TEXT as the bead that a reservation is for."""
    trimmed = text.strip()
    if not is_bead(trimmed) or not trimmed.isprintable():
        raise InvalidArgs(f"--bead must be one line of 1 to {BEAD_LENGTH} characters", path="$.bead")
    return trimmed


def reserve(
    wanted: Wanted, met: Sequence[Overlap], is_recorded: Callable[[str], bool]
) -> list[HoldingFact | NoticeFact]:
    """Decide whether what is WANTED may be held, given everything it has MET; the facts to record if so.

    IS_RECORDED tells whether an incident, by its name, has been recorded already.
    """
    own: list[Overlap] = []
    admitted: list[Overlap] = []
    in_way: list[Overlap] = []
    for meeting in met:
        held = meeting.held.reservation
        if held.agent == wanted.agent:
            own.append(meeting)
        elif wanted.shared and held.shared:
            continue
        else:
            (admitted if _may_go_beside(wanted, meeting) else in_way).append(meeting)
    if protected := [meeting for meeting in in_way if meeting.held.is_protected]:
        refused = _incursions(wanted, protected, REFUSED)
        silent = [meeting for meeting in in_way if not meeting.held.is_protected]
        raise _conflict(wanted, protected, silent, [fact for fact in refused if not is_recorded(fact.incident)])
    if in_way and not wanted.takeover:
        raise _stale_found(in_way)
    if wanted.base is None and (everywhere := [each for each in in_way if each.held.reservation.base]):
        raise _held_everywhere(everywhere)
    same = [meeting for meeting in own if meeting.kind == scopes.EXACT]
    kept = {meeting.wanted.text for meeting in same if not meeting.held.is_over}
    beside = _incursions(wanted, admitted, OVERLAPPING)
    return [
        *(_taken_over(wanted.agent, held) for held in _each_once(in_way)),
        *_incursions(wanted, in_way, TAKEN_OVER),
        *(_given_back(wanted.agent, held) for held in _each_once(same)),
        *wanted.facts(),
        *(fact for fact in beside if fact.scope not in kept or not is_recorded(fact.incident)),
    ]


def _may_go_beside(wanted: Wanted, meeting: Overlap) -> bool:
    """Whether what is WANTED goes ahead beside what it meets, and both are held from then on."""
    held = meeting.held
    if not wanted.allow_overlap or meeting.kind != scopes.PARTIAL or held.reservation.is_freeze:
        return False
    # What holds in every clone cannot be taken over in one of them.
    may_be_taken = wanted.takeover and not held.is_protected and (wanted.base or not held.reservation.base)
    return not may_be_taken


def release(agent: str, scope: Scope, met: Sequence[Overlap]) -> list[HoldingFact]:
    """Decide whether AGENT may give back what is held on exactly this SCOPE, given all it has MET."""
    live = at_disposal(agent, scope, met, ReleaseForbidden)
    return [Released(agent, other.reservation.id) for other in live]


def renew(agent: str, scope: Scope, met: Sequence[Overlap], ttl: int | None) -> list[HoldingFact]:
    """Decide whether AGENT may keep what is held on exactly this SCOPE for longer, counted from now."""
    live = at_disposal(agent, scope, met, RenewForbidden)
    return [Renewed(agent, other.reservation.id, ttl or other.reservation.ttl) for other in live]


def release_all(agent: str, held: Sequence[Held]) -> list[HoldingFact]:
    """Give back all that AGENT has HELD; what is over is archived as that. A freeze is lifted in a way of its own."""
    return [_given_back(agent, each) for each in held if not each.reservation.is_freeze]


def renew_all(agent: str, held: Sequence[Held], ttl: int | None) -> list[HoldingFact]:
    """Keep all that AGENT has HELD and that is not over."""
    return [
        Expired(agent, each.reservation.id)
        if each.is_over
        else Renewed(agent, each.reservation.id, ttl or each.reservation.ttl)
        for each in held
        if not each.reservation.is_freeze
    ]


def at_disposal(agent: str, scope: Scope, met: Sequence[Overlap], forbidden: type[Forbidden]) -> list[Held]:
    """What AGENT may do as it likes with. A person may with anybody's. What is over is found no more, but archived.

    A freeze is lifted in a way of its own (`freezing`).
    """
    held = [each.held for each in met if each.kind == scopes.EXACT and not each.held.reservation.is_freeze]
    mine = [each for each in held if agent in (each.reservation.agent, ids.PERSON)]
    if live := [each for each in mine if not each.is_over]:
        return live
    if mine or all(each.is_over for each in held):
        message = (
            f"the reservation of {show.name(scope.text)} has expired"
            if held
            else f"nobody holds exactly {show.name(scope.text)}"
        )
        near = [meeting.held for meeting in met if meeting.held.reservation.agent == agent]
        hint = "to go on there, reserve it again: `bb agent reserve`" if mine else _what_is_near(near)
        over = [Expired(agent, each.reservation.id) for each in mine]
        raise ReservationNotFound(message, hint=hint, leaving=over, scope=scope.text)
    raise forbidden(f"{held[0].reservation.agent} holds {show.name(scope.text)}", **held[0].shown())


def _what_is_near(held: Sequence[Held]) -> str | None:
    """Which scopes were meant, perhaps."""
    return f"what you hold there is {', '.join(show.name(each.scope.text) for each in held)}" if held else None


def _each_once(met: Iterable[Overlap]) -> list[Held]:
    return list({meeting.held.reservation.id: meeting.held for meeting in met}.values())


def _taken_over(agent: str, held: Held) -> TakenOver:
    return TakenOver(agent, held.reservation.id, held.reservation.agent, held.liveness, held.archived)


def _given_back(agent: str, held: Held) -> HoldingFact:
    return (Expired if held.is_over else Released)(agent, held.reservation.id)


def _incursions(wanted: Wanted, met: Iterable[Overlap], outcome: str) -> list[Incurred]:
    """One INCURSION for each agent that was met, about the first of its reservations; the hint names the others."""
    by_owner: dict[str, list[Overlap]] = {}
    for meeting in met:
        by_owner.setdefault(meeting.held.reservation.agent, []).append(meeting)
    return [_incursion(wanted, owner, meetings, outcome) for owner, meetings in by_owner.items()]


def _incursion(wanted: Wanted, owner: str, met: Sequence[Overlap], outcome: str) -> Incurred:
    first = met[0].held
    hint = HINTS[TIME_OVER if outcome == TAKEN_OVER and first.is_over else outcome]
    others = [held.scope.text for held in _each_once(met)[1:]]
    more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
    also = f"; so also {', '.join(others[:MOST_NAMED])}{more}" if others else ""
    return Incurred(
        incoming=wanted.agent,
        owner=owner,
        reservation=first.reservation.id,
        kind=met[0].kind,
        scope=met[0].wanted.text,
        held=first.reservation.scope,
        liveness=first.liveness,
        bead=wanted.bead,
        outcome=outcome,
        hint=hint.format(incoming=wanted.agent, owner=owner) + also,
    )


HINTS = {
    REFUSED: "nothing to do for {owner}; {incoming} was refused and may wait or ask for a hand-off",
    OVERLAPPING: "{owner} and {incoming} both work here: agree by mail on who changes what",
    TAKEN_OVER: "{owner} had fallen silent; it must reserve again before it goes on here",
    TIME_OVER: "the time of {owner} was over; it must reserve again before it goes on here",
}


def _conflict(
    wanted: Wanted, met: Sequence[Overlap], silent: Sequence[Overlap], facts: list[NoticeFact]
) -> ReservationConflict:
    """The refusal by those who are MET and alive. Who is SILENT and in the way, too, is named with them: whoever waits
    for the living must not be refused again because of the others."""
    first = next((meeting for meeting in met if meeting.held.reservation.is_freeze), met[0])
    held = first.held.reservation
    message = f"{held.agent} holds {show.name(held.scope)} ({first.kind} overlap), active, until {first.held.ends_at}"
    hint = None
    if held.is_freeze:
        message, hint = freezing.told(first.held), freezing.HINT
    elif wanted.base:
        hint = "narrow the scope, or message the holder: `bb agent send`"
    elif all(meeting.kind == scopes.PARTIAL for meeting in met):
        hint = f"{ReservationConflict.hint}; --allow-overlap goes ahead where the overlap is partial"
    if silent and not wanted.takeover:
        hint = f"{hint or ReservationConflict.hint}; pass --takeover-stale as well, for the holders that are silent"
    message += _also([first, *(each for each in met if each is not first), *silent])
    return ReservationConflict(message, hint=hint, leaving=facts, **_listed([*met, *silent]))


def _held_everywhere(met: Sequence[Overlap]) -> ReservationStaleFound:
    """What holds in every clone is not ended by what one clone knows."""
    held = met[0].held.reservation
    message = f"{held.agent} holds {show.name(held.scope)} in every clone, and has fallen silent"
    hint = "take it over in every clone: --global --takeover-stale"
    return ReservationStaleFound(message + _also(met), hint=hint, **_listed(met))


def _stale_found(met: Sequence[Overlap]) -> ReservationStaleFound:
    first = met[0].held
    message = f"{first.reservation.agent} holds {show.name(first.scope.text)} ({met[0].kind} overlap) and is "
    message += _silence(first)
    if first.is_over:
        message = f"the reservation of {show.name(first.scope.text)} by {first.reservation.agent} has expired"
    return ReservationStaleFound(message + _also(met), **_listed(met))


def _also(met: Sequence[Overlap]) -> str:
    """The holders in the way beside the first, which the sentence before is about."""
    others = _each_once(met)[1:]
    named = [
        f"{each.reservation.agent} holds {show.name(each.scope.text)} ({_silence(each)})"
        for each in others[:MOST_NAMED]
    ]
    more = [f"{len(others) - MOST_NAMED} more"] if len(others) > MOST_NAMED else []
    return f"; also in the way: {', '.join([*named, *more])}" if others else ""


def _silence(held: Held) -> str:
    return "expired" if held.is_over else held.liveness


def _listed(met: Sequence[Overlap]) -> dict[str, Any]:
    """What is in the way, as the details of a refusal, which tells how many are left out."""
    left_out = {"omitted": len(met) - SHOWN} if len(met) > SHOWN else {}
    return {"conflicts": [meeting.shown() for meeting in met[:SHOWN]], "count": len(met), **left_out}
