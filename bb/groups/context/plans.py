"""What a group is after: vision and sketch, the brief, the milestones, and how the project stands (IPC §8.7).

Vision, sketch and milestones are of the first vocabulary, which lets every actor write them. The brief and the
project's status are of the third: the foreman's and the user's.
"""

from __future__ import annotations

from bb.groups.context.tasks import moved, restored
from bb.groups.context.values import collect, flag, found, line, needed, status, text, texts
from bb.groups.context_forms import ACTIVE, DONE, MILESTONE, PLANNED
from bb.groups.permissions import PEER
from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.groups.context.request import Request
    from bb.groups.context.tasks import Ruled
    from bb.groups.context.values import Table

BRIEF_FIELDS: Table = (
    (("objective",), "objective", text(10_000)),
    (("current_focus",), "current_focus", text(10_000)),
    (("constraints",), "constraints", texts(100, 1_000)),
    (("project_brief",), "project_brief", text(100_000)),
    (("project_brief_stale",), "project_brief_stale", flag),
)
MILESTONE_FIELDS: Table = (
    (("name",), "name", line(500, filled=True)),
    (("description",), "description", text(20_000)),
)
OUTCOMES = text(20_000)
META = "project_status"
META_STATUS = text(10_000)
BLANK: dict[str, Any] = {
    "description": "",
    "status": PLANNED,
    "archived_from": None,
    "completed": None,
    "outcomes": "",
}


def vision(request: Request) -> Ruled:
    said = text(20_000)(request, needed(request, "vision"))
    return {"op": request.op, "set": {"text": said}}, "set the vision"


def sketch(request: Request) -> Ruled:
    said = text(100_000)(request, needed(request, "sketch"))
    return {"op": request.op, "set": {"text": said}}, "set the sketch"


def brief(request: Request) -> Ruled:
    _check_lead(request)
    said = collect(request, BRIEF_FIELDS)
    return {"op": request.op, "set": said}, f"updated the brief: {', '.join(said) or 'nothing'}"


def meta(request: Request) -> Ruled:
    _check_lead(request)
    data = request.fields[needed(request, "data")]
    if type(data) is not dict:
        raise request.refused("an object is expected", "data")
    if strange := sorted(data.keys() - {META}):
        raise request.refused(f"only {META} is kept here", f"data.{harmless(strange[0][:60])}")
    inner = request.but(fields={f"data.{META}": data[META]} if META in data else {})
    said = {META: META_STATUS(inner, f"data.{META}") or None} if META in data else {}
    return {"op": request.op, "set": said}, "merged the project's status" if said else "merged nothing"


def create(request: Request) -> Ruled:
    needed(request, "name")
    said = {**BLANK, **collect(request, MILESTONE_FIELDS)}
    if request.fields.get("status") is not None:
        said |= _stands(request, PLANNED, None, status(request, "status"))
    name = request.view.free_id(MILESTONE)
    return {"op": request.op, "id": name, "set": said}, f"created {name}: {said['name']}"


def update(request: Request) -> Ruled:
    key = found(request, MILESTONE, "milestone_id")
    said = collect(request, MILESTONE_FIELDS)
    if request.has("status"):
        said |= _moved(request, key, status(request, "status"))
    return _on(request, key, said, f"updated {request.view.name(key)}")


def complete(request: Request) -> Ruled:
    key = found(request, MILESTONE, "milestone_id")
    said = _moved(request, key, DONE)
    said |= {"completed": request.now[:10]}  # completing it again completes it today
    if request.has("outcomes"):
        said["outcomes"] = OUTCOMES(request, "outcomes")
    return _on(request, key, said, f"completed {request.view.name(key)}")


def restore(request: Request) -> Ruled:
    key = found(request, MILESTONE, "milestone_id")
    to = restored(request, key)
    return _on(request, key, _moved(request, key, to), f"restored {request.view.name(key)} to {to}")


def _moved(request: Request, key: str, to: str) -> dict[str, Any]:
    view = request.view
    return _stands(request, view.value(key, "status", PLANNED), view.value(key, "archived_from"), to, key)


def _stands(request: Request, before: str, archived_from: str | None, to: str, key: str = "") -> dict[str, Any]:
    """What a change of status says. The first activation is dated, and so is a completion, until it is taken back."""
    said = moved(before, archived_from, to)
    if to == ACTIVE:
        said["started"] = request.now[:10]  # the earliest counts
    if to == DONE:
        said["completed"] = request.view.value(key, "completed") or request.now[:10]
    elif to in (PLANNED, ACTIVE):
        said["completed"] = None
    return said


def _check_lead(request: Request) -> None:
    if request.role == PEER:
        raise request.forbidden("that is for the foreman or the user")


def _on(request: Request, key: str, said: dict[str, Any], detail: str) -> Ruled:
    return {"op": request.op, **request.view.ref(key), "set": said}, detail
