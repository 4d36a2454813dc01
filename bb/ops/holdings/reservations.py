"""Reservations: who holds what (Operative Protocol §4.4, §5)."""

from __future__ import annotations

import os

from bb.coordination.facts import Incurred, Released, TakenOver
from bb.coordination.holdings import freezing, holdings, reservations
from bb.coordination.holdings.reservations import InvalidArgs, Wanted
from bb.coordination.protocol import notices
from bb.kernel import clock, ids
from bb.ledger.git import work_tree
from bb.ledger.journal import kinds
from bb.ops.catalogue import op
from bb.ops.desk import pause_check, signs_of_life
from bb.ops.params import Bead, Key, Plain, Reason, Scope, Seconds, Someone, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from bb.coordination.holdings import scopes
    from bb.coordination.holdings.holdings import Reservation
    from bb.coordination.holdings.reservations import Overlap
    from bb.kernel.event import Event
    from bb.ledger.index.index import Index
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk


TTL = "120"  # minutes, unless somebody says otherwise


class Minutes(Plain):
    """How long it lasts without a sign of life from you: minutes, 5 to 1440."""

    metavar = "MINUTES"
    takes_numbers = True


class Fallback(Text):
    """With --global, when the remote cannot be reached: `local` holds it in this clone only, and says so."""

    metavar = "local"
    choices = ("local",)


class Wait(Seconds):
    """Stand in line for so many seconds, up to a day, when it cannot be had at once."""


@op(
    "agent.reserve",
    examples=(
        "bb agent reserve --agent amber-otter --scope src/parser --bead bb-12",
        "bb agent reserve --scope 'src/**/*.py' --scope docs/parser.md --bead bb-12 --ttl 60 --json",
        "bb agent reserve --scope src/parser --bead bb-12 --takeover-stale",
        "bb agent reserve --scope src/parser --bead bb-12 --wait 300",
    ),
    takeover_stale="Take what an agent holds that has fallen silent, or whose time is over. It is told.",
    allow_overlap="Go ahead where the overlap is only partial. It is recorded, and the other one is told.",
    shared="Hold it together with others who share it too.",
    global_="Hold it in every clone, not only in this one: asks the remote, which this clone must publish to.",
)
def reserve(
    desk: Desk,
    *,
    agent: Someone | None = None,
    scope: list[Scope],
    bead: Bead,
    ttl: Minutes = Minutes(TTL),  # noqa: B008  (a text)
    takeover_stale: bool = False,
    allow_overlap: bool = False,
    shared: bool = False,
    global_: bool = False,
    fallback: Fallback | None = None,
    wait: Wait | None = None,
    key: Key | None = None,
    allow_secret: Reason | None = None,
) -> dict[str, Any]:
    """Hold paths for a piece of work, before you edit them.

    Refused with RESERVATION_CONFLICT when another agent that is alive holds any part of them, and with
    RESERVATION_STALE_FOUND when its holder has fallen silent or its time is over. With several scopes you get all
    or nothing. The time is counted from your latest sign of life, so a reservation does not lapse while you work, but
    it ends 24 hours after it was made or renewed. What the person has frozen is refused, whatever you ask for; so is
    everything while the person has paused you (AGENT_PAUSED). --wait stands in line, first come first served, and goes
    on as soon as the way is free. Reserving a scope of your own again renews it. What does not exist yet can be held
    too; the answer names it, in case it was a slip.
    """
    who = signs_of_life.caller(desk, agent)
    wanted = Wanted(
        agent=who,
        scopes=scopes_of(desk, scope),
        bead=reservations.bead(bead),
        ttl=reservations.minutes(ttl),
        shared=shared,
        takeover=takeover_stale,
        allow_overlap=allow_overlap,
    )
    if global_ or fallback:
        from bb.ops.holdings import global_reservations  # noqa: PLC0415  (who asks in this clone only needs no remote)

        global_reservations.refuse_what_means_nothing(wanted, fallback, is_global=global_, waits=bool(wait), key=key)
        return global_reservations.reserve(desk, wanted, fallback, allow_secret)
    if wait:
        from bb.ops.holdings import waiting  # noqa: PLC0415  (who does not wait need not know how)

        return waiting.in_line(desk, wanted, wait, lambda number: reserved(desk, wanted, key, allow_secret, number))
    return reserved(desk, wanted, key, allow_secret)


@op(
    "agent.release",
    examples=(
        "bb agent release --agent amber-otter --scope src/parser",
        "bb agent release --scope src/parser --scope docs --json",
        "bb agent release --all --json",
    ),
    all_="Give back everything you hold.",
)
def release(
    desk: Desk,
    *,
    agent: Someone | None = None,
    scope: list[Scope] | None = None,
    all_: bool = False,
    key: Key | None = None,
) -> dict[str, Any]:
    """Give back what you hold: these scopes, or everything with --all.

    `--agent user` is the person, who may give back what any agent holds. The agent is told by mail.
    """
    who = signs_of_life.caller(desk, agent, may_be_person=True)
    wanted = _these_or_all(desk, scope, all_)

    def decide(_: Index, held: Holdings) -> list[Any]:
        if wanted is None:
            return reservations.release_all(who, held.of(who))
        met = {each: held.met_by([each], whose=who) for each in wanted}
        facts = [fact for each in wanted for fact in reservations.release(who, each, met[each])]
        return [*facts, *_told_by_person(who, facts, met.values())]

    return _ended_or_renewed(desk, who, decide, key)


@op(
    "agent.renew",
    examples=(
        "bb agent renew --agent amber-otter --scope src/parser --ttl 240",
        "bb agent renew --all",
    ),
    all_="Renew everything you hold.",
)
def renew(
    desk: Desk,
    *,
    agent: Someone | None = None,
    scope: list[Scope] | None = None,
    all_: bool = False,
    ttl: Minutes | None = None,
    key: Key | None = None,
) -> dict[str, Any]:
    """Keep what you hold for longer, counted from now.

    While you show signs of life a reservation does not lapse; renewing matters after 24 hours, or to change its time.
    """
    who = signs_of_life.caller(desk, agent, may_be_person=True)
    wanted = _these_or_all(desk, scope, all_)
    minutes = None if ttl is None else reservations.minutes(ttl)

    def decide(index: Index, held: Holdings) -> list[Any]:
        pause_check.refuse(index, who)
        if wanted is None:
            return reservations.renew_all(who, held.of(who), minutes)
        met = {each: held.met_by([each]) for each in wanted}
        facts = [fact for each in wanted for fact in reservations.renew(who, each, met[each], minutes)]
        return [*facts, *_told_by_person(who, facts, met.values())]

    return _ended_or_renewed(desk, who, decide, key)


@op(
    "agent.status",
    reads=True,
    screen="overview",
    examples=("bb agent status", "bb agent status --agent amber-otter --json"),
)
def status(desk: Desk, *, agent: Someone | None = None, bead: Bead | None = None) -> dict[str, Any]:
    """What is held, and which messages wait to be accepted: by everybody, by one agent, or about one bead.

    Changes nothing; --agent says whom it is about, not who is asking.
    """
    desk.store.must_exist()
    index = desk.store.caught_up()
    if agent is not None and agent != ids.PERSON:
        signs_of_life.registered(index, agent)
    held = desk.holdings(index, desk.now())
    live = held.of(agent) if agent else held.everything()
    live = [each for each in live if bead in (None, each.reservation.bead)]
    counted = [each for each in live if held.counts(each.reservation)]
    from bb.ledger.views import mail as mails  # noqa: PLC0415  (to reserve needs no mail)

    owed = [message for message in mails.unsettled(index, agent) if bead in (None, message["bead_id"])]
    over = sum(each.is_over for each in counted)
    return {
        "reservations": [shown(held, each.reservation) for each in live],
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
    """What the holders are told, where it is the person who acts on what they hold."""
    if who != ids.PERSON:
        return []
    from bb.messaging.mail import person_notices  # noqa: PLC0415  (agents give back what is their own)

    return person_notices.of_persons(
        facts, {each.held.reservation.id: each.held.reservation for some in met for each in some}
    )


def reserved(
    desk: Desk,
    wanted: Wanted,
    key: str | None = None,
    allow_secret: str | None = None,
    number: int | None = None,
) -> dict[str, Any]:
    """Reserve what is WANTED, or be refused. NUMBER is where we stand in line."""

    def decide(index: Index, held: Holdings) -> list[Any]:
        facts = decided(desk, wanted, index, held, number)
        return [*facts, *_told_of(facts)]

    return report(desk, wanted, signs_of_life.act(desk, wanted.agent, decide, key=key, allow_secret=allow_secret))


def _told_of(facts: Sequence[Any]) -> list[Any]:
    """What those are told whom FACTS concern: nothing, unless somebody's reservation is in the way."""
    if not any(isinstance(fact, Incurred) for fact in facts):
        return []
    from bb.messaging.mail import mail  # noqa: PLC0415  (most reservations are in nobody's way)

    return mail.about(facts)


def decided(desk: Desk, wanted: Wanted, index: Index, held: Holdings, number: int | None = None) -> list[Any]:
    """What is to be recorded so that WANTED is reserved; refused when it may not be."""
    pause_check.refuse(index, wanted.agent)
    met = held.met_by(wanted.scopes, in_any_clone=wanted.base is not None)
    if os.path.isdir(os.path.join(desk.place.store, "queue")):
        from bb.ops.holdings import waiting  # noqa: PLC0415  (where nobody ever waited, nobody is overtaken)

        waiting.refuse_to_overtake(desk, wanted, met, number)
    return reservations.reserve(wanted, met, lambda incident: index.count(notices.NAME, incident) > 0)


def report(desk: Desk, wanted: Wanted, recorded: Sequence[Event]) -> dict[str, Any]:
    """What was RECORDED when WANTED was reserved, as every face shows it."""
    facts = [kinds.fact_of(event.kind, event.data, event.by) for event in recorded]
    held = desk.holdings(desk.store.index, desk.now())
    return answer(desk, [event.id for event in _made(recorded)]) | {
        "taken_over": [
            shown(held, before) | {"owner_liveness": fact.liveness}
            for fact in facts
            if isinstance(fact, TakenOver) and (before := held.one(fact.reservation))
        ],
        "incursions": [_incursion(fact) for fact in facts if isinstance(fact, Incurred)],
        "not_there": [scope.text for scope in wanted.scopes if not work_tree.is_there(desk.place, scope)],
    }


def _made(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if event.kind == kinds.BY_FACT["Reserved"][0]]


def _incursion(fact: Incurred) -> dict[str, Any]:
    return {
        "incursion_kind": fact.kind,
        "owner_agent": fact.owner,
        "incoming_agent": fact.incoming,
        "owner_liveness": fact.liveness,
        "scope": fact.scope,
        "held": fact.held,
        "outcome": fact.outcome,
        "resolution_hint": fact.hint,
    }


def scopes_of(desk: Desk, written: Sequence[str]) -> tuple[scopes.Scope, ...]:
    """The scopes that were written, each once."""
    return tuple({(found := _scope(desk, text)).text: found for text in written}.values())


def _scope(desk: Desk, written: str) -> scopes.Scope:
    if not written.strip():
        raise InvalidArgs("--scope must not be blank", path="$.scope")
    return desk.scope(written)


def _these_or_all(desk: Desk, scope: Sequence[str] | None, is_all: bool) -> tuple[scopes.Scope, ...] | None:
    """The scopes that are meant; None when everything is."""
    if (scope is None) is not is_all:
        hint = "for example --scope src/parser; `bb agent status` shows what is held"
        raise InvalidArgs("say which scopes with --scope, or --all, and not both", hint=hint, path="$.scope")
    return None if scope is None else scopes_of(desk, scope)


def answer(desk: Desk, names: Sequence[str]) -> dict[str, Any]:
    """The reservations of those names as they are now: the first by itself, and all of them."""
    held = desk.holdings(desk.store.index, desk.now())
    found = [shown(held, reservation) for name in names if (reservation := held.one(name))]
    return (found[0] if found else {}) | {"reservations": found}


def shown(held: Holdings, reservation: Reservation) -> dict[str, Any]:
    """A reservation as every face shows it."""
    now = held.held(reservation)
    is_live = reservation.state == holdings.ACTIVE
    is_over = bool(now and now.is_over)
    return {
        "reservation_id": reservation.id,
        "scope": reservation.scope,
        "agent_id": reservation.agent,
        "bead_id": reservation.bead,
        "state": held.standing(reservation, is_over=is_over) if is_live else reservation.state,
        "shared": reservation.shared,
        "ttl_minutes": None if reservation.has_no_end else reservation.ttl,
        "created_at": clock.text(reservation.made_at),
        "renewed_at": clock.text(reservation.renewed_at),
        "expires_at": now.ends_at if is_live and now else None,
        "released_at": clock.text(reservation.ended_at) if reservation.ended_at is not None else None,
        "owner_liveness": held.liveness_of(reservation.agent),
        **freezing.shown(reservation),
        **({} if reservation.base is None else {"global": held.counts(reservation), "token": held.token(reservation)}),
    }


def give_up(desk: Desk, who: str, names: Sequence[str]) -> None:
    """Let go of reservations of ours that came to nothing."""
    signs_of_life.act(desk, who, lambda _, __: [Released(who, name) for name in names])
