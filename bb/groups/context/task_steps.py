"""The steps of a task, which are also the items of its checklist: what they are, and how far (IPC §8.7).

Each item has a mark of its own, so two clones may finish different steps and both stay finished.
"""

from __future__ import annotations

from bb.groups.context.values import choice, choice_in, elements, member, needed, shown
from bb.groups.context_forms import MARKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from bb.groups.context.request import Request

MOST_ITEMS, ITEM_LENGTH, ITEM_ID_LENGTH = 100, 500, 64


def steps(request: Request) -> dict[str, Any]:
    """The steps that a new task of the first vocabulary comes with."""
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
    """A checklist takes the place of the one before; an item that stays keeps what it had to be accepted by."""
    before = request.view.value(key, "items", []) if key else []
    accepted = {item["id"]: item["acceptance"] for item in before}
    items: list[dict[str, str]] = []
    marks: dict[str, str] = {}
    for number, (field, value) in enumerate(_objects(request, "checklist"), 1):
        name = member(request, field, value, "id", ITEM_ID_LENGTH).strip() or f"S{number}"
        said = member(request, field, value, "text", ITEM_LENGTH).strip()
        if not said or name in marks:
            why = f"there are two items {shown(name)}" if said else "an item needs a text"
            raise request.refused(why, f"{field}.{'id' if said else 'text'}")
        items.append({"id": name, "text": said, "acceptance": accepted.get(name, "")})
        marks[name] = choice_in(request, field, value, "status", MARKS)
    return {"items": items, "marks": marks}


def _objects(request: Request, field: str) -> Iterable[tuple[str, dict[str, Any]]]:
    for place, value in enumerate(elements(request, field, MOST_ITEMS)):
        if type(value) is not dict:
            raise request.refused("an object is expected", f"{field}[{place}]")
        yield f"{field}[{place}]", value


def marked(request: Request, key: str, said: dict[str, Any]) -> dict[str, Any]:
    """What `step_id` and `step_status` say: both or neither."""
    if not request.has("step_id", "step_status"):
        return {}
    needed(request, "step_id")
    mark = choice(MARKS)(request, needed(request, "step_status"))
    step = request.fields["step_id"]
    if step not in [item["id"] for item in said.get("items", request.view.value(key, "items", []))]:
        raise request.refused(f"{request.view.name(key)} has no step {shown(step)}", "step_id")
    return {"marks": {**said.get("marks", {}), step: mark}}
