"""Hints for a fleet, where no line is kept: a reservation is waited for instead."""

from __future__ import annotations

from bb.ledger.published import fleet_mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ops.desk.desk import Desk

WAIT = "--wait 300"
IN_LINE = (
    ("get in line, and do something else meanwhile", "wait for it"),
    ("get in line for the rest", "wait for the rest"),
    ("get in line for it", "wait for it"),
    ("get in line for them", "wait for them"),
    ("get in line for the file", "wait for the file"),
    ("get in line behind it", "wait for it"),
    ("get in line", "wait for it"),
    ("gets in line and keeps the place without waiting", "waits again"),
)


def as_possible(desk: Desk, hint: str) -> str:
    """A HINT that advises to get in line, as it is possible here: not where the ledger has a fleet."""
    if not fleet_mark.is_there(desk.place.store):
        return hint
    possible = without_line(hint)
    return possible if desk.is_in_fleet else f"{possible}. This clone has not joined its fleet: `bb fleet join ENGINE`"


def without_line(text: str) -> str:
    """TEXT with the command that waits in place of the one that gets in line."""
    for one, other in IN_LINE:
        text = text.replace(one, other)
    return text.replace("--queue", WAIT)
