"""The daemon runs the relay of a clone (`daemon/fleet`)."""

from __future__ import annotations

import os
from typing import Any

from bb.kernel.errors import Usage
from bb.ledger.git import place as places
from bb.ops.catalogue import op
from bb.ops.desk import live_daemon
from bb.ops.desk.desk import Desk
from bb.ops.json_params import JsonText

InvalidDirectory = Usage.declare(
    "INVALID_DIRECTORY", "The request must name a directory of this machine by its absolute path"
)


@op("fleet_attend", live=True, examples=("""bb call fleet_attend --args '{"cwd": "/home/ada/parser"}'""",))
def fleet_attend(desk: Desk, *, cwd: JsonText | None = None) -> dict[str, Any]:
    """Connect a clone to the engine of its fleet, from now on and each time the daemon starts.

    `bb daemon start` does this for the clone that you are in.

    Parameters:
        cwd (DIRECTORY): A directory in the clone.
    """
    if not isinstance(cwd, str) or not os.path.isabs(cwd) or not os.path.isdir(cwd):
        raise InvalidDirectory(path="$.cwd")
    return live_daemon.running_actors(desk).attend(places.find(cwd, {}))
