"""Passing a reservation on to another agent, in one step."""

from __future__ import annotations

from bb.coordination.agents.pauses import AgentPaused
from bb.coordination.holdings import transfers
from bb.messaging.mail import person_notices
from bb.ops.catalogue import op
from bb.ops.desk import pause_check, signs_of_life
from bb.ops.holdings.reservations import answer, scopes_of
from bb.ops.params import Key, Reason, Scope, Someone, Why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.holdings import scopes
    from bb.coordination.holdings.reservations import Overlap
    from bb.ledger.index.index import Index
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk


class Receiver(Someone):
    """The agent that is to hold it."""


class Giver(Someone):
    """Whose reservation it is; needed where several share the scope."""


@op(
    "agent.transfer",
    screen="person_orders",
    examples=(
        "bb agent transfer --agent amber-otter --scope src/parser --to cobalt-harbor",
        "bb agent transfer --agent user --scope src/parser --to cobalt-harbor --why 'amber-otter is gone' --json",
    ),
)
def transfer(
    desk: Desk,
    *,
    agent: Someone | None = None,
    scope: list[Scope],
    to: Receiver,
    from_: Giver | None = None,
    why: Why | None = None,
    key: Key | None = None,
    allow_secret: Reason | None = None,
) -> dict[str, Any]:
    """Pass on what you hold on exactly these scopes: the other agent holds it from now on, for the same bead and time.

    There is no moment at which a third could come in between; of several scopes all are passed on or none. `--agent
    user` is the person, who may pass on what any agent holds. Both are told. What the work is and where it stands is
    better said in a hand-off: `bb protocol handoff`. What is held in every clone (--global) cannot be passed on.
    """
    who = signs_of_life.caller(desk, agent, may_be_person=True)
    wanted = scopes_of(desk, scope)
    before: dict[str, str] = {}

    def decide(index: Index, held: Holdings) -> list[Any]:
        signs_of_life.in_service(index, to)
        if pause := pause_check.of(index, to):
            raise AgentPaused(pause.told(to), agent_id=to, hint=f"let it go on first: bb agent unpause {to}")
        return [fact for each in wanted for fact in passed_on(each, held.met_by([each]))]

    def passed_on(each: scopes.Scope, met: Sequence[Overlap]) -> list[Any]:
        given = transfers.given(who, each, met, from_)
        before[each.text] = given.reservation.agent
        facts = transfers.transfer(who, given, to, met)
        told = person_notices.transferred(who, each.text, given.reservation.bead, given.reservation.agent, to, why)
        return [*facts, *told] if facts else []

    signs_of_life.act(desk, who, decide, key=key, allow_secret=allow_secret)
    held = desk.holdings(desk.store.index, desk.now())
    names = [each.reservation.id for one in wanted for each in held.on(one) if each.reservation.agent == to]
    return answer(desk, names) | {"transferred_from": sorted({each for each in before.values() if each != to})}
