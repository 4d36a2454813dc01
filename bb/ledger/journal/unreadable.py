"""Which events are shown as unreadable, and why: their content is not what any version of bb writes."""

from __future__ import annotations

from bb.ledger.journal import kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.kernel.event import Event


def why(event: Event) -> str | None:
    """Why an event's content must not be shown: no version of bb could have written it. None if it may be shown.

    An event of an unknown kind may be shown. In events of other CCCS clients, only ids and names are checked.
    """
    if event.unreadable or not event.data:  # a blanked line has no data
        return event.unreadable
    if event.kind not in kinds.KINDS:
        return None
    if event.kind.encode() in kinds.MARKS and not kinds.forms().is_ours(event.kind, event.data):
        problem = kinds.forms().out_of_bounds(event.kind, event.data)
    else:
        problem = _misfit(event.kind, event.data, event.by)
    return problem and f"its {problem} is not valid"


def _misfit(kind: str, data: dict[str, Any], by: str) -> str | None:
    """The invalid member of an event of one of bb's own kinds; None if the event is a fact."""
    if kinds.fact_of(kind, data, by) is not None:
        return None
    entry = kinds.row(kind)
    if entry is None:
        return str(kinds.forms().invalid_member(kind, data, by))
    _, members, fits, _, required, _ = entry
    for place, (member, fit) in enumerate(zip(members, fits, strict=True)):
        value = by if place == 0 and member == "by" else data.get(member)
        if not (value is None and place >= required) and not fit(value):
            return f"`{member}`"
    return "data"
