"""Remembers that a host has called a hook of bb, so that `bb hooks status` can name hooks that are never called."""

from __future__ import annotations

from bb.kernel.errors import BbError
from bb.ledger.local import hook_calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ops.desk.desk import Desk

TRIAL = "BB_HOOK_TRIAL"  # set by bb when it plays the call of a host; such a call is not remembered


def note_hook_call(desk: Desk, host: str, moment: str) -> None:
    """Remember that HOST has called the hook of MOMENT, at most once a minute."""
    try:
        if desk.env.get(TRIAL) or not hook_calls.is_due(desk.place.store, host, moment, now := desk.now()):
            return
        desk.may_write()
        hook_calls.note(desk.place.store, host, moment, now)
    except BbError:
        return  # a missing note harms no one, a hook that fails would
