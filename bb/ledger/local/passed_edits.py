"""The edits that were judged lately and may pass: by which agent, of which files, and in which state of the ledger.

As long as the ledger has not changed, the next hook need not judge the same files again. Each agent has one small file,
`<store>/passed/<agent>.json`, and it counts for a minute. If it is lost, the files are judged again.
"""

from __future__ import annotations

import os

from bb.kernel import clock, json_text
from bb.kernel.errors import BbError
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.journal.writers import JOURNALS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = "passed"
# Besides the journals in `j/`: which lines count, which reservations are admitted, which lines were received.
DECIDING = ("clone.json", "signers.json", "pins.json", "received/log")
LONG = clock.MINUTE
MOST = 20  # files in one record; a tool that changes more is always judged


class Passed(Record):
    """Edits that may pass. WHO is the agent, then its sessions. IS_RESERVED: nothing remains to be reserved for it."""

    state: str
    who: tuple[str, ...]
    files: tuple[str, ...]
    is_reserved: bool


def state(store: str) -> str:
    """The state of the ledger, from the status of its files: it changes with every record."""
    journals = os.path.join(store, JOURNALS)
    found = [_status(os.path.join(store, name)) for name in DECIDING]
    for writer in disk.names(journals):
        folder = os.path.join(journals, writer)
        found += [writer, *(_status(os.path.join(folder, name)) for name in _files(folder))]
    return " ".join(found)


def _files(folder: str) -> list[str]:
    """The last file of a journal, and the file that tells whose journal it is."""
    lines = [name for name in disk.names(folder) if name.endswith(".jsonl")]
    return [*lines[-1:], "owner.json"]


def _status(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return "-"
    return f"{status.st_ino}/{status.st_size}/{status.st_mtime_ns}"


def are_known(store: str, edits: Passed, now: int) -> bool:
    """Whether all these EDITS passed within the last minute. If they are `is_reserved`, nothing may have remained to be
    reserved."""
    known = _known(store, edits, now)
    return bool(known) and set(known["files"]).issuperset(edits.files)


def note(store: str, edits: Passed, now: int) -> None:
    """Note that EDITS may pass, besides those that are known from the last minute."""
    known = _known(store, edits, now) or {"at": now, "files": []}
    files = [*dict.fromkeys([*edits.files, *known["files"]])]
    if len(edits.files) <= MOST:
        noted = {**edits.as_dict(), "at": known["at"], "files": files[:MOST]}
        disk.replace_in_new_folder(_path(store, edits.who[0]), json_text.dumps(noted).encode("utf-8", "surrogatepass"))


def _known(store: str, edits: Passed, now: int) -> dict[str, Any]:
    """The record of edits by the same agent in the same state of the ledger; empty if there is none of this minute."""
    try:
        octets = disk.read_small(_path(store, edits.who[0]))
        found = json_text.read(octets) if octets else None
    except (ValueError, BbError):
        return {}
    return found if isinstance(found, dict) and _is_valid(found, edits, now) else {}


def _is_valid(found: dict[str, Any], edits: Passed, now: int) -> bool:
    at, files = found.get("at"), found.get("files")
    return (
        (type(at) is int and 0 <= now - at < LONG)
        and (found.get("state"), found.get("who")) == (edits.state, [*edits.who])
        and (found.get("is_reserved") is True or not edits.is_reserved)
        and isinstance(files, list)
        and all(isinstance(file, str) for file in files)
    )


def _path(store: str, agent: str) -> str:
    return os.path.join(store, FOLDER, f"{agent}.json")
