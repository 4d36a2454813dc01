"""Messages for an agent: the text for its next turn, and the list of messages. Called often, so imports are few."""

from __future__ import annotations

import os
from typing import Any

from bb.attention.words import MODES, POLICIES
from bb.kernel import clock
from bb.ops.agent_params import Since
from bb.ops.attention.attention_desk import C2aDesk, CallingAgent
from bb.ops.catalogue import op
from bb.ops.desk.desk import Desk
from bb.ops.json_params import GroupId
from bb.ops.params import Number, Text

MOST_ROWS = 200


class PolicyName(Text):
    """Only messages with this response policy. May be repeated."""

    metavar = "POLICY"
    choices = POLICIES


class ModeName(Text):
    """Only messages with this injection mode. May be repeated."""

    metavar = "MODE"
    choices = MODES


class StateName(Text):
    """The state of the messages: open, buffering, closed or all."""

    metavar = "STATE"
    choices = ("open", "buffering", "closed", "all")


class Rows(Number):
    """At most this many messages, the newest."""

    most = MOST_ROWS


@op(
    "chat.list",
    reads=True,
    screen="attention",
    examples=("bb chat list", "bb chat list --state open --json", "bb chat list --conversation slack-C123 --body"),
)
def listed(
    desk: Desk,
    *,
    agent: CallingAgent | None = None,
    stream: Text | None = None,
    conversation: Text | None = None,
    policy: list[PolicyName] | None = None,
    mode: list[ModeName] | None = None,
    state: StateName = StateName("all"),  # noqa: B008
    since: Since | None = None,
    until: Since | None = None,
    cursor: Text | None = None,
    limit: Rows = Rows(50),  # noqa: B008
    body: bool = False,
    include_silent: bool = False,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """List the messages that an agent may see, newest first, with their classification; with --body, also the texts.

    Parameters:
        stream (STREAM): Only messages of this work stream.
        conversation (CONVERSATION): Only this conversation, by its id.
        until: Only messages up to this time: a time, or an age like 90s, 15m, 2h, 7d.
        cursor (CURSOR): Continue after this position. The previous answer contains it.
        body: Include the texts. That the agent has seen them is recorded.
        include_silent: Include messages that no agent is shown. For the administrator of the host.
    """
    from bb.attention.turns import queries  # noqa: PLC0415  (`chat.inject` does not need it)

    at, now = C2aDesk(desk, agent, group_id), desk.now()
    row_filter = queries.Filter(
        stream=stream or "",
        conversation=conversation or "",
        policies=tuple(policy or ()),
        modes=tuple(mode or ()),
        state=state,
        since=clock.before(since, now) if since else None,
        until=clock.before(until, now) if until else None,
        cursor=cursor or "",
        limit=limit,
        with_body=body,
        with_silent=include_silent,
    )
    if body:
        return at.act(lambda book, then: queries.list_events(book, at.agent, row_filter, then))
    return queries.list_events(at.book(), at.agent, row_filter, now)[1]


@op("chat.inject", screen="attention", examples=("bb chat inject --agent amber-otter", "bb chat inject --peek --json"))
def inject(
    desk: Desk,
    *,
    agent: CallingAgent | None = None,
    peek: bool = False,
    plain: bool = False,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """Show the text to insert into an agent's next turn. Each message appears once, in full or as a knock.

    The first such text of an agent includes the standing rules.

    Parameters:
        peek: Show the text without recording a delivery.
        plain: Omit the markers around each message.
    """
    from bb.attention.turns import turn_text  # noqa: PLC0415

    at = C2aDesk(desk, agent, group_id)
    seed = "" if plain else os.urandom(9).hex()
    if peek:
        return turn_text.inject(at.book(), at.agent, desk.now(), seed)[1]
    return at.act(lambda book, now: turn_text.inject(book, at.agent, now, seed))
