"""Whether the edits of an agent are bracketed by hooks, so that its uncommitted lines are known."""

from __future__ import annotations

import os

from bb.kernel import ids
from bb.ledger.git.place import STORE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ops.desk.desk import Desk

FOLDER = os.path.join(STORE, "lines", "agents")  # in the git directory of the work tree: a file for each agent


def is_bracketed(desk: Desk, agent: str) -> bool:
    """Whether a hook has bracketed an edit of AGENT in this work tree."""
    git_dir = desk.place.git_dir
    return bool(git_dir) and ids.is_actor_id(agent) and os.path.isfile(os.path.join(git_dir, FOLDER, agent))
