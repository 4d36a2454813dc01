"""What an agent sees: what is to enter its next turn, and what there is for it. Asked all day, so they load little."""

from __future__ import annotations

import os

from bb.attention.words import MODES, POLICIES
from bb.kernel import clock
from bb.ops.attention.attention_desk import Attending, Self
from bb.ops.catalogue import op
from bb.ops.params import GroupId, Number, Since, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ops.desk.desk import Desk

MOST_ROWS = 200


class Conversation(Text):
    """The conversation, by its id."""

    metavar = "CONVERSATION"


class Stream(Text):
    """Only what belongs to this stream of work."""

    metavar = "STREAM"


class PolicyName(Text):
    """Only what has this response policy. Repeat it for several."""

    metavar = "POLICY"
    choices = POLICIES


class ModeName(Text):
    """Only what has this injection mode. Repeat it for several."""

    metavar = "MODE"
    choices = MODES


class StateName(Text):
    """open, buffering, closed or all."""

    metavar = "STATE"
    choices = ("open", "buffering", "closed", "all")


class Until(Since):
    """Only up to this moment: a time, or an age."""


class Cursor(Text):
    """Go on behind this place, as the answer before has it."""

    metavar = "CURSOR"


class Rows(Number):
    """At most so many, the newest."""

    most = MOST_ROWS


@op(
    "chat.list",
    reads=True,
    screen="attention",
    examples=("bb chat list", "bb chat list --state open --json", "bb chat list --conversation slack-C123 --body"),
    body="With what was said; looking at it is noted down.",
    include_silent="What agents have no use for, too: for whoever looks after the host.",
)
def listed(
    desk: Desk,
    *,
    agent: Self | None = None,
    stream: Stream | None = None,
    conversation: Conversation | None = None,
    policy: list[PolicyName] | None = None,
    mode: list[ModeName] | None = None,
    state: StateName = StateName("all"),  # noqa: B008
    since: Since | None = None,
    until: Until | None = None,
    cursor: Cursor | None = None,
    limit: Rows = Rows(50),  # noqa: B008
    body: bool = False,
    include_silent: bool = False,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """What an agent may see, newest first, and what each is to it; with --body, also what was said."""
    from bb.attention.turns import queries  # noqa: PLC0415  (the other of the two does without)

    at, now = Attending(desk, agent, group_id), desk.now()
    wanted = queries.Wanted(
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
        return at.act(lambda book, then: queries.listed(book, at.agent, wanted, then))
    return queries.listed(at.book(), at.agent, wanted, now)[1]


@op(
    "chat.inject",
    screen="attention",
    examples=("bb chat inject --agent amber-otter", "bb chat inject --peek --json"),
    peek="Only look: nothing counts as handed over.",
    plain="Without the marks that show where a message ends.",
)
def inject(
    desk: Desk,
    *,
    agent: Self | None = None,
    peek: bool = False,
    plain: bool = False,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """What is to enter an agent's next turn, in full or as a knock, each once; at first with the standing rules."""
    from bb.attention.turns import turn_text  # noqa: PLC0415

    at = Attending(desk, agent, group_id)
    seed = "" if plain else os.urandom(9).hex()
    if peek:
        return turn_text.injected(at.book(), at.agent, desk.now(), seed)[1]
    return at.act(lambda book, now: turn_text.injected(book, at.agent, now, seed))
