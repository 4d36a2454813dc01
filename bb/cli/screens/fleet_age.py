"""The sentence about the age of a fleet's order. There is none while the engine answers."""

from __future__ import annotations

from bb.kernel.foreign import Foreign

OLD = 15  # seconds, as in `ops/desk/fleet_age.py`


def sentences(found: Foreign) -> list[str]:
    """What a reader of the answer FOUND must know, if it may be out of date."""
    about = found.get("fleet")
    if not about:
        return []
    age = about["age_seconds"]
    if age.is_none:
        return [
            "The engine of the fleet has not answered this clone yet, so reservations of other machines may be missing"
        ]
    if float(str(age)) < OLD:
        return []
    return [
        f"The engine of the fleet last answered {_ago(float(str(age)))} ago; what others did since is not known here"
    ]


def _ago(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
