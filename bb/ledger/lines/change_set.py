"""The changes that one commit takes."""

from __future__ import annotations

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from bb.coordination.lines.file_state import FileState
    from bb.ledger.git.trees import Entry


class OwnChanges(Record):
    """The changes of some owners on the commit HEAD.

    ENTRIES has the mode and blob of each file that they change; None if they remove it. STATES are those of the files
    that were looked at, and WANTED the owners whose changes are taken from each. Hooks have changed the files BY_HOOKS.
    """

    head: str
    entries: Mapping[str, Entry | None]
    states: Mapping[str, FileState]
    wanted: Mapping[str, frozenset[str]]
    by_hooks: frozenset[str] = frozenset()
