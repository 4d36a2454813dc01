"""Notes and references (first vocabulary), decisions and hand-offs (third vocabulary; IPC §8.7)."""

from __future__ import annotations

from typing import Any

from bb.groups.context.request import Request
from bb.groups.context.tasks import Ruled
from bb.groups.context.values import Table, choice, collect, existing_key, needed, reference, text
from bb.groups.context_forms import DECISION, HANDOFF, NOTE, PLAIN, REFERENCE, TASK

NOTE_FIELDS: Table = ((("content",), "content", text(20_000, filled=True)),)
REFERENCE_FIELDS: Table = (
    (("url",), "url", text(4_000, filled=True)),
    (("note",), "note", text(4_000)),
)
SUMMARY = text(4_000, filled=True)
KIND = choice((DECISION, HANDOFF))


def add(request: Request) -> Ruled:
    needed(request, "content")
    return _added(request, NOTE, {"kind": PLAIN, "task": None, **collect(request, NOTE_FIELDS)})


def update(request: Request) -> Ruled:
    return _on(request, existing_key(request, NOTE, "note_id"), "updated", collect(request, NOTE_FIELDS))


def remove(request: Request) -> Ruled:
    op, detail = _on(request, existing_key(request, NOTE, "note_id"), "removed", {})
    return {**op, "with": []}, detail


def add_reference(request: Request) -> Ruled:
    needed(request, "url")
    return _added(request, REFERENCE, {"note": "", **collect(request, REFERENCE_FIELDS)})


def update_reference(request: Request) -> Ruled:
    key = existing_key(request, REFERENCE, "reference_id")
    return _on(request, key, "updated", collect(request, REFERENCE_FIELDS))


def remove_reference(request: Request) -> Ruled:
    op, detail = _on(request, existing_key(request, REFERENCE, "reference_id"), "removed", {})
    return {**op, "with": []}, detail


def record(request: Request) -> Ruled:
    """Record a decision or a hand-off. Every actor may; it can never be changed."""
    kind = KIND(request, needed(request, "kind"))
    changes = {"kind": kind, "content": SUMMARY(request, needed(request, "summary"))}
    changes["task"] = reference(TASK)(request, "task_id") if request.has("task_id") else None
    return {"op": request.op, "set": changes}, f"recorded a {kind}"


def _added(request: Request, kind: str, changes: dict[str, Any]) -> Ruled:
    name = request.view.free_id(kind)
    return {"op": request.op, "id": name, "set": changes}, f"added {name}"


def _on(request: Request, key: str, verb: str, changes: dict[str, Any]) -> Ruled:
    name = request.view.name(key)
    return {"op": request.op, **request.view.ref(key), "set": changes}, f"{verb} {name}"
