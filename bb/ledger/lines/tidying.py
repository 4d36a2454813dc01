"""Removes what bb no longer needs to know of lines: logs of files without changes, and contents that no log names.

The log of a file stays for a day after its last change was committed: a content that returns has the owners that it
had, and a file that is written from an old copy is noticed.
"""

from __future__ import annotations

import os
import time

from bb.kernel import clock
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.lines.lines_store import LinesStore

STAMP = "tidied"
KEPT = clock.DAY  # milliseconds after which the log of a file without changes is removed
RARELY = 6 * 3600  # seconds between two times
UNDERWAY = 3600  # seconds; a younger content may belong to a log line that is about to be written


def tidy_if_due(store: LinesStore, now: int) -> None:
    """Tidy up, unless that was done a short time ago."""
    stamp = os.path.join(store.folder, STAMP)
    try:
        if time.time() - os.stat(stamp).st_mtime < RARELY:
            return
    except OSError:
        if not os.path.isdir(store.folder):
            return
    disk.replace(stamp, b"")
    tidy(store, now)


def tidy(store: LinesStore, now: int) -> None:
    """Remove old logs, and contents that no log names."""
    with store:
        needed: set[str] = set()
        for path in store.paths():
            log, state = store.log(path), store.state(path)
            if state is None or state.is_changed or state.editors(now) or now - state.at < KEPT:
                needed |= log.contents()
            else:
                log.remove()
        for blob in store.contents.names():
            if blob not in needed and store.contents.age(blob) > UNDERWAY:
                store.contents.forget(blob)
