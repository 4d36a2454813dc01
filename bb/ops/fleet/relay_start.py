"""Starts the relay of this clone after a verb that has connected it, and asks it to send what is recorded."""

from __future__ import annotations

import time

from bb.kernel.errors import BbError, Busy
from bb.ledger.fleet import asking, starting
from bb.ledger.local import fleet_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ops.desk.desk import Desk

TO_SEND, TO_CONNECT = 5.0, 8.0  # seconds
PAUSE = 0.05


def attend(desk: Desk, incarnation: str) -> dict[str, Any]:
    """Let bb's daemon run the relay of this clone, and wait until it is connected to the log INCARNATION. The answer
    says why not, if that fails: the verb itself is done."""
    refused: BbError | None = None
    try:
        starting.start(desk.cwd, desk.env)
    except BbError as refusal:  # it may only be connecting to another engine just now
        refused = refusal
    deadline = time.monotonic() + TO_CONNECT
    while time.monotonic() < deadline:
        try:
            found = asking.ask(desk.place.store, {"ask": "status"}, 1.0)
        except asking.RelayGone.error:
            if refused:
                return _not_running(refused.message, refused.hint)
        except BbError:
            pass  # it begins again just now
        else:
            if (found.get("incarnation"), found.get("state")) == (incarnation, "connected"):
                return {"running": True, "why": None, "hint": None}
            if found.get("refusal"):
                refused = Busy(str(found["refusal"]["message"]), hint="bb fleet status")
        time.sleep(PAUSE)
    return _not_running(refused.message if refused else "it has not connected yet", "bb fleet status")


def _not_running(why: str, hint: str | None) -> dict[str, Any]:
    return {"running": False, "why": why, "hint": hint}


def flush(desk: Desk) -> bool:
    """Let the relay send what is recorded. Returns whether it has; without a relay, the lines stay for a later sync."""
    if not fleet_files.has_engine(desk.store.path):
        return False
    try:
        asking.ask(desk.store.path, {"ask": "flush"}, TO_SEND)
    except BbError:
        return False
    return True
