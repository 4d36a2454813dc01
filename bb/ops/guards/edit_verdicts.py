"""May an agent change these files? The verdicts on the files of an editor's tool, and the sentence about a holder."""

from __future__ import annotations

from bb.kernel import escaping
from bb.kernel.foreign import Foreign, quotation
from bb.ops.guards import path_verdicts
from bb.ops.guards.edited_files import ignored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from bb.coordination.holdings.regions import Range
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk
    from bb.ops.guards.edited_files import File


IN_PART = "in_part"
REGION = "::"  # stands between a file and its region


def verdicts(
    held: Holdings, files: Sequence[File], who: str | None, touched: Callable[[File], Sequence[Range] | None]
) -> dict[File, dict[str, Any]]:
    """The verdict on each file. TOUCHED tells the lines of a file that change; None if that is unknown. It is asked
    only about files of which another agent holds a region. The verdict on such a file has the member IN_PART: it is
    about this edit, and not about the next one."""
    judged = {}
    for file in files:
        row = path_verdicts.path_verdict(held, file.scope, who)
        if row["verdict"] == path_verdicts.HELD and _has_region(row, who):
            row = path_verdicts.path_verdict(held, file.scope, who, touched(file)) | {IN_PART: True}
        judged[file] = row
    return judged


def _has_region(judged: dict[str, Any], who: str | None) -> bool:
    return any(row.get("region") for row in judged["held_by"] if row["agent_id"] != who)


def that_are(verdict: str, desk: Desk, judged: dict[File, dict[str, Any]]) -> dict[File, dict[str, Any]]:
    """The files with that VERDICT, without those that the ignore file names."""
    files = [file for file, row in judged.items() if row["verdict"] == verdict]
    skipped = ignored(desk, files)
    return {file: judged[file] for file in files if file not in skipped}


def whose(found: dict[str, Any], who: str | None) -> str:
    """`src/a.py is reserved by cobalt-harbor for bb-12 (active, until …)`."""
    first = Foreign(holder(found, who))
    path, scope = found["path"], holder(found, who)["scope"]
    if path_verdicts.is_frozen(found):
        until = f" until {first['expires_at']}" if first["expires_at"] else ""
        why = f": {quotation(first['why'])}" if first["why"] else ""
        named = escaping.name(scope)
        part = "" if scope == path else f" as part of {named}" if path.startswith(f"{scope}/") else f" ({named})"
        return f"{escaping.name(path)} is frozen by {first['agent_id']}{part}{until}{why}"
    about = f" for {first['bead_id']}" if first["bead_id"] else ""
    end = "expired at" if first["is_expired"] else "until"
    file, part = escaping.name(path), ""
    if scope.startswith(f"{path}{REGION}"):
        file = escaping.name(scope)
    elif path == "." or scope.startswith(f"{path}/"):
        file = f"{escaping.name(scope)} in {file}"
    elif scope != path:
        part = f" as part of {escaping.name(scope)}"
    return f"{file} is reserved by {first['agent_id']}{part}{about} ({first['liveness']}, {end} {first['expires_at']})"


def holder(judged: dict[str, Any], who: str | None) -> dict[str, Any]:
    """The first reservation of an agent other than WHO on a judged path."""
    reservation: dict[str, Any] = next(row for row in judged["held_by"] if row["agent_id"] != who)
    return reservation
