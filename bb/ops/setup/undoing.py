"""Undoes `bb setup`: every file that is as bb left it gets its earlier state back, to the byte.

A file that was changed since is left. A ledger with events is kept. If only some parts are undone, later parts that
wrote the same files are undone with them and then installed again.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

from bb.coordination.wiring import setup_parts
from bb.coordination.wiring.setup_parts import Part
from bb.kernel.errors import BbError
from bb.ledger.wiring import setup_record, snapshots
from bb.ledger.wiring.setup_record import Entry, Written
from bb.ops.setup import installing, repository, steps
from bb.ops.setup.parts import Site

BY_HAND = {
    setup_parts.GIT_HOOKS: "bb hooks uninstall",
    setup_parts.SKILL: "bb init --undo --skill",
    setup_parts.HOOKS: "bb hooks uninstall --editor {host}",
    setup_parts.MCP: "bb mcp install --host {host} --undo",
}


def undo(site: Site, names: Collection[str], *, dry_run: bool) -> list[dict[str, Any]]:
    """Undo the parts NAMES, or plan it: one row for each part that an earlier setup installed."""
    entries = setup_record.read(site.desk.place)
    affected = _affected(entries, names)
    remaining: list[Entry | None] = list(entries)
    marks: dict[str, str] = {}
    rows = []
    for number in sorted(affected, reverse=True):
        remaining[number], row = _undone(site, entries[number], marks, dry_run=dry_run)
        rows += [row] if entries[number].part in names else []
        if not dry_run:
            setup_record.write(site.desk.place, [entry for entry in remaining if entry])
    if not dry_run:
        _keep_folders(site, entries)
        _install_again(site, [entries[number].part for number in sorted(affected)], names)
    return rows


def _keep_folders(site: Site, entries: list[Entry]) -> None:
    """Folders that setup made and that are not empty yet are removed with the last part."""
    remaining = setup_record.read(site.desk.place)
    folders = [folder for entry in entries for folder in entry.folders if os.path.isdir(folder)]
    if remaining and folders:
        oldest = remaining[0]
        merged = tuple(dict.fromkeys([*oldest.folders, *folders]))
        setup_record.write(site.desk.place, [oldest.replace(folders=merged), *remaining[1:]])


def _affected(entries: list[Entry], names: Collection[str]) -> set[int]:
    """The entries of the parts NAMES, and the later entries that wrote the same files."""
    affected: set[int] = set()
    paths: set[str] = set()
    for number, entry in enumerate(entries):
        own = {file.path for file in entry.files}
        if entry.part in names or own & paths:
            affected.add(number)
            paths |= own
    return affected


def _undone(site: Site, entry: Entry, marks: dict[str, str], *, dry_run: bool) -> tuple[Entry | None, dict[str, Any]]:
    """Undo one ENTRY: what remains of it, and its row. MARKS are the states of files that were visited before."""
    part = setup_parts.BY_NAME.get(entry.part, Part(entry.part, entry.part, ""))
    if part.kind == setup_parts.LEDGER:
        return None, _undone_ledger(site, part, dry_run=dry_run)
    where = _where(part, entry)
    try:
        left = [file for file in reversed(entry.files) if not _restored(site, file, marks, dry_run=dry_run)]
    except BbError as refusal:
        return entry, installing.row(part, setup_parts.LEFT, where, why=refusal.message, by_hand=refusal.hint)
    if not dry_run:
        snapshots.remove_empty(entry.folders)
    if not left or _is_gone(site, part):
        return None, installing.row(part, setup_parts.TO_UNDO if dry_run else setup_parts.UNDONE, where)
    names = ", ".join(file.path for file in left)
    is_known = all(file.after for file in left)
    why = f"{names} was changed since" if is_known else f"the setup of {names} was interrupted"
    by_hand = BY_HAND.get(part.kind, "").format(host=part.host)
    by_hand = f"to remove only what bb wrote: {by_hand}" if by_hand else "remove what bb wrote by hand"
    return entry.replace(files=tuple(left)), installing.row(part, setup_parts.LEFT, where, why=why, by_hand=by_hand)


def _is_gone(site: Site, part: Part) -> bool:
    """Whether nothing of PART is there any more, for example because a person has removed it by the older command."""
    if part.name not in setup_parts.BY_NAME:
        return False
    return bool(installing.install(part, site, dry_run=True)["outcome"] == setup_parts.PLANNED)


def _where(part: Part, entry: Entry) -> str:
    """The files of an ENTRY in short: hooks of git and the files of the skill by their folder."""
    if part.kind == setup_parts.GIT_HOOKS:
        return ", ".join(dict.fromkeys(os.path.dirname(file.path) for file in entry.files))
    return ", ".join(dict.fromkeys(steps.by_folder(file.path) for file in entry.files))


def _restored(site: Site, file: Written, marks: dict[str, str], *, dry_run: bool) -> bool:
    """Give a FILE its earlier state back, unless it was changed since."""
    mark = marks.get(file.path) or snapshots.state_of(file.path).mark
    if mark not in (file.after, file.before.mark):
        return False
    if not dry_run and mark != file.before.mark:
        snapshots.restore(file.path, file.before, site.desk.place)
    marks[file.path] = file.before.mark
    return True


def _undone_ledger(site: Site, part: Part, *, dry_run: bool) -> dict[str, Any]:
    desk = site.desk
    try:
        repository.remove_ledger(desk, desk.place, dry_run=dry_run, delete_history=False)
    except BbError as refusal:
        return installing.row(
            part, setup_parts.KEPT, desk.place.store, why=refusal.message, by_hand=_deleting(refusal), code=refusal.code
        )
    return installing.row(part, setup_parts.TO_UNDO if dry_run else setup_parts.UNDONE, desk.place.store)


def _deleting(refusal: BbError) -> str | None:
    is_history = refusal.code == "HISTORY_PRESENT"
    return "to delete it with its history, for good: bb init --undo --delete-history" if is_history else refusal.hint


def _install_again(site: Site, affected: list[str], names: Collection[str]) -> None:
    for name in dict.fromkeys(affected):
        if name not in names and name in setup_parts.BY_NAME:
            installing.install(setup_parts.BY_NAME[name], site, dry_run=False)
