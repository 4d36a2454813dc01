"""Pausing and unpausing agents. Only the person may do this."""

from __future__ import annotations

from bb.coordination.agents import pauses, roster
from bb.coordination.facts import Paused, Unpaused
from bb.kernel import ids
from bb.messaging.mail import person_notices
from bb.ops.agent_params import AsPerson, Why
from bb.ops.catalogue import op
from bb.ops.desk import agent_rows, pause_check, signs_of_life
from bb.ops.params import AgentOrPerson, AllowSecretReason, Key, invalid

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


class PausedAgent(AgentOrPerson):
    """The agent's id."""


@op(
    "agent.pause",
    screen="person_orders",
    examples=(
        "bb agent pause amber-otter --why 'wait for the review'",
        "bb agent pause --all --why 'the release is being cut' --json",
    ),
)
def pause(
    desk: Desk,
    name: PausedAgent | None = None,
    *,
    all_: bool = False,
    why: Why | None = None,
    agent: AsPerson | None = None,
    key: Key | None = None,
    allow_secret: AllowSecretReason | None = None,
) -> dict[str, Any]:
    """Pause an agent: it may change nothing until you unpause it. Only the person may do this.

    The agent is notified by mail and by its next heartbeat. `reserve`, `renew`, `check`, the commit hook and the
    editors' hooks refuse it with AGENT_PAUSED. It can still read, reply, hand over and release, so that other agents
    can continue its work. It keeps its reservations until they end. The latest command counts: an agent unpaused by
    name may work although all others are paused. Refused with PERSON_ONLY if BB_AGENT names an agent, unless
    --agent user confirms that you are the person.

    Parameters:
        all_: All agents, including agents that join later.
    """
    target = _target(desk, name, all_, agent)
    fact = Paused(ids.PERSON, target, why)

    def is_news(index: Index, who: str) -> bool:
        current_pause = pause_check.pause_of(index, who)
        return current_pause is None or current_pause.why != why or current_pause.is_everybodys is not all_

    def letter(who: str, bead: str) -> Sent:
        return person_notices.paused(why, who, bead)

    return _said(desk, target, fact, is_news, letter, key, allow_secret)


@op("agent.unpause", screen="person_orders", examples=("bb agent unpause amber-otter", "bb agent unpause --all --json"))
def unpause(
    desk: Desk,
    name: PausedAgent | None = None,
    *,
    all_: bool = False,
    agent: AsPerson | None = None,
    key: Key | None = None,
) -> dict[str, Any]:
    """Unpause an agent, so that it may continue. The agent is notified. An agent that is not paused is unaffected.

    Parameters:
        all_: All agents, including those paused by name.
    """
    target = _target(desk, name, all_, agent)

    def is_news(index: Index, who: str) -> bool:
        return pause_check.pause_of(index, who) is not None

    return _said(desk, target, Unpaused(ids.PERSON, target), is_news, person_notices.unpaused, key, None)


def _target(desk: Desk, name: str | None, is_all: bool, agent: str | None) -> str:
    """The agent to pause or unpause, or all; refused if the caller is not the person."""
    signs_of_life.person(desk, agent)
    desk.store.require_ledger()
    if (name is None) is not is_all:
        raise invalid("name one agent or pass --all, not both", "name")
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
    """Record FACT about TARGET if it IS_NEWS, with a LETTER to each agent for which it changes something."""
    notified: list[str] = []

    def decide(index: Index, held: Holdings) -> list[Any]:
        agents = [agent.agent_id for agent in _agents(index, target)]
        notified[:] = [who for who in agents if is_news(index, who)]
        if not (notified or is_news(index, target)):
            return []
        return [fact, *(letter(who, _bead(held, who)) for who in notified)]

    recorded = signs_of_life.act(desk, ids.PERSON, decide, key=key, allow_secret=allow_secret)
    pause_check.update_presence(desk)
    index = desk.store.index
    return {
        "everybody": target == pauses.EVERYBODY,
        "paused": pause_check.pause_row(index, target),
        "agents": agent_rows.rows_of(desk, index, _agents(index, target)),
        "told": notified if recorded else [],
    }


def _agents(index: Index, target: str) -> Sequence[Agent]:
    """The agents in service that TARGET means."""
    if target == pauses.EVERYBODY:
        return roster.in_service(index.states(roster.NAME))
    return [signs_of_life.in_service(index, target)]


def _bead(held: Holdings, who: str) -> str:
    """The bead for a letter to WHO: that of its first reservation."""
    return next((bead for own in held.reservations_of_agent(who) if (bead := own.reservation.bead)), pauses.BEAD)
