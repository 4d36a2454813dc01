"""Restores a lost clone.json: every line contains the id of the repository."""

from __future__ import annotations

import os

from bb.kernel.event import GENESIS
from bb.ledger.journal import line as lines
from bb.ledger.journal import writers
from bb.ledger.journal.clone import Clone, is_repo_id
from bb.ledger.journal.journal import Journal


def from_journals(store: str) -> Clone | None:
    """The identity of a store, read from the first lines of its journals; None if no line contains it."""
    journals = os.path.join(store, "j")
    for writer in writers.all_in(journals):
        try:
            first = lines.event(Journal(store, writer).line(1) or b"")
        except lines.Unreadable:
            continue
        repo = first.group_id.removeprefix("g_")
        if first.kind == GENESIS and is_repo_id(repo):
            return Clone(repo, writer)
    return None
