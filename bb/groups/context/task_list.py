"""Filters and pages of tasks, and the whole answer of `task_list` (IPC §8.7, later clients)."""

from __future__ import annotations

from typing import Any

from bb.groups.context.task_view import (
    ATTENTIONS,
    MOST_BYTES,
    attention_reasons,
    facets,
    first_that_fit,
    newest,
    shown,
    task,
    version,
)
from bb.groups.context.view import ContextView
from bb.groups.context_forms import ARCHIVED, PLANNED, STATUSES, TASK
from bb.kernel.errors import NotFound, Usage
from bb.kernel.escaping import harmless

Shown = dict[str, Any]
Filters = dict[str, object]

NOBODY = "__unassigned__"  # as the filter for the assignee: tasks without an assignee
MOST_IDS, PAGE, LONGEST_PAGE = 100, 30, 100
INDEXED = ("id", "title", "status", "assignee", "parent_id")
SEARCHED = ("id", "title", "outcome", "notes", "assignee", "priority", "handoff_to")

TaskNotFound = NotFound.declare("TASK_NOT_FOUND", "The task does not exist", hint="`bb call task_list` lists all tasks")

InvalidFilter = Usage.declare(
    "INVALID_ARGS",
    "A filter for tasks is not valid",
    hint="valid filters: status or statuses, query, assignee, attention, task_ids, and limit with offset",
)


def tasks(view: ContextView, **filters: object) -> list[Shown]:
    """The tasks that match FILTERS, in the order of creation. With a limit: one page, newest first."""
    chosen, page = _chosen(_named(view, filters), filters), _page(filters)
    if page is None:
        return chosen
    return newest(view, chosen, by_birth=_status(filters) == PLANNED)[page[0] : page[0] + page[1]]


def listing(view: ContextView, **filters: object) -> Shown:
    """The whole answer of `task_list`: one task, the matching tasks, a page, or a page of each status."""
    if task_id := _word(filters, "task_id"):
        return {"task": _one(view, task_id)}
    page, statuses = _page(filters), _statuses(filters)
    if page is None and not statuses:
        chosen = tasks(view, **filters)
        fits = first_that_fit(chosen[::-1], MOST_BYTES)[::-1]
        return {"tasks": fits} | ({"left_out": len(chosen) - len(fits)} if len(fits) < len(chosen) else {})
    named = _named(view, filters)
    paged = {
        status: _paged(
            view, named, {**filters, "statuses": None, "status": status}, page or (0, PAGE), len(statuses) or 1
        )
        for status in statuses or [_status(filters)]
    }
    return ({"pages": paged} if statuses else next(iter(paged.values()))) | _about(view, filters, named)


def _one(view: ContextView, name: str) -> Shown:
    if answer := task(view, name):
        return answer
    raise TaskNotFound(f"no task {name[:60]!r} exists", task_id=harmless(name[:60]))


def _chosen(named: list[Shown], filters: Filters) -> list[Shown]:
    statuses = _statuses(filters) or [status for status in [_status(filters)] if status]
    query, assignee = _word(filters, "query").casefold(), _word(filters, "assignee")
    attention = _one_of(filters, "attention", ATTENTIONS)
    return [
        task
        for task in named
        if (not statuses or task["status"] in statuses)
        and (not assignee or task["assignee"] == (None if assignee == NOBODY else assignee))
        and (not attention or attention in attention_reasons(task))
        and (not query or any(query in (task[name] or "").casefold() for name in SEARCHED))
    ]


def _named(view: ContextView, filters: Filters) -> list[Shown]:
    """The tasks named by the filters, or all."""
    names = _words(filters, "task_ids")
    if len(names) > MOST_IDS:
        raise InvalidFilter(f"task_ids can name at most {MOST_IDS} tasks", path="$.task_ids")
    keys = [key for name in names if (key := view.find(TASK, name))] if names else view.keys(TASK)
    return [shown(view, key) for key in keys]


def _paged(view: ContextView, named: list[Shown], filters: Filters, page: tuple[int, int], among: int) -> Shown:
    """One page. AMONG is the number of pages in the answer."""
    offset, limit = page
    matching = newest(view, _chosen(named, filters), by_birth=_status(filters) == PLANNED)
    cut = first_that_fit(matching[offset : offset + limit], MOST_BYTES // among)
    return {
        "tasks": cut,
        "count": len(cut),
        "total_count": len(matching),
        "offset": offset,
        "limit": limit,
        "has_more": offset + len(cut) < len(matching),
    }


def _about(view: ContextView, filters: Filters, named: list[Shown]) -> Shown:
    """The members of an answer beside its pages."""
    everything = [shown(view, key) for key in view.keys(TASK)] if filters.get("task_ids") else named
    about: Shown = {"tasks_version": version(view), "facets": facets(everything)}
    if filters.get("include_index") in (True, "true", "1"):
        indexed = [task for task in reversed(everything) if task["status"] != ARCHIVED]
        about["task_index"] = first_that_fit(
            [{name: task[name] for name in INDEXED} for task in indexed], MOST_BYTES // 4
        )
    return about


# -- parsing filters


def _word(filters: Filters, name: str) -> str:
    value = filters.get(name)
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    raise InvalidFilter(f"{name} must be a text", path=f"$.{name}")


def _words(filters: Filters, name: str) -> list[str]:
    """A list of words, or one text separated by commas."""
    value = filters.get(name)
    listed = value.split(",") if isinstance(value, str) else [] if value is None else value
    if type(listed) is not list or not all(isinstance(word, str) for word in listed):
        raise InvalidFilter(f"{name} must be a list of texts, or one text separated by commas", path=f"$.{name}")
    return list(dict.fromkeys(word.strip() for word in listed if word.strip()))


def _one_of(filters: Filters, name: str, choices: tuple[str, ...]) -> str:
    word = _word(filters, name)
    if word and word not in choices:
        raise InvalidFilter(f"{name} must be {' | '.join(choices)}, not {word[:60]!r}", path=f"$.{name}")
    return word


def _status(filters: Filters) -> str:
    return _one_of(filters, "status", STATUSES)


def _statuses(filters: Filters) -> list[str]:
    words = _words(filters, "statuses")
    if unknown := [word for word in words if word not in STATUSES]:
        raise InvalidFilter(f"{unknown[0][:60]!r} is not a status", path="$.statuses")
    if words and _status(filters):
        raise InvalidFilter("only one of status and statuses can be given", path="$.statuses")
    return words


def _page(filters: Filters) -> tuple[int, int] | None:
    limit, offset = _number(filters, "limit"), _number(filters, "offset")
    if limit is None:
        if offset is not None:
            raise InvalidFilter("offset requires limit", path="$.offset")
        return None
    if not 1 <= limit <= LONGEST_PAGE:
        raise InvalidFilter(f"limit must be a number from 1 to {LONGEST_PAGE}", path="$.limit")
    return offset or 0, limit


def _number(filters: Filters, name: str) -> int | None:
    value = filters.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 9:
        return int(value)
    if type(value) is int and value >= 0:
        return value
    raise InvalidFilter(f"{name} must be a whole number", path=f"$.{name}")
