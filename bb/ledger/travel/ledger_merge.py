"""Merges one ledger into another: its journals are copied, as if they had been synced.

Every line keeps its id and its place in the total order, so references to it stay valid. Attachments are copied too.
"""

from __future__ import annotations

import os

from bb.ledger.files import disk
from bb.ledger.journal.journal import Journal
from bb.ledger.local import blobs
from bb.ledger.records.store import Store


def merge_into(source: Store, target: Store) -> int:
    """Copy every line of SOURCE into TARGET. Returns their number. SOURCE must not be written to afterwards.

    An interrupted run can be repeated: lines that TARGET has already are skipped.
    """
    _bring_blobs(source, target)
    count = 0
    for journal in source.journals():
        with journal.lock_to_change():
            journal.repair_tail()
            into = Journal(target.path, journal.writer)
            with into.lock_to_change():
                count += _copied(journal, into)
    target.caught_up()
    return count


def _bring_blobs(source: Store, target: Store) -> None:
    there, here = blobs.folder(source.path), blobs.folder(target.path)
    for name in disk.names(there):
        if not os.path.exists(os.path.join(here, name)):
            disk.make_folder(here)
            with disk.reader(os.path.join(there, name)) as file:
                disk.replace(os.path.join(here, name), file.read(), durable=True)


def _copied(journal: Journal, into: Journal) -> int:
    disk.make_folder(into.folder)
    last = into.tail().n
    octets = b"".join(raw + b"\n" for raw in journal.lines_from(last + 1))
    if octets:
        into.extend(octets)
    return octets.count(b"\n")
