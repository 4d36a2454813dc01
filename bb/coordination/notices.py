"""INCURSION and RESUME as they were recorded, each an entry of its own."""

from __future__ import annotations

from bb.coordination.facts import OVERLAPPING, Incurred, Resumed
from bb.coordination.protocol import INCURSION, RESUME
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
    earliest(after, "said", at, [ts, INCURSION if isinstance(fact, Incurred) else RESUME, fact.as_dict()])
    return after


def terms(name: str, state: State) -> list[tuple[str, str]]:  # noqa: ARG001
    """What a notice is found by."""
    place, fact = sortable(state["said"][:3]), notice(state)
    if isinstance(fact, Incurred):
        found = [("protocol", place), (INCURSION, place), (f"bead {fact.bead}", place), (fact.incident, place)]
        return [*found, (OVERLAPPING, place)] if fact.outcome == OVERLAPPING else found
    beads = dict.fromkeys([fact.bead, *fact.beads])
    return [("protocol", place), (RESUME, place), *((f"bead {bead}", place) for bead in beads)]


def notice(state: State) -> NoticeFact:
    """The notice that STATE describes."""
    _, event_type, said = state["said"][3]
    return Incurred(**said) if event_type == INCURSION else Resumed(**said)


def noticed_at(state: State) -> str:
    """When it was recorded, by its writer's clock."""
    return str(state["said"][3][0])
