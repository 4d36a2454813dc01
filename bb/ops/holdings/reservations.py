"""Ops on reservations (Operative Protocol §4.4, §5)."""

from __future__ import annotations

from bb.coordination.facts import LeftLine
from bb.coordination.holdings import holdings, reservations
from bb.coordination.holdings.reservations import InvalidArgs, Wanted
from bb.kernel import clock, ids
from bb.ledger.lines import bracketed_agents
from bb.ops.catalogue import op
from bb.ops.desk import pause_check, signs_of_life
from bb.ops.holdings.recording import TTL, anchored, answer, reserved, scopes_of, shown, waiting_for
from bb.ops.params import AgentOrPerson, AllowSecretReason, Bead, Key, Number, Scope, Seconds, Text, UncheckedNumber

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from bb.coordination.holdings import scopes
    from bb.coordination.holdings.held import Held, Overlap
    from bb.coordination.holdings.places import Place
    from bb.ledger.index.index import Index
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk


class Minutes(UncheckedNumber):
    """Minutes after your last sign of life until the reservation expires: 5 to 1440."""

    metavar = "MINUTES"


class Deadline(Number):
    """With --queue: the minutes until the place in line ends, at most 1440. Default: 120."""

    metavar = "MINUTES"
    most = 1440


class Fallback(Text):
    """With --global: `local` reserves in this clone only if the remote cannot be reached. The answer says so."""

    metavar = "local"
    choices = ("local",)


@op(
    "agent.reserve",
    screen="reservations",
    examples=(
        "bb agent reserve --agent amber-otter --scope src/parser",
        "bb agent reserve --scope 'src/**/*.py' --scope docs/parser.md --bead bb-12 --ttl 60 --json",
        "bb agent reserve --scope src/parser --bead bb-12 --takeover-stale",
        "bb agent reserve --scope src/parser --scope docs/parser.md --queue",
        "bb agent reserve --scope src/parser --bead bb-12 --wait 300",
        "bb reserve src/parser docs/parser.md --bead bb-12",
        "bb reserve src/number.py::roman 'README.md::Install' --json",
        "bb reserve src/number.py::new",
        "bb reserve src/number.py --open",
    ),
    short="reserve",
    positional=("scope",),
)
def reserve(
    desk: Desk,
    *,
    agent: AgentOrPerson | None = None,
    scope: list[Scope],
    bead: Bead | None = None,
    ttl: Minutes = Minutes(TTL),  # noqa: B008  (a text)
    takeover_stale: bool = False,
    allow_overlap: bool = False,
    shared: bool = False,
    open_: bool = False,
    exclusive: bool = False,
    global_: bool = False,
    fallback: Fallback | None = None,
    wait: Seconds | None = None,
    queue: bool = False,
    deadline: Deadline | None = None,
    key: Key | None = None,
    allow_secret: AllowSecretReason | None = None,
) -> dict[str, Any]:
    """Reserve paths before you edit them.

    Refused with RESERVATION_CONFLICT if an active agent holds any part of the paths, and with RESERVATION_STALE_FOUND
    if the holder is silent or its reservation has expired. With several scopes, all are reserved or none. The time
    counts from your latest sign of life, so a reservation does not expire while you work, but it ends 24 hours after
    it was made or renewed. Paths that the person has frozen are always refused, and so is every request while the
    person has paused you (AGENT_PAUSED). Reserving your own scope again renews it. Paths that do not exist yet can be
    reserved; the answer lists them in `not_there`, in case of a typing error.

    A scope may be a part of a file: a function, class, heading or key (`src/number.py::roman`, `::Class.method`), what
    you add (`::new`, `::new:NAME`), or lines (`::40-60`). Refused with SYMBOL_NOT_FOUND if the file has no such symbol.

    A reservation is exclusive, shared or open. Shared and open ones may overlap each other. In a file that you hold
    open, others may edit: only lines that you have changed and not committed are yours. Without a kind, it is open for
    files if an editor's hook attributes your lines, else exclusive.

    --queue takes a place in line, first come first served, if the scopes are not free. The exit status is 0, and
    `queued` says who is in the way. The command that frees the scopes grants the place, and you get one message. The
    same request again keeps the place; `bb agent release` of one of the scopes leaves the line. --wait keeps a running
    process in line instead; with --queue, the place stays when the time is up.

    Parameters:
        takeover_stale: Take over a reservation whose holder is silent or that has expired. The holder is notified.
        allow_overlap: Reserve despite a partial overlap. It is recorded as an incursion and the holder is notified.
        shared: Share the scope with other shared and open reservations.
        open_: Let others work in the same files. Conflicts are judged by lines.
        exclusive: Keep others out: for refactorings and migrations.
        global_: Reserve in every clone, not only in this one. Needs the remote that this clone publishes to.
        wait: If the scopes are not free, wait in line for up to this many seconds, at most a day.
        queue: If the scopes are not free, take a place in line and return. The place needs no running process.
    """
    who = signs_of_life.caller(desk, agent)
    wanted_scopes = anchored(desk, scopes_of(desk, scope), who)
    kind = _kind(desk, who, wanted_scopes, {"shared": shared, "open": open_, "exclusive": exclusive}, is_global=global_)
    request = Wanted(
        agent=who,
        scopes=wanted_scopes,
        bead=reservations.bead(bead),
        ttl=reservations.minutes(ttl),
        shared=kind == holdings.SHARED,
        takeover=takeover_stale,
        allow_overlap=allow_overlap,
        is_open=kind == holdings.OPEN,
        is_exclusive=exclusive,
    )
    if desk.is_in_fleet and kind != holdings.OPEN:
        from bb.ops.holdings import fleet_reservations  # noqa: PLC0415  (needed only in a fleet)

        fleet_reservations.refuse_incompatible_options(
            request, is_queued=queue, has_deadline=deadline is not None, key=key
        )
        return fleet_reservations.reserve(desk, request, fallback, wait, allow_secret)
    if global_ or fallback:
        from bb.ops.holdings import global_reservations  # noqa: PLC0415  (most reservations need no remote)

        global_reservations.refuse_incompatible_options(
            request, fallback, is_global=global_, waits=bool(wait), is_queued=queue, key=key
        )
        return global_reservations.reserve(desk, request, fallback, allow_secret)
    if queue or deadline is not None:
        from bb.ops.holdings import queueing  # noqa: PLC0415  (most reservations need no line)

        minutes = queueing.deadline(deadline, is_queued=queue)
        return queueing.reserve_with_place(desk, request, minutes, wait, key, allow_secret)
    if wait:
        from bb.ops.holdings import waiting  # noqa: PLC0415  (most reservations do not wait)

        return waiting.reserve_in_queue(
            desk, request, wait, lambda number: reserved(desk, request, key, allow_secret, number)
        )
    return reserved(desk, request, key, allow_secret)


@op(
    "agent.release",
    screen="reservations",
    examples=(
        "bb agent release --agent amber-otter --scope src/parser",
        "bb agent release --scope src/parser --scope docs --json",
        "bb agent release --all --json",
        "bb release src/parser docs/parser.md",
        "bb release --all",
    ),
    short="release",
    positional=("scope",),
)
def release(
    desk: Desk,
    *,
    agent: AgentOrPerson | None = None,
    scope: list[Scope] | None = None,
    all_: bool = False,
    key: Key | None = None,
) -> dict[str, Any]:
    """Release your reservations: of these scopes, or all of them with --all. A place in line is left in the same way.

    A scope that you wait for with --queue is released by leaving the line, for all scopes of that request.

    The person (`--agent user`) may release any agent's reservation. The agent is notified by mail.

    Parameters:
        all_: Release all your reservations.
    """
    who = signs_of_life.caller(desk, agent, may_be_person=True)
    wanted_scopes = _these_or_all(desk, scope, all_, "release")

    left: list[Place] = []

    def decide(index: Index, held: Holdings) -> list[Any]:
        left[:] = _places_to_leave(index, held, who, wanted_scopes)
        ends = [LeftLine(who, place.id, "cancelled") for place in left]
        if wanted_scopes is None:
            return [*reservations.release_all(who, held.reservations_of_agent(who)), *ends]
        awaited = {scope for place in left for scope in place.names}
        met = {one: held.overlaps([one], whose=who) for one in wanted_scopes if one.text not in awaited}
        facts = [fact for one in met for fact in reservations.release(who, one, met[one])]
        return [*facts, *ends, *_told_by_person(who, facts, met.values())]

    released = _ended_or_renewed(desk, who, decide, key)
    return released | ({"left_line": [name for place in left for name in place.names]} if left else {})


@op(
    "agent.renew",
    screen="reservations",
    examples=(
        "bb agent renew --agent amber-otter --scope src/parser --ttl 240",
        "bb agent renew --all",
        "bb renew --all",
        "bb renew src/parser --ttl 240",
    ),
    short="renew",
    positional=("scope",),
)
def renew(
    desk: Desk,
    *,
    agent: AgentOrPerson | None = None,
    scope: list[Scope] | None = None,
    all_: bool = False,
    ttl: Minutes | None = None,
    key: Key | None = None,
) -> dict[str, Any]:
    """Renew your reservations: their time counts from now.

    A reservation does not expire while you send signs of life. Renew it before 24 hours have passed, or to change its
    time.

    Parameters:
        all_: Renew all your reservations.
    """
    who = signs_of_life.caller(desk, agent, may_be_person=True)
    wanted_scopes = _these_or_all(desk, scope, all_, "renew")
    minutes = None if ttl is None else reservations.minutes(ttl)

    def decide(index: Index, held: Holdings) -> list[Any]:
        pause_check.refuse(index, who)
        if wanted_scopes is None:
            return reservations.renew_all(who, held.reservations_of_agent(who), minutes)
        met = {one: held.overlaps([one]) for one in wanted_scopes}
        facts = [fact for one in wanted_scopes for fact in reservations.renew(who, one, met[one], minutes)]
        return [*facts, *_told_by_person(who, facts, met.values())]

    return _ended_or_renewed(desk, who, decide, key)


@op(
    "agent.status",
    reads=True,
    screen="overview",
    examples=("bb agent status", "bb agent status --agent amber-otter --json", "bb agent status --all"),
)
def status(
    desk: Desk, *, agent: AgentOrPerson | None = None, bead: Bead | None = None, all_: bool = False
) -> dict[str, Any]:
    """Show reservations and messages that must be acknowledged: of all agents, of one agent, or about one bead.

    Changes nothing. --agent selects an agent to show; any caller may use it. Of the reservations of all agents, 50 are
    shown and counted: freezes, then those of active and stale agents, then the latest. `left_out` has the number of the
    others.

    Parameters:
        agent: Only this agent.
        all_: Show every reservation.
    """
    desk.store.require_ledger()
    index = desk.store.caught_up()
    if agent is not None and agent != ids.PERSON:
        signs_of_life.registered(index, agent)
    held = desk.holdings(index, desk.now())
    live, left_out = _current(desk, held, agent, bead, is_all=all_)
    counted = [one for one in live if held.counts(one.reservation)]
    from bb.ledger.views import mail as mails  # noqa: PLC0415  (the other ops here need no mail)

    owed = [message for message in mails.unsettled(index, agent) if bead in (None, message["bead_id"])]
    over = sum(one.is_over for one in counted)
    return {
        "reservations": [
            shown(held, one.reservation)
            | {"seconds_left": max(one.expires_at - held.now, 0) // clock.SECOND if one.ends_at else None}
            for one in live
        ],
        "unacked_required_messages": owed,
        "summary": {
            "active": len(counted) - over,
            "released": held.count_ended(holdings.RELEASED, agent, bead),
            "expired": held.count_ended(holdings.EXPIRED, agent, bead) + over,
            "taken_over": held.count_ended(holdings.TAKEN_OVER, agent, bead),
            "unacked_required_messages": len(owed),
        },
        **({"left_out": {"reservations": left_out}} if left_out else {}),
        **(_fleet_age(desk) if desk.is_in_fleet else {}),
    }


def _fleet_age(desk: Desk) -> dict[str, Any]:
    from bb.ops.desk import fleet_age  # noqa: PLC0415  (needed only in a fleet)

    return fleet_age.member(desk)


def _current(
    desk: Desk, held: Holdings, agent: str | None, bead: str | None, *, is_all: bool
) -> tuple[list[Held], int]:
    """The current reservations to show, oldest first, and the number of those left out."""
    if agent is not None:
        return [one for one in held.reservations_of_agent(agent) if bead in (None, one.reservation.bead)], 0
    if bead is not None:
        return held.current_about(bead), 0
    if is_all:
        return held.everything(), 0
    from bb.ops.desk import agent_rows  # noqa: PLC0415  (the other ops here show no agents)

    return held.latest(agent_rows.MOST, agent_rows.latest(desk, desk.store.index).live)


def _kind(desk: Desk, who: str, wanted: Sequence[scopes.Scope], flags: Mapping[str, bool], *, is_global: bool) -> str:
    """The kind of holding that the request asks for by its FLAGS, else the default."""
    given = [kind for kind, is_given in flags.items() if is_given]
    if len(given) > 1:
        named = " and ".join(f"--{kind}" for kind in given)
        raise InvalidArgs(f"a reservation has one kind, not {named}", hint="pass one of them", path=f"$.{given[1]}")
    if is_global and given == [holdings.OPEN]:
        message = "--global cannot be used with --open: a global reservation is exclusive or shared"
        raise InvalidArgs(message, hint="reserve it open in this clone, or exclusively in every clone", path="$.open")
    if given:
        return given[0]
    is_open = (
        not is_global and all(scope.is_file for scope in wanted) and bracketed_agents.is_bracketed(desk.place, who)
    )
    return holdings.OPEN if is_open else holdings.EXCLUSIVE


def _ended_or_renewed(desk: Desk, who: str, decide: signs_of_life.Decide, key: str | None) -> dict[str, Any]:
    recorded = signs_of_life.act(desk, who, decide, key=key)
    names = [event.data["reservation_id"] for event in recorded if "reservation_id" in event.data]
    return answer(desk, names) | waiting_for(desk, who)


def _places_to_leave(index: Index, held: Holdings, who: str, wanted: Sequence[scopes.Scope] | None) -> list[Place]:
    """WHO's places in line for one of the scopes WANTED that it does not hold; all of its places without scopes."""
    if not index.count(*signs_of_life.LINE):
        return []
    from bb.ledger.views import holdings_queue  # noqa: PLC0415  (mostly nobody is in line)

    own = holdings_queue.own_places(index, who)
    if wanted is None:
        return own
    holds = {one.scope.text for one in held.reservations_of_agent(who)}
    names = {scope.text for scope in wanted} - holds
    return [place for place in own if names.intersection(place.names)]


def _told_by_person(who: str, facts: Sequence[Any], met: Iterable[Sequence[Overlap]]) -> list[Any]:
    """The notices to the holders, if the person acts on their reservations."""
    if who != ids.PERSON:
        return []
    from bb.messaging.mail import person_notices  # noqa: PLC0415  (agents act only on their own reservations)

    affected = [overlap.held.reservation for overlaps in met for overlap in overlaps]
    return person_notices.person_notifications(facts, {reservation.id: reservation for reservation in affected})


def _these_or_all(desk: Desk, scope: Sequence[str] | None, is_all: bool, verb: str) -> tuple[scopes.Scope, ...] | None:
    """The scopes named; None for all."""
    if (scope is None) is not is_all:
        hint = f"for example `bb {verb} src/parser`, or `bb {verb} --all`"
        message = "name scopes, or pass --all" if scope is None else "name scopes or pass --all, not both"
        raise InvalidArgs(message, hint=hint, path="$.scope")
    return None if scope is None else scopes_of(desk, scope)
