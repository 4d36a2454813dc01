"""The sentence about the age of a fleet's order. There is none while the engine answers."""

from __future__ import annotations

from bb.kernel.foreign import Foreign, sentence

STATES = {
    "not_joined": "this clone has not joined it",
    "no_relay": "no relay of this clone runs",
    "away": "the engine cannot be reached",
    "failing": "not connected",
    "stopped": "global reservations are refused",
}
OLD = 15  # seconds, as in `ops/desk/fleet_age.py`
NOT_YET = (
    "This clone has not read everything from the fleet's engine yet, so reservations of other machines may be missing"
)

NO_RELAY = "No relay of this clone runs: `bb daemon start`"


def sentences(found: Foreign) -> list[str]:
    """What a reader of the answer FOUND must know, if it may be out of date."""
    about = found.get("fleet")
    if not about:
        return []
    age = about.get("age_seconds")
    if "age_seconds" not in about:
        return []
    way_out = f". {NO_RELAY}" if about.get("no_relay") else ""
    if age.is_none:
        return [NOT_YET + way_out]
    if float(str(age)) < OLD:
        return []
    ago = _ago(float(str(age)))
    return [
        f"This clone last had everything from the fleet's engine {ago} ago; what others did since is not known here"
        + way_out
    ]


def line(about: Foreign) -> str:
    """The state of a fleet on one line."""
    state = str(about["state"])
    if state == "connected":
        parts = [f"{about['carrier']} at place {about['place']}"]
        parts += [f"{int(about['lag']):,} rows behind"] if about["lag"] else []
        parts += [f"{int(about['unsent']):,} lines unsent"] if about["unsent"] else []
        machines = int(about["machines_alive"] or 0)
        return f"Fleet: {', '.join(parts)}, {machines:,} {'machine' if machines == 1 else 'machines'} alive"
    why = f", because {sentence(about['message'])}" if state == "failing" else ""
    hint = f"; {sentence(about['hint'])}" if about["hint"] else ""
    return f"Fleet: {STATES.get(state, state)}{why}{hint}"


def _ago(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
