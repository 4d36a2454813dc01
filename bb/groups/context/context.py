"""The shared context of a group: vision, sketch, brief, milestones, tasks, notes, references, presence (IPC §8.7).

Two clones may each create T001 and meet later, and nothing may be lost or merged by that. So what is created is known
by its birth, the place of the op that created it; its short id is only what it wishes to be called, and
`groups/context/view.py` says who gets it. Every field of an entry is a register, so the order of arrival never matters.
What began is never gone: a deletion counts only while nobody, anywhere, has begun the work (`is_there`).
"""

from __future__ import annotations

from bb.groups.context_forms import ACTIVE, AGENT, BEGINNING, BORN, DONE, ENDING, KINDS, PRESENCE, fitting, is_ref
from bb.groups.facts import ContextChanged
from bb.kernel.order import earliest, event, latest, sortable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.groups.context_forms import Op
    from bb.kernel.order import Place, State

    Part = dict[str, Any]  # {"by", "set"}, and "new" or "gone" where that was said

NAME = "context"
VERSION = "version"  # the entry that every change touches
MARK = "mark "  # `mark S1`: how far the item S1 of a task is
BEGUN = (ACTIVE, DONE)


FACTS = (ContextChanged,)


def written(fact: ContextChanged) -> dict[str, Any]:
    """The data of the line that FACT is recorded as."""
    return {"ops": list(fact.ops)}


def read(data: object, by: str) -> ContextChanged | None:
    """The fact that a line with this data is; None when it changes nothing that is known here."""
    listed = data.get("ops") if type(data) is dict else None
    ops = tuple(fitting(op) for op in listed) if type(listed) is list else ()
    return ContextChanged(by, ops) if any(ops) else None


def parts(fact: ContextChanged, at: Place) -> list[tuple[str, Part]]:
    """The entries that FACT touches, each once, with all that it says about them."""
    told: dict[str, Part] = {}
    for index, op in enumerate(fact.ops):
        for key, said in said_by(op, index, event(at)) if op else ():
            _add(told.setdefault(key, {"by": fact.by, "set": {}}), said)
    return [*told.items(), (VERSION, {"by": fact.by, "set": {}})]


def said_by(op: Op, index: int, where: str) -> Iterator[tuple[str, Part]]:
    """What the op at a place of the event WHERE says about each entry it is about."""
    kind = KINDS[op["op"]]
    said: Part = {"set": {field: _placed(value, where) for field, value in op["set"].items()}}
    if op["op"] in BEGINNING:
        yield f"{kind} {where}#{index}", {**said, "new": [op.get("id", ""), index]}
    elif op["op"] in ENDING:
        for ref in [op, *op["with"]]:
            yield f"{kind} {_born(ref, where)}", {"set": {}, "gone": True}
    elif kind in BORN:
        yield f"{kind} {_born(op, where)}", said
    else:
        yield f"{kind} {op['actor']}" if kind in (PRESENCE, AGENT) else kind, said


def _born(ref: Op, where: str) -> str:
    birth: str = ref["birth"]
    return where + birth if birth.startswith("#") else birth


def _placed(value: Any, where: str) -> Any:
    """VALUE with every birth in it whole: those of this very event are written without its id."""
    if isinstance(value, list):
        return [_placed(item, where) for item in value]
    return {**value, "birth": _born(value, where)} if is_ref(value) else value


def _add(part: Part, said: Part) -> None:
    """Let PART say what a later op of the same event says too; of two values for a field the later one counts."""
    before = part["set"]
    marks = {**before.get("marks", {}), **said["set"].get("marks", {})}
    part.update(said, set={**before, **said["set"], **({"marks": marks} if marks else {})})


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


def is_there(state: State) -> bool:
    """Whether something that was created is there still."""
    return "created" in state and ("gone" not in state or "begun" in state)


def terms(name: str, state: State) -> list[tuple[str, str]]:
    """What an entry is found by: its kind, in the order of birth; nothing before it is known to be created."""
    kind = name.partition(" ")[0]
    if kind in BORN and "created" in state:
        *at, (_, _, _, index) = state["created"]
        return [(kind, f"{sortable(at)} {index:06}")]
    return [(kind, sortable(state["since"][:3]))] if kind in (PRESENCE, AGENT) else []
