"""The agents whose edits hooks bracket, so that their uncommitted lines are known: an empty file for each."""

from __future__ import annotations

import os

from bb.kernel import ids
from bb.ledger.files import disk
from bb.ledger.git.place import STORE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.git.place import Place

FOLDER = os.path.join(STORE, "lines", "agents")


def is_bracketed(place: Place, agent: str) -> bool:
    """Whether a hook has bracketed an edit of AGENT in this work tree."""
    return bool(place.git_dir) and ids.is_actor_id(agent) and os.path.isfile(_path(place, agent))


def note(place: Place, agent: str) -> None:
    """Note that hooks bracket the edits of AGENT."""
    if not is_bracketed(place, agent):
        disk.replace_in_new_folder(_path(place, agent), b"")


def _path(place: Place, agent: str) -> str:
    return os.path.join(place.git_dir, FOLDER, agent)
