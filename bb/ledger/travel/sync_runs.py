"""`sync-runs.json`: the number of the last sync of this clone, and its answer if it succeeded.

Processes that wait while a sync runs are all served by the one that follows, because that one begins after their calls
and carries what all of them recorded. So many simultaneous syncs make two commits, not one each. The runs are numbered,
so no clock decides which call was earlier. The file is written only under the lock of syncs.
"""

from __future__ import annotations

import os

from bb.kernel import json_text
from bb.kernel.record import Record
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAME = "sync-runs.json"
LARGEST = 1 << 22


class SyncRun(Record):
    """The last sync that has begun: its number, remote and direction. ANSWER is None if it has not succeeded so far.
    APPLIED names the lines that were last applied to the presence files; SEEN_AT is when those files were last read for
    signs of life."""

    number: int = 0
    remote: str = ""
    direction: str = ""
    answer: Mapping[str, Any] | None = None
    applied: str = ""
    seen_at: int = 0

    def next(self, remote: str, direction: str) -> SyncRun:
        """The run that follows."""
        return SyncRun(self.number + 1, remote, direction, None, self.applied, self.seen_at)


def read(store: str) -> SyncRun:
    """The last run. Without a valid file, the numbers begin anew, and no waiting process is served by another's run."""
    try:
        members = json_text.read(disk.read_small(os.path.join(store, NAME), LARGEST) or b"")
        run = SyncRun(**{name: members[name] for name in SyncRun.__match_args__ if name in members})
    except (ValueError, TypeError, KeyError):
        return SyncRun()
    is_right = type(run.number) is type(run.seen_at) is int and isinstance(run.answer, dict | None)
    return run if is_right and type(run.applied) is str else SyncRun()


def write(store: str, run: SyncRun) -> None:
    """Note that RUN has begun or, with its answer, ended."""
    disk.replace(os.path.join(store, NAME), json_text.dumps(run.as_dict()).encode())
