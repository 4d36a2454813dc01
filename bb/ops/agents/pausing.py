"""Pausing agents, and letting them go on: the person's word, which no agent can give in its own name."""

from __future__ import annotations

from bb.coordination.agents import pauses, roster
from bb.coordination.facts import Paused, Unpaused
from bb.kernel import ids
from bb.messaging.mail import person_notices
from bb.ops.catalogue import op
from bb.ops.desk import pause_check, signs_of_life
from bb.ops.params import AsPerson, Key, Reason, Someone, Why, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from bb.coordination.agents.roster import Agent
    from bb.ledger.index.index import Index
    from bb.ledger.journal.kinds import Fact
    from bb.ledger.views.holdings import Holdings
    from bb.messaging.facts import Sent
    from bb.ops.desk.desk import Desk

    Letter = Callable[[str, str], Sent]  # to an agent, about a bead


class Whom(Someone):
    """The agent, by its id."""


@op(
    "agent.pause",
    screen="person_orders",
    examples=(
        "bb agent pause amber-otter --why 'wait for the review'",
        "bb agent pause --all --why 'the release is being cut' --json",
    ),
    all_="Everybody, and whoever joins later.",
)
def pause(
    desk: Desk,
    name: Whom | None = None,
    *,
    all_: bool = False,
    why: Why | None = None,
    agent: AsPerson | None = None,
    key: Key | None = None,
    allow_secret: Reason | None = None,
) -> dict[str, Any]:
    """Let an agent change nothing until you let it go on: yours to say, as the person.

    It is told by mail and by its next heartbeat. `reserve`, `renew`, `check`, the commit hook and the editors' hooks
    refuse it with AGENT_PAUSED; reading, answering, handing over and giving back go on working, so that others can take
    up its work. It keeps what it holds as long as that lasts. The last word counts: whom you let go on by name works
    although everybody else is paused. Refused with PERSON_ONLY where BB_AGENT names an agent, unless --agent user says
    that it is you.
    """
    target = _target(desk, name, all_, agent)
    fact = Paused(ids.PERSON, target, why)

    def is_news(index: Index, who: str) -> bool:
        known = pause_check.of(index, who)
        return known is None or known.why != why or known.is_everybodys is not all_

    def letter(who: str, bead: str) -> Sent:
        return person_notices.paused(why, who, bead)

    return _said(desk, target, fact, is_news, letter, key, allow_secret)


@op(
    "agent.unpause",
    screen="person_orders",
    examples=("bb agent unpause amber-otter", "bb agent unpause --all --json"),
    all_="Everybody, whoever was paused by name among them.",
)
def unpause(
    desk: Desk, name: Whom | None = None, *, all_: bool = False, agent: AsPerson | None = None, key: Key | None = None
) -> dict[str, Any]:
    """Let a paused agent go on. It is told. Nothing happens to one that is not paused."""
    target = _target(desk, name, all_, agent)

    def is_news(index: Index, who: str) -> bool:
        return pause_check.of(index, who) is not None

    return _said(desk, target, Unpaused(ids.PERSON, target), is_news, person_notices.unpaused, key, None)


def _target(desk: Desk, name: str | None, is_all: bool, agent: str | None) -> str:
    """Whom it is about, the person being who says it."""
    signs_of_life.person(desk, agent)
    desk.store.must_exist()
    if (name is None) is not is_all:
        raise invalid("name one agent, or say --all, and not both", "name")
    return name or pauses.EVERYBODY


def _said(
    desk: Desk,
    target: str,
    fact: Fact,
    is_news: Callable[[Index, str], bool],
    letter: Letter,
    key: str | None,
    allow_secret: str | None,
) -> dict[str, Any]:
    """Record the person's word about TARGET, where it IS_NEWS, with a LETTER to each for whom it is."""
    told: list[str] = []

    def decide(index: Index, held: Holdings) -> list[Any]:
        meant = [agent.agent_id for agent in _meant(index, target)]
        told[:] = [who for who in meant if is_news(index, who)]
        if not (told or is_news(index, target)):
            return []
        return [fact, *(letter(who, _bead(held, who)) for who in told)]

    recorded = signs_of_life.act(desk, ids.PERSON, decide, key=key, allow_secret=allow_secret)
    pause_check.mark(desk)
    index = desk.store.index
    return {
        "everybody": target == pauses.EVERYBODY,
        "paused": pause_check.shown(index, target),
        "agents": signs_of_life.listed(desk, index, _meant(index, target)),
        "told": told if recorded else [],
    }


def _meant(index: Index, target: str) -> Sequence[Agent]:
    """The agents in service that a word about TARGET is about."""
    if target == pauses.EVERYBODY:
        return roster.in_service(index.states(roster.NAME))
    return [signs_of_life.in_service(index, target)]


def _bead(held: Holdings, who: str) -> str:
    """What a letter to WHO is about: what it holds something for."""
    return next((each.reservation.bead for each in held.of(who)), pauses.BEAD)
