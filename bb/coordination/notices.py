"""INCURSION and RESUME as they were recorded, each an entry of its own."""

from __future__ import annotations

from bb.coordination.facts import Incurred, Resumed
from bb.kernel.order import earliest, event, sortable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.coordination.facts import NoticeFact
    from bb.kernel.order import Place, State

NAME = "notice"
FACTS = (Incurred, Resumed)


def keys(fact: NoticeFact, at: Place) -> list[str]:  # noqa: ARG001
    """A notice is an entry of its own."""
    return [event(at)]


def step(state: State | None, fact: NoticeFact, at: Place, ts: str) -> State:
    """STATE after one more fact."""
    after = dict(state or {})
    earliest(after, "said", at, [ts, "INCURSION" if isinstance(fact, Incurred) else "RESUME", fact.as_dict()])
    return after


def terms(name: str, state: State) -> list[tuple[str, str]]:  # noqa: ARG001
    """What a notice is found by."""
    *at, (_, event_type, said) = state["said"]
    place = sortable(at)
    found = [("protocol", place), (event_type, place), (f"bead {said['bead']}", place)]
    if event_type == "INCURSION":
        found.append((incident(said["reservation"], said["incoming"], said["outcome"]), ""))
    return found


def incident(reservation: str, incoming: str, outcome: str) -> str:
    """What makes two incursions one and the same."""
    return f"incident {reservation} {incoming} {outcome}"
