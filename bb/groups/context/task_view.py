"""Tasks in the form for clients, with the words of both vocabularies (IPC §8.7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bb.groups.context.context import MARK
from bb.groups.context.tasks import children
from bb.groups.context.view import ContextView
from bb.groups.context_forms import ARCHIVED, DONE, FREE, MILESTONE, PENDING, PLANNED, STANDARD, STATUSES, TASK
from bb.kernel import json_text
from bb.kernel.total_order import event

Shown = dict[str, Any]

BLOCKED, WAITING_USER, HANDOFF, UNASSIGNED = ATTENTIONS = ("blocked", "waiting_user", "handoff", "unassigned")
MOST_BYTES = 3_000_000  # of one answer; clients give up on answers above 4,000,000 bytes
LONG = ("goal", "outcome", "notes", "steps", "current_step", "checklist", "current_checklist_item")


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
    """The steps, which are also the items of the checklist, and the progress."""
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
    """The milestone of a task, else of its nearest parent with one."""
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
    """One task by its id, with its direct subtasks."""
    key = view.find(TASK, task_id.strip())
    if key is None:
        return None
    below = [shown(view, child) for child in children(view).get(key, ())]
    return shown(view, key) | {"children": first_that_fit(below, MOST_BYTES // 2)}


def first_that_fit(shown: list[Shown], most: int) -> list[Shown]:
    """The first tasks that fit into MOST bytes."""
    for place, row in enumerate(shown):
        most -= size(row)
        if most < 0:
            return shown[:place]
    return shown


def size(value: object) -> int:
    """The number of bytes of VALUE in an answer."""
    return len(json_text.dumps(value).encode())


def newest(view: ContextView, tasks: list[Shown], *, by_birth: bool = False) -> list[Shown]:
    """TASKS sorted by their last change, newest first; BY_BIRTH: by their creation."""
    keys = view.keys(TASK)
    places = {view.name(key): [*([] if by_birth else view.changed(key)), *view.born(key)] for key in keys}
    return sorted(tasks, key=lambda task: places[task["id"]], reverse=True)


def attention_reasons(task: Shown) -> set[str]:
    """The reasons why a task needs attention."""
    if task["status"] == ARCHIVED:
        return set()
    reasons = set() if task["assignee"] else {UNASSIGNED}
    if task["status"] != DONE:
        reasons |= {HANDOFF} if task["handoff_to"] else set()
        reasons |= {WAITING_USER} if task["waiting_on"] == "user" else set()
        reasons |= {BLOCKED} if task["blocked_by"] or task["waiting_on"] in ("actor", "external") else set()
    return reasons


def version(view: ContextView) -> str:
    """The event of the latest change to any task, including deleted ones."""
    latest = max((view.changed(key) for key in view.order[TASK]), default=None)
    return event(latest) if latest else ""


def facets(shown_tasks: Iterable[Shown]) -> Shown:
    """The numbers of tasks by status and reason, and the assignees."""
    everything = list(shown_tasks)
    reasons = [attention_reasons(task) for task in everything]
    return {
        "status_counts": {status: sum(task["status"] == status for task in everything) for status in STATUSES},
        "blocked": sum(BLOCKED in of_task for of_task in reasons),
        "waiting_user": sum(WAITING_USER in of_task for of_task in reasons),
        "pending_handoffs": sum(HANDOFF in of_task for of_task in reasons),
        "unassigned": sum(UNASSIGNED in of_task for of_task in reasons),
        "assignees": sorted(
            {task["assignee"] for task in everything if task["assignee"] and task["status"] != ARCHIVED}
        ),
    }
