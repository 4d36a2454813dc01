"""Whether an agent may change a path: the verdict, and the refusal. Used by `bb check` and by the hooks."""

from __future__ import annotations

from bb.coordination.holdings import holdings
from bb.coordination.holdings.held import FROZEN_HINT
from bb.kernel.errors import BbError, Conflict
from bb.kernel.escaping import name, quotation, quoted
from bb.ledger.journal.journal import LedgerDamaged
from bb.ops.params import AllowSecretReason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Protocol

    from bb.coordination.holdings.held import Held
    from bb.coordination.holdings.regions import Range
    from bb.coordination.holdings.scopes import Scope
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

    class Edit(Protocol):
        """Tells which regions of a file an edit or a commit changes."""

        def touches(self, scope: Scope) -> bool: ...
        def stays_in(self, own: Sequence[Scope]) -> bool: ...


MOST_NAMED = 5  # paths in the command of a hint
FREE, YOURS, SHARED, OPEN, OVERLAPPING, HELD = "free", "yours", "shared", "open", "overlapping", "held"

PathHeld = Conflict.declare(
    "PATH_HELD",
    "Another agent holds some of these paths, or the person has frozen them",
    hint="do not edit them; get in line for them: `bb reserve PATH --queue`",
)


class Override(AllowSecretReason):
    """With --staged: allow the commit although another agent holds a path. Give the reason; it is recorded."""


def refuse_damage(desk: Desk) -> None:
    """Refuse if a part of the ledger cannot be read, because it may contain a reservation."""
    if desk.store.caught_up().damages() and (broken := desk.store.damages()):
        raise LedgerDamaged(f"line {broken[0].n} of the journal {broken[0].writer} is damaged: {broken[0].reason}")


def path_held(in_way: Sequence[dict[str, Any]], who: str, answer: dict[str, Any], hint: str | None = None) -> BbError:
    """The refusal for WHO, about the first path IN_WAY that is frozen, else about the first path."""
    first, more = next((row for row in in_way if is_frozen(row)), in_way[0]), len(in_way) - 1
    holder = next(row for row in first["held_by"] if row["agent_id"] != who)
    rest = f" and {more} more" if more else ""
    denied = f"so you may not change {name(first['path'])}{rest}"
    if is_frozen(first):
        why = f": {quotation(holder['why'])}" if holder["why"] else ""
        message = f"{holder['agent_id']} has frozen {name(holder['scope'])}, {denied}{why}"
        return PathHeld(message, hint=FROZEN_HINT, **answer)
    take = f"bb reserve {quoted(holder['scope'])} --takeover-stale"
    held = " ".join(quoted(row["path"]) for row in in_way[:MOST_NAMED])
    hint = hint or f"do not edit; get in line, and do something else meanwhile: `bb reserve {held} --queue`"
    hint = hint if holder["is_protected"] else f"take it over first: `{take}`"
    return PathHeld(f"{holder['agent_id']} holds {name(holder['scope'])}, {denied}", hint=hint, **answer)


def path_verdict(
    held: Holdings, path: Scope, who: str | None, touched: Sequence[Range] | None = None
) -> dict[str, Any]:
    """The verdict on PATH for WHO, with its reservations, freezes first. A reservation of WHO counts only if it covers
    the whole path and no part of the path is frozen.

    TOUCHED are the lines of the file as it is now that WHO will change; (n, n) is an insertion before line n. Then
    another agent's reservation of a region counts only if the edit changes the region. None: the whole path changes.
    """
    return verdict_on(held, path, who, None if touched is None else WorkTreeEdit(held, touched))


class WorkTreeEdit:
    """An edit of the lines TOUCHED of a file in the work tree."""

    def __init__(self, held: Holdings, touched: Sequence[Range]) -> None:
        self._held, self._touched = held, touched

    def touches(self, scope: Scope) -> bool:
        """Whether the edit changes the region SCOPE."""
        return self._held.regions.is_touched(scope, self._touched)

    def stays_in(self, own: Sequence[Scope]) -> bool:
        """Whether the edit stays in the regions OWN."""
        return self._held.regions.is_within(own, self._touched)


def verdict_on(held: Holdings, path: Scope, who: str | None, edit: Edit | None) -> dict[str, Any]:
    """The verdict on PATH, as in `path_verdict`. EDIT tells which regions of the file change; None: all of them."""
    met = sorted((overlap.held for overlap in held.overlaps([path])), key=_order)
    met = [one for one in met if not (one.is_of_rival and one.reservation.agent == who)]
    if edit:
        met = [
            one for one in met if one.reservation.agent == who or one.scope.region is None or edit.touches(one.scope)
        ]
    is_anything_frozen = bool(met) and met[0].reservation.is_freeze
    mine = [one for one in met if one.reservation.agent == who]
    others = [one for one in met if one.reservation.agent != who]
    if not is_anything_frozen and _is_mine(held, path, mine, others, edit):
        kinds = {one.reservation.kind for one in [*mine, *others]}
        beside = OVERLAPPING if holdings.EXCLUSIVE in kinds else OPEN if holdings.OPEN in kinds else SHARED
        verdict = beside if others else YOURS
    elif all(one.reservation.is_open for one in others):
        verdict = OPEN if others else FREE
    else:
        verdict = HELD
    return {"path": path.text, "verdict": verdict, "held_by": [_row(held, one) for one in met]}


def _order(one: Held) -> tuple[bool, bool]:
    """Freezes first, and open reservations last."""
    return not one.reservation.is_freeze, one.reservation.is_open


def _is_mine(held: Holdings, path: Scope, mine: Sequence[Held], others: Sequence[Held], edit: Edit | None) -> bool:
    """Whether the reservations MINE cover all of PATH, or all lines that are TOUCHED. If two clones reserved the path
    at the same time, a reservation counts only if it is the one that holds."""
    sound = [one for one in mine if held.excuses(one) and not (others and held.contested_by(one))]
    if any(held.covers(one, path) for one in sound):
        return True
    own = [one.scope for one in sound if one.scope.region is not None]
    return bool(own) and edit is not None and edit.stays_in(own)


def _row(held: Holdings, one: Held) -> dict[str, Any]:
    has_vanished = one.scope.region is not None and held.regions.has_vanished(one.scope)
    return one.as_json() | {"is_protected": one.is_protected} | ({"vanished": True} if has_vanished else {})


def is_frozen(judged: dict[str, Any]) -> bool:
    """Whether the person has frozen a path, or a part of it."""
    return bool(judged["held_by"]) and "frozen" in judged["held_by"][0]
