"""What others have changed in a file since an agent looked at it last, whether it is committed or not.

The agent may still have the file in mind as it was before.
"""

from __future__ import annotations

from bb.coordination.lines.file_state import ENDED, FOUND
from bb.kernel import clock
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bb.coordination.lines.file_state import FileState, Version
    from bb.ledger.lines.lines_store import LinesStore

RECENT = 2 * clock.HOUR  # an agent that has not seen a change by then has ended


class Step(Record):
    """A change of a file from one version to another. BY made it; empty if nobody is known to have."""

    by: str
    before: Version
    after: Version


def since(store: LinesStore, path: str, who: str, now: int) -> list[Step]:
    """The changes of a file since WHO looked at it last, oldest first."""
    return list(_latest_first(store, path, who, now))[::-1]


def others_changed(store: LinesStore, who: str, now: int) -> list[str]:
    """The files that others have changed since WHO looked at them last."""
    return [path for path in store.paths() if any(step.by not in ("", who) for step in since(store, path, who, now))]


def _latest_first(store: LinesStore, path: str, who: str, now: int) -> Iterator[Step]:
    states = store.log(path).recent()
    for number, (after, before) in enumerate(zip(states, states[1:])):  # noqa: B905, RUF007  (hooks do without `itertools`)
        if (number and after.by == who) or now - after.at > RECENT:  # the first is the look of this moment
            return
        if before.now.blob != after.now.blob and not (before.is_whole or after.is_whole):
            yield Step(_author(before, after), before.now, after.now)


def _author(before: FileState, after: FileState) -> str:
    if after.act == ENDED:
        return after.by
    found = [who for who, call in after.tools.items() if call == FOUND and before.tools.get(who) != FOUND]
    return found[0] if len(found) == 1 else ""
