"""What ops ask the relay of their clone, and how old its results are. If no relay answers, the daemon is started."""

from __future__ import annotations

from bb.kernel.errors import Refused
from bb.ledger.fleet import asking
from bb.ledger.published import pins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.fleet.asking import Connected
    from bb.ledger.published.fleet_results import FleetResults
    from bb.ops.desk.desk import Desk

TO_READ = 10.0  # seconds for the first results of a clone that has just joined

NotFolded = Refused.declare(
    "FLEET_NOT_READ",
    "This clone has not read the engine's log yet, so it cannot judge a reservation",
    hint="`bb fleet status` shows how far it is; if bb was updated since the daemon started, start that again: "
    "`bb daemon stop`, then `bb daemon start`",
)


def connected(desk: Desk) -> Connected:
    """A connection to the relay for one question. RELAY_GONE if no relay answers and the daemon cannot be started."""
    try:
        return asking.connect(desk.place.store)
    except asking.RelayGone.error:
        from bb.ledger.fleet import starting  # noqa: PLC0415  (usually the daemon runs)

        starting.start(desk.cwd, desk.env)
        return asking.connect(desk.place.store)


def ask(desk: Desk, ask: str, patience: float, **members: Any) -> dict[str, Any]:
    """The relay's answer to a question of the kind ASK."""
    with connected(desk) as connection:
        return connection.ask({"ask": ask, **members}, patience)


def results(desk: Desk) -> FleetResults:
    """What the relay has computed so far. Waits for it if it has just begun."""
    found = pins.read(desk.place.store).fleet
    if found is None:
        ask(desk, "fresh", TO_READ)
        found = pins.read(desk.place.store).fleet
    if found is None:
        raise NotFolded()
    return found
