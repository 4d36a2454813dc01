"""Starts the relay of this clone after a verb that has connected it, and asks it to send what is recorded."""

from __future__ import annotations

from bb.kernel.errors import BbError
from bb.ledger.fleet import asking, starting
from bb.ledger.local import fleet_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ops.desk.desk import Desk

TO_SEND = 5.0  # seconds


def attend(desk: Desk) -> dict[str, Any]:
    """Let bb's daemon run the relay of this clone. The answer says why not, if that fails: the verb itself is done."""
    try:
        starting.start(desk.cwd, desk.env)
    except BbError as refusal:
        return {"running": False, "why": refusal.message, "hint": refusal.hint}
    return {"running": True, "why": None, "hint": None}


def flush(desk: Desk) -> bool:
    """Let the relay send what is recorded. Returns whether it has; without a relay, the lines stay for a later sync."""
    if not fleet_files.has_engine(desk.store.path):
        return False
    try:
        asking.ask(desk.store.path, {"ask": "flush"}, TO_SEND)
    except BbError:
        return False
    return True
