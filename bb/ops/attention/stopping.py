"""The person's order to an agent to stop what it is doing."""

from __future__ import annotations

from typing import Any

from bb.attention.acts import stopping
from bb.ops.attention.attention_desk import C2aDesk
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.json_params import GroupId
from bb.ops.params import AgentId, Text


@op(
    "chat.stop",
    screen="attention_acts",
    examples=("bb chat stop amber-otter", "bb chat stop amber-otter --reason 'the migration is wrong'"),
)
def stop(
    desk: Desk,
    agent: AgentId,
    *,
    event: Text | None = None,
    reason: Text | None = None,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """Stop what an agent is doing. Only the person may do this.

    The events that the agent works on need no answer any more, its running turn is cancelled, and it gets an order to
    stop before all other messages. An agent or a person on a platform gives the order with a message: see
    docs/attention.md.

    Parameters:
        event (EVENT): Stop only the work on this event.
        reason (REASON): The reason, for the agent.
    """
    by = signs_of_life.person(desk, None)
    at = C2aDesk(desk, by, group_id)
    return at.act(lambda book, now: stopping.stop(book, agent, now, event=event or "", reason=reason or ""), by)
