"""Does a commit that an agent makes with git contain uncommitted lines of other agents?"""

from __future__ import annotations

from bb.coordination.lines import line_diff, own_part
from bb.coordination.lines import weave as weaves
from bb.coordination.lines.edits import edited
from bb.coordination.lines.file_state import SEEN
from bb.kernel.errors import Conflict
from bb.kernel.escaping import name, quoted
from bb.ledger.git import operations
from bb.ledger.lines import uncommitted
from bb.ledger.lines.act import Act
from bb.ledger.lines.lines_store import LinesStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.guards.changes import Change
    from bb.coordination.lines.file_state import FileState
    from bb.coordination.lines.weave import Weave
    from bb.kernel.errors import BbError
    from bb.ledger.git.staging import StagedCommit
    from bb.ops.desk.desk import Desk

MOST_NAMED = 5

LinesOfOthers = Conflict.declare(
    "LINES_OF_OTHERS",
    "The commit contains uncommitted lines of another agent",
    hint="`bb commit -m MESSAGE` leaves them out",
)


def of_others(desk: Desk, coming: StagedCommit, changes: Sequence[Change], who: str) -> list[dict[str, Any]]:
    """The files of the coming commit that contain lines of agents other than WHO, with their owners and numbers.

    Within a merge or a rebase, git has put lines of others into the index itself.
    """
    store = LinesStore(desk.place)
    if operations.in_progress(desk.place):
        return []
    found = []
    for change in changes:
        known = store.state(change.path)
        if known and _others(known.owners, who):
            state = uncommitted.look(store, change.path, Act(SEEN), desk.now())
            weave = _staged(store, coming, state, who)
            found += [
                {"path": change.path, "agent_id": owner, "added": added, "deleted": deleted}
                for owner in _others(weaves.owners(weave), who)
                for added, deleted in [_count(weave, owner)]
            ]
    return found


def _others(owners: frozenset[str], who: str) -> list[str]:
    return sorted(owner for owner in owners if owner != who and not weaves.is_unattributed(owner))


def _staged(store: LinesStore, coming: StagedCommit, state: FileState, who: str) -> Weave:
    """The weave of what is staged of a file: without the changes that are only in the work tree."""
    blob = coming.staged_blob(state.path)
    if blob == state.now.blob:
        return state.weave
    if state.is_whole or blob == state.base.blob:
        return ()
    base, now = store.lines(state.base), store.lines(state.now)
    return edited(state.weave, base, now, line_diff.split(store.content(blob)), who)


def _count(weave: Weave, owner: str) -> tuple[int, int]:
    theirs = [run for run in weave if owner in run.owners]
    return own_part.counts(tuple(theirs))


def refusal(found: Sequence[dict[str, Any]], answer: dict[str, Any]) -> BbError:
    """The refusal of the commit: how many lines are whose."""
    first = found[0]
    count = sum(row["added"] + row["deleted"] for row in found if row["agent_id"] == first["agent_id"])
    lines = f"{count} line is" if count == 1 else f"{count} lines are"
    paths = list(dict.fromkeys(row["path"] for row in found))
    more = f" and {len(paths) - 1} more files" if len(paths) > 1 else ""
    named = " ".join(map(quoted, paths[:MOST_NAMED]))
    return LinesOfOthers(
        f"{lines} {first['agent_id']}'s, in {name(first['path'])}{more}",
        hint=f"`bb commit -m MESSAGE` leaves them out (then `git restore --staged {named}`)",
        **answer,
    )
