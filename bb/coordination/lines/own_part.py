"""What a commit of some owners takes from a file: their lines, and its mode if they changed it."""

from __future__ import annotations

from bb.coordination.lines import weave as weaves
from bb.coordination.lines.file_state import FileState
from bb.coordination.lines.weave import ADDED, DELETED
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bb.coordination.lines.weave import Hunk, Weave

Owned = frozenset[str]


class Part(Record):
    """What is committed of a file: its mode, empty if it is removed, and its lines. LINES is None if all of its
    present content is committed."""

    mode: str
    lines: list[bytes] | None


class SharedHunk(Record):
    """Lines that the wanted owners changed together with OTHERS. FIRST and END, from 0, are in the file now."""

    owners: tuple[str, ...]
    others: tuple[str, ...]
    first: int
    end: int


def shared_hunks(state: FileState, wanted: Owned) -> list[SharedHunk]:
    """The hunks that a commit of the WANTED owners cannot take apart."""
    hunks = [hunk for hunk in weaves.hunks(state.weave) if not hunk.is_whole_for(wanted)]
    return [SharedHunk(weaves.together(hunk.owners), _others(hunk, wanted), *hunk.now) for hunk in hunks]


def _others(hunk: Hunk, wanted: Owned) -> tuple[str, ...]:
    mixed = [run.owners for run in hunk.runs if wanted.intersection(run.owners)]
    return weaves.together(*(set(owners) - wanted for owners in mixed))


def taken_together(weave: Weave, wanted: Owned, companions: Owned) -> Weave:
    """The weave if the WANTED owners commit the lines that they changed together with their COMPANIONS."""
    return weaves.woven(
        run.replace(owners=weaves.together(wanted.intersection(run.owners)))
        if wanted.intersection(run.owners) and companions.issuperset(set(run.owners) - wanted)
        else run
        for run in weave
    )


def part(state: FileState, wanted: Owned, base: Sequence[bytes], now: Sequence[bytes]) -> Part | None:
    """What a commit of the WANTED owners takes; None if it takes nothing. BASE and NOW are the file's lines."""
    is_mode_taken = bool(state.mode_owner) and state.mode_owner in wanted
    if not state.now.mode and is_mode_taken:
        return Part("", [])
    takes_lines = any(run.owners and wanted.issuperset(run.owners) for run in state.weave)
    if not (takes_lines or is_mode_taken):
        return None
    mode = state.now.mode if is_mode_taken or not state.base.mode else state.base.mode
    if state.is_whole:
        return Part(mode, None) if takes_lines or not weaves.changed(state.weave) else None
    return Part(mode, weaves.content(state.weave, base, now, wanted))


def touched(state: FileState, owner: str) -> list[tuple[int, int]] | None:
    """The lines of the file as it is now, from 0, that OWNER has changed: the first and the line after the last. Where
    it has deleted lines, the two are equal. None if the file counts as one unit."""
    if state.is_whole:
        return None
    ranges = []
    line = 0
    for run in state.weave:
        end = line + (run.count if run.kind != DELETED else 0)
        if owner in run.owners:
            ranges.append((line, end))
        line = end
    return ranges


def counts(weave: Weave, wanted: Owned | None = None) -> tuple[int, int]:
    """The numbers of lines added and deleted, by the WANTED owners alone or by anybody."""
    runs = [run for run in weave if run.owners and (wanted is None or wanted.issuperset(run.owners))]
    added = sum(run.count for run in runs if run.kind == ADDED)
    return added, sum(run.count for run in runs if run.kind == DELETED)
