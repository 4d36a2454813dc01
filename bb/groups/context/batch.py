"""A batch of changes to the context: in order, all or none (IPC §8.7). Each op sees what those before it do."""

from __future__ import annotations

from bb.groups.context import agents, notes, plans, tasks
from bb.groups.context.request import ContextSyncError, InvalidOps, Request, VersionConflict
from bb.groups.context_forms import ARCHIVED, BEGINNING, KINDS, PLAIN
from bb.groups.permissions import FOREMAN, PEER, SYSTEM, USER
from bb.kernel import json_text
from bb.kernel.record import Record
from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bb.groups.context.view import ContextView
    from bb.groups.context_forms import Op

MOST_OPS = 500
MOST_OF_A_KIND = 5_000  # that are there and not archived
LARGEST = 500_000  # bytes of one change; a line of the ledger holds a mebibyte
ROLES = (USER, SYSTEM, FOREMAN, PEER)

RULES: dict[str, Callable[[Request], tasks.Ruled]] = {
    "vision.update": plans.vision,
    "sketch.update": plans.sketch,
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
    "note.add": notes.add,
    "note.update": notes.update,
    "note.remove": notes.remove,
    "coordination.note.add": notes.record,
    "reference.add": notes.add_reference,
    "reference.update": notes.update_reference,
    "reference.remove": notes.remove_reference,
    "presence.update": agents.update_presence,
    "presence.clear": agents.clear_presence,
    "agent_state.update": agents.update_state,
    "agent_state.clear": agents.clear_state,
}


class Outcome(Record):
    """What a batch comes to: the OPS to record, in one fact, and for people what each of them does."""

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
    """Decide what BY, whose ROLE it is, may do with OPS. VIEW stays as it is; a refusal anywhere leaves nothing."""
    asked = _asked(ops)
    if if_version is not None and if_version != view.version:
        raise VersionConflict(f"the context is at {view.version or 'its beginning'}", version=view.version)
    draft, done, changes = view.copy(), [], []
    for index, fields in enumerate(asked):
        name = fields["op"]
        request = Request(index, name, fields, draft, by, role if role in ROLES else PEER, actors, now_text)
        op, detail = _ruled(request)
        draft.fold(op, index, by, now_text)
        done.append(op)
        changes.append({"index": index, "op": name, "detail": detail})
    if len(json_text.dumps(done).encode()) > LARGEST:
        raise ContextSyncError(f"that is more than {LARGEST:,} bytes at once; send it in parts", path="$.ops")
    return Outcome(tuple(done), changes)


def _asked(ops: object) -> list[dict[str, Any]]:
    if type(ops) is not list:
        raise InvalidOps("ops is a list of operations", path="$.ops")
    if len(ops) > MOST_OPS:
        raise InvalidOps(f"at most {MOST_OPS} operations go into one request; these are {len(ops)}", path="$.ops")
    for index, fields in enumerate(ops):
        path = f"$.ops[{index}]"
        if type(fields) is not dict:
            raise InvalidOps(f"operation {index} is no object", index=index, path=path)
        if type(fields.get("op")) is not str or not fields["op"].strip():
            raise InvalidOps(f"operation {index} does not name itself in op", index=index, path=f"{path}.op")
    return ops


def _ruled(request: Request) -> tasks.Ruled:
    rule = RULES.get(request.op)
    if rule is None:
        path = f"$.ops[{request.index}].op"
        name = harmless(request.op[:60])
        raise ContextSyncError(f"there is no operation {name}", index=request.index, op=name, path=path)
    if request.op in BEGINNING and _is_full(request):
        raise request.refused(f"a group has at most {MOST_OF_A_KIND:,} of a kind; archive or remove some first")
    return rule(request)


def _is_full(request: Request) -> bool:
    """Whether there is too much of what the request adds to. What is archived does not count, nor a decision."""
    kind, view = KINDS[request.op], request.view
    if len(view.order[kind]) < MOST_OF_A_KIND or request.op == "coordination.note.add":
        return False
    there = (key for key in view.keys(kind) if view.value(key, "kind", PLAIN) == PLAIN)
    return sum(1 for key in there if view.value(key, "status") != ARCHIVED) >= MOST_OF_A_KIND
