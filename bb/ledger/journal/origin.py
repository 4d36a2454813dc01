"""Which repository a store belongs to when its clone.json is lost: every line says so."""

from __future__ import annotations

import os

from bb.kernel.event import GENESIS
from bb.ledger.journal import line as lines
from bb.ledger.journal import writers
from bb.ledger.journal.clone import Clone, is_repo_id
from bb.ledger.journal.journal import Journal


def from_journals(store: str) -> Clone | None:
    """The identity of a store that lost its clone.json, as its oldest lines tell it; None when there are none."""
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
