"""The whole context in one answer: `context_get` and `presence_get`, in the words of both vocabularies (IPC §8.7).

Clients give up on answers above 4,000,000 bytes. So each sort of entry has a share of the answer, which the newest
entries fill. `left_out` counts the others; `task_list` shows all tasks, in pages.
"""

from __future__ import annotations

from typing import Any

from bb.groups.context.agents import BLANK, HOT, WARM
from bb.groups.context.task_view import (
    BLOCKED,
    MOST_BYTES,
    WAITING_USER,
    attention_reasons,
    brief,
    facets,
    first_that_fit,
    newest,
    shown,
    size,
    version,
)
from bb.groups.context.task_view import HANDOFF as HANDED
from bb.groups.context.values import Table
from bb.groups.context.view import ContextView
from bb.groups.context_forms import (
    ACTIVE,
    AGENT,
    ARCHIVED,
    BRIEF,
    DECISION,
    HANDOFF,
    META,
    MILESTONE,
    NOTE,
    PLAIN,
    PLANNED,
    PRESENCE,
    REFERENCE,
    SKETCH,
    STATUSES,
    TASK,
    VISION,
)
from bb.kernel import clock

Shown = dict[str, Any]

HEARTBEAT_TIMEOUT_SECONDS = 300
RECENT, ALARMS = 10, 25  # latest decisions and hand-offs; tasks that need attention, for each reason
FULL, SUMMARY, OVERVIEW = DETAILS = ("full", "summary", "overview")
SHARE = MOST_BYTES // 15  # of each sort; the rest is for tasks


def summary(view: ContextView, now: int, detail: str = FULL) -> Shown:
    """The context of a group. DETAIL `summary` shows tasks in short form and no board, `overview` no list of tasks."""
    by_birth = [shown(view, key) for key in view.keys(TASK)]
    lists = {
        "milestones": [_milestone(view, key) for key in view.keys(MILESTONE)],
        "notes": [_note(view, key) for key in view.keys(NOTE) if view.value(key, "kind", PLAIN) == PLAIN],
        "references": [_reference(view, key) for key in view.keys(REFERENCE)],
        "agent_states": [_agent(view, key) for key in _actors(view, AGENT)],
    }
    fits = {name: first_that_fit(listed[::-1], SHARE)[::-1] for name, listed in lists.items()}
    answer: Shown = {
        "version": view.version,
        "tasks_version": version(view),
        "vision": view.value(VISION, "text"),
        "sketch": view.value(SKETCH, "text"),
        **fits,
        "tasks_summary": _counted(by_birth),
        "active_task": next((task for task in by_birth if task["status"] == ACTIVE), None),
        "presence": {"agents": first_that_fit(presence(view, now), SHARE)},
        "coordination": {
            "brief": _brief(view),
            "recent_decisions": _recent(view, DECISION),
            "recent_handoffs": _recent(view, HANDOFF),
        },
        "actors_runtime": [],
        "meta": {"project_status": status} if (status := view.value(META, "project_status")) else {},
    }
    left_out = {name: len(listed) - len(fits[name]) for name, listed in lists.items()}
    if detail != OVERVIEW:
        left_out["tasks"] = _show_tasks(view, answer, by_birth, is_full=detail == FULL)
    return answer | {"left_out": {name: count for name, count in left_out.items() if count}}


def presence(view: ContextView, now: int) -> list[Shown]:
    """The reported presence of actors. A time in the future, from a wrong clock, is shown as now."""
    return [
        {
            "id": _name(key),
            "status": view.value(key, "status", ""),
            "updated_at": _not_after(_updated(view, key)[0], now),
        }
        for key in _actors(view, PRESENCE)
    ]


def _not_after(written: str, now: int) -> str:
    return written if clock.parse_or(written, now) <= now else clock.text(now)


# -- tasks


def _show_tasks(view: ContextView, answer: Shown, by_birth: list[Shown], *, is_full: bool) -> int:
    """Add the tasks to ANSWER, last changed first: in full, then in short form. Return the number left out."""
    by_change = newest(view, by_birth)
    briefs = [brief(task) for task in by_change]
    answer["attention"] = {
        name: [short for short, task in zip(briefs, by_change, strict=True) if reason in attention_reasons(task)][
            :ALARMS
        ]
        for name, reason in ((BLOCKED, BLOCKED), (WAITING_USER, WAITING_USER), ("pending_handoffs", HANDED))
    }
    left = MOST_BYTES - size(answer)
    full = first_that_fit(by_change, left // 2) if is_full else []
    in_brief = first_that_fit(briefs[len(full) :], left // 4)
    answer["coordination"]["tasks"] = [*full, *in_brief]
    if is_full:
        board = first_that_fit(briefs, left // 4)
        answer["board"] = {status: [task for task in board if task["status"] == status] for status in STATUSES}
    return len(by_birth) - len(full) - len(in_brief)


def _counted(tasks: list[Shown]) -> Shown:
    counted = facets(tasks)
    return {
        "total": len(tasks),
        **counted["status_counts"],
        **{name: counted[name] for name in ("blocked", "waiting_user", "pending_handoffs", "unassigned")},
        "root_count": sum(task["is_root"] and task["status"] != ARCHIVED for task in tasks),
    }


# -- everything else


def _brief(view: ContextView) -> Shown:
    updated = _updated(view, BRIEF)
    return {
        **{name: view.value(BRIEF, name, "") for name in ("objective", "current_focus", "project_brief")},
        "constraints": view.value(BRIEF, "constraints", []),
        "project_brief_stale": view.value(BRIEF, "project_brief_stale", False),
        "updated_by": updated[1],
        "updated_at": updated[0],
    }


def _milestone(view: ContextView, key: str) -> Shown:
    return {
        "id": view.name(key),
        "name": view.value(key, "name", ""),
        "description": view.value(key, "description", ""),
        "status": view.value(key, "status", PLANNED),
        "archived_from": view.value(key, "archived_from"),
        "started": view.value(key, "started"),
        "completed": view.value(key, "completed"),
        "outcomes": view.value(key, "outcomes") or None,
        **_times(view, key),
    }


def _note(view: ContextView, key: str) -> Shown:
    return {"id": view.name(key), "content": view.value(key, "content", ""), **_times(view, key)}


def _reference(view: ContextView, key: str) -> Shown:
    url, note = view.value(key, "url", ""), view.value(key, "note", "")
    return {"id": view.name(key), "url": url, "note": note, **_times(view, key)}


def _recent(view: ContextView, kind: str) -> list[Shown]:
    """The latest decisions or hand-offs, newest first."""
    keys = [key for key in view.keys(NOTE) if view.value(key, "kind") == kind]
    return [
        {
            "at": view.value(key, "created")[0],
            "by": view.value(key, "created")[1],
            "summary": view.value(key, "content", ""),
            "task_id": view.named(TASK, view.value(key, "task")),
        }
        for key in keys[: -RECENT - 1 : -1]
    ]


def _agent(view: ContextView, key: str) -> Shown:
    return {
        "id": _name(key),
        "hot": _memo(view, key, HOT),
        "warm": _memo(view, key, WARM),
        "updated_at": _updated(view, key)[0],
    }


def _memo(view: ContextView, key: str, table: Table) -> Shown:
    memo = {names[0]: view.value(key, register, BLANK[register]) for names, register, _ in table}
    if "active_task_id" in memo:
        memo["active_task_id"] = view.named(TASK, memo["active_task_id"])
    return memo


def _actors(view: ContextView, kind: str) -> list[str]:
    return sorted(key for key in view.entries if key.startswith(f"{kind} "))


def _name(key: str) -> str:
    return key.partition(" ")[2]


def _updated(view: ContextView, key: str) -> list[Any]:
    """The time and author of an entry's last change."""
    updated: list[Any] = view.value(key, "updated", [None, None])
    return updated


def _times(view: ContextView, key: str) -> Shown:
    return {"created_at": view.value(key, "created")[0], "updated_at": _updated(view, key)[0]}
