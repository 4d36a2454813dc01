"""Installs the parts of `bb setup` one after another. A part that is refused does not stop the others."""

from __future__ import annotations

from typing import Any

import bb
from bb.coordination.wiring import setup_parts
from bb.coordination.wiring.setup_parts import Part
from bb.kernel.errors import BbError
from bb.ledger.git.place import NoWorkTree
from bb.ledger.wiring import setup_record
from bb.ledger.wiring.setup_record import Entry
from bb.ops.setup import parts
from bb.ops.setup.parts import Change, Site

BY_HAND = {
    "HOOKS_SHARED": "add the line `bb hook pre-commit || exit` to the pre-commit hook there, "
    "or install bb's hooks there: bb hooks install --anywhere",
}


def install(part: Part, site: Site, *, dry_run: bool) -> dict[str, Any]:
    """Install PART, or plan it. The answer says what has become of it."""
    try:
        planned = parts.apply(part, site, dry_run=True)
        if planned.is_changed and not dry_run:
            _carry_out(part, site, planned)
    except NoWorkTree.error as skipped:
        return row(part, setup_parts.SKIPPED, "", why=skipped.message)
    except BbError as refusal:
        hint = BY_HAND.get(refusal.code, refusal.hint)
        return row(part, setup_parts.REFUSED, "", why=refusal.message, by_hand=hint, code=refusal.code)
    outcome = _outcome(planned, is_done=not dry_run)
    return row(part, outcome, planned.where, why=planned.note or None, by_hand=planned.by_hand or None)


def _outcome(planned: Change, *, is_done: bool) -> str:
    if not planned.is_changed:
        return setup_parts.THERE
    if planned.is_there:
        return setup_parts.RENEWED if is_done else setup_parts.NEWER
    return setup_parts.INSTALLED if is_done else setup_parts.PLANNED


def row(
    part: Part, outcome: str, where: str, *, why: str | None = None, by_hand: str | None = None, code: str | None = None
) -> dict[str, Any]:
    """One part in the answer."""
    about = {"part": part.name, "outcome": outcome, "what": part.what, "host": part.host or None, "where": where}
    return about | {"why": why, "by_hand": by_hand, "code": code}


def _carry_out(part: Part, site: Site, planned: Change) -> None:
    """Install PART, and record it before and after, so that it can be undone."""
    place = site.desk.place
    entry = Entry.of(part.name, bb.__version__, planned.files)
    earlier = setup_record.read(place)
    setup_record.write(place, [*earlier, entry])
    is_done = False
    try:
        parts.apply(part, site, dry_run=False)
        is_done = True
    finally:
        finished = entry.finished()
        is_kept = finished.files or (is_done and not entry.files)  # a ledger has no files that are restored
        setup_record.write(place, [*earlier, finished] if is_kept else earlier)
