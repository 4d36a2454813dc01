"""Entering and leaving service: an unused name for a new agent, and retirement."""

from __future__ import annotations

import os
from itertools import islice
from typing import Any

from bb.coordination.agents import names
from bb.coordination.facts import Retired
from bb.coordination.holdings import reservations
from bb.ledger.index.index import Index
from bb.ledger.local import presence
from bb.ledger.views import mail as mails
from bb.ops.catalogue import op
from bb.ops.desk import registered_names, signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.params import AgentOrPerson, Key, Number, Text


class Seed(Text):
    """The same seed gives the same names, as long as the same names are registered."""

    metavar = "TEXT"
    longest = 200


class Count(Number):
    """The number of names."""

    least = 1
    most = 10_000


@op("agent.name", reads=True, examples=("bb agent name", "bb agent name --seed build-7 --json"))
def name(desk: Desk, *, seed: Seed | None = None, count: Count = Count(1)) -> dict[str, Any]:  # noqa: B008
    """Propose an unused name for a new agent: adjective and noun, such as amber-otter.

    The name is not registered or kept for you: `bb agent register` takes it, and refuses it if another agent was
    faster.
    """
    store = desk.store_or_home
    taken = registered_names.of(store)
    start = seed if seed is not None else os.urandom(8).hex()
    unused = list(islice((name for name in names.sequence(start) if name not in taken), count))
    return {"agent_id": unused[0], "names": unused, "seed": start}


@op("agent.retire", examples=("bb agent retire --agent amber-otter",))
def retire(desk: Desk, *, agent: AgentOrPerson | None = None, key: Key | None = None) -> dict[str, Any]:
    """Retire an agent: its reservations and places in line end, and it is no longer listed. Its history stays.

    Hand over unfinished work first: `bb protocol handoff`. The answer lists the messages that the agent has not
    accepted, so that others can be asked. To continue its work later, adopt it: `bb init --adopt`.

    Parameters:
        agent: The agent to retire. Default: the caller.
    """
    who = desk.caller(agent)
    signs_of_life.refuse_other_session(desk, signs_of_life.index_of(desk, who), who)

    granted: list[Any] = []

    def decide(index: Index) -> list[Any]:
        signs_of_life.checked_agent(desk, index, who)
        held = desk.holdings(index, desk.now())
        presence.remove(desk.place.store, who)  # from now on its heartbeat asks the ledger, even if we crash
        own = [*reservations.release_all(who, held.reservations_of_agent(who)), Retired(who)]
        granted[:] = signs_of_life.grants(desk, index, held, who, own)
        return [*own, *granted]

    def author(fact: Any) -> str:
        return signs_of_life.first_member(fact) if any(fact is one for one in granted) else who

    events = desk.store.record(decide, by=who, now=desk.now(), key=key, request=desk.request, author=author)
    events = events[: len(events) - len(granted)]
    presence.remove(desk.place.store, who)
    return {
        "agent_id": who,
        "status": "retired",
        "released": sum("reservation_id" in event.data for event in events),
        "not_accepted": [message["message_id"] for message in mails.unsettled(desk.store.caught_up(), who)],
    }
