"""The rules for making, renewing and releasing reservations (Operative Protocol §4.4).

    holder of the overlapping reservation    without a flag            --takeover-stale
    active, and it has not expired           RESERVATION_CONFLICT      RESERVATION_CONFLICT
    stale                                    RESERVATION_STALE_FOUND   taken over; the old one ends as taken_over
    evicted or retired, or it has expired    RESERVATION_STALE_FOUND   taken over; the old one ends as expired

Exact and partial overlaps both count. `--allow-overlap` permits partial overlaps. Combined with `--takeover-stale`, it
permits overlaps with active holders, and the reservations of stale holders are taken over. Shared and open reservations
do not conflict with each other. If one scope of a request conflicts, nothing of the request is recorded. Each request
that overlaps another agent's active reservation, or ends one, is an INCURSION, recorded once.
"""

from __future__ import annotations

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
from bb.coordination.holdings import scopes
from bb.coordination.holdings.held import FROZEN_HINT, Held, Overlap, freeze_text
from bb.kernel import escaping, ids
from bb.kernel.errors import BbError, Conflict, Forbidden, NotFound, Usage
from bb.kernel.record import Record
from bb.kernel.validation import BEAD_LENGTH, NO_BEAD, is_bead, shown_bead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from bb.coordination.facts import HoldingFact, NoticeFact
    from bb.coordination.holdings.scopes import Scope
    from bb.kernel.errors import Refusal

MINUTES_ALLOWED = range(5, 1441)
TTL = 120  # minutes, unless the request says otherwise
SHOWN = 20  # conflicts listed in a refusal; `count` has the number of all
MOST_NAMED = 5  # further reservations named in a sentence
MOST_OTHERS = 200  # reservations of one holder that an overlap names; any further ones may be contested

TIME_OVER = "time_over"  # taken over because it had expired, while its holder was active

InvalidArgs = Usage.declare(
    "INVALID_ARGS",
    "A reservation needs a scope, and a time to live from 5 to 1440 minutes",
    hint="for example --scope src/parser --ttl 120",
)

ReservationConflict = Conflict.declare(
    "RESERVATION_CONFLICT",
    "Another active agent holds that scope or a part of it",
    hint="get in line: `bb reserve SCOPE --queue`",
)

ReservationStaleFound = Conflict.declare(
    "RESERVATION_STALE_FOUND",
    "The reservation of that scope has expired, or its holder is no longer active",
    hint="take it over, its holder is notified: `bb reserve SCOPE --takeover-stale`",
)

ReservationNotFound = NotFound.declare(
    "RESERVATION_NOT_FOUND",
    "There is no live reservation for that scope",
    hint="list the reservations: `bb agent status`",
)

ReleaseForbidden = Forbidden.declare(
    "RELEASE_FORBIDDEN",
    "Another agent holds that scope, so you cannot release it",
    hint="ask the holder to release it: `bb send HOLDER 'TEXT'`",
)

RenewForbidden = Forbidden.declare(
    "RENEW_FORBIDDEN",
    "Another agent holds that scope, so you cannot renew it",
    hint="reserve a scope of your own: `bb reserve`",
)


class Wanted(Record):
    """A request for a reservation."""

    agent: str
    scopes: tuple[Scope, ...]
    bead: str  # NO_BEAD without one
    ttl: int
    shared: bool = False
    takeover: bool = False
    allow_overlap: bool = False
    base: str | None = None  # the published commit that a global reservation is checked against
    is_open: bool = False
    is_exclusive: bool = False  # --exclusive was given, although it may not be the default
    order: str | None = None  # if an engine decides: the incarnation of its log

    @property
    def is_global(self) -> bool:
        """Whether it is to hold in every clone."""
        return self.base is not None or self.order is not None

    @property
    def coexists(self) -> bool:
        """Whether it may be held beside others that may be, too."""
        return self.shared or self.is_open

    def facts(self) -> list[Reserved]:
        """The facts to record if the request is granted."""
        return [
            Reserved(
                *(self.agent, scope.where, self.bead, self.ttl, self.shared, scope.is_file, self.base),
                region=scope.region,
                is_open=self.is_open,
                order=self.order,
            )
            for scope in self.scopes
        ]


def command(wanted: Wanted, *more: str) -> str:
    """The command that repeats the request WANTED with MORE options."""
    words = ["bb reserve", *(escaping.quoted(scope.text) for scope in wanted.scopes), *more]
    words += ["--bead " + escaping.quoted(wanted.bead)] if shown_bead(wanted.bead) else []
    words += [f"--ttl {wanted.ttl}"] if wanted.ttl != TTL else []
    kinds = {"--shared": wanted.shared, "--open": wanted.is_open, "--exclusive": wanted.is_exclusive}
    words += [option for option, is_given in kinds.items() if is_given]
    words += ["--takeover-stale"] if wanted.takeover and "--takeover-stale" not in more else []
    return " ".join(words)


def queue_command(wanted: Wanted) -> str:
    """The command that takes a place in the line for WANTED."""
    return command(wanted, "--queue")


def _ways(wanted: Wanted, met: Sequence[Overlap]) -> str:
    """The commands that go on: reserve the scopes that nobody holds, and get in line for the others."""
    held = {meeting.wanted.text for meeting in met}
    free = tuple(scope for scope in wanted.scopes if scope.text not in held)
    if not free:
        return f"get in line, and do something else meanwhile: `{queue_command(wanted)}`"
    rest = wanted.replace(scopes=tuple(scope for scope in wanted.scopes if scope.text in held))
    now = command(wanted.replace(scopes=free))
    return f"reserve what is free: `{now}`; get in line for the rest: `{queue_command(rest)}`"


def minutes(text: str) -> int:
    """TEXT as a reservation's time to live."""
    is_number = text.isascii() and text.isdigit() and len(text) < 8
    if not (is_number and int(text) in MINUTES_ALLOWED):
        raise InvalidArgs(f"--ttl is {text[:40]!r}; it must be a whole number of minutes from 5 to 1440", path="$.ttl")
    return int(text)


def bead(text: str | None) -> str:
    """TEXT as the bead that a reservation is for; NO_BEAD without one."""
    if text is None:
        return NO_BEAD
    trimmed = text.strip()
    if not is_bead(trimmed) or not trimmed.isprintable():
        raise InvalidArgs(f"--bead must be one line of 1 to {BEAD_LENGTH} characters", path="$.bead")
    return trimmed


def reserve(
    wanted: Wanted, met: Sequence[Overlap], is_recorded: Callable[[str], bool]
) -> list[HoldingFact | NoticeFact]:
    """Decide whether WANTED is granted, given all the overlaps MET, and return the facts to record.

    IS_RECORDED tells whether an incident of that name is recorded already.
    """
    own: list[Overlap] = []
    admitted: list[Overlap] = []
    in_way: list[Overlap] = []
    for meeting in met:
        held = meeting.held.reservation
        if held.agent == wanted.agent:
            own += [] if meeting.held.is_of_rival else [meeting]
        elif wanted.coexists and held.coexists:
            continue
        else:
            (admitted if _may_go_beside(wanted, meeting) else in_way).append(meeting)
    if protected := [meeting for meeting in in_way if meeting.held.is_protected]:
        refused = _incursions(wanted, protected, REFUSED)
        silent = [meeting for meeting in in_way if not meeting.held.is_protected]
        raise _conflict(wanted, protected, silent, [fact for fact in refused if not is_recorded(fact.incident)])
    if in_way and not wanted.takeover:
        raise _stale_found(wanted, in_way)
    if not wanted.is_global and (everywhere := [one for one in in_way if one.held.reservation.is_global]):
        raise _held_everywhere(wanted, everywhere)
    same = [meeting for meeting in own if meeting.kind == scopes.EXACT]
    kept = {meeting.wanted.text for meeting in same if not meeting.held.is_over}
    beside = _incursions(wanted, admitted, OVERLAPPING)
    return [
        *(_taken_over(wanted.agent, held) for held in _each_once(in_way)),
        *_incursions(wanted, in_way, TAKEN_OVER),
        *(_released(wanted.agent, held) for held in _each_once(same)),
        *wanted.facts(),
        *(fact for fact in beside if fact.scope not in kept or not is_recorded(fact.incident)),
    ]


def _may_go_beside(wanted: Wanted, meeting: Overlap) -> bool:
    """Whether WANTED is granted although it overlaps, so that both reservations are held."""
    held = meeting.held
    if not wanted.allow_overlap or meeting.kind != scopes.PARTIAL or held.reservation.is_freeze:
        return False
    # A global reservation cannot be taken over by a local one.
    may_be_taken = wanted.takeover and not held.is_protected and (wanted.is_global or not held.reservation.is_global)
    return not may_be_taken


def release(agent: str, scope: Scope, met: Sequence[Overlap]) -> list[HoldingFact]:
    """Decide whether AGENT may release the reservation of exactly this SCOPE, given the overlaps MET."""
    live = usable_reservations(agent, scope, met, ReleaseForbidden)
    return [Released(agent, other.reservation.id) for other in live]


def renew(agent: str, scope: Scope, met: Sequence[Overlap], ttl: int | None) -> list[HoldingFact]:
    """Decide whether AGENT may renew the reservation of exactly this SCOPE for TTL minutes from now."""
    live = usable_reservations(agent, scope, met, RenewForbidden)
    return [Renewed(agent, other.reservation.id, ttl or other.reservation.ttl) for other in live]


def release_all(agent: str, held: Sequence[Held]) -> list[HoldingFact]:
    """Release all reservations in HELD. Expired ones end as expired. Freezes are lifted by `freezing`."""
    return [_released(agent, one) for one in held if not one.reservation.is_freeze]


def renew_all(agent: str, held: Sequence[Held], ttl: int | None) -> list[HoldingFact]:
    """Renew all reservations in HELD that have not expired."""
    return [
        Expired(agent, one.reservation.id)
        if one.is_over
        else Renewed(agent, one.reservation.id, ttl or one.reservation.ttl)
        for one in held
        if not one.reservation.is_freeze
    ]


def usable_reservations(agent: str, scope: Scope, met: Sequence[Overlap], forbidden: Refusal) -> list[Held]:
    """The live reservations of exactly SCOPE that AGENT may renew, release or transfer. The person may use any.

    Expired reservations of AGENT are recorded as expired and refused. Freezes are lifted by `freezing`.
    """
    held = [meeting.held for meeting in met if meeting.kind == scopes.EXACT and not meeting.held.reservation.is_freeze]
    own = [one for one in held if agent == ids.PERSON or (agent == one.reservation.agent and not one.is_of_rival)]
    if live := [one for one in own if not one.is_over]:
        return live
    if own or all(one.is_over for one in held):
        text = escaping.name(scope.text)
        message = f"the reservation of {text} has expired" if held else f"there is no reservation for exactly {text}"
        near = [meeting.held for meeting in met if meeting.held.reservation.agent == agent]
        hint = "to continue there, reserve it again: `bb reserve`" if own else _what_is_near(near)
        expired = [Expired(agent, one.reservation.id) for one in own]
        raise ReservationNotFound(message, hint=hint, leaving=expired, scope=scope.text)
    raise forbidden(f"{held[0].reservation.agent} holds {escaping.name(scope.text)}", **held[0].as_json())


def _what_is_near(held: Sequence[Held]) -> str | None:
    """A hint that lists the agent's own overlapping scopes."""
    return (
        f"name the scope that you reserved: {', '.join(escaping.name(one.scope.text) for one in held)}"
        if held
        else None
    )


def _each_once(met: Iterable[Overlap]) -> list[Held]:
    return list({meeting.held.reservation.id: meeting.held for meeting in met}.values())


def _taken_over(agent: str, held: Held) -> TakenOver:
    return TakenOver(agent, held.reservation.id, held.reservation.agent, held.liveness, held.archived)


def _released(agent: str, held: Held) -> HoldingFact:
    return (Expired if held.is_over else Released)(agent, held.reservation.id)


def _incursions(wanted: Wanted, met: Iterable[Overlap], outcome: str) -> list[Incurred]:
    """One INCURSION for each holder in MET, about its first reservation. The hint names the others."""
    by_owner: dict[str, list[Overlap]] = {}
    for meeting in met:
        by_owner.setdefault(meeting.held.reservation.agent, []).append(meeting)
    return [_incursion(wanted, owner, meetings, outcome) for owner, meetings in by_owner.items()]


def _incursion(wanted: Wanted, owner: str, met: Sequence[Overlap], outcome: str) -> Incurred:
    first = met[0].held
    hint = HINTS[TIME_OVER if outcome == TAKEN_OVER and first.is_over else outcome]
    others = _each_once(met)[1:]
    more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
    named = ", ".join(held.scope.text for held in others[:MOST_NAMED])
    also = f"; the same applies to {named}{more}" if others else ""
    return Incurred(
        incoming=wanted.agent,
        owner=owner,
        reservation=first.reservation.id,
        kind=met[0].kind,
        scope=met[0].wanted.text,
        held=first.reservation.scope,
        liveness=first.liveness,
        bead=wanted.bead if shown_bead(wanted.bead) else first.reservation.bead or NO_BEAD,
        outcome=outcome,
        hint=hint.format(incoming=wanted.agent, owner=owner) + also,
        others=tuple(held.reservation.id for held in others[:MOST_OTHERS]) if outcome == OVERLAPPING else (),
    )


HINTS = {
    REFUSED: "{owner} need not act; {incoming} was refused and may wait or ask for a handoff",
    OVERLAPPING: "{owner} and {incoming} both work here; agree by mail on the files that each of them changes",
    TAKEN_OVER: "{owner} had stopped sending heartbeats; it must reserve the scope again before it continues here",
    TIME_OVER: "the reservation of {owner} had expired; it must reserve the scope again before it continues here",
}


def _conflict(wanted: Wanted, met: Sequence[Overlap], silent: Sequence[Overlap], facts: list[NoticeFact]) -> BbError:
    """The refusal because of the active holders MET. It also names the SILENT holders, so that an agent that waits for
    the active holders is not refused again because of the others."""
    first = next((meeting for meeting in met if meeting.held.reservation.is_freeze), met[0])
    held = first.held.reservation
    message = (
        f"{held.agent} holds {escaping.name(held.scope)} ({first.kind} overlap), active, until {first.held.ends_at}"
    )
    hint = None
    if held.is_freeze:
        message, hint = freeze_text(first.held), FROZEN_HINT
    elif wanted.base is not None:
        hint = "narrow the scope, or message the holder: `bb send`"
    elif silent and not wanted.takeover:
        hint = f"get in line, and take over from the silent holders: `{command(wanted, '--queue', '--takeover-stale')}`"
    else:
        hint = _ways(wanted, [*met, *silent])
    message += _also([first, *(meeting for meeting in met if meeting is not first), *silent])
    return ReservationConflict(message, hint=hint, leaving=facts, **_listed([*met, *silent]))


def _held_everywhere(wanted: Wanted, met: Sequence[Overlap]) -> BbError:
    """The refusal to take over a global reservation in one clone only."""
    held = met[0].held.reservation
    message = f"{held.agent} holds {escaping.name(held.scope)} in every clone, and is no longer active"
    everywhere = [] if met[0].held.reservation.order else ["--global"]  # with an engine, plain reservations are global
    hint = f"take it over in every clone: `{command(wanted.replace(takeover=True), *everywhere)}`"
    return ReservationStaleFound(message + _also(met), hint=hint, **_listed(met))


def _stale_found(wanted: Wanted, met: Sequence[Overlap]) -> BbError:
    takeover = command(wanted, *(["--global"] if wanted.base is not None else []), "--takeover-stale")
    first = met[0].held
    message = f"{first.reservation.agent} holds {escaping.name(first.scope.text)} ({met[0].kind} overlap) and is "
    message += _silence(first)
    if first.is_over:
        message = f"the reservation of {escaping.name(first.scope.text)} by {first.reservation.agent} has expired"
    hint = f"take it over, its holder is notified: `{takeover}`"
    return ReservationStaleFound(message + _also(met), hint=hint, **_listed(met))


def _also(met: Sequence[Overlap]) -> str:
    """The other conflicting reservations, after the first one, as the end of a sentence."""
    others = _each_once(met)[1:]
    named = [
        f"{held.reservation.agent} holds {escaping.name(held.scope.text)} ({_silence(held)})"
        for held in others[:MOST_NAMED]
    ]
    more = [f"{len(others) - MOST_NAMED} more"] if len(others) > MOST_NAMED else []
    return f"; also conflicting: {', '.join([*named, *more])}" if others else ""


def _silence(held: Held) -> str:
    return "expired" if held.is_over else held.liveness


def _listed(met: Sequence[Overlap]) -> dict[str, Any]:
    """The conflicts as details of a refusal, with the number of omitted ones."""
    left_out = {"omitted": len(met) - SHOWN} if len(met) > SHOWN else {}
    return {"conflicts": [meeting.as_json() for meeting in met[:SHOWN]], "count": len(met), **left_out}
