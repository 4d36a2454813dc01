"""Background sync: a command that recorded something starts a sync, if the last attempt was long enough ago.

It starts only in a clone that was synced before. The child process checks whether this clone publishes. The time of
`sync.json` is that of the last attempt, so several simultaneous commands start only one sync.
"""

from __future__ import annotations

import os
import sys

import bb
from bb.ledger.git import ownership
from bb.ledger.local import last_sync
from bb.ledger.travel.sync_lock import is_syncing
from bb.start import ALONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from bb.ledger.git.place import Place

MARK = "BB_BACKGROUND"  # set in the child's environment
SETTING = "BB_SYNC"  # `off`: never start one
SOON = 10.0  # seconds since the last attempt, if a hook asks
PATIENCE = 20
# The package from which this process runs. PYTHONPATH is not used, because programs that git starts would inherit it.
SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(bb.__file__)))
OURSELVES = f"import sys; sys.path.insert(0, {SOURCE!r}); from bb.cli.main import main; main()"


def start_if_due(place: Place, cwd: str, env: Mapping[str, str], after: float) -> bool:
    """Start a sync if the last attempt was at least AFTER seconds ago. Returns whether one was started."""
    age = last_sync.age(place.store)
    if age is None or age < after or env.get(SETTING) == "off" or MARK in env or not hasattr(os, "posix_spawn"):
        return False
    if not ownership.is_ours(place, env):  # the repository's settings may start programs
        return False
    if is_syncing(place.store):  # the attempt is not noted, so the next command starts one if it is still due
        return False
    try:
        os.utime(os.path.join(place.store, last_sync.NAME))
    except OSError:
        return False
    from bb.ledger.files import background_processes  # noqa: PLC0415  (mostly none is due)

    command = [sys.executable, ALONE, "-c", OURSELVES, "sync", "--timeout", str(PATIENCE), "--json"]
    return background_processes.start(command, {**env, "PWD": cwd, MARK: "1"})
