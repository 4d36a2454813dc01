"""Reports of actors about themselves: presence (first vocabulary) and agent state (third vocabulary; IPC §8.7).

An actor writes its own agent state; only the user and the system can write it too, for corrections. The foreman can
write the presence of any actor; a peer only its own.
"""

from __future__ import annotations

from typing import Any

from bb.groups.context.request import Request
from bb.groups.context.tasks import Ruled
from bb.groups.context.values import Table, actor, collect, line, needed, text, texts
from bb.groups.context_forms import TASK
from bb.groups.permissions import FOREMAN, PEER

STATUS = line(500)
MEMO, MEMOS = text(10_000), texts(100, 1_000)


def _active_task(request: Request, field: str) -> Any:
    """The task an agent works on. It is only a note: the id of a task that does not exist is kept as a text."""
    name = line(100)(request, field)
    key = request.view.find(TASK, name)
    return request.view.ref(key) if key else name or None


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


def presence(request: Request) -> Ruled:
    """Update or clear the presence of an actor."""
    who = _who(request, "agent_id", "actor_id", but=(PEER,))
    if request.op == "presence.clear":
        return _of(request, who, "cleared", {"status": ""})
    return _of(request, who, "updated", {"status": STATUS(request, needed(request, "status"))})


def state(request: Request) -> Ruled:
    """Update or clear the state of an agent."""
    who = _who(request, "actor_id", "agent_id", but=(PEER, FOREMAN))
    if request.op == "agent_state.clear":
        return _of(request, who, "cleared", dict(BLANK))
    return _of(request, who, "updated", collect(request, HOT + WARM))


def _who(request: Request, *names: str, but: tuple[str, ...]) -> str:
    """The actor that the request is about. Callers with a role in BUT can only write about themselves."""
    field = needed(request, *names)
    who = actor(request, field)
    if request.role in but and who != request.by:
        raise request.forbidden(f"{request.by} may not write for {who}", field)
    return who


def _of(request: Request, who: str, verb: str, changes: dict[str, Any]) -> Ruled:
    what = "presence" if request.op.startswith("presence") else "agent state"
    return {"op": request.op, "actor": who, "set": changes}, f"{verb} the {what} of {who}"
