"""May an agent change these files? The verdicts on the files of an editor's tool, and the sentence about a holder."""

from __future__ import annotations

from bb.kernel import escaping
from bb.kernel.foreign import Foreign, quotation
from bb.ops.guards import path_verdicts
from bb.ops.guards.edited_files import ignored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from bb.coordination.holdings.regions import Range
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk
    from bb.ops.guards.edited_files import File


def verdicts(
    held: Holdings, files: Sequence[File], who: str | None, touched: Mapping[str, Sequence[Range]] | None = None
) -> dict[File, dict[str, Any]]:
    """The verdict on each file. TOUCHED has the lines that the tool will change, by the text of the file's scope; all
    of a file changes that is not in it."""
    lines = touched or {}
    return {file: path_verdicts.path_verdict(held, file.scope, who, lines.get(file.scope.text)) for file in files}


def verdicts_without_regions(held: Holdings, files: Sequence[File], who: str | None) -> dict[File, dict[str, Any]]:
    """The verdict on each file that has changed. Which lines changed is unknown by now, so regions of other agents do
    not count here: they were judged before the edit, and are again at the commit."""
    return {file: path_verdicts.verdict_on(held, file.scope, who, path_verdicts.BesideRegions()) for file in files}


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
    if scope.startswith(f"{path}::"):
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
