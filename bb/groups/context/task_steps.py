"""The steps of a task, which are also the items of its checklist (IPC §8.7).

The status of each item is a separate register, so two clones can finish different steps without a conflict.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bb.groups.context.request import Request
from bb.groups.context.values import choice, choice_in, elements, member, needed, shown
from bb.groups.context_forms import MARKS

MOST_ITEMS, ITEM_LENGTH, ITEM_ID_LENGTH = 100, 500, 64


def steps(request: Request) -> dict[str, Any]:
    """The steps of a new task in the first vocabulary."""
    if not request.has("steps"):
        return {}
    items = [
        {
            "id": f"S{number}",
            "text": member(request, field, value, "name", ITEM_LENGTH),
            "acceptance": member(request, field, value, "acceptance", 2 * ITEM_LENGTH),
        }
        for number, (field, value) in enumerate(_objects(request, "steps"), 1)
    ]
    return {"items": items, "marks": {item["id"]: MARKS[0] for item in items}}


def checklist(request: Request, key: str | None) -> dict[str, Any]:
    """A new checklist replaces the previous one. An item that stays keeps its acceptance criteria."""
    before = request.view.value(key, "items", []) if key else []
    accepted = {item["id"]: item["acceptance"] for item in before}
    items: list[dict[str, str]] = []
    marks: dict[str, str] = {}
    for number, (field, value) in enumerate(_objects(request, "checklist"), 1):
        name = member(request, field, value, "id", ITEM_ID_LENGTH).strip() or f"S{number}"
        content = member(request, field, value, "text", ITEM_LENGTH).strip()
        if not content or name in marks:
            why = f"the checklist has two items {shown(name)}" if content else "an item must have a text"
            raise request.refused(why, f"{field}.{'id' if content else 'text'}")
        items.append({"id": name, "text": content, "acceptance": accepted.get(name, "")})
        marks[name] = choice_in(request, field, value, "status", MARKS)
    return {"items": items, "marks": marks}


def _objects(request: Request, field: str) -> Iterable[tuple[str, dict[str, Any]]]:
    for place, value in enumerate(elements(request, field, MOST_ITEMS)):
        if type(value) is not dict:
            raise request.refused("the value must be an object", f"{field}[{place}]")
        yield f"{field}[{place}]", value


def marked(request: Request, key: str, changes: dict[str, Any]) -> dict[str, Any]:
    """The change made by `step_id` and `step_status`. The request must have both or neither."""
    if not request.has("step_id", "step_status"):
        return {}
    needed(request, "step_id")
    mark = choice(MARKS)(request, needed(request, "step_status"))
    step = request.fields["step_id"]
    if step not in [item["id"] for item in changes.get("items", request.view.value(key, "items", []))]:
        raise request.refused(f"{request.view.name(key)} has no step {shown(step)}", "step_id")
    return {"marks": {**changes.get("marks", {}), step: mark}}
