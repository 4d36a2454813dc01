"""Rows that count and that the archive of a fleet has without their lines.

A row that does not count is archived without lines, and readers of git take its digest at its word, because they have
no lines to compute it from. So a person who may push to the branch could leave out the lines of a sound row. For
readers of git, no later row of its writer would count either. For machines that read the engine, they count. So two
agents could be admitted to one path. A clone whose relay has read the row notices it: it archives nothing more on top,
and says so. A new log heals it, because the machines send again what the archive lacks.
"""

from __future__ import annotations

import os

from bb.kernel import json_text
from bb.kernel.errors import Refused
from bb.ledger.files import disk
from bb.ledger.published import fleet_results

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from bb.ledger.published.tip import Commit

NAME = "lacking_rows.json"  # in the folder of the saved results

ArchiveLacksRows = Refused.declare(
    "ARCHIVE_LACKS_ROWS",
    "The git branch of the fleet lacks the lines of a row that counts",
    hint="find out who pushed that commit; then begin a new log, to which the machines send what the branch lacks: "
    "`bb fleet begin --again --reason '…'`",
)


def compare(store: str, incarnation: str, commits: Iterable[Commit]) -> None:
    """Note it if one of these COMMITS lacks the lines of a row that counts."""
    places = {row.place: commit.id for commit in commits for row in commit.rows if not row.count}
    if places and (lacking := fleet_results.counted(store, incarnation, places)):
        note(store, incarnation, lacking[0], places[lacking[0]])


def note(store: str, incarnation: str, place: int, commit: str | None) -> None:
    """Note that the archive lacks the row at PLACE, by this COMMIT or one before."""
    about = {"incarnation": incarnation, "place": place, "commit": commit}
    disk.replace(_path(store), json_text.dumps(about).encode())


def refusal(store: str, incarnation: str) -> Exception | None:
    """The refusal if the archive of this log lacks a row that counts, as far as this clone has noticed."""
    if not os.path.exists(path := _path(store)):
        return None
    try:
        found: Any = json_text.read(disk.read_small(path) or b"")
        place, commit = int(found["place"]), str(found["commit"] or "")
        if found["incarnation"] != incarnation:
            return None
    except (ValueError, TypeError, KeyError):
        return None
    where = f" in commit {commit[:12]}" if commit else ""
    return ArchiveLacksRows(f"the row at place {place} counts, and the git branch has it without its lines{where}")


def _path(store: str) -> str:
    return os.path.join(fleet_results.folder_of(store), NAME)
