"""`bb turn`: proof of life, and everything that an agent has to know now, in one call."""

from __future__ import annotations

from bb.ops.agents import heartbeat
from bb.ops.catalogue import op
from bb.ops.desk import agent_news, line
from bb.ops.params import AgentId

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ops.desk.desk import Desk


@op("turn", screen="turn", examples=("bb turn --agent amber-otter", "BB_AGENT=amber-otter bb turn --json"))
def turn(desk: Desk, *, agent: AgentId | None = None, all_: bool = False) -> dict[str, Any]:
    """Report that you are alive, and learn what is new. Call this once a turn. Without news, nothing is printed.

    The answer has at most 300 tokens. It says which reservations you lost, which messages are unread or to accept, who
    accepted what you handed over, which place in line became a reservation, who waits for what you hold, whose work
    meets yours, what is frozen, and whether you are paused. A session is told each piece of news once. What does not
    fit is counted, and the next call has it.

    Parameters:
        agent: The calling agent. Default: BB_AGENT.
        all_: Repeat what still applies: your pause, freezes in your scopes, and messages to accept.
    """
    who = desk.caller(agent)
    heartbeat.heartbeat(desk, agent=AgentId(who))
    line.grant(desk, desk.store.caught_up(), who)
    return tell(desk, who, is_all=all_)


def tell(desk: Desk, who: str, *, is_all: bool = False) -> dict[str, Any]:
    """What is new to the caller's session as WHO. It counts as told."""
    index = desk.store.caught_up()
    memory = agent_news.memory_of(desk, who)
    found = agent_news.collect(desk, index, who, memory, is_all=is_all)
    age = _fleet_age(desk) if desk.is_in_fleet else {}
    if not found.news:
        agent_news.remember(desk, memory, found.old, seen=found.seen)
        return age
    from bb.attention.turns import agent_news as rules  # noqa: PLC0415  (most turns have no news)

    told = rules.fit(found.news)
    agent_news.remember(desk, memory, (*found.old, *told.names), seen=found.seen)
    hint = {"hint": f"bb turn --agent {who}"} if "more" in told.answer else {}
    return told.answer | hint | age


def _fleet_age(desk: Desk) -> dict[str, Any]:
    """How old the engine's order is, if that is worth a sentence."""
    from bb.ops.desk import fleet_age  # noqa: PLC0415  (needed only in a fleet)

    return fleet_age.member(desk, only_if_old=True)
