"""The state of a fleet as one clone sees it: the terms, the engine, the relay, the machines.

The relay knows most of it at once. Without a relay, the engine is asked directly. Without an engine, there is what this
clone has saved.
"""

from __future__ import annotations

import contextlib
import time

from bb.kernel.errors import BbError
from bb.ledger.carrier.door import (
    UNREACHABLE,
    AnotherEngine,
    Denied,
    EngineNotDurable,
    EngineRewound,
    EngineUnreachable,
    FleetEnded,
)
from bb.ledger.fleet import asking, engines, same_log, settings
from bb.ledger.published import pins
from bb.ledger.published.fleet_results import ResultsNotSaved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.carrier.door import Machine
    from bb.ledger.fleet.settings import EngineAddress
    from bb.ledger.git.place import Place
    from bb.ledger.published.pins import Pins
    from bb.ledger.published.tip import Tip

PATIENCE = 2.0  # seconds for the relay's answer
RECENT = 60_000  # milliseconds since a refusal
NONE, NOT_JOINED, NO_RELAY, AWAY, STOPPED, CONNECTED = "none", "not_joined", "no_relay", "away", "stopped", "connected"
FAILING = "failing"  # not connected, although nothing says that the engine is away: this machine's disk may be full
TOLD = (AnotherEngine, EngineRewound, Denied, EngineNotDurable, FleetEnded, ResultsNotSaved)
NO_TABLES = (
    "the fleet's log is not in that database. Check the address: `bb fleet join ENGINE` corrects it. If the database "
    "was lost: `bb fleet begin ENGINE --again --reason '…'`"
)
IN_FLEET = {"ENGINE_UNPREPARED": NO_TABLES}  # what helps if the fleet exists
SERVER_IS_AWAY = (
    "nothing is lost, and local work goes on. Check that the server runs, and the network to it; if it has moved: "
    "`bb fleet join ENGINE`. To reserve in this clone only: --fallback local"
)  # as the declared hint, but without the command that shows this
HINTS = {one.code: one.hint for one in TOLD} | IN_FLEET | {EngineUnreachable.code: SERVER_IS_AWAY}
STOPPING = (AnotherEngine.code, EngineRewound.code, FleetEnded.code)  # refusals with which global verdicts stop


def overview(place: Place, now: int, *, asks_engine: bool = True) -> dict[str, Any]:
    """Everything that is known. With ASKS_ENGINE, the engine is asked if no relay answers, which may take seconds."""
    known = pins.read(place.store)
    tip = known.remote(known.home).tip if known.home else None
    engine = settings.read(place.store)
    answer = _saved(known, tip, engine, now)
    if tip is None or tip.charter.fleet is None or engine is None:
        return answer
    try:
        found = asking.ask(place.store, {"ask": "status"}, PATIENCE)
    except BbError as refusal:
        answer |= {"state": NO_RELAY, "code": refusal.code, "message": refusal.message, "hint": refusal.hint}
        return answer | (_of_engine(engine, tip, now) if asks_engine else {})
    return answer | _of_relay(found, now)


def _of_relay(found: dict[str, Any], now: int) -> dict[str, Any]:
    """What the relay says (`status.py`), in the form of this overview."""
    about = _trouble(found, now) or {"code": None, "message": None}
    head = found["engine_place"]
    skew, heard = found["skew_ms"], found["heard_at"]
    return {
        "state": _not_connected(about["code"]) if found["state"] == AWAY else found["state"],
        "relay": True,
        "code": about["code"],
        "message": about["message"],
        "hint": HINTS.get(str(about["code"])),
        "place": found["place"],
        "imported": found["imported"],
        "head": head,
        "lag": found["lag"],
        "heard_seconds": max(now - heard, 0) / 1000 if heard else None,
        "unsent": found["unsent"],
        "archived": found["archived"],
        "archives": found["leads"],
        "archive_failure": found["archive_failure"],
        "machines": [_of_beat(one, head) for one in found["machines"]],
        "clock_skew_seconds": None if skew is None else round(skew / 1000, 1),
        "health": found["health"] or None,
        "denied": found["denied"],
        "flawed": found["flawed"],
    }


def _not_connected(code: str | None) -> str:
    """The state of a clone whose connection failed with the refusal CODE; None if it was not tried yet."""
    return AWAY if code is None or code in UNREACHABLE else FAILING


def _trouble(found: dict[str, Any], now: int) -> dict[str, Any] | None:
    """The refusal that explains the state. While the relay is connected, that is one for which lines wait."""
    refusal: dict[str, Any] | None = found.get("refusal")
    if refusal is None or found["state"] != CONNECTED:
        return refusal
    return refusal if found["unsent"] and now - refusal["at"] < RECENT else None


def _of_beat(one: dict[str, Any], head: int) -> dict[str, Any]:
    age = {"age_seconds": one["age"], "lag": max(head - one["place"], 0)}
    return {name: value for name, value in one.items() if name != "age"} | age


def line(answer: dict[str, Any]) -> dict[str, Any] | None:
    """The few members for `bb status`; None without a fleet."""
    if answer["state"] == NONE:
        return None
    alive = sum(one["is_alive"] for one in answer["machines"])
    shown = {name: answer[name] for name in ("state", "lag", "unsent", "archived", "code", "message", "hint")}
    return {"carrier": answer["terms"]["carrier"], **shown, "machines_alive": alive}


def _saved(known: Pins, tip: Tip | None, engine: EngineAddress | None, now: int) -> dict[str, Any]:
    """What this clone knows without asking."""
    terms = tip.charter.fleet if tip else None
    found = known.fleet
    heard = max(now - found.current_at, 0) / 1000 if found and found.current_at else None
    return {
        "state": NOT_JOINED if terms else NONE,
        "terms": terms.as_dict() if terms else None,
        "engine": engine.members if engine else None,
        "relay": False,
        "code": None,
        "message": None,
        "hint": "connect this clone: `bb fleet join ENGINE`" if terms and not engine else None,
        "place": found.place if found else None,
        "imported": found.imported if found else None,
        "head": None,
        "lag": None,
        "heard_seconds": heard,
        "unsent": None,
        "archived": tip.place if tip and terms else None,
        "archives": False,
        "archive_failure": None,
        "denied": {},
        "flawed": [],
        "machines": [],
        "clock_skew_seconds": None,
        "health": None,
    }


def _of_engine(engine: EngineAddress, tip: Tip, now: int) -> dict[str, Any]:
    """What the engine says to this process. A refusal is part of the answer."""
    terms = tip.charter.fleet
    if terms is None:
        return {}
    try:
        begun = time.monotonic()
        with contextlib.closing(engines.open_carrier(engine, tip.charter.repo, terms)) as carrier:
            head = carrier.head()
            skew = (head.now - now) / 1000 - (time.monotonic() - begun)
            same_log.check(carrier, head, tip)
            machines = [machine_shown(one, head.place) for one in carrier.alive()]
            health = carrier.health()
            if head.is_closed:
                raise FleetEnded()
    except BbError as refusal:
        state = STOPPED if refusal.code in STOPPING else _not_connected(refusal.code)
        is_usual = refusal.hint == type(refusal).hint
        hint = HINTS.get(refusal.code, refusal.hint) if is_usual else refusal.hint
        return {"state": state, "code": refusal.code, "message": refusal.message, "hint": hint}
    return {"head": head.place, "machines": machines, "health": health, "clock_skew_seconds": round(skew, 1)}


def machine_shown(machine: Machine, head: int) -> dict[str, Any]:
    """A machine in an answer."""
    return {
        "name": machine.name,
        "writer": machine.writer,
        "place": min(machine.place, head),
        "lag": max(head - machine.place, 0),
        "age_seconds": round(machine.age, 1),
        "is_alive": machine.is_alive,
        "agents": len(machine.agents),
    }
