"""Entering and leaving service: a free name to start under, and retirement."""

from __future__ import annotations

import os
from itertools import islice

from bb.coordination.agents import names, roster
from bb.coordination.facts import Retired
from bb.coordination.holdings import reservations
from bb.ledger.local import presence
from bb.ledger.views import mail as mails
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.params import Key, Number, Someone, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.index.index import Index
    from bb.ops.desk.desk import Desk


class Seed(Text):
    """The same seed gives the same names, as long as the same ones are taken."""

    metavar = "TEXT"
    longest = 200


class Count(Number):
    """How many names."""

    least = 1
    most = 10_000


@op("agent.name", reads=True, examples=("bb agent name", "bb agent name --seed build-7 --json"))
def name(desk: Desk, *, seed: Seed | None = None, count: Count = Count(1)) -> dict[str, Any]:  # noqa: B008
    """A free name for a new agent: adjective and noun, such as amber-otter.

    Nothing is registered or set aside: `bb agent register` takes the name, and refuses it if somebody was faster.
    """
    store = desk.store_or_home
    taken = {agent for agent, _ in store.caught_up().states(roster.NAME)} if store.exists else set()
    start = seed if seed is not None else os.urandom(8).hex()
    found = list(islice((name for name in names.sequence(start) if name not in taken), count))
    return {"agent_id": found[0], "names": found, "seed": start}


@op("agent.retire", examples=("bb agent retire --agent amber-otter",))
def retire(desk: Desk, *, agent: Someone | None = None, key: Key | None = None) -> dict[str, Any]:
    """Finish with an identity: it gives back all it holds and leaves the lists. Its history stays.

    Work that somebody should go on with is better handed over first: `bb protocol handoff`. What it has not accepted
    is counted, for somebody else to be asked. Who goes on with its work later adopts it: `bb init --adopt`.
    """
    who = desk.caller(agent)
    signs_of_life.may_act(desk, signs_of_life.index_of(desk, who), who)

    def decide(index: Index) -> list[Any]:
        signs_of_life.judged(desk, index, who)
        held = desk.holdings(index, desk.now())
        presence.remove(desk.place.store, who)  # a heartbeat asks the ledger from now on, whatever becomes of us
        return [*reservations.release_all(who, held.of(who)), Retired(who)]

    events = desk.store.record(decide, by=who, now=desk.now(), key=key, request=desk.request)
    presence.remove(desk.place.store, who)
    return {
        "agent_id": who,
        "status": "retired",
        "released": sum("reservation_id" in event.data for event in events),
        "not_accepted": [message["message_id"] for message in mails.unsettled(desk.store.caught_up(), who)],
    }
