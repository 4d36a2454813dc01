"""The files by which a command finds the relay of its clone, in `<store>/fleet/`.

    relay.lock          held by the process that runs the relay of this clone
    relay.json          the address at which that process answers questions
    relay.sock          its Unix socket, unless the path is too long
    started             its time is that of the last attempt of a command to start the daemon (`fleet/waking.py`)
    engine.json         the engine that this clone has joined (`fleet/settings.py`)
    replaced_logs.json  logs that are to be closed (`fleet/replaced_logs.py`)

What else is in the folder: `published/fleet_results.py` (the saved fold), `published/lacking_rows.py`.
"""

from __future__ import annotations

import os

FOLDER = "fleet"
LOCK, ADDRESS, SOCKET, ENGINE = "relay.lock", "relay.json", "relay.sock", "engine.json"
REPLACED_LOGS = "replaced_logs.json"
STARTED = "started"


def path(store: str, name: str) -> str:
    """The path of one of these files."""
    return os.path.join(store, FOLDER, name)


def has_engine(store: str) -> bool:
    """Whether this clone has joined a fleet."""
    return os.path.exists(path(store, ENGINE))
