"""Since when this clone hears the signs of life of other machines, for whoever judges the silence of an agent there."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.coordination.agents.hearing import Hearing


def in_fleet(store: str) -> Hearing | None:
    """When the relay of this clone heard other machines. None outside a fleet: there, a sync brings signs of life."""
    if not os.path.exists(os.path.join(store, "fleet", "engine.json")):  # `fleet_results.has_joined` without its import
        return None
    from bb.coordination.agents.hearing import Hearing  # noqa: PLC0415  (needed only in a fleet)
    from bb.ledger.published import pins  # noqa: PLC0415

    known = pins.read(store)
    if known.terms is None:
        return None
    return known.fleet.hearing if known.fleet else Hearing()
