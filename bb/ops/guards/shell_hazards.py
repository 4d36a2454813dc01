"""Before a shell command of an editor runs: would it hurt the work of others in this clone, or speak for the person?

What is known of the surroundings is looked up only for a command that is a hazard at all, and as far as its rule needs.
What cannot be told passes: a command line is not an edit, and there is always another way to write it.
"""

from __future__ import annotations

import os

from bb.coordination.agents import liveness, roster
from bb.coordination.guards import changes, hazards, person_commands
from bb.coordination.guards.hazards import Around, Change
from bb.coordination.holdings import scopes
from bb.kernel.errors import BbError
from bb.ledger.git import linked_work_trees, place
from bb.ledger.git import work_tree as git_work_tree
from bb.ledger.local import editor_sessions, presence
from bb.ops import catalogue
from bb.ops.guards import check
from bb.ops.guards.editor_requests import holder, passed, refused, worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.guards.hazards import Hazard
    from bb.coordination.holdings.scopes import Scope
    from bb.coordination.wiring.editors import Heard
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

MOST_CHANGES = 1000  # whose they are is asked of so many; where more have changed, these speak for the rest
TOP = (":/", ":(top)")
PERSONS = "`{order}` here would speak for the person, and you are {who}. Ask: bb agent send --from {who} --to user"


def _reads(words: Sequence[str]) -> bool:
    """Whether these words of a bb command call an op that changes nothing."""
    group = words[0] if words[0] in catalogue.GROUPS else ""
    text = " ".join([*words, ""])
    return any(op.reads and text.startswith(f"{op.words} ") for op in catalogue.in_group(group))


def judged(desk: Desk, heard: Heard, named: str | None) -> dict[str, Any]:
    """May this shell command run?"""
    found, order = hazards.found(heard.command), person_commands.found(heard.command, _reads)
    try:
        if not (found or order) or not desk.store.exists:
            return passed(heard)
        who = worker(desk, heard, named)
        if who is None:
            return passed(heard, "bb: nobody told bb which agent runs this, so it passes as a person's command")
        if order:
            return refused(heard, f"bb: {PERSONS.format(order=order, who=who)}")
        for hazard in found:
            around = _around(desk, hazard, who)
            if around and (why := hazards.why_not(hazard, around)):
                return refused(heard, f"bb: {why}")
    except place.NotARepository:
        return passed(heard)
    except BbError as error:
        return passed(heard, f"bb cannot tell whether this hurts others, so it passes: {error}")
    return passed(heard)


def _around(desk: Desk, hazard: Hazard, who: str) -> Around | None:
    """What is known of the place where a hazard would happen; None when that is unknown or not in this clone."""
    if hazard.directory is None:
        return None
    folder = os.path.normpath(os.path.join(desk.cwd, hazard.directory))
    about = folder
    if hazard.kind == hazards.WORKTREE:
        about = os.path.normpath(os.path.join(folder, hazard.paths[0]))
    here = place.find(about, {})
    if os.path.realpath(here.common) != os.path.realpath(desk.place.common) or here.work_tree is None:
        return None
    around = Around(who, _others(desk, who, in_any_clone=hazard.kind == hazards.PUSH))
    if hazard.kind == hazards.BRANCH:
        return around.but(checked_out=_checked_out(here, hazard.paths))
    if hazard.kind == hazards.WORKTREE:
        around = around.but(sitting=_sitting(desk, around.others, about))
        return around.but(changes=tuple(_changes(desk, here, None, hazard, who))) if hazard.is_sweeping else around
    if hazard.kind in (hazards.STASH, hazards.PUSH):
        return around
    touched = _scopes(here, folder, hazard.paths)
    meant = (each for each in _changes(desk, here, touched, hazard, who) if _is_meant(hazard, each))
    return around.but(changes=tuple(meant))


def _is_meant(hazard: Hazard, change: Change) -> bool:
    if hazard.kind == hazards.CLEAN:
        return not change.is_tracked
    return change.is_tracked or not hazard.only_tracked


def _others(desk: Desk, who: str, *, in_any_clone: bool) -> tuple[str, ...]:
    """Agents that are not known to be gone, without WHO: of this clone, unless what they do elsewhere matters too."""
    now, index = desk.now(), desk.store.caught_up()
    found, threshold = [], desk.stale_after_in(index)
    for name, beat in presence.everybody(desk.place.store, now).items():
        known = roster.agent(name, index.state(roster.NAME, name))
        state = liveness.ACTIVE if beat.paused else liveness.liveness(beat.seen_at, now, threshold)
        is_near = in_any_clone or not beat.is_remote
        if name != who and is_near and known and not known.is_retired and state != liveness.EVICTED:
            found.append(name)
    return tuple(found)


def _sitting(desk: Desk, others: Sequence[str], work_tree: str) -> tuple[str, ...]:
    """Which OTHERS have a session in that worktree."""
    real = os.path.realpath(work_tree)
    found = editor_sessions.everybody(desk.place.store)
    there = {each.agent for each in found if each.work_tree and os.path.realpath(each.work_tree) == real}
    return tuple(name for name in others if name in there)


def _checked_out(here: place.Place, names: Sequence[str]) -> str | None:
    """A worktree other than this one in which one of those branches is checked out."""
    elsewhere = linked_work_trees.branches(here)
    mine = os.path.realpath(here.work_tree or "")
    return next(
        (folder for name in names if (folder := elsewhere.get(name)) and os.path.realpath(folder) != mine), None
    )


def _scopes(here: place.Place, folder: str, paths: Sequence[str]) -> list[Scope] | None:
    """What PATHS are, as git takes them, as far as they are paths at all; None when they are everything."""
    found = []
    for path in paths:
        if path in TOP:
            return None
        try:
            found.append(git_work_tree.scope_of(here, folder, path, is_exact=True))
        except BbError:
            continue  # a revision perhaps, or a pathspec that nobody here understands
    return found


def _changes(desk: Desk, here: place.Place, touched: Sequence[Scope] | None, hazard: Hazard, who: str) -> list[Change]:
    """The uncommitted changes there, within what is TOUCHED, and who holds each file."""
    from bb.ledger.git import git  # noqa: PLC0415  (starting a program costs much of what a verdict may)

    held = desk.holdings(desk.store.caught_up(), desk.now())
    found = changes.changed(git.changed(here.work_tree or ""))
    if touched is not None:
        found = [each for each in found if any(held.lies_in(each[1], scope) for scope in touched)]
    holders = [(path, _holder(held, path, who), is_tracked) for is_tracked, path in found[:MOST_CHANGES]]
    if hazard.kind == hazards.GATHER:
        return [Change(*each) for each in holders]
    # Who works in another clone has no changes in this one, whatever it holds.
    afar = {name for _, name, _ in holders if name and _is_afar(desk, name)}
    return [Change(path, None if name in afar else name, is_tracked) for path, name, is_tracked in holders]


def _is_afar(desk: Desk, name: str) -> bool:
    beat = presence.read(desk.place.store, name)
    return beat is not None and beat.is_remote


def _holder(held: Holdings, path: str, who: str) -> str | None:
    """Who holds a changed file; WHO, wherever it may touch it."""
    judged = check.judged(held, scopes.existing(path).but(is_file=True), who)
    if judged["verdict"] == check.FREE:
        return None
    return str(holder(judged, who)["agent_id"]) if judged["verdict"] == check.HELD else who
