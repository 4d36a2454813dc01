"""The recorded form of ops on a `context.sync` line. Ops are checked here, so that a fold need not check (IPC §8.7).

    {"op": "task.create", "id": "T001", "set": {…}}                    creates an entry; its birth is the op's place
    {"op": "task.update", "id": "T001", "birth": "….7#0", "set": {…}}  changes an existing entry
    {"op": "task.delete", "id": "T001", "birth": "….7#0", "with": […]} deletes an entry and the entries below it
    {"op": "agent_state.update", "actor": "ada", "set": {…}}           changes an entry of one actor
    {"op": "vision.update", "set": {"text": "…"}}                      changes an entry that exists once

A birth is `<event>#<place of the op in the event>`; `#<place>` alone means the same event. A reference to an entry is
`{"id", "birth"}`. Recorded ops are read tolerantly: an op that is not valid becomes `{}`, so that the other ops keep
their places; an unknown field is ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bb.kernel import ids

Op = dict[str, Any]
Fits = Callable[[object], bool]

VISION, SKETCH, BRIEF, META = "vision", "sketch", "brief", "meta"
TASK, MILESTONE, NOTE, REFERENCE = "task", "milestone", "note", "reference"
PRESENCE, AGENT = "presence", "agent"
KINDS_WITH_BIRTH = (TASK, MILESTONE, NOTE, REFERENCE)

PLANNED, ACTIVE, DONE, ARCHIVED = STATUSES = ("planned", "active", "done", "archived")
PENDING, IN_PROGRESS, _ = MARKS = ("pending", "in_progress", DONE)
WAITING = ("none", "user", "actor", "external")
FREE, STANDARD, _ = TASK_TYPES = ("free", "standard", "optimization")
PLAIN, DECISION, HANDOFF = NOTE_KINDS = ("note", "decision", "handoff")

KINDS = {
    "vision.update": VISION,
    "sketch.update": SKETCH,
    "coordination.brief.update": BRIEF,
    "meta.merge": META,
    "presence.update": PRESENCE,
    "presence.clear": PRESENCE,
    "agent_state.update": AGENT,
    "agent_state.clear": AGENT,
    "coordination.note.add": NOTE,
    **{f"milestone.{verb}": MILESTONE for verb in ("create", "update", "complete", "restore")},
    **{f"task.{verb}": TASK for verb in ("create", "update", "move", "restore", "delete")},
    **{f"note.{verb}": NOTE for verb in ("add", "update", "remove")},
    **{f"reference.{verb}": REFERENCE for verb in ("add", "update", "remove")},
}
BEGINNING = frozenset(["task.create", "milestone.create", "note.add", "reference.add", "coordination.note.add"])
ENDING = frozenset(["task.delete", "note.remove", "reference.remove"])

# kind -> letter and minimum number of digits of its short ids
COUNTED = {TASK: ("T", 3), MILESTONE: ("M", 1), NOTE: ("N", 3), REFERENCE: ("R", 3)}
HIGHEST = 999_999
ACTOR_LENGTH = 64


def short_id(kind: str, number: int) -> str:
    """The NUMBERth id of a kind: T001, M1, N001, R001."""
    letter, width = COUNTED[kind]
    return f"{letter}{number:0{width}}"


def number_of(kind: str, text: str) -> int | None:
    """The number in a short id of this kind; None if TEXT is not such an id."""
    digits = text[1:]
    if not (digits.isascii() and digits.isdigit() and len(digits) <= len(str(HIGHEST))):
        return None
    number = int(digits)
    return number if number and short_id(kind, number) == text else None


def is_birth(value: object) -> bool:
    """Whether VALUE is a birth."""
    if type(value) is not str:
        return False
    event, mark, place = value.partition("#")
    is_place = place.isascii() and place.isdigit() and str(int(place[:9])) == place
    return bool(mark) and is_place and (not event or ids.is_event_id(event))


def is_actor(value: object) -> bool:
    """Whether VALUE is a valid id of an actor or another principal."""
    return (
        type(value) is str
        and 0 < len(value) <= ACTOR_LENGTH
        and value.isascii()
        and value.replace("-", "").replace("_", "").replace(".", "").replace(":", "").isalnum()
    )


def is_text(value: object) -> bool:
    return type(value) is str


REF, ITEM = ("id", "birth"), ("id", "text", "acceptance")  # members of a reference; of a step or checklist item


def is_ref(value: object) -> bool:
    return type(value) is dict and is_text(value.get("id")) and is_birth(value.get("birth"))


def _or_none(fits: Fits) -> Fits:
    return lambda value: value is None or fits(value)


def _either(*several: Fits) -> Fits:
    return lambda value: any(fits(value) for fits in several)


def _list_of(fits: Fits) -> Fits:
    return lambda value: type(value) is list and all(fits(item) for item in value)


def _one_of(choices: tuple[str, ...]) -> Fits:
    return lambda value: type(value) is str and value in choices


def _is_item(value: object) -> bool:
    return type(value) is dict and all(is_text(value.get(member)) for member in ITEM)


def _are_marks(value: object) -> bool:
    return type(value) is dict and all(is_text(name) and mark in MARKS for name, mark in value.items())


_STATUS = {"status": _one_of(STATUSES), "archived_from": _or_none(_one_of(STATUSES)), "started": is_text}
_TEXTS = _list_of(is_text)

FIELDS: dict[str, dict[str, Fits]] = {
    VISION: {"text": is_text},
    SKETCH: {"text": is_text},
    BRIEF: {
        **dict.fromkeys(("objective", "current_focus", "project_brief"), is_text),
        "constraints": _TEXTS,
        "project_brief_stale": lambda value: type(value) is bool,
    },
    META: {"project_status": _or_none(is_text)},
    MILESTONE: {
        **_STATUS,
        **dict.fromkeys(("name", "description", "outcomes"), is_text),
        "completed": _or_none(is_text),
    },
    TASK: {
        **_STATUS,
        **dict.fromkeys(("title", "outcome", "priority", "notes"), is_text),
        **dict.fromkeys(("assignee", "handoff_to"), _or_none(is_text)),
        **dict.fromkeys(("parent", "milestone"), _or_none(is_ref)),
        "blocked_by": _list_of(_either(is_text, is_ref)),
        "waiting_on": _one_of(WAITING),
        "task_type": _one_of(TASK_TYPES),
        "items": _list_of(_is_item),
        "marks": _are_marks,
    },
    NOTE: {"kind": _one_of(NOTE_KINDS), "content": is_text, "task": _or_none(is_ref)},
    REFERENCE: {"url": is_text, "note": is_text},
    PRESENCE: {"status": is_text},
    AGENT: {
        "active_task": _or_none(_either(is_text, is_ref)),
        **dict.fromkeys(("focus", "next_action", "what_changed"), is_text),
        **dict.fromkeys(("environment_summary", "user_model", "persona_notes"), is_text),
        **dict.fromkeys(("blockers", "open_loops", "commitments"), _TEXTS),
    },
}


def valid_op(value: object) -> Op:
    """VALUE as an op without unknown members; `{}` if it is not a valid op."""
    name = value.get("op") if type(value) is dict else None
    if type(name) is not str or name not in KINDS or type(value) is not dict:
        return {}
    kind = KINDS[name]
    changes = value.get("set", {})
    if not (_is_named(kind, value) and _are_valid(kind, changes)):
        return {}
    op = {member: value[member] for member in ("op", "id", "birth", "actor") if member in value}
    op["set"] = {field: _trimmed(changes[field]) for field in FIELDS[kind] if field in changes}
    if name in ENDING:
        op["with"] = [_trimmed(ref) for ref in _listed(value.get("with")) if is_ref(ref)]
    return op


def _is_named(kind: str, op: Op) -> bool:
    """Whether OP names its entry in the way that its kind requires."""
    if op["op"] == "coordination.note.add":
        return "id" not in op and "birth" not in op
    if op["op"] in BEGINNING:
        return is_text(op.get("id")) and number_of(kind, op["id"]) is not None and "birth" not in op
    if kind in KINDS_WITH_BIRTH:
        return is_ref(op)
    return "id" not in op and (kind not in (PRESENCE, AGENT) or is_actor(op.get("actor")))


def _are_valid(kind: str, changes: object) -> bool:
    if type(changes) is not dict:
        return False
    return all(fits(changes[field]) for field, fits in FIELDS[kind].items() if field in changes)


def _trimmed(value: Any) -> Any:
    """VALUE without unknown members. Otherwise the fold would store them permanently, however deeply nested."""
    if type(value) is list:
        return [_trimmed(item) for item in value]
    members = ITEM if _is_item(value) else REF if is_ref(value) else ()
    return {member: value[member] for member in members} if members else value


def _listed(value: object) -> list[Any]:
    return value if type(value) is list else []
