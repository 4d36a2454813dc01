"""Freezing paths: what the person holds, so that no agent changes it, whoever holds it besides.

A freeze goes beside what agents hold already. They keep it, and may not use it there until the freeze is lifted. It
needs no sign of life, nobody can take it over, and no option of an agent's goes past it.
"""

from __future__ import annotations

from bb.coordination.facts import Expired, Released, Reserved
from bb.coordination.holdings import scopes
from bb.coordination.holdings.holdings import FOREVER
from bb.kernel import clock, ids, show
from bb.kernel.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from bb.coordination.facts import HoldingFact
    from bb.coordination.holdings.holdings import Reservation
    from bb.coordination.holdings.reservations import Held, Overlap
    from bb.coordination.holdings.scopes import Scope

BEAD = "freeze"  # what stands where a reservation names its bead
HINT = "leave it alone until the person lifts it, and work on something else; ask: `bb agent send --to user`"


class NotFrozen(NotFound):
    """The person has frozen nothing there."""

    code = "NOT_FROZEN"
    hint = "`bb agent status --agent user` shows what is frozen"


def freeze(wanted: Iterable[Scope], why: str | None, minutes: int | None, met: Sequence[Overlap]) -> list[HoldingFact]:
    """What is recorded so that WANTED is frozen, given all it has MET; nothing for what is frozen just so already."""
    facts: list[HoldingFact] = []
    for scope in wanted:
        before = [each.held for each in met if each.wanted == scope and _is_on(each)]
        if minutes is None and any(_is_so(each.reservation, why) for each in before):
            continue
        facts += [Released(ids.PERSON, each.reservation.id) for each in before]
        facts.append(Reserved(ids.PERSON, scope.text, BEAD, minutes or FOREVER, is_file=scope.is_file, why=why))
    return facts


def thaw(wanted: Scope, met: Sequence[Overlap]) -> list[HoldingFact]:
    """What is recorded so that exactly this scope is frozen no more."""
    if here := [each.held for each in met if _is_on(each)]:
        return [Released(ids.PERSON, each.reservation.id) for each in here]
    near = [each.held.reservation.scope for each in met if each.held.reservation.is_freeze]
    hint = f"what is frozen there is {', '.join(map(show.name, near))}" if near else None
    raise NotFrozen(f"nobody has frozen exactly {show.name(wanted.text)}", hint=hint, scope=wanted.text)


def thaw_all(frozen: Iterable[Held]) -> list[HoldingFact]:
    """What is recorded so that nothing is FROZEN any more; what is over is archived as that."""
    return [(Expired if each.is_over else Released)(ids.PERSON, each.reservation.id) for each in frozen]


def concerned(met: Iterable[Overlap]) -> dict[str, list[Held]]:
    """The agents that hold what is MET, each with what it holds there."""
    found: dict[str, list[Held]] = {}
    for each in met:
        mine = found.setdefault(each.held.reservation.agent, [])
        if not each.held.is_over and each.held not in mine:
            mine.append(each.held)
    return {agent: held for agent, held in found.items() if held and agent != ids.PERSON}


def told(frozen: Held) -> str:
    """`user has frozen src/core until …: "the release is being cut"`."""
    until = f" until {clock.text(frozen.expires_at)}" if frozen.ends_at else ""
    why = f": {show.quotation(frozen.reservation.why)}" if frozen.reservation.why else ""
    return f"{ids.PERSON} has frozen {show.name(frozen.reservation.scope)}{until}{why}"


def shown(reservation: Reservation) -> dict[str, Any]:
    """What a freeze says beside what any reservation says."""
    return {"frozen": True, "why": reservation.why} if reservation.is_freeze else {}


def _is_on(meeting: Overlap) -> bool:
    return meeting.kind == scopes.EXACT and meeting.held.reservation.is_freeze


def _is_so(reservation: Reservation, why: str | None) -> bool:
    return reservation.has_no_end and reservation.why == why
