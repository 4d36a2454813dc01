"""Tasks as clients are shown them: the words of both vocabularies at once, filtered and in pages (IPC §8.7)."""

from __future__ import annotations

from bb.groups.context import MARK
from bb.groups.contextforms import ARCHIVED, DONE, FREE, MILESTONE, PENDING, PLANNED, STANDARD, STATUSES, TASK
from bb.groups.tasks import children
from bb.kernel import jsontext
from bb.kernel.errors import NotFound, Usage
from bb.kernel.order import event
from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from bb.groups.contextview import ContextView

    Shown = dict[str, Any]

BLOCKED, WAITING_USER, HANDOFF, UNASSIGNED = ATTENTIONS = ("blocked", "waiting_user", "handoff", "unassigned")
NOBODY = "__unassigned__"  # what the assignee of tasks is called that have none
MOST_IDS, PAGE, LONGEST_PAGE = 100, 30, 100
MOST_BYTES = 3_000_000  # of one answer; clients take one of more than 4,000,000 for a lost one
LONG = ("goal", "outcome", "notes", "steps", "current_step", "checklist", "current_checklist_item")
INDEXED = ("id", "title", "status", "assignee", "parent_id")
SEARCHED = ("id", "title", "outcome", "notes", "assignee", "priority", "handoff_to")


class TaskNotFound(NotFound):
    """There is no such task."""

    code = "TASK_NOT_FOUND"
    hint = "`task_list` without task_id shows all of them"


class InvalidFilter(Usage):
    """Tasks cannot be chosen like that."""

    code = "INVALID_ARGS"
    hint = "filters are status or statuses, query, assignee, attention, task_ids, and limit with offset"


def shown(view: ContextView, key: str) -> Shown:
    """One task."""
    title, outcome = view.value(key, "title", ""), view.value(key, "outcome", "")
    status = view.value(key, "status", PLANNED)
    parent, milestone = view.named(TASK, view.value(key, "parent")), _milestone(view, key)
    created, updated = view.value(key, "created"), view.value(key, "updated")
    return {
        "id": view.name(key),
        "name": title,
        "title": title,
        "goal": outcome,
        "outcome": outcome,
        "status": status,
        "archived_from": view.value(key, "archived_from"),
        "assignee": view.value(key, "assignee"),
        "priority": view.value(key, "priority", ""),
        "milestone": milestone,
        "milestone_id": milestone,
        "parent_id": parent,
        "is_root": parent is None,
        "blocked_by": [name for ref in view.value(key, "blocked_by", []) if (name := view.named(TASK, ref))],
        "waiting_on": view.value(key, "waiting_on", "none"),
        "handoff_to": view.value(key, "handoff_to"),
        "task_type": view.value(key, "task_type", FREE if parent else STANDARD),
        "notes": view.value(key, "notes", ""),
        **_steps(view, key, status),
        "created_at": created[0],
        "created_by": created[1],
        "updated_at": updated[0],
        "updated_by": updated[1],
    }


def _steps(view: ContextView, key: str, status: str) -> Shown:
    """Steps, which are also the items of a checklist, and how far they are."""
    items = [(item, view.value(key, MARK + item["id"], PENDING)) for item in view.value(key, "items", [])]
    steps = [{"id": i["id"], "name": i["text"], "acceptance": i["acceptance"], "status": mark} for i, mark in items]
    checklist = [{"id": i["id"], "text": i["text"], "status": mark} for i, mark in items]
    current = next((place for place, (_, mark) in enumerate(items) if mark != DONE), None)
    is_done = DONE in (status, view.value(key, "archived_from"))
    return {
        "steps": steps,
        "current_step": None if current is None else steps[current]["id"],
        "checklist": checklist,
        "current_checklist_item": None if current is None else checklist[current],
        "progress": sum(mark == DONE for _, mark in items) / len(items) if items else float(is_done),
    }


def _milestone(view: ContextView, key: str) -> str | None:
    """The milestone of a task, or else of the nearest one above it."""
    above, seen = key, {key}
    while not (name := view.named(MILESTONE, view.value(above, "milestone"))):
        up = view.key(TASK, view.value(above, "parent"))
        if up is None or up in seen:
            return None
        above = up
        seen.add(up)
    return name


def brief(task: Shown) -> Shown:
    """A task without its long texts."""
    return {name: value for name, value in task.items() if name not in LONG}


def task(view: ContextView, task_id: str) -> Shown | None:
    """One task by its id, with the tasks right below it."""
    key = view.find(TASK, task_id.strip())
    if key is None:
        return None
    return shown(view, key) | {"children": [shown(view, child) for child in children(view).get(key, ())]}


def fitting(shown: list[Shown], most: int) -> list[Shown]:
    """As many of the last ones as fit into so many bytes."""
    for place in range(len(shown) - 1, -1, -1):
        most -= len(jsontext.dumps(shown[place]).encode())
        if most < 0:
            return shown[place + 1 :]
    return shown


# -- which ones


def tasks(view: ContextView, **filters: object) -> list[Shown]:
    """The tasks that FILTERS let through, in the order of birth; those of a page, newest first."""
    chosen = _chosen(view, filters)
    page = _page(filters)
    return chosen if page is None else _newest(view, chosen, _status(filters))[page[0] : page[0] + page[1]]


def listing(view: ContextView, **filters: object) -> Shown:
    """The whole answer of `task_list`: one task, some, a page, or a page of each status."""
    if wanted := _word(filters, "task_id"):
        one = task(view, wanted)
        if one is None:
            raise TaskNotFound(f"there is no task {wanted[:60]!r}", task_id=harmless(wanted[:60]))
        return {"task": one}
    page, statuses = _page(filters), _statuses(filters)
    if statuses:
        pages = {each: _paged(view, {**filters, "statuses": None}, page or (0, PAGE), each) for each in statuses}
        return {"pages": pages, **_about(view, filters)}
    if page is None:
        chosen = tasks(view, **filters)
        fits = fitting(chosen, MOST_BYTES)
        return {"tasks": fits} | ({"left_out": len(chosen) - len(fits)} if len(fits) < len(chosen) else {})
    return _paged(view, filters, page, _status(filters)) | _about(view, filters)


def _chosen(view: ContextView, filters: dict[str, object]) -> list[Shown]:
    keys = _named(view, filters)
    statuses = _statuses(filters) or [status for status in [_status(filters)] if status]
    query, assignee = _word(filters, "query").casefold(), _word(filters, "assignee")
    attention = _one_of(filters, "attention", ATTENTIONS)
    return [
        each
        for each in (shown(view, key) for key in keys)
        if (not statuses or each["status"] in statuses)
        and (not assignee or each["assignee"] == (None if assignee == NOBODY else assignee))
        and (not attention or attention in wants(each))
        and (not query or any(query in (each[name] or "").casefold() for name in SEARCHED))
    ]


def wants(task: Shown) -> set[str]:
    """Why a task wants somebody's attention."""
    if task["status"] == ARCHIVED:
        return set()
    reasons = set() if task["assignee"] else {UNASSIGNED}
    if task["status"] != DONE:
        reasons |= {HANDOFF} if task["handoff_to"] else set()
        reasons |= {WAITING_USER} if task["waiting_on"] == "user" else set()
        reasons |= {BLOCKED} if task["blocked_by"] or task["waiting_on"] in ("actor", "external") else set()
    return reasons


def _named(view: ContextView, filters: dict[str, object]) -> list[str]:
    """The keys of the tasks that were named, or all."""
    names = _words(filters, "task_ids")
    if len(names) > MOST_IDS:
        raise InvalidFilter(f"at most {MOST_IDS} tasks are named at once", path="$.task_ids")
    return [key for name in names if (key := view.find(TASK, name))] if names else view.keys(TASK)


def _newest(view: ContextView, chosen: list[Shown], status: str) -> list[Shown]:
    """What was changed last comes first; among what is planned, what was created last."""
    places = {
        view.name(key): [*([] if status == PLANNED else view.changed(key)), *view.born(key)] for key in view.keys(TASK)
    }
    return sorted(chosen, key=lambda each: places[each["id"]], reverse=True)


def _paged(view: ContextView, filters: dict[str, object], page: tuple[int, int], status: str) -> Shown:
    offset, limit = page
    matching = _newest(view, _chosen(view, {**filters, "status": status}), status)
    cut = matching[offset : offset + limit]
    return {
        "tasks": cut,
        "count": len(cut),
        "total_count": len(matching),
        "offset": offset,
        "limit": limit,
        "has_more": offset + len(cut) < len(matching),
    }


def _about(view: ContextView, filters: dict[str, object]) -> Shown:
    """What stands beside a page."""
    everything = [shown(view, key) for key in view.keys(TASK)]
    about: Shown = {"tasks_version": version(view), "facets": facets(everything)}
    if filters.get("include_index") in (True, "true", "1"):
        about["task_index"] = [
            {name: each[name] for name in INDEXED} for each in reversed(everything) if each["status"] != ARCHIVED
        ]
    return about


def version(view: ContextView) -> str:
    """The event of the latest change to any task, gone ones included."""
    latest = max((view.changed(key) for key in view.order[TASK]), default=None)
    return event(latest) if latest else ""


def facets(shown_tasks: Iterable[Shown]) -> Shown:
    """How many tasks there are of each sort, and whose they are."""
    everything = list(shown_tasks)
    reasons = [wants(each) for each in everything]
    return {
        "status_counts": {each: sum(task["status"] == each for task in everything) for each in STATUSES},
        "blocked": sum(BLOCKED in each for each in reasons),
        "waiting_user": sum(WAITING_USER in each for each in reasons),
        "pending_handoffs": sum(HANDOFF in each for each in reasons),
        "unassigned": sum(UNASSIGNED in each for each in reasons),
        "assignees": sorted(
            {task["assignee"] for task in everything if task["assignee"] and task["status"] != ARCHIVED}
        ),
    }


# -- filters, as they come


def _word(filters: dict[str, object], name: str) -> str:
    value = filters.get(name)
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    raise InvalidFilter(f"{name} is a text", path=f"$.{name}")


def _words(filters: dict[str, object], name: str) -> list[str]:
    """A list of words, which may come as one text with commas."""
    value = filters.get(name)
    listed = value.split(",") if isinstance(value, str) else [] if value is None else value
    if type(listed) is not list or not all(isinstance(each, str) for each in listed):
        raise InvalidFilter(f"{name} is a list, or a text with commas", path=f"$.{name}")
    return list(dict.fromkeys(each.strip() for each in listed if each.strip()))


def _one_of(filters: dict[str, object], name: str, choices: tuple[str, ...]) -> str:
    word = _word(filters, name)
    if word and word not in choices:
        raise InvalidFilter(f"{name} is {' | '.join(choices)}, not {word[:60]!r}", path=f"$.{name}")
    return word


def _status(filters: dict[str, object]) -> str:
    return _one_of(filters, "status", STATUSES)


def _statuses(filters: dict[str, object]) -> list[str]:
    words = _words(filters, "statuses")
    if strange := [word for word in words if word not in STATUSES]:
        raise InvalidFilter(f"{strange[0][:60]!r} is no status", path="$.statuses")
    if words and _status(filters):
        raise InvalidFilter("status and statuses exclude each other", path="$.statuses")
    return words


def _page(filters: dict[str, object]) -> tuple[int, int] | None:
    limit, offset = _number(filters, "limit"), _number(filters, "offset")
    if limit is None:
        if offset is not None:
            raise InvalidFilter("offset needs a limit", path="$.offset")
        return None
    if not 1 <= limit <= LONGEST_PAGE:
        raise InvalidFilter(f"limit is a number from 1 to {LONGEST_PAGE}", path="$.limit")
    return offset or 0, limit


def _number(filters: dict[str, object], name: str) -> int | None:
    value = filters.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 9:
        return int(value)
    if type(value) is int and value >= 0:
        return value
    raise InvalidFilter(f"{name} is a whole number", path=f"$.{name}")
