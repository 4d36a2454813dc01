"""The relay of one clone: it sends our lines to the engine of the fleet, and brings those of the other machines.

One relay serves all processes of a clone. They record lines in the journal as always, and ask the relay what the engine
made of them. A request is a dict, and so is its answer:

    {"ask": "settle", "events": [ID, …], "patience": SECONDS}
        Send our lines up to these, and say of each what it is, once the rows up to it are read:
        {"place": P, "imported": P, "events": {ID: VERDICT}}, where VERDICT is one of
            {"state": "admitted", "token": N, "place": P}
            {"state": "refused", "place": P, "by": [{"reservation_id", "agent_id", "scope", "token"}, …]}
            {"state": "void", "reason": TEXT}       a reservation that this log of the engine cannot admit
            {"state": "sent", "place": P}           a line that is no global reservation; it has a place
    {"ask": "flush", "patience": SECONDS}
        Wait until every line that is recorded now has a place: {"place": P, "imported": P, "sent": LINES}
    {"ask": "fresh", "patience": SECONDS}
        Read up to the engine's last row of now, and import the lines: {"place": P, "imported": P, "came": LINES}
    {"ask": "status"}
        What the relay knows, at once: see `Status` in `status.py`.
    {"ask": "archive", "patience": SECONDS}
        Publish every row up to the engine's last row of now, by whichever relay archives: {"place": P, "archived": P}
    {"ask": "wake"}
        Look for new lines now, instead of within a second: {}

    {"ok": True, "result": RESULT}
    {"ok": False, "error": {"code", "message", "exit_status", "hint", "details"}}

The codes: GRANT_PENDING (`settle`: the lines may be on the engine, and what became of them is not known in time; their
reservations must not be given up because of it), ENGINE_UNREACHABLE (nothing was sent), ENGINE_DENIED, ANOTHER_ENGINE,
ENGINE_REWOUND, ENGINE_NOT_DURABLE, FLEET_ENDED, RELAY_STOPPED, RELAY_REQUEST (the request is not understood). If PATIENCE
ends in `flush`, `fresh` or `archive`, the code is FLEET_BEHIND, or ENGINE_UNREACHABLE if the engine is away.

Before an answer is given, the results that it depends on are in `results.sqlite` (`published/fleet_results.py`).
"""

from __future__ import annotations

from bb.kernel.errors import BbError, Busy, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bb.ledger.carrier.door import Carrier
    from bb.ledger.git.place import Place

PENDING = "GRANT_PENDING"  # the code of `ops/holdings/global_reservations.py`, which raises it in the command
FleetBehind = Busy.declare(
    "FLEET_BEHIND",
    "The engine did not answer within the time that was allowed",
    hint="`bb fleet status` shows what is not sent or read yet; it goes on by itself",
)
RelayStopped = Busy.declare(
    "RELAY_STOPPED", "The relay of this clone is ending", hint="ask again; `bb daemon start` starts it"
)
RelayRequest = Usage.declare("RELAY_REQUEST", "The relay does not understand the request")


class Relay:
    """The relay of the clone at PLACE. ENV is the environment (BB_NOW, the settings of git); OPEN_CARRIER connects to
    the engine; LOG is given lines of text. HEARD is told the agents of other machines that gave a sign of life, each
    with the milliseconds since then."""

    def __init__(
        self,
        place: Place,
        env: Mapping[str, str],
        open_carrier: Callable[[], Carrier],
        log: Callable[[str], None],
        heard: Callable[[Mapping[str, int]], None] | None = None,
    ) -> None:
        raise NotImplementedError

    def run(self) -> None:
        """Work until `stop` is called. For a thread of its own."""
        raise NotImplementedError

    def stop(self) -> None:
        """End `run` soon. What waits is answered with RELAY_STOPPED. Any thread may call this."""
        raise NotImplementedError

    def ask(self, request: Mapping[str, Any], answer: Callable[[dict[str, Any]], None]) -> None:
        """Handle a request. ANSWER is called once, from a thread of the relay. Any thread may call this."""
        raise NotImplementedError


def refused(error: BbError) -> dict[str, Any]:
    """The answer that carries a refusal."""
    about: dict[str, Any] = {"code": error.code, "message": error.message, "exit_status": error.exit_status}
    about |= {"hint": error.hint} if error.hint else {}
    about |= {"details": error.details} if error.details else {}
    return {"ok": False, "error": about}
