"""The steps of a task, which are also the items of its checklist (IPC §8.7).

The status of each item is a separate register, so two clones can finish different steps without a conflict.
"""

from __future__ import annotations

from typing import Any

from bb.groups.context.request import Request
from bb.groups.context.values import choice, needed, one_of, shown
from bb.groups.context_forms import MARKS

MOST_ITEMS, ITEM_LENGTH, ITEM_ID_LENGTH = 100, 500, 64


def steps(request: Request) -> dict[str, Any]:
    """The steps of a new task in the first vocabulary."""
    if not request.has("steps"):
        return {}
    items = [
        {
            "id": f"S{number}",
            "text": step.text("name", ITEM_LENGTH),
            "acceptance": step.text("acceptance", 2 * ITEM_LENGTH),
        }
        for number, step in enumerate(request.members.objects("steps", MOST_ITEMS), 1)
    ]
    return {"items": items, "marks": {item["id"]: MARKS[0] for item in items}}


def checklist(request: Request, key: str | None) -> dict[str, Any]:
    """A new checklist replaces the previous one. An item that stays keeps its acceptance criteria."""
    before = request.view.value(key, "items", []) if key else []
    accepted = {item["id"]: item["acceptance"] for item in before}
    items: list[dict[str, str]] = []
    marks: dict[str, str] = {}
    for number, item in enumerate(request.members.objects("checklist", MOST_ITEMS), 1):
        name = item.text("id", ITEM_ID_LENGTH).strip() or f"S{number}"
        content = item.text("text", ITEM_LENGTH).strip()
        if not content or name in marks:
            why = f"the checklist has two items {shown(name)}" if content else "an item must have a text"
            raise request.refused(why, f"checklist[{number - 1}].{'id' if content else 'text'}")
        items.append({"id": name, "text": content, "acceptance": accepted.get(name, "")})
        status = item.value["status"] if "status" in item else MARKS[0]
        marks[name] = one_of(request, f"checklist[{number - 1}].status", status, MARKS)
    return {"items": items, "marks": marks}


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
