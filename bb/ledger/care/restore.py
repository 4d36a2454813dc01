"""Mending a damaged journal from the published copy: the same lines, byte for byte, so nothing is recorded anew.

What is published covers the damage, and what was recorded here since still follows from it. Where that does not hold,
the journal is retired and what is whole behind the damage is salvaged (`ledger/care/repair.py`).
"""

from __future__ import annotations

import os

from bb.ledger.files import disk
from bb.ledger.git import git
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from bb.ledger.journal.line import BadLine, Link
from bb.ledger.published import pins
from bb.ledger.published.layout import LARGEST, blob
from bb.ledger.records import redaction
from bb.ledger.travel import archive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.journal.cursors import Damage
    from bb.ledger.published.tip import Tip
    from bb.ledger.records.store import Store


def restore(store: Store, damage: Damage) -> bool:
    """Put the published lines where DAMAGE is, and what follows behind them; whether that was possible."""
    journal = Journal(store.path, damage.writer)
    for tip in (pin.tip for pin in pins.read(store.path).remotes.values() if pin.tip):
        head = tip.heads.get(damage.writer)
        if head is None or head.n < damage.n:
            continue
        try:
            published = _published(store, tip, damage)
            whole = _following(published, _behind(journal, damage), damage, journal.link_before(damage.n))
        except git.GitFailed:
            continue
        if whole is None:
            continue
        disk.make_folder(journal.torn)
        aside = os.path.join(journal.torn, f"{damage.writer}-{damage.n}-{os.urandom(3).hex()}.jsonl")
        with journal.lock_if_any():
            journal.cut(damage.n, aside)
            journal.extend(whole)
        redaction.blank(store)  # what was archived is as it was then
        return True
    return False


def _published(store: Store, tip: Tip, damage: Damage) -> list[bytes]:
    """The lines from the damaged one on, as they are published."""
    found: list[bytes] = []
    files = archive.files(store.place.common, tip.commit, damage.writer)
    with git.Conversation(["cat-file", "--batch"], git_dir=store.place.common) as objects:
        for first in sorted(files):
            raws = blob(objects, files[first], LARGEST).split(b"\n")[:-1]
            found += raws[max(damage.n - first, 0) :]
    return found


def _behind(journal: Journal, damage: Damage) -> list[bytes]:
    """Every whole line from the damaged one on, as it stands here."""
    files = [segment for segment in journal.segments() if segment.path >= damage.path]
    octets = b"".join(segment.octets()[damage.offset if segment.path == damage.path else 0 :] for segment in files)
    return octets.split(b"\n")[:-1]


def _following(published: list[bytes], here: list[bytes], damage: Damage, link: Link) -> bytes | None:
    """The published lines and those recorded here since, when each follows from the one before it."""
    whole = [*published, *here[len(published) :]]
    try:
        for raw in whole:
            link = lines.check(raw, damage.writer, link)
    except BadLine:
        return None
    return b"".join(raw + b"\n" for raw in whole)
