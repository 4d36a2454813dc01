"""What ops ask the relay of their clone, and how old its results are. If no relay answers, the daemon is started.

A daemon that was killed can be connected to until the system has closed its sockets. So a question whose connection
ends without an answer is asked again, of the daemon that is started then. This changes no outcome: every question asks
what holds of lines that are recorded, or to do what is done only once.
"""

from __future__ import annotations

import time

from bb.kernel.errors import Refused
from bb.ledger.fleet import asking
from bb.ledger.published import pins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.fleet.asking import Connected
    from bb.ledger.published.fleet_results import FleetResults
    from bb.ops.desk.desk import Desk

ATTEMPTS, PAUSE = 3, 0.1  # seconds, until the sockets of a daemon that was killed are closed
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


def ask(desk: Desk, ask: str, patience: float, at: Connected | None = None, **members: Any) -> dict[str, Any]:
    """The relay's answer to a question of the kind ASK, through the connection AT if one is open already."""
    question = {"ask": ask, **members}
    for _ in range(ATTEMPTS - 1):
        with at or connected(desk) as connection:
            try:
                return connection.ask(question, patience)
            except (asking.RelayGone.error, asking.RelayLost.error):
                at = None
        time.sleep(PAUSE)
    with connected(desk) as connection:
        return connection.ask(question, patience)


def results(desk: Desk) -> FleetResults:
    """What the relay has computed so far. Waits for it if it has just begun."""
    found = pins.read(desk.place.store).fleet
    if found is None:
        ask(desk, "fresh", TO_READ)
        found = pins.read(desk.place.store).fleet
    if found is None:
        raise NotFolded()
    return found
