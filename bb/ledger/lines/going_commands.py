"""The shell commands of agents that are going on in a work tree, and may change any file.

Each agent has one small file, because a host runs one command of an agent at a time or says when each has ended. A file
that is lost leaves the changes of that command unattributed.
"""

from __future__ import annotations

import os

from bb.coordination.lines.file_state import LONGEST_EDIT
from bb.kernel import json_text
from bb.kernel.errors import BbError
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = "commands"


def begin(lines: str, agent: str, now: int, *, is_rewriting: bool) -> None:
    """Note that a command of AGENT begins. IS_REWRITING: it is known to rewrite files, as a formatter does."""
    text = json_text.dumps({"at": now, "is_rewriting": is_rewriting})
    disk.replace_in_new_folder(os.path.join(lines, FOLDER, agent), text.encode())


def end(lines: str, agent: str) -> bool:
    """Note that the command of AGENT has ended; False if none was going on."""
    is_noted = is_going(lines, agent)
    disk.remove_if_there(os.path.join(lines, FOLDER, agent))
    return is_noted


def is_going(lines: str, agent: str) -> bool:
    return bool(agent) and os.path.exists(os.path.join(lines, FOLDER, agent))


def going(lines: str, now: int) -> tuple[list[str], list[str]]:
    """The agents whose commands are going on: those that rewrite files, and the others."""
    rewriting: list[str] = []
    others: list[str] = []
    for agent, is_rewriting in _read(os.path.join(lines, FOLDER), now):
        (rewriting if is_rewriting else others).append(agent)
    return rewriting, others


def _read(folder: str, now: int) -> Iterator[tuple[str, bool]]:
    for agent in disk.names(folder):
        if agent.startswith("."):
            continue
        try:
            found = json_text.read(disk.read_small(os.path.join(folder, agent)) or b"")
        except (ValueError, BbError):
            continue
        at = found.get("at") if isinstance(found, dict) else None
        if type(at) is int and 0 <= now - at < LONGEST_EDIT:
            yield agent, found.get("is_rewriting") is True
