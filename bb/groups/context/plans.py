"""The plans and notes of a group: vision, sketch, brief, milestones, the project's status, notes, references, decisions
and hand-offs (IPC §8.7).

Vision, sketch, milestones, notes and references belong to the first vocabulary: every actor may write them. The rest
belongs to the third: only the foreman and the user may write the brief and the project's status.
"""

from __future__ import annotations

from typing import Any

from bb.groups.context.request import Request
from bb.groups.context.tasks import Ruled, moved, restored
from bb.groups.context.values import (
    Table,
    choice,
    collect,
    existing_key,
    flag,
    line,
    needed,
    reference,
    status,
    text,
    texts,
)
from bb.groups.context_forms import (
    ACTIVE,
    DECISION,
    DONE,
    HANDOFF,
    KINDS,
    MILESTONE,
    NOTE,
    PLAIN,
    PLANNED,
    REFERENCE,
    SKETCH,
    TASK,
    VISION,
)
from bb.groups.permissions import PEER
from bb.kernel.escaping import harmless

TEXTS = {VISION: text(20_000), SKETCH: text(100_000)}
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
NOTE_FIELDS: Table = ((("content",), "content", text(20_000, filled=True)),)
REFERENCE_FIELDS: Table = (
    (("url",), "url", text(4_000, filled=True)),
    (("note",), "note", text(4_000)),
)
# kind -> its fields, the required one first, and the other values of a new entry
NOTES: dict[str, tuple[Table, dict[str, Any]]] = {
    NOTE: (NOTE_FIELDS, {"kind": PLAIN, "task": None}),
    REFERENCE: (REFERENCE_FIELDS, {"note": ""}),
}
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


def set_text(request: Request) -> Ruled:
    """Set the vision or the sketch."""
    kind = KINDS[request.op]
    content = TEXTS[kind](request, needed(request, kind))
    return {"op": request.op, "set": {"text": content}}, f"set the {kind}"


def brief(request: Request) -> Ruled:
    _check_lead(request)
    changes = collect(request, BRIEF_FIELDS)
    return {"op": request.op, "set": changes}, f"updated the brief: {', '.join(changes) or 'nothing'}"


def meta(request: Request) -> Ruled:
    _check_lead(request)
    data = request.fields[needed(request, "data")]
    if type(data) is not dict:
        raise request.refused("the value must be an object", "data")
    if unknown := sorted(data.keys() - {META}):
        raise request.refused(f"only {META} can be set here", f"data.{harmless(unknown[0][:60])}")
    inner = request.replace(fields={f"data.{META}": data[META]} if META in data else {})
    changes = {META: META_STATUS(inner, f"data.{META}") or None} if META in data else {}
    return {"op": request.op, "set": changes}, "merged the project's status" if changes else "merged nothing"


# -- milestones


def create(request: Request) -> Ruled:
    needed(request, "name")
    changes = {**BLANK, **collect(request, MILESTONE_FIELDS)}
    if request.fields.get("status") is not None:
        changes |= _status_changes(request, PLANNED, None, status(request, "status"))
    name = request.view.free_id(MILESTONE)
    return {"op": request.op, "id": name, "set": changes}, f"created {name}: {changes['name']}"


def update(request: Request) -> Ruled:
    key = existing_key(request, MILESTONE, "milestone_id")
    changes = collect(request, MILESTONE_FIELDS)
    if request.has("status"):
        changes |= _moved(request, key, status(request, "status"))
    return request.change(key, changes), f"updated {request.view.name(key)}"


def complete(request: Request) -> Ruled:
    key = existing_key(request, MILESTONE, "milestone_id")
    changes = _moved(request, key, DONE)
    changes |= {"completed": request.now[:10]}  # also if it was completed before
    if request.has("outcomes"):
        changes["outcomes"] = OUTCOMES(request, "outcomes")
    return request.change(key, changes), f"completed {request.view.name(key)}"


def restore(request: Request) -> Ruled:
    key = existing_key(request, MILESTONE, "milestone_id")
    to = restored(request, key)
    return request.change(key, _moved(request, key, to)), f"restored {request.view.name(key)} to {to}"


def _moved(request: Request, key: str, to: str) -> dict[str, Any]:
    view = request.view
    return _status_changes(request, view.value(key, "status", PLANNED), view.value(key, "archived_from"), to, key)


def _status_changes(request: Request, before: str, archived_from: str | None, to: str, key: str = "") -> dict[str, Any]:
    """The changes for a new status. `started` is the first activation; going back to planned or active resets
    `completed`."""
    changes = moved(before, archived_from, to)
    if to == ACTIVE:
        changes["started"] = request.now[:10]  # the fold keeps the earliest
    if to == DONE:
        changes["completed"] = request.view.value(key, "completed") or request.now[:10]
    elif to in (PLANNED, ACTIVE):
        changes["completed"] = None
    return changes


def _check_lead(request: Request) -> None:
    if request.role == PEER:
        raise request.forbidden("only the foreman and the user may do this")


# -- notes and references


def add_note(request: Request) -> Ruled:
    """Add a note or a reference."""
    kind = KINDS[request.op]
    fields, blank = NOTES[kind]
    needed(request, *fields[0][0])
    name = request.view.free_id(kind)
    return {"op": request.op, "id": name, "set": {**blank, **collect(request, fields)}}, f"added {name}"


def update_note(request: Request) -> Ruled:
    key, kind = _noted(request)
    return request.change(key, collect(request, NOTES[kind][0])), f"updated {request.view.name(key)}"


def remove_note(request: Request) -> Ruled:
    key, _ = _noted(request)
    return request.change(key, {}) | {"with": []}, f"removed {request.view.name(key)}"


def _noted(request: Request) -> tuple[str, str]:
    """The key of the note or reference that the request names, and its kind."""
    kind = KINDS[request.op]
    return existing_key(request, kind, f"{kind}_id"), kind


def record(request: Request) -> Ruled:
    """Record a decision or a hand-off. Every actor may; it can never be changed."""
    kind = choice((DECISION, HANDOFF))(request, needed(request, "kind"))
    changes = {"kind": kind, "content": text(4_000, filled=True)(request, needed(request, "summary"))}
    changes["task"] = reference(TASK)(request, "task_id") if request.has("task_id") else None
    return {"op": request.op, "set": changes}, f"recorded a {kind}"
