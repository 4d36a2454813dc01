"""What agents ask the person to allow (C2A): showing private content to more people, and running a program's tools.

`answer` is for every face that has the person's word: the command line, the web page, a dialog of a host. It trusts its
caller, so a face that can be used by an agent asks `signs_of_life.person` first.
"""

from __future__ import annotations

from typing import Any

from bb.attention.acts import confirmations
from bb.kernel.ids import PERSON
from bb.ops.agent_params import AsPerson
from bb.ops.attention.attention_desk import C2aDesk
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.json_params import GroupId
from bb.ops.params import Text


class RequestId(Text):
    """The id of the request, as `bb chat confirmations` shows it."""

    metavar = "ID"


def answer(at: C2aDesk, request: str, *, allows: bool, who: str = "") -> dict[str, Any]:
    """Record the person's answer to an agent's request. The caller must have it from the person. WHO says more about
    where it was given."""
    return at.act(lambda book, now: confirmations.answer(book, request, PERSON, now, allows=allows, who=who), PERSON)


def open_requests(at: C2aDesk) -> list[dict[str, Any]]:
    """The requests that wait for the person, oldest first."""
    now = at.desk.now()
    return [confirmations.shown(request, now) for request in confirmations.open_requests(at.book(), now)]


@op(
    "chat.confirmations",
    reads=True,
    screen="attention_host",
    examples=("bb chat confirmations", "bb chat confirmations --json"),
)
def listed(desk: Desk, *, group_id: GroupId | None = None) -> dict[str, Any]:
    """List what agents ask the person to allow: to show private content to more people, or to run a tool.

    An agent gets only its own requests, because the texts of the others are private.
    """
    by = desk.principal()
    waiting = open_requests(C2aDesk(desk, PERSON, group_id))
    return {"confirmations": [request for request in waiting if by in (PERSON, request["agent"])]}


@op(
    "chat.confirm",
    screen="attention_host",
    examples=("bb chat confirm ID", "bb chat confirm ID --refuse"),
)
def confirm(
    desk: Desk,
    request: RequestId,
    *,
    refuse: bool = False,
    agent: AsPerson | None = None,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """Allow what an agent asks for: to show private content to more people, or to run a tool. Only the person may.

    An agent is notified and sends the same message again; any other message needs a request of its own. A program runs
    the tool once. A request and the permission for it are valid for a day. Refused with PERSON_ONLY if BB_AGENT names
    an agent, unless --agent user confirms that you are the person.

    Parameters:
        refuse: Refuse it. The agent is told.
    """
    signs_of_life.person(desk, agent)
    return answer(C2aDesk(desk, PERSON, group_id), request, allows=not refuse)
