"""What lies around a hazardous shell command: other agents, and the uncommitted changes that it would touch.

They are looked up only as far as the rule of the hazard needs.
"""

from __future__ import annotations

import os

from bb.coordination.agents import liveness, roster
from bb.coordination.guards import changes, hazards
from bb.coordination.guards.hazards import Change, Circumstances
from bb.coordination.holdings import scopes
from bb.coordination.lines import weave
from bb.kernel.errors import BbError
from bb.ledger.git import linked_work_trees, place
from bb.ledger.git import work_tree as git_work_tree
from bb.ledger.lines import lines_folder
from bb.ledger.lines.lines_store import LinesStore
from bb.ledger.local import editor_sessions, presence
from bb.ops.guards import edit_verdicts, path_verdicts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bb.coordination.guards.hazards import Hazard
    from bb.coordination.holdings.scopes import Scope
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

MOST_CHANGES = 1000  # most changed files whose holders are looked up
TOP = (":/", ":(top)")


def circumstances_of(desk: Desk, hazard: Hazard, who: str) -> Circumstances | None:
    """The agents and changes around a hazard; None if its directory is unknown or outside this clone."""
    if hazard.directory is None:
        return None
    folder = os.path.normpath(os.path.join(desk.cwd, hazard.directory))
    about = folder
    if hazard.kind == hazards.WORKTREE:
        about = os.path.normpath(os.path.join(folder, hazard.paths[0]))
    here = place.find(about, {})
    if os.path.realpath(here.common) != os.path.realpath(desk.place.common) or here.work_tree is None:
        return None
    around = Circumstances(who, _others(desk, who, in_any_clone=hazard.kind == hazards.PUSH))
    if hazard.kind == hazards.BRANCH:
        return around.replace(checked_out=_checked_out(here, hazard.paths))
    if hazard.kind == hazards.WORKTREE:
        around = around.replace(sitting=_sitting(desk, around.others, about))
        return around.replace(changes=tuple(_changes(desk, here, None, hazard, who))) if hazard.is_sweeping else around
    if hazard.kind in (hazards.STASH, hazards.PUSH):
        return around
    touched = _scopes(here, folder, hazard.paths)
    affected = (change for change in _changes(desk, here, touched, hazard, who) if _is_affected(hazard, change))
    return around.replace(changes=tuple(affected))


def _is_affected(hazard: Hazard, change: Change) -> bool:
    if hazard.kind == hazards.CLEAN:
        return not change.is_tracked
    return change.is_tracked or not hazard.only_tracked


def _others(desk: Desk, who: str, *, in_any_clone: bool) -> tuple[str, ...]:
    """The agents other than WHO that are not evicted, and whose session has not ended: those of this clone, or of any
    clone."""
    now, index = desk.now(), desk.store.caught_up()
    others, threshold = [], desk.stale_after_in(index)
    presences = presence.all_presences if in_any_clone else presence.of_this_clone
    for name, beat in presences(desk.place.store, now).items():
        agent = roster.agent(name, index.state(roster.NAME, name))
        is_gone = beat.liveness(now, threshold) == liveness.EVICTED or (beat.has_ended and not beat.paused)
        is_near = in_any_clone or not beat.is_remote
        if name != who and is_near and agent and not agent.is_retired and not is_gone:
            others.append(name)
    return tuple(others)


def _sitting(desk: Desk, others: Sequence[str], work_tree: str) -> tuple[str, ...]:
    """The OTHERS with a session in that worktree."""
    real = os.path.realpath(work_tree)
    sessions = editor_sessions.all_sessions(desk.place.store)
    there = {session.agent for session in sessions if session.work_tree and os.path.realpath(session.work_tree) == real}
    return tuple(name for name in others if name in there)


def _checked_out(here: place.Place, names: Sequence[str]) -> str | None:
    """Another worktree in which one of the branches NAMES is checked out; None if there is none."""
    elsewhere = linked_work_trees.branches(here)
    mine = os.path.realpath(here.work_tree or "")
    return next(
        (folder for name in names if (folder := elsewhere.get(name)) and os.path.realpath(folder) != mine), None
    )


def _scopes(here: place.Place, folder: str, paths: Sequence[str]) -> list[Scope] | None:
    """The scopes that PATHS name as git arguments, without those that are not paths; None for the whole worktree."""
    named = []
    for path in paths:
        if path in TOP:
            return None
        try:
            named.append(git_work_tree.scope_of(here, folder, path, is_exact=True))
        except BbError:
            continue  # perhaps a revision, or a pathspec that bb does not understand
    return named


def _changes(desk: Desk, here: place.Place, touched: Sequence[Scope] | None, hazard: Hazard, who: str) -> list[Change]:
    """The uncommitted changes in a worktree, within the TOUCHED scopes, with the holder of each file."""
    from bb.ledger.git import git  # noqa: PLC0415  (few commands need it)

    held = desk.holdings(desk.store.caught_up(), desk.now())
    changed = changes.changed(git.status_porcelain(here.work_tree or ""))
    if touched is not None:
        changed = [entry for entry in changed if any(held.lies_in(entry[1], scope) for scope in touched)]
    lines = LinesStore(here) if lines_folder.has_lines(here) else None
    holders = [
        (path, _owner(lines, path, who) or _holder(held, path, who), is_tracked)
        for is_tracked, path in changed[:MOST_CHANGES]
    ]
    if hazard.kind == hazards.GATHER:
        return [Change(*entry) for entry in holders]
    # An agent in another clone has no changes in this worktree, so its reservation does not make it their author.
    afar = {name for _, name, _ in holders if name and _is_afar(desk, name)}
    return [Change(path, None if name in afar else name, is_tracked) for path, name, is_tracked in holders]


def _owner(lines: LinesStore | None, path: str, who: str) -> str | None:
    """The agent whose uncommitted lines are in a file: another one if there is any, else WHO; None if unknown."""
    state = lines.state(path) if lines else None
    owners = sorted(owner for owner in state.owners if not weave.is_unattributed(owner)) if state else []
    others = [owner for owner in owners if owner != who]
    is_all_mine = bool(owners) and state is not None and len(state.owners) == len(owners)
    return others[0] if others else who if is_all_mine else None


def _is_afar(desk: Desk, name: str) -> bool:
    beat = presence.read(desk.place.store, name)
    return beat is not None and beat.is_remote


def _holder(held: Holdings, path: str, who: str) -> str | None:
    """The holder of a changed file: WHO if it may change the file, None if the file is free."""
    judged = path_verdicts.path_verdict(held, scopes.existing(path).replace(is_file=True), who)
    if judged["verdict"] == path_verdicts.FREE:
        return None
    return str(edit_verdicts.holder(judged, who)["agent_id"]) if judged["verdict"] == path_verdicts.HELD else who
