"""Which tasks a client wants to see: filters, pages, and the whole answer of `task_list` (IPC §8.7, later clients)."""

from __future__ import annotations

from bb.groups.context.task_view import ATTENTIONS, MOST_BYTES, facets, fitting, newest, shown, task, version, wants
from bb.groups.context_forms import ARCHIVED, PLANNED, STATUSES, TASK
from bb.kernel.errors import NotFound, Usage
from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.groups.context.view import ContextView

    Shown = dict[str, Any]
    Filters = dict[str, object]

NOBODY = "__unassigned__"  # what the assignee of tasks is called that have none
MOST_IDS, PAGE, LONGEST_PAGE = 100, 30, 100
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


def tasks(view: ContextView, **filters: object) -> list[Shown]:
    """The tasks that FILTERS let through, in the order of birth; those of a page, newest first."""
    chosen, page = _chosen(_named(view, filters), filters), _page(filters)
    if page is None:
        return chosen
    return newest(view, chosen, by_birth=_status(filters) == PLANNED)[page[0] : page[0] + page[1]]


def listing(view: ContextView, **filters: object) -> Shown:
    """The whole answer of `task_list`: one task, some, a page, or a page of each status."""
    if wanted := _word(filters, "task_id"):
        return {"task": _one(view, wanted)}
    page, statuses = _page(filters), _statuses(filters)
    if page is None and not statuses:
        chosen = tasks(view, **filters)
        fits = fitting(chosen[::-1], MOST_BYTES)[::-1]
        return {"tasks": fits} | ({"left_out": len(chosen) - len(fits)} if len(fits) < len(chosen) else {})
    named = _named(view, filters)
    paged = {
        each: _paged(view, named, {**filters, "statuses": None, "status": each}, page or (0, PAGE), len(statuses) or 1)
        for each in statuses or [_status(filters)]
    }
    return ({"pages": paged} if statuses else next(iter(paged.values()))) | _about(view, filters, named)


def _one(view: ContextView, name: str) -> Shown:
    if found := task(view, name):
        return found
    raise TaskNotFound(f"there is no task {name[:60]!r}", task_id=harmless(name[:60]))


def _chosen(named: list[Shown], filters: Filters) -> list[Shown]:
    statuses = _statuses(filters) or [status for status in [_status(filters)] if status]
    query, assignee = _word(filters, "query").casefold(), _word(filters, "assignee")
    attention = _one_of(filters, "attention", ATTENTIONS)
    return [
        each
        for each in named
        if (not statuses or each["status"] in statuses)
        and (not assignee or each["assignee"] == (None if assignee == NOBODY else assignee))
        and (not attention or attention in wants(each))
        and (not query or any(query in (each[name] or "").casefold() for name in SEARCHED))
    ]


def _named(view: ContextView, filters: Filters) -> list[Shown]:
    """The tasks that were named, or all."""
    names = _words(filters, "task_ids")
    if len(names) > MOST_IDS:
        raise InvalidFilter(f"at most {MOST_IDS} tasks are named at once", path="$.task_ids")
    found = [key for name in names if (key := view.find(TASK, name))] if names else view.keys(TASK)
    return [shown(view, key) for key in found]


def _paged(view: ContextView, named: list[Shown], filters: Filters, page: tuple[int, int], among: int) -> Shown:
    """One page, AMONG so many in the answer."""
    offset, limit = page
    matching = newest(view, _chosen(named, filters), by_birth=_status(filters) == PLANNED)
    cut = fitting(matching[offset : offset + limit], MOST_BYTES // among)
    return {
        "tasks": cut,
        "count": len(cut),
        "total_count": len(matching),
        "offset": offset,
        "limit": limit,
        "has_more": offset + len(cut) < len(matching),
    }


def _about(view: ContextView, filters: Filters, named: list[Shown]) -> Shown:
    """What stands beside a page."""
    everything = [shown(view, key) for key in view.keys(TASK)] if filters.get("task_ids") else named
    about: Shown = {"tasks_version": version(view), "facets": facets(everything)}
    if filters.get("include_index") in (True, "true", "1"):
        indexed = [each for each in reversed(everything) if each["status"] != ARCHIVED]
        about["task_index"] = fitting([{name: each[name] for name in INDEXED} for each in indexed], MOST_BYTES // 4)
    return about


# -- filters, as they come


def _word(filters: Filters, name: str) -> str:
    value = filters.get(name)
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    raise InvalidFilter(f"{name} is a text", path=f"$.{name}")


def _words(filters: Filters, name: str) -> list[str]:
    """A list of words, which may come as one text with commas."""
    value = filters.get(name)
    listed = value.split(",") if isinstance(value, str) else [] if value is None else value
    if type(listed) is not list or not all(isinstance(each, str) for each in listed):
        raise InvalidFilter(f"{name} is a list, or a text with commas", path=f"$.{name}")
    return list(dict.fromkeys(each.strip() for each in listed if each.strip()))


def _one_of(filters: Filters, name: str, choices: tuple[str, ...]) -> str:
    word = _word(filters, name)
    if word and word not in choices:
        raise InvalidFilter(f"{name} is {' | '.join(choices)}, not {word[:60]!r}", path=f"$.{name}")
    return word


def _status(filters: Filters) -> str:
    return _one_of(filters, "status", STATUSES)


def _statuses(filters: Filters) -> list[str]:
    words = _words(filters, "statuses")
    if strange := [word for word in words if word not in STATUSES]:
        raise InvalidFilter(f"{strange[0][:60]!r} is no status", path="$.statuses")
    if words and _status(filters):
        raise InvalidFilter("status and statuses exclude each other", path="$.statuses")
    return words


def _page(filters: Filters) -> tuple[int, int] | None:
    limit, offset = _number(filters, "limit"), _number(filters, "offset")
    if limit is None:
        if offset is not None:
            raise InvalidFilter("offset needs a limit", path="$.offset")
        return None
    if not 1 <= limit <= LONGEST_PAGE:
        raise InvalidFilter(f"limit is a number from 1 to {LONGEST_PAGE}", path="$.limit")
    return offset or 0, limit


def _number(filters: Filters, name: str) -> int | None:
    value = filters.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 9:
        return int(value)
    if type(value) is int and value >= 0:
        return value
    raise InvalidFilter(f"{name} is a whole number", path=f"$.{name}")
