"""Where bb keeps what it knows of uncommitted lines. This needs no other module, so guards can ask it first."""

from __future__ import annotations

import os

from bb.ledger.git.place import STORE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.git.place import Place

FOLDER = os.path.join(STORE, "lines")
LOGS, COMMANDS = "files", "commands"


def has_lines(place: Place) -> bool:
    """Whether anything is known of the uncommitted lines of the work tree at PLACE."""
    is_real = place.work_tree is not None and not place.is_aside
    return is_real and os.path.isdir(os.path.join(folder_of(place), LOGS))


def folder_of(place: Place) -> str:
    return os.path.join(place.git_dir, FOLDER)


def is_command_noted(place: Place, agent: str) -> bool:
    """Whether a shell command of AGENT is noted in the work tree at PLACE."""
    return bool(place.git_dir) and os.path.exists(os.path.join(folder_of(place), COMMANDS, agent))
