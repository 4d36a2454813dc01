"""What actors say of themselves: presence (first vocabulary), and what they are at and carry along (third; IPC §8.7).

An agent's state is its own; besides it only the user (and the system) writes it, to set it right. Presence may be
written by the foreman too; a peer writes its own.
"""

from __future__ import annotations

from bb.groups.context.values import actor, collect, line, needed, text, texts
from bb.groups.context_forms import TASK
from bb.groups.permissions import FOREMAN, PEER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.groups.context.request import Request
    from bb.groups.context.tasks import Ruled
    from bb.groups.context.values import Table

STATUS = line(500)
MEMO, MEMOS = text(10_000), texts(100, 1_000)


def _active_task(request: Request, field: str) -> Any:
    """The task an agent is at. It is a memo: a task that is not there, any more perhaps, is kept as the text it is."""
    said = line(100)(request, field)
    key = request.view.find(TASK, said)
    return request.view.ref(key) if key else said or None


HOT: Table = (
    (("active_task_id",), "active_task", _active_task),
    (("focus",), "focus", MEMO),
    (("blockers",), "blockers", MEMOS),
    (("next_action",), "next_action", MEMO),
)
WARM: Table = (
    (("what_changed",), "what_changed", MEMO),
    (("open_loops",), "open_loops", MEMOS),
    (("commitments",), "commitments", MEMOS),
    (("environment_summary", "environment"), "environment_summary", MEMO),
    (("user_model", "user_profile"), "user_model", MEMO),
    (("persona_notes", "notes"), "persona_notes", MEMO),
)
BLANK = {
    register: None if register == "active_task" else [] if parse is MEMOS else "" for _, register, parse in HOT + WARM
}


def update_presence(request: Request) -> Ruled:
    who = _who(request, "agent_id", "actor_id", but=(PEER,))
    return _of(request, who, "updated", {"status": STATUS(request, needed(request, "status"))})


def clear_presence(request: Request) -> Ruled:
    return _of(request, _who(request, "agent_id", "actor_id", but=(PEER,)), "cleared", {"status": ""})


def update_state(request: Request) -> Ruled:
    who = _who(request, "actor_id", "agent_id", but=(PEER, FOREMAN))
    return _of(request, who, "updated", collect(request, HOT + WARM))


def clear_state(request: Request) -> Ruled:
    return _of(request, _who(request, "actor_id", "agent_id", but=(PEER, FOREMAN)), "cleared", dict(BLANK))


def _who(request: Request, *names: str, but: tuple[str, ...]) -> str:
    """Whom the request is about, if the caller may write of them: those with a role of BUT write of themselves only."""
    field = needed(request, *names)
    who = actor(request, field)
    if request.role in but and who != request.by:
        raise request.forbidden(f"{request.by} does not write for {who}", field)
    return who


def _of(request: Request, who: str, verb: str, said: dict[str, Any]) -> Ruled:
    what = "presence" if request.op.startswith("presence") else "agent state"
    return {"op": request.op, "actor": who, "set": said}, f"{verb} the {what} of {who}"
