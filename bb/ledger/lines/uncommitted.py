"""Looks at the files of a work tree, and notes what changed and whose change it is.

The edit of an agent is bracketed: `begin` before it, `end` after it. A look holds the lock of the work tree's lines, so
several agents that edit one file have their changes told apart, one after the other.
"""

from __future__ import annotations

import time

from bb.coordination.lines.file_state import BEGUN, CANCELLED, CLAIMED, SEEN, TAKEN
from bb.coordination.lines.weave import handed_over
from bb.ledger.lines import pending_commit
from bb.ledger.lines.act import Act
from bb.ledger.lines.look import Look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bb.coordination.lines.file_state import FileState
    from bb.coordination.wiring.tool_edits import ToolEdit
    from bb.ledger.lines.lines_store import LinesStore

WAIT = 1.5  # seconds for which an edit waits until another agent's edit of the same file has ended
PAUSE = 0.005


def look(store: LinesStore, path: str, act: Act, now: int) -> FileState:
    """Look at a file, and note what changed."""
    with store:
        pending_commit.finish(store)
        one = Look(store, path, act, now)
        after = one.state()
        if act.kind == SEEN and not one.is_news(after):
            return one.before or after
        store.log(path).append(after)
        return after


def see(store: LinesStore, paths: Iterable[str], now: int, agent: str = "") -> dict[str, FileState]:
    """Look at files at one moment, without an act of an agent."""
    with store:
        named = list(paths)
        if any(state.head != store.head for path in named if (state := store.state(path))):
            store.read_bases(named)
        return {path: look(store, path, Act(SEEN, command_of=agent), now) for path in named}


def begin(
    store: LinesStore, paths: Iterable[str], agent: str, clock: Callable[[], int], edit: ToolEdit | None = None
) -> list[FileState]:
    """AGENT begins to edit files. If another agent's edit of one of them began a moment ago, wait for its end. With one
    file, EDIT is what its tool does to it."""
    return [_begun(store, path, Act(BEGUN, agent, edit), clock) for path in paths]


def _begun(store: LinesStore, path: str, act: Act, clock: Callable[[], int]) -> FileState:
    deadline = time.monotonic() + WAIT
    while True:
        with store:  # of several agents that wait, only one may begin
            if not _is_just_edited(store, path, act.by, clock()) or time.monotonic() > deadline:
                return look(store, path, act, clock())
        while _is_just_edited(store, path, act.by, clock()) and time.monotonic() <= deadline:
            time.sleep(PAUSE)


def _is_just_edited(store: LinesStore, path: str, agent: str, now: int) -> bool:
    """Whether another agent's edit of this file began a moment ago. An edit that takes longer waits for something else,
    such as the person's permission."""
    state = store.state(path)
    began = [at for who, at in state.editing.items() if who != agent] if state else []
    return any(0 <= now - at < WAIT * 1000 for at in began)


def cancel(store: LinesStore, path: str, agent: str, now: int) -> FileState:
    """The edit of a file that AGENT has begun will not be made."""
    return look(store, path, Act(CANCELLED, agent), now)


def take_over(store: LinesStore, paths: Iterable[str], owner: str, agent: str, now: int) -> list[FileState]:
    """AGENT takes over the changes of OWNER in files."""
    with store:
        found = []
        for path in paths:
            state = look(store, path, Act(SEEN), now)
            mode_owner = agent if state.mode_owner == owner else state.mode_owner
            after = state.replace(n=state.n + 1, at=now, act=TAKEN, by=agent, mode_owner=mode_owner)
            after = after.replace(weave=handed_over(state.weave, owner, agent))
            store.log(path).append(after)
            found.append(after)
        return found


def claim(store: LinesStore, paths: Iterable[str], agent: str, now: int) -> list[FileState]:
    """AGENT says that it made the unattributed changes in files since its last act there."""
    with store:
        return [look(store, path, Act(CLAIMED, agent), now) for path in paths]
