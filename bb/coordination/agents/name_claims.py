"""Names that were registered twice: by two clones, before either knew of the other.

A registration belongs to the writer that recorded it. If a name has several registrations in force, the agent whose
registration was published first has the name. Before publication, the order in the ledger decides. The others are
rivals: bb tells each at its next call (NAME_TAKEN_ELSEWHERE). Until a rival has taken another name, or has said that
both are one agent, its reservations do not count as those of the agent that has the name, and it gets no global ones.
"""

from __future__ import annotations

from bb.kernel import clock
from bb.kernel.errors import Conflict, Forbidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bb.coordination.agents.roster import Agent, Registration

NameTaken = Forbidden.declare(
    "NAME_TAKEN_ELSEWHERE",
    "Another clone registered this name and published it first",
    hint="take another name: `bb agent rename NEW`; or, if both are one agent on purpose: `bb agent merge`",
)

NameNotTaken = Conflict.declare(
    "NAME_NOT_TAKEN",
    "No other clone has registered this name",
    hint=(
        "nothing to do; only a name that two agents have is changed. To work under another name, register it: "
        "`bb agent register --name NAME --role ROLE`"
    ),
)


def rivals(agent: Agent, published: Sequence[str]) -> list[Registration]:
    """The registrations of the agent's name that came too late. PUBLISHED are the registrations of the name in the
    order of their publication."""
    place = {event: number for number, event in enumerate(published)}
    open_ones = [one for one in agent.registrations if not one.is_merged]
    return sorted(open_ones, key=lambda one: (place.get(one.event, len(place)), one.place))[1:]


def as_seen(agent: Agent, published: Sequence[str], ours: Collection[str]) -> Agent:
    """The agent as a clone whose writers are OURS sees it: with the sessions of its own registration, or without those
    of rivals. Refused if our own registration is a rival's."""
    late = rivals(agent, published)
    own = [one for one in agent.registrations if one.writer in ours]
    if own and any(one in late for one in own):
        who, since = agent.agent_id, clock.text(agent.created_at)
        raise NameTaken(
            f"{who} was registered in another clone too, and published there first",
            hint=f"take another name: `bb agent rename NEW --agent {who}`; "
            f"or, if both are one agent on purpose: `bb agent merge --agent {who}`",
            agent_id=who,
            since=since,
        )
    others = [one for one in agent.registrations if one not in own] if own else late
    return agent.without_sessions_of({one.writer for one in others}) if others else agent
