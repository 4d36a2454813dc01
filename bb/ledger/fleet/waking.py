"""Tells the relay of this clone that something was recorded, so that it is sent at once. A daemon that does not run is
started, without waiting for it."""

from __future__ import annotations

from bb.kernel.errors import Busy
from bb.ledger.fleet import asking
from bb.ledger.local import last_sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SOON = 10.0  # seconds between two attempts to start the daemon
BACKGROUND, SYNC = "BB_BACKGROUND", "BB_SYNC"  # as in `travel/background.py`, which a command need not load


def wake(store: str, cwd: str, env: Mapping[str, str]) -> bool:
    """Wake the relay; whether one runs. The caller does not wait for what it does."""
    try:
        with asking.connect(store) as connection:
            connection.send({"ask": "wake"})
    except Busy:
        _start_daemon(store, cwd, env)
        return False
    return True


def _start_daemon(store: str, cwd: str, env: Mapping[str, str]) -> None:
    """Start the daemon, unless that was tried just now. The time of `sync.json` is that of the last attempt."""
    age = last_sync.age(store)
    if age is None or age < SOON or env.get(SYNC) == "off" or BACKGROUND in env:
        return
    last_sync.touch(store)
    from bb.ledger.fleet import starting  # noqa: PLC0415  (usually the daemon runs)

    starting.start_aside(cwd, env)
