"""What a relay knows, for `bb fleet status`, `bb doctor`, the page, `bb watch` and metrics.

engine        the kind of carrier, or None before the first connection
incarnation   the log that the charter names; `first` is its first place
state         "connected", "away" (no connection; `refusal` says why), "stopped" (no verdicts: another engine, lost
              history, …)
place         read up to, with the `digest` of the log there; `imported`: the lines are in the journals up to;
              `engine_place`: the engine's last place when it was last known; `lag`: the rows between
unsent        recorded lines without a place; `waiting`: asks without an answer
archived      the place up to which git has the rows, as this clone last saw it; `leads`: whether this relay archives;
              `archive_failure`: why its last attempt failed, in words, or None
machines      each machine that has beaten lately: name, writer, place, age in seconds, is_alive, agents (a number)
health        what the engine says of its settings
skew_ms       the engine's clock minus this machine's, at the connect
heard_at      this machine's time when the engine last answered, in milliseconds; 0 if never
current_at    this machine's time at which `place` was last known to be the engine's last place; 0 if never
hears_since   this machine's time since which it hears other machines without a gap; 0 if it never did
connected_at  since when, or None; `connects`, `appends`, `reads`, `received`: counted since the start
refusal       the last refusal: code, message, at; or None
denied, left  writers of this clone that the engine refuses, or that were retired, and why
flawed        the newest rows that do not count: place, writer, first, lines, reason
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.fleet.engine_loop import EngineLoop
    from bb.ledger.fleet.shared import Shared


def of(loop: EngineLoop, shared: Shared) -> dict[str, Any]:
    """The status. The lock of SHARED is held."""
    outbox, state, connection = shared.outbox, loop.state, loop.connection
    carrier, machines = connection.carrier, loop.housekeeping.machines
    terms = state.terms
    alive = [one for one in machines if one.is_alive]
    last = max(outbox.place, outbox.acknowledged_place, connection.head.place if connection.head else 0)
    is_stopped, is_connected = outbox.stop is not None, outbox.is_connected
    return {
        "engine": carrier.kind if carrier else terms.carrier if terms else None,
        "incarnation": terms.incarnation if terms else None,
        "first": terms.first if terms else None,
        "state": "stopped" if is_stopped else "connected" if is_connected else "away",
        "place": outbox.place,
        "digest": loop.digest,
        "imported": outbox.imported,
        "engine_place": last,
        "lag": max(last - outbox.place, 0),
        "unsent": outbox.unsent,
        "waiting": len(outbox.asks),
        "archived": outbox.archived,
        "leads": loop.housekeeping.archiving.leads,
        "archive_failure": loop.housekeeping.archiving.failure,
        "machines_alive": len(alive),
        "machines": [
            {
                "name": one.name,
                "writer": one.writer,
                "place": min(one.place, last),
                "age": round(one.age, 1),
                "is_alive": one.is_alive,
                "agents": len(one.agents),
            }
            for one in machines
        ],
        "health": connection.health,
        "skew_ms": connection.skew,
        "heard_at": connection.heard_at,
        "current_at": connection.freshness.at,
        "hears_since": loop.housekeeping.hears_since,
        "connected_at": connection.connected_at if is_connected else None,
        "connects": connection.connects,
        "appends": loop.sender.appends,
        "reads": loop.reader.reads,
        "received": state.received,
        "refusal": shared.last_refusal,
        "denied": {writer: refusal.code for writer, refusal in outbox.denied.items()},
        "left": dict(outbox.left),
        "flawed": state.shown_flaws,
    }
