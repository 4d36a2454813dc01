"""What ops ask the relay of their clone, and how old its results are. If no relay answers, the daemon is started.

A daemon that was killed can be connected to until the system has closed its sockets, and one that is stopped answers
that it ends. So a question that is not answered for such a reason is asked again, of the relay that is started then.
This changes no outcome: every question asks what holds of lines that are recorded, or to do what is done only once.
"""

from __future__ import annotations

import time

from bb.kernel.errors import BbError, Refused
from bb.ledger.fleet import asking
from bb.ledger.published import pins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.fleet.asking import Connected
    from bb.ledger.published.fleet_results import FleetResults
    from bb.ops.desk.desk import Desk

TO_RESTART, PAUSE = 3.0, 0.1  # seconds until a relay that ends has ended, and between two attempts
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
    over: BbError | None = None
    until = 0.0
    while True:
        with at or _connected_again(desk, over) as connection:
            try:
                return connection.ask(question, patience)
            except BbError as refusal:
                until = until or time.monotonic() + TO_RESTART
                if not asking.is_over(refusal) or time.monotonic() > until:
                    raise
                over, at = refusal, None
        time.sleep(PAUSE)


def _connected_again(desk: Desk, over: BbError | None) -> Connected:
    """A connection to the next relay, since that of the refusal OVER has ended. If there is no next one, and the first
    one was asked, the outcome is what OVER says of it."""
    try:
        return connected(desk)
    except BbError as refusal:
        if over is None or over.code == asking.RelayGone.code:
            raise
        raise over from refusal


def results(desk: Desk) -> FleetResults:
    """What the relay has computed so far. Waits for it if it has just begun."""
    found = pins.read(desk.place.store).fleet
    if found is None:
        ask(desk, "fresh", TO_READ)
        found = pins.read(desk.place.store).fleet
    if found is None:
        raise NotFolded()
    return found
