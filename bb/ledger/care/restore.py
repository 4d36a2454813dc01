"""Repairs a damaged journal from the published copy: the same lines, byte for byte, so no event is recorded again.

This needs published lines that cover the damage, and later local lines that still follow from them. Otherwise the
writer is retired, and the intact lines after the damage are salvaged (`ledger/care/repair.py`).
"""

from __future__ import annotations

import os

from bb.ledger.files import disk
from bb.ledger.git import git, program
from bb.ledger.journal import line as lines
from bb.ledger.journal import rewriting
from bb.ledger.journal.cursors import Damage
from bb.ledger.journal.journal import Journal
from bb.ledger.journal.line import BadLine, Link
from bb.ledger.published import pins
from bb.ledger.published.layout import LARGEST, blob
from bb.ledger.published.tip import Tip
from bb.ledger.records import payload_removal
from bb.ledger.records.store import Store
from bb.ledger.travel import archive


def restore(store: Store, damage: Damage) -> bool:
    """Replace the lines from DAMAGE on with the published ones, and keep the local lines after them. Returns whether
    that was possible."""
    journal = Journal(store.path, damage.writer)
    for tip in (pin.tip for pin in pins.read(store.path).remotes.values() if pin.tip):
        head = tip.heads.get(damage.writer)
        if head is None or head.n < damage.n:
            continue
        try:
            published = _published(store, tip, damage)
            whole = _following(published, _behind(journal, damage), damage, journal.link_before(damage.n))
        except program.GitFailed:
            continue
        if whole is None:
            continue
        disk.make_folder(journal.torn)
        aside = os.path.join(journal.torn, f"{damage.writer}-{damage.n}-{os.urandom(3).hex()}.jsonl")
        with journal.lock_to_change():
            rewriting.cut(journal, damage.n, aside)
            journal.extend(whole)
        payload_removal.blank(store)  # archived lines still have payloads that were redacted later
        return True
    return False


def _published(store: Store, tip: Tip, damage: Damage) -> list[bytes]:
    """The published lines from the damaged one on."""
    published: list[bytes] = []
    files = archive.files(store.place.common, tip.commit, damage.writer)
    with git.Conversation(["cat-file", "--batch"], git_dir=store.place.common) as objects:
        for first in sorted(files):
            raws = blob(objects, files[first], LARGEST).split(b"\n")[:-1]
            published += raws[max(damage.n - first, 0) :]
    return published


def _behind(journal: Journal, damage: Damage) -> list[bytes]:
    """Every complete line of the local journal from the damaged one on."""
    files = [segment for segment in journal.segments() if segment.path >= damage.path]
    octets = b"".join(segment.octets()[damage.offset if segment.path == damage.path else 0 :] for segment in files)
    return octets.split(b"\n")[:-1]


def _following(published: list[bytes], here: list[bytes], damage: Damage, link: Link) -> bytes | None:
    """The published lines and the later local lines; None unless each line follows from the one before it."""
    whole = [*published, *here[len(published) :]]
    try:
        for raw in whole:
            link = lines.check(raw, damage.writer, link)
    except BadLine:
        return None
    return b"".join(raw + b"\n" for raw in whole)
