"""Operations on tasks, in both vocabularies (IPC §8.7). Both describe the same tasks in different words.

    name, goal, steps, milestone          the first; `task.update` changes the status
    title, outcome, checklist, parent_id  the third; `task.move` changes the status, `task.update` does not

    planned <──> active <──> done         each of the three can change to any other,
       └───────────┴──────────┴──> archived ──restore──> the status before archiving

A step and a checklist item are the same thing. A task can be deleted only if work on it and on all its subtasks has
never begun.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bb.groups.context.request import Request
from bb.groups.context.task_steps import checklist, marked, steps
from bb.groups.context.values import (
    Table,
    actor_or_none,
    blockers,
    choice,
    collect,
    existing_key,
    line,
    needed,
    reference,
    status,
    text,
)
from bb.groups.context.view import ContextView
from bb.groups.context_forms import ARCHIVED, FREE, MILESTONE, PLANNED, STANDARD, TASK, TASK_TYPES, WAITING, Op
from bb.groups.permissions import FOREMAN, PEER, USER

Ruled = tuple[Op, str]  # the op in its recorded form, and a description

TITLE = (("title", "name"), "title", line(500, filled=True))
FIELDS: Table = (
    TITLE,
    (("outcome", "goal"), "outcome", text(10_000)),
    (("notes",), "notes", text(20_000)),
    (("priority",), "priority", line(40)),
    (("assignee",), "assignee", actor_or_none),
    (("handoff_to",), "handoff_to", actor_or_none),
    (("parent_id",), "parent", reference(TASK)),
    (("milestone_id", "milestone"), "milestone", reference(MILESTONE)),
    (("blocked_by",), "blocked_by", blockers),
    (("waiting_on",), "waiting_on", choice(WAITING, null=WAITING[0])),
    (("task_type",), "task_type", choice(TASK_TYPES)),
)
# Fields of the third vocabulary only. With one of these, `task.update` ignores `status`.
THIRD = tuple(
    "title outcome parent_id priority blocked_by waiting_on handoff_to task_type notes checklist".split()  # noqa: SIM905
)
FIRST = ("name", "goal", "assignee", "milestone_id", "milestone", "step_id", "step_status")
BLANK: dict[str, Any] = {
    "outcome": "",
    "status": PLANNED,
    "archived_from": None,
    "assignee": None,
    "priority": "",
    "parent": None,
    "milestone": None,
    "blocked_by": [],
    "waiting_on": WAITING[0],
    "handoff_to": None,
    "notes": "",
    "items": [],
}


def create(request: Request) -> Ruled:
    needed(request, "title", "name")
    changes = {**BLANK, **collect(request, FIELDS)}
    _check_assignee(request, changes)
    changes.setdefault("task_type", FREE if changes["parent"] else STANDARD)
    if request.fields.get("status") is not None:
        changes |= moved(PLANNED, None, status(request, "status"))
    changes |= checklist(request, None) if request.has("checklist") else steps(request)
    name = request.view.free_id(TASK)
    return {"op": request.op, "id": name, "set": changes}, f"created {name}: {changes['title']}"


def update(request: Request) -> Ruled:
    key = _mine(request, is_open=not request.has(*THIRD))
    changes, name = collect(request, FIELDS), request.view.name(key)
    _check_assignee(request, changes)
    _check_circles(request, key, changes)
    if request.has("checklist"):
        changes |= checklist(request, key)
    changes |= marked(request, key, changes)
    detail = f"updated {name}"
    if request.has("status"):
        if request.has(*THIRD):
            detail += "; its status is unchanged, task.move changes it"
        else:
            changes |= _moved(request, key, status(request, "status"))
    return request.change(key, changes), detail


def move(request: Request) -> Ruled:
    key, to = _mine(request), status(request, needed(request, "status"))
    if field := request.has(*THIRD, *FIRST):
        raise request.refused("only task_id and status are allowed; task.update changes other fields", field)
    return request.change(key, _moved(request, key, to)), f"moved {request.view.name(key)} to {to}"


def restore(request: Request) -> Ruled:
    key = _mine(request)
    to = restored(request, key)
    return request.change(key, _moved(request, key, to)), f"restored {request.view.name(key)} to {to}"


def delete(request: Request) -> Ruled:
    key, view = _mine(request), request.view
    below = [key, *under(view, key)]
    for descendant in below:
        if view.value(descendant, "begun"):
            why = f"work on {view.name(descendant)} has begun, so it cannot be deleted; archive it with task.move"
            raise request.refused(why, "task_id")
        _check_mine(request, descendant)
    what = view.name(key) + (f" and {len(below) - 1} below it" if below[1:] else "")
    return request.change(key, {}) | {"with": [view.ref(descendant) for descendant in below[1:]]}, f"deleted {what}"


# -- permissions


def _mine(request: Request, *, is_open: bool = False) -> str:
    """The task of the request, if the caller may change it. IS_OPEN: any peer may change an unassigned task."""
    key = existing_key(request, TASK, "task_id")
    _check_mine(request, key, is_open=is_open)
    return key


def _check_mine(request: Request, key: str, *, is_open: bool = False) -> None:
    whose = [request.view.value(key, "assignee"), request.view.value(key, "handoff_to")]
    is_theirs = request.by in whose or (is_open and not any(whose))
    if request.role == PEER and not is_theirs:
        name, assignee = request.view.name(key), whose[0]
        raise request.forbidden(f"{name} is {f'assigned to {assignee}' if assignee else 'not yours'}", "task_id")


def _check_assignee(request: Request, changes: dict[str, Any]) -> None:
    """A peer may assign work to itself, the foreman or the user, but not to another peer."""
    to = changes.get("assignee")
    is_free = to in (None, request.by, USER) or request.actors.get(to) == FOREMAN
    if request.role == PEER and not is_free:
        raise request.forbidden(f"a peer may not assign work to {to}; use handoff_to to offer it", "assignee")


# -- status


def moved(before: str, archived_from: str | None, to: str) -> dict[str, Any]:
    """The changes for a new status. Archiving records the status before it; archiving again keeps that record."""
    from_ = (archived_from if before == ARCHIVED else before) if to == ARCHIVED else None
    return {"status": to, "archived_from": from_}


def _moved(request: Request, key: str, to: str) -> dict[str, Any]:
    return moved(request.view.value(key, "status", PLANNED), request.view.value(key, "archived_from"), to)


def restored(request: Request, key: str) -> str:
    """The status that restoring returns to."""
    view = request.view
    if view.value(key, "status") != ARCHIVED:
        raise request.refused(f"{view.name(key)} is not archived", request.has("task_id", "milestone_id"))
    before: str | None = view.value(key, "archived_from")
    return before if before and before != ARCHIVED else PLANNED


# -- relations


def _check_circles(request: Request, key: str, changes: dict[str, Any]) -> None:
    """Refuse cycles of parents and of blockers, direct or indirect."""
    for register, field in (("parent", "parent_id"), ("blocked_by", "blocked_by")):
        if key in reached(request.view, register, changes.get(register)):
            raise request.refused(
                f"the change would make a cycle: {request.view.name(key)} would depend on itself", field
            )


def reached(view: ContextView, register: str, start: Any) -> list[str]:
    """The tasks reachable from START through a register."""
    return _walk(_tasks(view, start), lambda key: _tasks(view, view.value(key, register)))


def under(view: ContextView, key: str) -> list[str]:
    """All direct and indirect subtasks of a task."""
    below = children(view)
    return _walk([key], lambda each: below.get(each, []))[1:]


def _walk(start: list[str], further: Callable[[str], list[str]]) -> list[str]:
    """START and everything reachable from it, each once. Two clones together can have made a cycle."""
    way = dict.fromkeys(start)
    waiting = list(way)
    for key in waiting:
        new = [other for other in further(key) if other not in way]
        way.update(dict.fromkeys(new))
        waiting += new
    return list(way)


def _tasks(view: ContextView, value: Any) -> list[str]:
    listed = value if isinstance(value, list) else [value]
    return [key for ref in listed if (key := view.key(TASK, ref))]


def children(view: ContextView) -> dict[str, list[str]]:
    """The direct subtasks of each task that has any."""
    below: dict[str, list[str]] = {}
    for key in view.keys(TASK):
        if parent := view.key(TASK, view.value(key, "parent")):
            below.setdefault(parent, []).append(key)
    return below
