"""The shell commands of agents that are going on in a work tree: the files that each writes by name, and whether it may
change others.

Each agent has one small file. A host that runs several commands of one agent at once ends the bracket with the first of
them. What the others change later, and what a lost file leaves, is unattributed.
"""

from __future__ import annotations

import os

from bb.coordination.lines.file_state import is_going
from bb.kernel import json_text
from bb.kernel.errors import BbError
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.git.object_ids import is_object_id
from bb.ledger.git.place import STORE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.git.place import Place

FOLDER = "commands"
LARGEST = 1 << 20  # bytes of a note


class Command(Record):
    """A command that began at the time AT. PATHS are the files that it writes by name. IS_OPEN: it may change any file.
    IS_REWRITING: it is known to rewrite files, as a formatter does. HEAD is the commit that was checked out then."""

    at: int
    paths: tuple[str, ...] = ()
    is_open: bool = False
    is_rewriting: bool = False
    head: str = ""


def begin(lines: str, agent: str, command: Command) -> None:
    """Note that a command of AGENT begins."""
    disk.replace_in_new_folder(os.path.join(lines, FOLDER, agent), json_text.dumps_ascii(command.as_dict()).encode())


def end(lines: str, agent: str) -> None:
    """Note that the command of AGENT has ended."""
    disk.remove_if_there(os.path.join(lines, FOLDER, agent))


def is_noted(place: Place, agent: str) -> bool:
    """Whether a command of AGENT is noted in the work tree at PLACE."""
    return bool(place.git_dir) and os.path.exists(os.path.join(place.git_dir, STORE, "lines", FOLDER, agent))


def read(lines: str, agent: str) -> Command | None:
    """The command of AGENT that is going on; None if there is none."""
    try:
        octets = disk.read_small(os.path.join(lines, FOLDER, agent), LARGEST) or b""
        found = json_text.loads(octets.decode())  # not `read`: a path may have other bytes than UTF-8
        paths = tuple(str(path) for path in found["paths"])
        at, is_open, is_rewriting = found["at"], found["is_open"] is True, found["is_rewriting"] is True
        head = found["head"] if is_object_id(found.get("head")) else ""
    except (ValueError, TypeError, KeyError, AttributeError, BbError):
        return None
    return Command(at, paths, is_open, is_rewriting, head) if type(at) is int else None


def going(lines: str, now: int) -> tuple[list[str], list[str]]:
    """The agents whose commands may change any file: those that rewrite files, and the others."""
    rewriting: list[str] = []
    others: list[str] = []
    for agent in disk.names(os.path.join(lines, FOLDER)):
        command = None if agent.startswith(".") else read(lines, agent)
        if command and command.is_open and is_going(command.at, now):
            (rewriting if command.is_rewriting else others).append(agent)
    return rewriting, others
