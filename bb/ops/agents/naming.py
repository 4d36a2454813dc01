"""Settling a name that two clones registered before either knew of the other (`coordination/agents/name_claims.py`)."""

from __future__ import annotations

from typing import Any

from bb.coordination.agents import identity, name_claims, roster
from bb.coordination.agents.roster import Agent
from bb.coordination.facts import NameSettled, Registered, Released, Transferred
from bb.kernel import ids
from bb.ledger.index.index import Index
from bb.ledger.local import editor_sessions, presence
from bb.ledger.views.holdings import Holdings
from bb.ops.agent_params import NewAgentId
from bb.ops.catalogue import op
from bb.ops.desk import session_agent, signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.params import AgentId

UNUSED = "choose another name: `bb agent name` suggests unused names"


@op("agent.rename", examples=("bb agent rename amber-heron --agent amber-otter",))
def rename(desk: Desk, to: NewAgentId, *, agent: AgentId | None = None) -> dict[str, Any]:
    """Take another name, because another clone registered yours and published it first (NAME_TAKEN_ELSEWHERE).

    Your reservations go with you. Global ones end, because a global reservation cannot be transferred. Messages and
    past events stay under the old name. Then work under the new name: set BB_AGENT.

    Parameters:
        to (NEW): The new name. It must be unused.
        agent: Your name so far. Default: BB_AGENT.
    """
    who, now, session = desk.caller(agent), desk.now(), session_agent.to_open(desk)
    desk.store.require_ledger()

    def decide(index: Index) -> list[Any]:
        mine = _own(desk, index, who)
        present = roster.agent(to, index.state(roster.NAME, to))
        if present is not None:
            raise identity.DuplicateAgentId(f"{to} is or was another agent's name", hint=UNUSED, agent_id=to)
        joined = identity.register(None, to, mine.role, None, force=False, state="")
        own = _reservations(desk, index, who, {one.writer for one in signs_of_life.own_registrations(desk, mine)})
        moved = [Released(who, one) if is_global else Transferred(who, one, to) for one, is_global in own.items()]
        return [
            joined.replace(session=session),
            *moved,
            *(NameSettled(who, one.event, to) for one in signs_of_life.own_rivals(desk, mine)),
        ]

    def author(fact: Any) -> str:
        return to if isinstance(fact, Registered) else who

    recorded = desk.store.record(decide, by=who, now=now, author=author)
    presence.remove(desk.place.store, who)
    editor_sessions.forget_agent(desk.place.store, who)
    session_agent.save(desk, to, continues=True)
    signs_of_life.write_presence(desk, signs_of_life.in_service(desk.store.caught_up(), to), now)
    kinds = [event.kind for event in recorded]
    return {
        "agent_id": to,
        "renamed_from": who,
        "transferred": kinds.count("x.bb.transferred"),
        "released": kinds.count("x.bb.released"),
    }


@op("agent.merge", examples=("bb agent merge --agent amber-otter",))
def merge(desk: Desk, *, agent: AgentId | None = None) -> dict[str, Any]:
    """Declare that the agents of one name in two clones are one agent.

    For one agent that works in several clones or sandboxes on purpose. From then on its reservations in each of them
    count for all. Each clone keeps its own session of the name.

    Parameters:
        agent: The name. Default: BB_AGENT.
    """
    who = desk.caller(agent)
    desk.store.require_ledger()

    def decide(index: Index) -> list[Any]:
        mine = _own(desk, index, who)
        return [NameSettled(who, one.event) for one in signs_of_life.own_rivals(desk, mine)]

    recorded = desk.store.record(decide, by=who, now=desk.now())
    agent_now = signs_of_life.checked_agent(desk, desk.store.caught_up(), who)
    signs_of_life.write_presence(desk, agent_now, desk.now())
    return {"agent_id": who, "merged": [event.data["registration"] for event in recorded]}


def _own(desk: Desk, index: Index, who: str) -> Agent:
    """The agent WHO, if this clone registered the name and another one had it first; otherwise refused. The caller's
    session is checked among those of this clone."""
    agent = signs_of_life.in_service(index, who)
    own = signs_of_life.own_registrations(desk, agent)
    try:
        signs_of_life.as_seen_here(desk, agent)
    except name_claims.NameTaken.error:
        ours = agent.without_sessions_of({one.writer for one in agent.registrations if one not in own})
        signs_of_life.refuse_session_mismatch(desk, index, ours)
        return agent
    raise name_claims.NameNotTaken(f"no other clone had the name {who} first", agent_id=who)


def _reservations(desk: Desk, index: Index, who: str, writers: set[str]) -> dict[str, bool]:
    """The current reservations of WHO that were made by these WRITERS, and whether each is global."""
    held: Holdings = desk.holdings(index, desk.now())
    mine = index.entries_by_term("reservation", f"live of {who}")
    found = (held.by_id(name) for name, _ in mine if ids.split_event_id(name)[0] in writers)
    return {one.id: one.is_global for one in found if one}
