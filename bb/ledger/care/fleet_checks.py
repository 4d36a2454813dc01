"""What `bb doctor` checks of a fleet: the engine, the relay of this clone, and what waits."""

from __future__ import annotations

import os
import shlex

from bb.kernel.errors import BbError
from bb.kernel.escaping import harmless
from bb.kernel.plurals import counted
from bb.ledger.care.finding import BROKEN, GOOD, ODD, Finding
from bb.ledger.local import fleet_files
from bb.ledger.published import fleet_results, lacking_rows, pins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.ledger.git.place import Place

MANY_ROWS = 5000  # that the archive lacks; a relay archives every few seconds
LARGE_SKEW = 60  # seconds
STATUS = "bb fleet status"
MAY_BE_PUSHED_BY = "find out who pushed it; then"


def findings(place: Place, now: int) -> Iterator[Finding]:
    """The findings about the fleet of the clone at PLACE; none without a fleet."""
    yield from _open_logs(place)
    try:
        damage = fleet_results.damage_in(place.store)
    except BbError as unreadable:
        yield Finding("fleet results", BROKEN, harmless(unreadable.message), unreadable.hint)
        return
    if damage:
        file = shlex.quote(fleet_results.path_of(place.store))
        yield Finding("fleet results", BROKEN, harmless(damage), f"rm {file}; the relay computes the results again")
        return
    if pins.read(place.store).terms is None:
        return
    from bb.ledger.fleet import overview  # noqa: PLC0415  (most ledgers have no fleet)

    found = overview.overview(place, now)
    yield Finding("fleet", *_state(found))
    if found["denied"]:
        text = f"the engine refuses lines of {', '.join(found['denied'])}"
        yield Finding("fleet rights", BROKEN, text, "ask the person who runs the engine: bb fleet enroll MACHINE")
    if (health := found["health"]) is not None:
        yield _engine(health)
    if refusal := lacking_rows.refusal(place.store, found["terms"]["incarnation"]):
        yield Finding("fleet archive", BROKEN, str(refusal), f"{MAY_BE_PUSHED_BY} bb fleet begin --again --reason '…'")
    elif found["state"] == overview.CONNECTED:
        yield _archive(found)
    if (skew := found["clock_skew_seconds"]) is not None and abs(skew) > LARGE_SKEW:
        yield Finding("fleet clock", ODD, f"this machine's clock differs from the engine's by {abs(skew):.0f} s", None)


def _state(found: dict[str, Any]) -> tuple[str, str, str | None]:
    """The state, the text and the command that helps."""
    from bb.ledger.fleet import overview  # noqa: PLC0415

    carrier, hint = found["terms"]["carrier"], found["hint"]
    message = harmless(f"{found['code']}: {found['message']}")
    match found["state"]:
        case overview.NOT_JOINED:
            return ODD, f"the ledger has a fleet on {carrier}, and this clone has not joined it", "bb fleet join ENGINE"
        case overview.NO_RELAY:
            return ODD, f"no relay of this clone runs ({message})", "bb daemon start"
        case overview.AWAY:
            return ODD, f"the engine cannot be reached; lines wait here ({message})", hint or STATUS
        case overview.FAILING:
            return ODD, f"this clone is not connected to the engine; lines wait here ({message})", hint or STATUS
        case overview.STOPPED:
            return BROKEN, f"global reservations are refused ({message})", hint or STATUS
    unsent = f"{counted(found['unsent'], 'line')} unsent" if found["unsent"] else "nothing unsent"
    alive = sum(one["is_alive"] for one in found["machines"])
    lag = f"{counted(found['lag'], 'row')} behind, " if found["lag"] else ""
    return GOOD, f"{carrier}, place {found['place']}, {lag}{unsent}, {counted(alive, 'machine')} alive", None


def _open_logs(place: Place) -> Iterator[Finding]:
    """Logs that were replaced from this clone, and that could not be closed yet."""
    if not os.path.exists(fleet_files.path(place.store, fleet_files.REPLACED_LOGS)):
        return
    from bb.ledger.fleet import replaced_logs  # noqa: PLC0415

    for log in replaced_logs.still_open(place.store):
        text = f"log {log.incarnation} on {log.address} is not used any more, and could not be closed yet"
        yield Finding("fleet old log", ODD, harmless(text), f"bb fleet prune '{log.address}'")


def _engine(health: dict[str, Any]) -> Finding:
    from bb.ledger.fleet.incarnations import in_words  # noqa: PLC0415

    shown = in_words(health)
    if health.get("durable") is False:
        text = f"a power failure of the engine can lose acknowledged lines ({shown})"
        return Finding("fleet engine", BROKEN, text, "docs/fleet.md: managed databases")
    standbys = health.get("standbys") or []
    text = shown + (f", {counted(len(standbys), 'standby server')}" if standbys else "")
    return Finding("fleet engine", GOOD, text)


def _archive(found: dict[str, Any]) -> Finding:
    if found["archive_failure"]:
        text = f"the last attempt to publish rows failed: {harmless(found['archive_failure'])}"
        return Finding("fleet archive", ODD, text, STATUS)
    waiting = max((found["head"] or 0) - (found["archived"] or 0), 0)
    if waiting > MANY_ROWS:
        text = f"{counted(waiting, 'row')} wait to be archived: no relay publishes them"
        return Finding("fleet archive", ODD, text, "bb sync --publish")
    if waiting and not found["archives"]:  # the clone that archives knows; the others look every 20 to 40 minutes
        since = f"{counted(waiting, 'row')} came later, and it is not known here whether they are archived"
        text = f"git had the rows up to place {found['archived']} when this clone last looked; {since}"
        return Finding("fleet archive", GOOD, text)
    return Finding("fleet archive", GOOD, f"git has the rows up to place {found['archived']}")
