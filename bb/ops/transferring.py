"""Passing a reservation on to another agent, in one step."""

from __future__ import annotations

from bb.coordination import transfers
from bb.coordination.pauses import AgentPaused
from bb.messaging import orders
from bb.ops import life, paused
from bb.ops.catalogue import op
from bb.ops.params import Key, Reason, Scope, Someone, Why
from bb.ops.reservations import answer, scope_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.holdings import Holdings
    from bb.ledger.index import Index
    from bb.ops.desk import Desk


class Receiver(Someone):
    """The agent that is to hold it."""


class Giver(Someone):
    """Whose reservation it is; needed where several share the scope."""


@op(
    "agent.transfer",
    examples=(
        "bb agent transfer --agent amber-otter --scope src/parser --to cobalt-harbor",
        "bb agent transfer --agent user --scope src/parser --to cobalt-harbor --why 'amber-otter is gone' --json",
    ),
)
def transfer(
    desk: Desk,
    *,
    agent: Someone | None = None,
    scope: Scope,
    to: Receiver,
    from_: Giver | None = None,
    why: Why | None = None,
    key: Key | None = None,
    allow_secret: Reason | None = None,
) -> dict[str, Any]:
    """Pass on what you hold on exactly this scope: the other agent holds it from now on, for the same bead and time.

    There is no moment at which a third could come in between. `--agent user` is the person, who may pass on what any
    agent holds. Both are told. What the work is and where it stands is better said in a hand-off: `bb protocol
    handoff`. What is held in every clone (--global) cannot be passed on.
    """
    who = life.caller(desk, agent, may_be_person=True)
    wanted = scope_of(desk, scope)
    passed: list[str] = []

    def decide(index: Index, held: Holdings) -> list[Any]:
        life.in_service(index, to)
        if pause := paused.of(index, to):
            raise AgentPaused(pause.told(to), agent_id=to, hint=f"let it go on first: bb agent unpause {to}")
        met = held.met_by([wanted])
        given = transfers.given(who, wanted, met, from_)
        facts = transfers.transfer(who, given, to, met)
        passed[:] = [given.reservation.agent]
        told = orders.transferred(who, wanted.text, given.reservation.bead, passed[0], to, why) if facts else []
        return [*facts, *told]

    life.act(desk, who, decide, key=key, allow_secret=allow_secret)
    held = desk.holdings(desk.store.index, desk.now())
    names = [each.reservation.id for each in held.on(wanted) if each.reservation.agent == to]
    return answer(desk, names) | {"transferred_from": next((each for each in passed if each != to), None)}
