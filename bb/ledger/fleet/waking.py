"""Tells the relay of this clone that something was recorded, so that it is sent at once. A daemon that does not run is
started, without waiting for it."""

from __future__ import annotations

import os
import time

from bb.kernel.errors import BbError, Busy
from bb.ledger.files import disk
from bb.ledger.fleet import asking
from bb.ledger.local import fleet_files

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
    """Start the daemon, unless that was tried just now."""
    if env.get(SYNC) == "off" or BACKGROUND in env or not _is_first(fleet_files.path(store, fleet_files.STARTED)):
        return
    from bb.ledger.fleet import starting  # noqa: PLC0415  (usually the daemon runs)

    starting.start_aside(cwd, env)


def _is_first(marker: str) -> bool:
    """Whether no command has tried it a moment ago. The time of the MARKER is that of the last attempt."""
    try:
        if 0 <= time.time() - os.stat(marker).st_mtime < SOON:
            return False
        os.utime(marker)
    except FileNotFoundError:
        try:
            disk.make_empty(marker)
        except BbError:  # without the marker, every command would start a process
            return False
    except OSError:
        return False
    return True
