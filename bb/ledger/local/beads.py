"""The beads of a repository, read from the tracker's export or asked from the tracker's program. Read-only.

An export is believed if nothing in the tracker's folder is newer. If the tracker has changed since, or wrote no export,
its program is asked which beads are in progress, once. If that fails too, the export is used and the note says that the
tracker may know more. If nothing can be read, beads are unknown. Unknown is not the same as free.
"""

from __future__ import annotations

import os

from bb.coordination.agents.beads import IN_PROGRESS, Bead, bead, is_something_else
from bb.kernel import json_text
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.git import ownership
from bb.ledger.local import beads_folder, beads_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO

    from bb.ledger.git.place import Place
    from bb.ledger.local.beads_folder import TrackerFolder

LARGEST, MOST = 256 << 20, 500_000  # bytes and lines of the file

NO_EXPORT = "there is no issues.jsonl in .beads, and {why}"
NEITHER = "neither bd nor br is installed"
FOREIGN = "the repository belongs to another user, so no tracker is run"
MAY_KNOW_MORE = "the tracker has changed since {name} was written, so it may know more"


class KnownBeads(Record):
    """The known beads, their source, and the time of the data."""

    source: str  # jsonl, bd, br, or none
    path: str | None = None
    as_of: int | None = None  # of the file
    skipped: int = 0
    beads: tuple[Bead, ...] = ()
    note: str | None = None

    @property
    def is_known(self) -> bool:
        return self.source != "none"


def read_beads(place: Place, env: Mapping[str, str], patience: float = beads_program.PATIENCE) -> KnownBeads:
    """The beads of the repository at PLACE."""
    if place.work_tree is None:
        return KnownBeads("none", note="this repository has no work tree")
    folder, note = beads_folder.find(place, env)
    if folder is None:
        return KnownBeads("none", note=note)
    export = folder.export
    found = _read(export, folder) if export else None
    if found and found.is_known and not folder.changed_after(found.as_of or 0):
        return found
    return _weighed(found, _asked(folder, place, env, patience), folder)


def files_of(place: Place, env: Mapping[str, str]) -> list[str]:
    """The files that change when the beads do."""
    folder = beads_folder.find(place, env)[0] if place.work_tree else None
    if folder is None:
        return []
    return [*([export] if (export := folder.export) else []), *folder.signs()]


def _weighed(found: KnownBeads | None, asked: KnownBeads, folder: TrackerFolder) -> KnownBeads:
    """The best that is known from the export, which is missing, unreadable or old, and from the program's answer."""
    if found is None or not found.is_known:
        if asked.is_known:
            return asked
        return found or _backup(folder) or KnownBeads("none", note=NO_EXPORT.format(why=asked.note))
    if asked.is_known:
        return _merged(found, asked)
    return _noted(found, f"{MAY_KNOW_MORE.format(name=os.path.basename(found.path or ''))}; {asked.note}")


def _merged(found: KnownBeads, asked: KnownBeads) -> KnownBeads:
    """What the program says about work in progress, and what the older export says about all other beads."""
    now = {one.id for one in asked.beads}
    others = [one for one in found.beads if one.id not in now and one.status not in IN_PROGRESS]
    note = f"beads in progress are those of `{asked.source}`; the others are those of the older export"
    beads, skipped = (*asked.beads, *others), found.skipped + asked.skipped
    return KnownBeads(asked.source, found.path, found.as_of, skipped, beads, note)


def _backup(folder: TrackerFolder) -> KnownBeads | None:
    found = _read(path, folder) if (path := folder.backup) else None
    return _noted(found, "from the tracker's backup, so the tracker may know more") if found else None


def _noted(found: KnownBeads, note: str) -> KnownBeads:
    return KnownBeads(found.source, found.path, found.as_of, found.skipped, found.beads, found.note or note)


def _read(path: str, folder: TrackerFolder) -> KnownBeads:
    try:
        with disk.reader(path) as file:
            status = os.fstat(file.fileno())
            if status.st_size > LARGEST:
                return KnownBeads("none", path, note=f"{path} is too large to be read")
            beads, skipped = _beads(file)
    except OSError as error:
        return KnownBeads("none", path, note=f"{path} cannot be read: {error.strerror}")
    if len(beads) + skipped > MOST:
        return KnownBeads("none", path, note=f"{path} has more than {MOST:,} lines")
    written_at = None if path == folder.backup else folder.exported_at()
    return KnownBeads("jsonl", path, written_at or status.st_mtime_ns // 1_000_000, skipped, tuple(beads))


def _beads(file: IO[bytes]) -> tuple[list[Bead], int]:
    """The beads in a FILE, and the number of lines that are not valid beads. Stops at one line above the limit."""
    beads: list[Bead] = []
    skipped = 0
    for line in file:
        if len(beads) + skipped > MOST:
            break
        record = _record(line) if line.strip() else None
        if not line.strip() or is_something_else(record):
            continue
        parsed = bead(record)
        if parsed:
            beads.append(parsed)
        else:
            skipped += 1
    return beads, skipped


def _record(line: bytes) -> object:
    try:
        record: object = json_text.read(line)
    except json_text.NotJson:
        return None
    return record


def _asked(folder: TrackerFolder, place: Place, env: Mapping[str, str], patience: float) -> KnownBeads:
    """The beads in progress that the tracker's program lists."""
    if not ownership.is_ours(place, env):  # a tracker may run programs that its configuration names
        return KnownBeads("none", note=FOREIGN)
    answer = beads_program.ask(folder.programs, place.work_tree or "", env, patience)
    if answer is None:
        wanted = folder.programs
        return KnownBeads("none", note=NEITHER if len(wanted) > 1 else f"`{wanted[0]}` is not installed")
    if answer.records is None:
        return KnownBeads("none", note=answer.problem)
    beads = tuple(parsed for record in answer.records if (parsed := bead(record)))
    return KnownBeads(answer.name, None, None, len(answer.records) - len(beads), beads)
