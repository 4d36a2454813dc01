"""A batch of changes to the context: in order, all or none (IPC §8.7). Each op sees the effects of earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bb.groups.context import agents, plans, tasks
from bb.groups.context.request import ContextSyncError, InvalidOps, Request, VersionConflict
from bb.groups.context.view import ContextView
from bb.groups.context_forms import ARCHIVED, BEGINNING, KINDS, PLAIN, Op
from bb.groups.permissions import FOREMAN, PEER, SYSTEM, USER
from bb.kernel import json_text
from bb.kernel.escaping import harmless
from bb.kernel.record import Record

MOST_OPS = 500
MOST_OF_A_KIND = 5_000  # entries of a kind that exist and are not archived
LARGEST = 500_000  # bytes of one change; a line of the ledger can have 1 MiB
ROLES = (USER, SYSTEM, FOREMAN, PEER)

RULES: dict[str, Callable[[Request], tasks.Ruled]] = {
    "vision.update": plans.set_text,
    "sketch.update": plans.set_text,
    "coordination.brief.update": plans.brief,
    "meta.merge": plans.meta,
    "milestone.create": plans.create,
    "milestone.update": plans.update,
    "milestone.complete": plans.complete,
    "milestone.restore": plans.restore,
    "task.create": tasks.create,
    "task.update": tasks.update,
    "task.move": tasks.move,
    "task.restore": tasks.restore,
    "task.delete": tasks.delete,
    "note.add": plans.add_note,
    "note.update": plans.update_note,
    "note.remove": plans.remove_note,
    "coordination.note.add": plans.record,
    "reference.add": plans.add_note,
    "reference.update": plans.update_note,
    "reference.remove": plans.remove_note,
    "presence.update": agents.presence,
    "presence.clear": agents.presence,
    "agent_state.update": agents.state,
    "agent_state.clear": agents.state,
}


class Outcome(Record):
    """The result of a batch: the OPS to record in one fact, and a description of each change."""

    ops: tuple[Op, ...]
    changes: list[dict[str, Any]]


def apply(
    view: ContextView,
    ops: object,
    *,
    by: str,
    role: str,
    actors: Mapping[str, str],
    now_text: str,
    if_version: str | None = None,
) -> Outcome:
    """Check OPS requested by BY with this ROLE. VIEW is not changed. If one op is refused, the whole batch is."""
    requested = _asked(ops)
    if if_version is not None and if_version != view.version:
        raise VersionConflict(
            f"the context is now at version {view.version}" if view.version else "the context is still empty",
            version=view.version,
        )
    draft, done, changes = view.copy(), [], []
    for index, fields in enumerate(requested):
        name = fields["op"]
        request = Request(index, name, fields, draft, by, role if role in ROLES else PEER, actors, now_text)
        op, detail = _ruled(request)
        draft.fold(op, index, by, now_text)
        done.append(op)
        changes.append({"index": index, "op": name, "detail": detail})
    if len(json_text.dumps(done).encode()) > LARGEST:
        raise ContextSyncError(
            f"the operations have more than {LARGEST:,} bytes; send them in several requests", path="$.ops"
        )
    return Outcome(tuple(done), changes)


def _asked(ops: object) -> list[dict[str, Any]]:
    if type(ops) is not list:
        raise InvalidOps("ops must be a list of operations", path="$.ops")
    if len(ops) > MOST_OPS:
        raise InvalidOps(f"the request has {len(ops)} operations; at most {MOST_OPS} are allowed", path="$.ops")
    for index, fields in enumerate(ops):
        path = f"$.ops[{index}]"
        if type(fields) is not dict:
            raise InvalidOps(f"operation {index} is not an object", index=index, path=path)
        if type(fields.get("op")) is not str or not fields["op"].strip():
            raise InvalidOps(f"operation {index} has no name in op", index=index, path=f"{path}.op")
    return ops


def _ruled(request: Request) -> tasks.Ruled:
    rule = RULES.get(request.op)
    if rule is None:
        path = f"$.ops[{request.index}].op"
        name = harmless(request.op[:60])
        raise ContextSyncError(f"no operation {name} exists", index=request.index, op=name, path=path)
    if request.op in BEGINNING and _is_full(request):
        raise request.refused(
            f"the group already has {MOST_OF_A_KIND:,} entries of this kind; archive or remove some first"
        )
    return rule(request)


def _is_full(request: Request) -> bool:
    """Whether the group has too many entries of the request's kind. Archived entries and decisions do not count."""
    kind, view = KINDS[request.op], request.view
    if len(view.order[kind]) < MOST_OF_A_KIND or request.op == "coordination.note.add":
        return False
    there = (key for key in view.keys(kind) if view.value(key, "kind", PLAIN) == PLAIN)
    return sum(1 for key in there if view.value(key, "status") != ARCHIVED) >= MOST_OF_A_KIND
