"""Ops on reservations (Operative Protocol §4.4, §5)."""

from __future__ import annotations

from bb.coordination.holdings import holdings, reservations
from bb.coordination.holdings.reservations import InvalidArgs, Wanted
from bb.kernel import ids
from bb.ops.catalogue import op
from bb.ops.desk import pause_check, signs_of_life
from bb.ops.holdings.recording import TTL, answer, reserved, scopes_of, shown
from bb.ops.params import AgentOrPerson, AllowSecretReason, Bead, Key, Scope, Seconds, Text, UncheckedNumber

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from bb.coordination.holdings import scopes
    from bb.coordination.holdings.held import Overlap
    from bb.ledger.index.index import Index
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk


class Minutes(UncheckedNumber):
    """Minutes after your last sign of life until the reservation expires: 5 to 1440."""

    metavar = "MINUTES"


class Fallback(Text):
    """With --global: `local` reserves in this clone only if the remote cannot be reached. The answer says so."""

    metavar = "local"
    choices = ("local",)


@op(
    "agent.reserve",
    examples=(
        "bb agent reserve --agent amber-otter --scope src/parser --bead bb-12",
        "bb agent reserve --scope 'src/**/*.py' --scope docs/parser.md --bead bb-12 --ttl 60 --json",
        "bb agent reserve --scope src/parser --bead bb-12 --takeover-stale",
        "bb agent reserve --scope src/parser --bead bb-12 --wait 300",
    ),
)
def reserve(
    desk: Desk,
    *,
    agent: AgentOrPerson | None = None,
    scope: list[Scope],
    bead: Bead,
    ttl: Minutes = Minutes(TTL),  # noqa: B008  (a text)
    takeover_stale: bool = False,
    allow_overlap: bool = False,
    shared: bool = False,
    global_: bool = False,
    fallback: Fallback | None = None,
    wait: Seconds | None = None,
    key: Key | None = None,
    allow_secret: AllowSecretReason | None = None,
) -> dict[str, Any]:
    """Reserve paths for a bead before you edit them.

    Refused with RESERVATION_CONFLICT if an active agent holds any part of the paths, and with RESERVATION_STALE_FOUND
    if the holder is silent or its reservation has expired. With several scopes, all are reserved or none. The time
    counts from your latest sign of life, so a reservation does not expire while you work, but it ends 24 hours after
    it was made or renewed. Paths that the person has frozen are always refused, and so is every request while the
    person has paused you (AGENT_PAUSED). --wait waits in a queue, first come first served, and reserves as soon as the
    scopes are free. Reserving your own scope again renews it. Paths that do not exist yet can be reserved; the answer
    lists them in `not_there`, in case of a typing error.

    Parameters:
        takeover_stale: Take over a reservation whose holder is silent or that has expired. The holder is notified.
        allow_overlap: Reserve despite a partial overlap. It is recorded as an incursion and the holder is notified.
        shared: Share the scope with other shared reservations.
        global_: Reserve in every clone, not only in this one. Needs the remote that this clone publishes to.
        wait: If the scope is not free, wait in the queue for up to this many seconds, at most a day.
    """
    who = signs_of_life.caller(desk, agent)
    request = Wanted(
        agent=who,
        scopes=scopes_of(desk, scope),
        bead=reservations.bead(bead),
        ttl=reservations.minutes(ttl),
        shared=shared,
        takeover=takeover_stale,
        allow_overlap=allow_overlap,
    )
    if global_ or fallback:
        from bb.ops.holdings import global_reservations  # noqa: PLC0415  (most reservations need no remote)

        global_reservations.refuse_incompatible_options(request, fallback, is_global=global_, waits=bool(wait), key=key)
        return global_reservations.reserve(desk, request, fallback, allow_secret)
    if wait:
        from bb.ops.holdings import waiting  # noqa: PLC0415  (most reservations do not wait)

        return waiting.reserve_in_queue(
            desk, request, wait, lambda number: reserved(desk, request, key, allow_secret, number)
        )
    return reserved(desk, request, key, allow_secret)


@op(
    "agent.release",
    examples=(
        "bb agent release --agent amber-otter --scope src/parser",
        "bb agent release --scope src/parser --scope docs --json",
        "bb agent release --all --json",
    ),
)
def release(
    desk: Desk,
    *,
    agent: AgentOrPerson | None = None,
    scope: list[Scope] | None = None,
    all_: bool = False,
    key: Key | None = None,
) -> dict[str, Any]:
    """Release your reservations: of these scopes, or all of them with --all.

    The person (`--agent user`) may release any agent's reservation. The agent is notified by mail.

    Parameters:
        all_: Release all your reservations.
    """
    who = signs_of_life.caller(desk, agent, may_be_person=True)
    wanted_scopes = _these_or_all(desk, scope, all_)

    def decide(_: Index, held: Holdings) -> list[Any]:
        if wanted_scopes is None:
            return reservations.release_all(who, held.reservations_of_agent(who))
        met = {one: held.overlaps([one], whose=who) for one in wanted_scopes}
        facts = [fact for one in wanted_scopes for fact in reservations.release(who, one, met[one])]
        return [*facts, *_told_by_person(who, facts, met.values())]

    return _ended_or_renewed(desk, who, decide, key)


@op(
    "agent.renew",
    examples=(
        "bb agent renew --agent amber-otter --scope src/parser --ttl 240",
        "bb agent renew --all",
    ),
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
    wanted_scopes = _these_or_all(desk, scope, all_)
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
    examples=("bb agent status", "bb agent status --agent amber-otter --json"),
)
def status(desk: Desk, *, agent: AgentOrPerson | None = None, bead: Bead | None = None) -> dict[str, Any]:
    """Show reservations and messages that must be acknowledged: of all agents, of one agent, or about one bead.

    Changes nothing. --agent selects an agent to show; any caller may use it.
    """
    desk.store.require_ledger()
    index = desk.store.caught_up()
    if agent is not None and agent != ids.PERSON:
        signs_of_life.registered(index, agent)
    held = desk.holdings(index, desk.now())
    live = held.reservations_of_agent(agent) if agent else held.everything()
    live = [one for one in live if bead in (None, one.reservation.bead)]
    counted = [one for one in live if held.counts(one.reservation)]
    from bb.ledger.views import mail as mails  # noqa: PLC0415  (the other ops here need no mail)

    owed = [message for message in mails.unsettled(index, agent) if bead in (None, message["bead_id"])]
    over = sum(one.is_over for one in counted)
    return {
        "reservations": [shown(held, one.reservation) for one in live],
        "unacked_required_messages": owed,
        "summary": {
            "active": len(counted) - over,
            "released": held.count_ended(holdings.RELEASED, agent, bead),
            "expired": held.count_ended(holdings.EXPIRED, agent, bead) + over,
            "taken_over": held.count_ended(holdings.TAKEN_OVER, agent, bead),
            "unacked_required_messages": len(owed),
        },
    }


def _ended_or_renewed(desk: Desk, who: str, decide: signs_of_life.Decide, key: str | None) -> dict[str, Any]:
    recorded = signs_of_life.act(desk, who, decide, key=key)
    return answer(desk, [event.data["reservation_id"] for event in recorded if "reservation_id" in event.data])


def _told_by_person(who: str, facts: Sequence[Any], met: Iterable[Sequence[Overlap]]) -> list[Any]:
    """The notices to the holders, if the person acts on their reservations."""
    if who != ids.PERSON:
        return []
    from bb.messaging.mail import person_notices  # noqa: PLC0415  (agents act only on their own reservations)

    affected = [overlap.held.reservation for overlaps in met for overlap in overlaps]
    return person_notices.person_notifications(facts, {reservation.id: reservation for reservation in affected})


def _these_or_all(desk: Desk, scope: Sequence[str] | None, is_all: bool) -> tuple[scopes.Scope, ...] | None:
    """The scopes named; None for all."""
    if (scope is None) is not is_all:
        hint = "for example --scope src/parser; `bb agent status` shows all reservations"
        raise InvalidArgs("pass --scope or --all, not both", hint=hint, path="$.scope")
    return None if scope is None else scopes_of(desk, scope)
