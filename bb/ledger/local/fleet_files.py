"""The files of a clone about its fleet, in `<store>/fleet/`. Only clones that have joined a fleet have the folder.

    engine.json       the engine: its kind and its address, without any secret. A clone with it is in fleet mode
    results.sqlite    the saved fold of the engine's rows (`published/fleet_results.py`)
    relay.lock        held by the process that runs the relay of this clone
    relay.json        the address at which that process answers questions
"""

from __future__ import annotations

import os

FOLDER, ENGINE = "fleet", "engine.json"
LOCK, ADDRESS, SOCKET = "relay.lock", "relay.json", "relay.sock"


def path(store: str, name: str) -> str:
    """The path of one of these files."""
    return os.path.join(store, FOLDER, name)


def has_engine(store: str) -> bool:
    """Whether this clone has joined a fleet. Costs one `stat`, so hot verbs may ask."""
    return os.path.exists(os.path.join(store, FOLDER, ENGINE))
