"""Has an editor's tool changed files that another agent holds? It is recorded, and the agent is told."""

from __future__ import annotations

from bb.kernel.foreign import Foreign
from bb.ops.guards import edit_verdicts, path_verdicts, touched_lines
from bb.ops.guards.edited_files import files_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.holdings.scopes import Scope
    from bb.coordination.wiring.editors import HookPayload
    from bb.ops.desk.desk import Desk
    from bb.ops.guards.edited_files import File


def warning(desk: Desk, heard: HookPayload, who: str) -> str:
    """The warning for WHO about the held files that its tool has changed; empty if there are none. It is recorded."""
    files = files_of(desk, heard.paths)
    changed = _held_by_others(desk, who, files) if files else {}
    if not changed:
        return ""
    _report(desk, who, [file.scope for file in changed])
    first = next(iter(changed.values()))
    them = Foreign(edit_verdicts.holder(first, who)["agent_id"])
    whose = "that the person has frozen" if path_verdicts.is_frozen(first) else "that another agent holds"
    news = f"bb: you have changed a file {whose}: {edit_verdicts.whose(first, who)}."
    return f"{news} Undo your change with your editor, or tell {them}: bb send {them} 'TEXT' --agent {who}."


def _held_by_others(desk: Desk, who: str, files: Sequence[File]) -> dict[File, dict[str, Any]]:
    held = desk.holdings(desk.store.caught_up(), desk.now())
    return edit_verdicts.that_are(
        path_verdicts.HELD, desk, edit_verdicts.verdicts(held, files, who, touched_lines.after(who))
    )


def _report(desk: Desk, who: str, scopes: Sequence[Scope]) -> None:
    """Record the changes by WHO in reservations of others, and notify the holders; each change once."""
    from bb.coordination.facts import HOOK  # noqa: PLC0415  (rarely needed)
    from bb.ops.holdings import incursions  # noqa: PLC0415

    held = desk.holdings(desk.store.caught_up(), desk.now())
    incursions.report(desk, who, HOOK, incursions.overlapping_reservations(held, scopes, who, with_regions=False))
