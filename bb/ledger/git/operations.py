"""The operation of git that a work tree is in the middle of, such as a merge with conflicts."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.git.place import Place

MARKS = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}


def in_progress(place: Place) -> str:
    """The name of the operation; empty if there is none."""
    return next((name for mark, name in MARKS.items() if os.path.lexists(os.path.join(place.git_dir, mark))), "")
