"""The shared context of a group: vision, sketch, brief, milestones, tasks, notes, references, presence (IPC §8.7).

Two clones can each create a task T001 before they sync; both tasks must survive. So an entry is identified by its
birth, the place of the op that created it. Its short id is only a wish, which `groups/context/view.py` grants or
extends by a suffix. Every field of an entry is a register, so the order of arrival does not matter. A deletion has no
effect if work on the entry has begun in any clone (`is_there`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bb.groups.context_forms import (
    ACTIVE,
    AGENT,
    BEGINNING,
    DONE,
    ENDING,
    KINDS,
    KINDS_WITH_BIRTH,
    PRESENCE,
    Op,
    is_ref,
    valid_op,
)
from bb.groups.facts import ContextChanged
from bb.kernel.total_order import Place, State, earliest, event, latest, sortable

Part = dict[str, Any]  # {"by", "set"}, and "new" or "gone" for a creation or deletion

NAME = "context"
VERSION = "version"  # the entry that every change updates
MARK = "mark "  # `mark S1`: the status of the item S1 of a task
BEGUN = (ACTIVE, DONE)


FACTS = (ContextChanged,)


def fact_of(data: object, by: str) -> ContextChanged | None:
    """The fact in a line's data; None if none of its ops is known."""
    listed = data.get("ops") if type(data) is dict else None
    ops = tuple(valid_op(op) for op in listed) if type(listed) is list else ()
    return ContextChanged(by, ops) if any(ops) else None


def parts(fact: ContextChanged, at: Place) -> list[tuple[str, Part]]:
    """The entries that FACT changes, each once, with all changes."""
    by_key: dict[str, Part] = {}
    for index, op in enumerate(fact.ops):
        for key, part in changes_of(op, index, event(at)) if op else ():
            _add(by_key.setdefault(key, {"by": fact.by, "set": {}}), part)
    return [*by_key.items(), (VERSION, {"by": fact.by, "set": {}})]


def changes_of(op: Op, index: int, where: str) -> Iterator[tuple[str, Part]]:
    """The changes of an op to its entries. INDEX is its place in the event WHERE."""
    kind = KINDS[op["op"]]
    part: Part = {"set": {field: _placed(value, where) for field, value in op["set"].items()}}
    if op["op"] in BEGINNING:
        yield f"{kind} {where}#{index}", {**part, "new": [op.get("id", ""), index]}
    elif op["op"] in ENDING:
        for ref in [op, *op["with"]]:
            yield f"{kind} {_born(ref, where)}", {"set": {}, "gone": True}
    elif kind in KINDS_WITH_BIRTH:
        yield f"{kind} {_born(op, where)}", part
    else:
        yield f"{kind} {op['actor']}" if kind in (PRESENCE, AGENT) else kind, part


def _born(ref: Op, where: str) -> str:
    birth: str = ref["birth"]
    return where + birth if birth.startswith("#") else birth


def _placed(value: Any, where: str) -> Any:
    """VALUE with complete births. In ops, a birth in the same event is written without the event's id."""
    if isinstance(value, list):
        return [_placed(item, where) for item in value]
    return {**value, "birth": _born(value, where)} if is_ref(value) else value


def _add(part: Part, later: Part) -> None:
    """Add the changes of a later op of the same event to PART. If both set a field, the later value counts."""
    before = part["set"]
    marks = {**before.get("marks", {}), **later["set"].get("marks", {})}
    part.update(later, set={**before, **later["set"], **({"marks": marks} if marks else {})})


def step(state: State | None, part: Part, at: Place, ts: str) -> State:
    """STATE after one more part."""
    after = dict(state or {})
    earliest(after, "since", at, None)
    latest(after, "updated", at, [ts, part["by"]])
    if "new" in part:
        earliest(after, "created", at, [ts, part["by"], *part["new"]])
    if "gone" in part:
        earliest(after, "gone", at, part["by"])
    for name, value in part["set"].items():
        if name == "marks":
            for item, mark in value.items():
                latest(after, MARK + item, at, mark)
        else:
            (earliest if name == "started" else latest)(after, name, at, value)
    if part["set"].get("status") in BEGUN:
        earliest(after, "begun", at, ts)
    return after


def exists(state: State) -> bool:
    """Whether an entry exists: it was created, and not deleted before work on it began."""
    return "created" in state and ("gone" not in state or "begun" in state)


def terms(name: str, state: State) -> list[tuple[str, str]]:
    """The index terms of an entry: its kind, in the order of birth. An entry without a known creation has none."""
    kind = name.partition(" ")[0]
    if kind in KINDS_WITH_BIRTH and "created" in state:
        *at, (_, _, _, index) = state["created"]
        return [(kind, f"{sortable(at)} {index:06}")]
    return [(kind, sortable(state["since"][:3]))] if kind in (PRESENCE, AGENT) else []
