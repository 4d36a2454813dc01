"""What may be done with tasks, in both vocabularies (IPC §8.7): one kind of task, two ways to talk of it.

    name, goal, steps, milestone          the first; a status is changed by `task.update`
    title, outcome, checklist, parent_id  the third; a status is changed by `task.move`, and `task.update` leaves it

    planned <──> active <──> done         any of the three may become another one,
       └───────────┴──────────┴──> archived ──restore──> what it was before

A step and an item of a checklist are the same thing. Work that began leaves a trace: only what never began, with all
below it, may be deleted.
"""

from __future__ import annotations

from bb.groups.context.task_steps import checklist, marked, steps
from bb.groups.context.values import actor_or_none, blockers, choice, collect, found, line, needed, status, text, thing
from bb.groups.context_forms import ARCHIVED, FREE, MILESTONE, PLANNED, STANDARD, TASK, TASK_TYPES, WAITING
from bb.groups.permissions import FOREMAN, PEER, USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bb.groups.context.request import Request
    from bb.groups.context.values import Table
    from bb.groups.context.view import ContextView
    from bb.groups.context_forms import Op

    Ruled = tuple[Op, str]  # the op as it is recorded, and what it did, in words

TITLE = (("title", "name"), "title", line(500, filled=True))
FIELDS: Table = (
    TITLE,
    (("outcome", "goal"), "outcome", text(10_000)),
    (("notes",), "notes", text(20_000)),
    (("priority",), "priority", line(40)),
    (("assignee",), "assignee", actor_or_none),
    (("handoff_to",), "handoff_to", actor_or_none),
    (("parent_id",), "parent", thing(TASK)),
    (("milestone_id", "milestone"), "milestone", thing(MILESTONE)),
    (("blocked_by",), "blocked_by", blockers),
    (("waiting_on",), "waiting_on", choice(WAITING, null=WAITING[0])),
    (("task_type",), "task_type", choice(TASK_TYPES)),
)
# What only the third vocabulary says: beside one of these, `status` in `task.update` is a word it does not know.
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
    said = {**BLANK, **collect(request, FIELDS)}
    _check_assignee(request, said)
    said.setdefault("task_type", FREE if said["parent"] else STANDARD)
    if request.fields.get("status") is not None:
        said |= moved(PLANNED, None, status(request, "status"))
    said |= checklist(request, None) if request.has("checklist") else steps(request)
    name = request.view.free_id(TASK)
    return {"op": request.op, "id": name, "set": said}, f"created {name}: {said['title']}"


def update(request: Request) -> Ruled:
    key = _mine(request, is_open=not request.has(*THIRD))
    said, name = collect(request, FIELDS), request.view.name(key)
    _check_assignee(request, said)
    _check_circles(request, key, said)
    if request.has("checklist"):
        said |= checklist(request, key)
    said |= marked(request, key, said)
    detail = f"updated {name}"
    if request.has("status"):
        if request.has(*THIRD):
            detail += "; its status stays, task.move changes that"
        else:
            said |= _moved(request, key, status(request, "status"))
    return _op(request, key, said), detail


def move(request: Request) -> Ruled:
    key, to = _mine(request), status(request, needed(request, "status"))
    if field := request.has(*THIRD, *FIRST):
        raise request.refused("it takes task_id and status only; task.update changes the rest", field)
    return _op(request, key, _moved(request, key, to)), f"moved {request.view.name(key)} to {to}"


def restore(request: Request) -> Ruled:
    key = _mine(request)
    to = restored(request, key)
    return _op(request, key, _moved(request, key, to)), f"restored {request.view.name(key)} to {to}"


def delete(request: Request) -> Ruled:
    key, view = _mine(request), request.view
    below = [key, *under(view, key)]
    for each in below:
        if view.value(each, "begun"):
            why = f"{view.name(each)} has begun, and its history stays; archive it instead: task.move"
            raise request.refused(why, "task_id")
        _check_mine(request, each)
    what = view.name(key) + (f" and {len(below) - 1} below it" if below[1:] else "")
    return _op(request, key, {}) | {"with": [view.ref(each) for each in below[1:]]}, f"deleted {what}"


# -- whose it is


def _mine(request: Request, *, is_open: bool = False) -> str:
    """The task that the request is about, if the caller may change it. IS_OPEN: so may any peer what is nobody's."""
    key = found(request, TASK, "task_id")
    _check_mine(request, key, is_open=is_open)
    return key


def _check_mine(request: Request, key: str, *, is_open: bool = False) -> None:
    whose = [request.view.value(key, "assignee"), request.view.value(key, "handoff_to")]
    is_theirs = request.by in whose or (is_open and not any(whose))
    if request.role == PEER and not is_theirs:
        name, assignee = request.view.name(key), whose[0]
        raise request.forbidden(f"{name} is {f'assigned to {assignee}' if assignee else 'not yours'}", "task_id")


def _check_assignee(request: Request, said: dict[str, Any]) -> None:
    """A peer gives work to itself, to the foreman or the user, and to no other peer."""
    to = said.get("assignee")
    is_free = to in (None, request.by, USER) or request.actors.get(to) == FOREMAN
    if request.role == PEER and not is_free:
        raise request.forbidden(f"a peer does not assign work to {to}; handoff_to offers it", "assignee")


# -- where it stands


def moved(before: str, archived_from: str | None, to: str) -> dict[str, Any]:
    """What a change of status from BEFORE says; what is archived remembers where from, however often it is archived."""
    from_ = (archived_from if before == ARCHIVED else before) if to == ARCHIVED else None
    return {"status": to, "archived_from": from_}


def _moved(request: Request, key: str, to: str) -> dict[str, Any]:
    return moved(request.view.value(key, "status", PLANNED), request.view.value(key, "archived_from"), to)


def restored(request: Request, key: str) -> str:
    """The status that something goes back to."""
    view = request.view
    if view.value(key, "status") != ARCHIVED:
        raise request.refused(f"{view.name(key)} is not archived", request.has("task_id", "milestone_id"))
    before: str | None = view.value(key, "archived_from")
    return before if before and before != ARCHIVED else PLANNED


# -- how it hangs together


def _check_circles(request: Request, key: str, said: dict[str, Any]) -> None:
    """Nothing is below itself, and nothing waits for itself, by whatever detour."""
    for register, field in (("parent", "parent_id"), ("blocked_by", "blocked_by")):
        if key in reached(request.view, register, said.get(register)):
            raise request.refused(f"{request.view.name(key)} would lead back to itself", field)


def reached(view: ContextView, register: str, start: Any) -> list[str]:
    """The tasks one comes to from START along a register."""
    return _walk(_tasks(view, start), lambda key: _tasks(view, view.value(key, register)))


def under(view: ContextView, key: str) -> list[str]:
    """All that is below a task, however deep."""
    below = children(view)
    return _walk([key], lambda each: below.get(each, []))[1:]


def _walk(start: list[str], further: Callable[[str], list[str]]) -> list[str]:
    """START and all that is further on, each once: two clones may have closed a circle together."""
    way = dict.fromkeys(start)
    waiting = list(way)
    for key in waiting:
        new = [each for each in further(key) if each not in way]
        way.update(dict.fromkeys(new))
        waiting += new
    return list(way)


def _tasks(view: ContextView, value: Any) -> list[str]:
    listed = value if isinstance(value, list) else [value]
    return [key for ref in listed if (key := view.key(TASK, ref))]


def children(view: ContextView) -> dict[str, list[str]]:
    """Every task that has others below it, with those."""
    below: dict[str, list[str]] = {}
    for key in view.keys(TASK):
        if parent := view.key(TASK, view.value(key, "parent")):
            below.setdefault(parent, []).append(key)
    return below


def _op(request: Request, key: str, said: dict[str, Any]) -> Op:
    return {"op": request.op, **request.view.ref(key), "set": said}
