"""Brackets around an edit, for agents whose program has no hooks; and claims of changes that have no owner."""

from __future__ import annotations

from bb.coordination.agents import liveness
from bb.coordination.lines.file_state import ENDED
from bb.kernel.errors import Conflict, Forbidden
from bb.ledger.lines import moves, uncommitted
from bb.ledger.lines.act import Act
from bb.ops.catalogue import op
from bb.ops.desk import pause_check, signs_of_life
from bb.ops.lines import files
from bb.ops.lines.files import File
from bb.ops.params import AgentId

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.coordination.lines.file_state import FileState
    from bb.ops.desk.desk import Desk

NotBegun = Conflict.declare(
    "EDIT_NOT_BEGUN",
    "You have no edit going on there",
    hint="claim what you have changed: `bb mine PATH`",
)


OwnerActive = Forbidden.declare(
    "OWNER_ACTIVE",
    "Lines of an active agent cannot be taken over",
    hint="ask it to commit them: `bb send AGENT 'TEXT'`",
)


class PriorOwner(AgentId):
    """Take over the uncommitted lines of this agent, which must be silent."""


@op("edit.begin", screen="lines", examples=("bb edit begin src/dates.py --agent amber-otter",))
def begin(desk: Desk, path: list[File], *, agent: AgentId | None = None) -> dict[str, Any]:
    """Say that you begin to edit files, so that the lines you change are known to be yours.

    Hooks do this for every edit of a program that has them. If another agent is editing one of the files at this
    moment, this waits up to 1.5 seconds. The edit ends with `bb edit end`, or after ten minutes.
    """
    who = _caller(desk, agent)
    store = files.store_of(desk)
    states = uncommitted.begin(store, files.files_to_edit(desk, path), who, desk.now)
    return _answer(who, states)


@op("edit.end", screen="lines", examples=("bb edit end src/dates.py --agent amber-otter", "bb edit end --json"))
def end(desk: Desk, path: list[File] | None = None, *, agent: AgentId | None = None) -> dict[str, Any]:
    """Say that your edit has ended: what changed since its begin is yours.

    Parameters:
        path (PATH): A file. Default: all files that you are editing.
    """
    who = _caller(desk, agent)
    store = files.store_of(desk)
    editing = [one for one in store.paths() if (state := store.state(one)) and who in state.editing]
    named = [files.path_of(desk, text) for text in path] if path is not None else editing
    if missing := [one for one in named if one not in editing] or ([] if named else ["any file"]):
        raise NotBegun(f"{who} has not begun an edit of {missing[0]}", path=missing[0])
    return _answer(who, moves.looks(store, named, lambda _: Act(ENDED, who), desk.now()))


@op(
    "mine",
    screen="lines",
    examples=(
        "bb mine src/dates.py --agent amber-otter",
        "bb mine . --json",
        "bb mine src/dates.py --from cobalt-harbor",
    ),
)
def mine(
    desk: Desk, path: list[File], *, from_: PriorOwner | None = None, agent: AgentId | None = None
) -> dict[str, Any]:
    """Claim the changes in files that no agent is known to have made, since your last call about each file.

    Lines of other agents stay theirs. A line of another agent that was changed belongs to both of you. If an agent is
    silent, or its session has ended, --from takes over its uncommitted lines.
    """
    who = _caller(desk, agent)
    store = files.store_of(desk)
    named = files.paths(desk, store, path)
    if from_ is None:
        return _answer(who, uncommitted.claim(store, named, who, desk.now()))
    held = desk.holdings(desk.store.caught_up(), desk.now())
    if from_ != who and held.liveness_of(from_) == liveness.ACTIVE:
        raise OwnerActive(f"{from_} is active, so its lines stay its own", agent_id=from_)
    return _answer(who, uncommitted.take_over(store, named, from_, who, desk.now()))


def _caller(desk: Desk, agent: str | None) -> str:
    who = signs_of_life.caller(desk, agent)
    pause_check.refuse(desk.store.caught_up(), who)
    desk.may_write()
    return who


def _answer(who: str, states: list[FileState]) -> dict[str, Any]:
    return {"agent_id": who, "files": [files.row(state) for state in states]}
