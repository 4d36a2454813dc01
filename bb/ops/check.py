"""May these paths be touched? Asked before an edit, by hooks and by hand."""

from __future__ import annotations

from bb.kernel import ids
from bb.kernel.errors import Conflict
from bb.kernel.show import quoted
from bb.ops import life
from bb.ops.catalogue import op
from bb.ops.params import Plain, Someone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.coordination.scopes import Scope
    from bb.ledger.holdings import Holdings
    from bb.ops.desk import Desk

FREE, YOURS, SHARED, OVERLAPPING, HELD = "free", "yours", "shared", "overlapping", "held"


class PathHeld(Conflict):
    """Another agent holds some of these paths."""

    code = "PATH_HELD"
    hint = "leave them alone, or ask the holder: `bb agent send`; `bb agent reserve --wait SECONDS` stands in line"


class Path(Plain):
    """A file or directory. Wildcards in it are not patterns but its name."""

    metavar = "PATH"


@op("check", examples=("bb check src/parser.py --agent amber-otter", "bb check src/parser.py docs --json"))
def check(desk: Desk, path: list[Path], *, agent: Someone | None = None) -> dict[str, Any]:
    """Who holds these paths, and may you touch them? Changes nothing.

    PATH_HELD (exit status 7) when another agent holds one of them, even one that has fallen silent: take it over first.
    Without --agent or BB_AGENT a person is asking; a person is told, and not stopped. The answer is the same from
    every worktree and sub-directory. Without a ledger everything is free.
    """
    named = agent or desk.env.get("BB_AGENT")
    who = None if named in (None, "", ids.PERSON) else named
    scopes = [desk.scope(each, is_path=True) for each in path]
    if not desk.store.exists:
        found: list[dict[str, Any]] = [{"path": each.text, "verdict": FREE, "held_by": []} for each in scopes]
        return {"agent_id": who, "may_touch": True, "is_managed": False, "paths": found}
    if who:
        who = life.caller(desk, who)
    held = desk.holdings(desk.store.caught_up(), desk.now())
    found = [_judged(held, each, who) for each in scopes]
    in_way = [each for each in found if each["verdict"] == HELD]
    answer: dict[str, Any] = {"agent_id": who, "may_touch": not in_way, "is_managed": True, "paths": found}
    if in_way and who:
        first = in_way[0]
        holder = next(each for each in first["held_by"] if each["agent_id"] != who)
        take = f"bb agent reserve --scope {quoted(holder['scope'])} --bead {quoted(holder['bead_id'])} --takeover-stale"
        hint = None if holder["is_protected"] else f"take it over first: {take}"
        raise PathHeld(f"{holder['agent_id']} holds {holder['scope']}, so not {first['path']}", hint=hint, **answer)
    return answer


def _judged(held: Holdings, path: Scope, who: str | None) -> dict[str, Any]:
    """Whose a path is, as WHO must see it: one's own reservation counts when it covers the whole of it."""
    met = [overlap.held for overlap in held.met_by([path])]
    mine = [each for each in met if each.reservation.agent == who]
    is_mine = any(held.covers(each, path) for each in mine)
    others = [each for each in met if each.reservation.agent != who]
    if is_mine:
        beside = OVERLAPPING if any(not each.reservation.shared for each in [*mine, *others]) else SHARED
        verdict = beside if others else YOURS
    else:
        verdict = HELD if others else FREE
    shown = [each.shown() | {"is_protected": each.is_protected} for each in met]
    return {"path": path.text, "verdict": verdict, "held_by": shown}
