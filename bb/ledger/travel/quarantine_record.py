"""`quarantined.json`: the commits on remotes that this clone has skipped, with their authors, for `bb doctor`.

The branch itself has the same commits forever; `bb ledger verify --published` reads them from there.
"""

from __future__ import annotations

import os

from bb.kernel import clock, json_text
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.git import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.ledger.travel.quarantine import Stray

NAME = "quarantined.json"
MOST_KEPT, MOST_SHOWN = 100, 20  # commits
LONGEST = 200  # characters of an author or a subject
MOST_OUTPUT = 1 << 20


class Quarantined(Record):
    """A commit that does not count."""

    remote: str
    commit: str
    by: str  # its author, as it claims
    at: str  # its date, as it claims
    subject: str
    why: str


def described(git_dir: str, remote: str, strays: Sequence[Stray]) -> list[Quarantined]:
    """The STRAYS with what they say about themselves; if there are many, only the first ones."""
    shown = list(strays)[:MOST_SHOWN]
    words = ["log", "--no-walk=unsorted", "-z", "--no-show-signature", "--format=%H%n%an <%ae>%n%at%n%s"]
    try:
        listed = (
            git.output([*words, *(each.commit for each in shown)], git_dir=git_dir, most=MOST_OUTPUT) if shown else b""
        )
    except git.TooMuchOutput.error:
        listed = b""
    about = {}
    for entry in listed.decode("utf-8", "replace").split("\0"):
        name, by, at, subject = (*entry.strip("\n").split("\n", 3), "", "", "", "")[:4]
        about[name] = by[:LONGEST], _time(at), subject[:LONGEST]
    return [Quarantined(remote, each.commit, *about.get(each.commit, ("", "", "")), each.why) for each in shown]


def _time(seconds: str) -> str:
    """The time of a commit, if it is a plausible one."""
    is_number = seconds.isascii() and seconds.isdigit() and len(seconds) < 12
    return clock.text(int(seconds) * clock.SECOND) if is_number else ""


def read(store: str) -> list[Quarantined]:
    """The recorded commits, oldest first."""
    try:
        found: Any = json_text.read(disk.read_small(os.path.join(store, NAME)) or b"[]")
        return [Quarantined(**{name: str(one[name]) for name in Quarantined.__match_args__}) for one in found]
    except (ValueError, TypeError, KeyError):
        return []


def add(store: str, found: Sequence[Quarantined]) -> None:
    """Record commits that are not recorded yet."""
    known = read(store)
    new = [one for one in found if (one.remote, one.commit) not in {(each.remote, each.commit) for each in known}]
    if new:
        kept = [one.as_dict() for one in (*known, *new)][-MOST_KEPT:]
        disk.replace(os.path.join(store, NAME), json_text.dumps(kept).encode())
