"""The files that a command would change with the contents of commits, stashes and patches, as git lists them.

If git cannot tell, because a name is wrong, an object is missing or a patch cannot be read, the command passes: it
would fail as well, or the hooks of the commit see it.
"""

from __future__ import annotations

import os

from bb.kernel.errors import BbError
from bb.ledger.git import git, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bb.coordination.guards.brought_changes import Question
    from bb.ops.desk.desk import Desk

PATIENCE = 5.0  # seconds; an editor waits
MOST_SAID = 1 << 22  # bytes of paths
LARGEST_PATCH = 1 << 24
TAB = b"\t"
COLUMNS = 3  # of a line of `git apply --numstat`


def paths_of(desk: Desk, found: Sequence[Question]) -> list[str]:
    """The paths that these commands would change in this clone."""
    return list(dict.fromkeys(path for question in found for path in _paths(desk, question)))


def _paths(desk: Desk, question: Question) -> list[str]:
    folder = os.path.normpath(os.path.join(desk.cwd, question.directory))
    try:
        here = place.find(folder, {})
        if here.work_tree is None or os.path.realpath(here.common) != os.path.realpath(desk.place.common):
            return []
        patches = [os.path.join(desk.cwd, patch) for patch in question.patches]
        if not all(os.path.isfile(patch) and os.path.getsize(patch) <= LARGEST_PATCH for patch in patches):
            return []
        given = (question.given or "").encode("utf-8", "surrogateescape")
        words = [*question.words, *patches, *(["-"] if question.given is not None else [])]
        at = here.work_tree if question.is_at_top else folder
        done = git.ask(words, at=at, given=given, patience=PATIENCE, most=MOST_SAID)
    except (BbError, OSError):
        return []
    if done.status != 0:
        return []
    top = folder if question.is_relative else here.work_tree
    return [os.path.join(top, os.fsdecode(name)) for name in _names(done.out)]


def _names(listed: bytes) -> list[bytes]:
    """The paths in a list of git's, in which each ends with a NUL. Numbers come first if a patch was asked about."""
    names = (entry.lstrip(b"\n") for entry in listed.split(b"\0"))
    return [name.split(TAB, COLUMNS - 1)[-1] for name in names if name]
