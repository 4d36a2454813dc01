"""`bb diff`: the uncommitted lines, by agent."""

from __future__ import annotations

from bb.coordination.lines import own_part, unified
from bb.kernel import ids
from bb.ledger.lines import own_changes, scan, uncommitted
from bb.ops.catalogue import op
from bb.ops.lines import files
from bb.ops.lines.files import File, UncommittedAgent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.lines.file_state import FileState, Version
    from bb.ledger.lines.lines_store import LinesStore
    from bb.ops.desk.desk import Desk

NOBODY = "-"


@op(
    "diff",
    screen="lines",
    examples=("bb diff", "bb diff src/dates.py", "bb diff --agent amber-otter", "bb diff --agent - --json"),
)
def diff(desk: Desk, path: list[File] | None = None, *, agent: UncommittedAgent | None = None) -> dict[str, Any]:
    """Show the uncommitted lines of the work tree, by agent.

    With --agent, the output is a patch with only this agent's changes, which `git apply` accepts on the last commit.
    """
    store = files.store_of(desk)
    named = files.paths(desk, store, path) if path is not None else scan.changed(store)
    states = [state for state in uncommitted.see(store, named, desk.now()).values() if state.is_changed]
    if agent is None:
        return {"agent_id": None, "files": [_everything(store, state) for state in states]}
    who = agent if agent == NOBODY else ids.actor_id(agent)
    wanted = own_changes.unattributed_in(states) if who == NOBODY else frozenset({who})
    rows = [_of_owners(store, state, wanted) for state in states]
    return {"agent_id": None if who == NOBODY else who, "files": [row for row in rows if row]}


def _everything(store: LinesStore, state: FileState) -> dict[str, Any]:
    row = files.row(state)
    if state.is_whole:
        return row | {"changes": []}
    found = unified.by_owner(state.weave, store.lines(state.base), store.lines(state.now))
    row["changes"] = [
        {
            "agents": list(files.names_of(one.owners)),
            "line": one.now + 1,
            "base_line": one.base + 1,
            "deleted": text(one.deleted),
            "added": text(one.added),
        }
        for one in found
    ]
    return row


def _of_owners(store: LinesStore, state: FileState, wanted: frozenset[str]) -> dict[str, Any] | None:
    lines: Sequence[list[bytes]] = [[], []] if state.is_whole else [store.lines(state.base), store.lines(state.now)]
    part = own_part.part(state, wanted, *lines)
    if part is None:
        return None
    added, deleted = own_part.counts(state.weave, wanted)
    row = {"path": state.path, "added": added, "deleted": deleted, "patch": _patch(state, part, lines[0])}
    return row | {"is_binary": True} if state.is_whole else row


def _patch(state: FileState, part: own_part.Part, base: list[bytes]) -> str:
    """The changes of one file in git's format."""
    name = state.path
    header = [f"diff --git a/{name} b/{name}"]
    if state.base.mode != part.mode:
        header += _mode_lines(state.base, part.mode)
    if part.lines is None:
        return "\n".join([*header, "Binary file changed", ""])
    body = text([b"".join(unified.hunks(base, part.lines))])
    if body:
        header += [f"--- a/{name}" if state.base.mode else "--- /dev/null"]
        header += [f"+++ b/{name}" if part.mode else "+++ /dev/null"]
    return "\n".join([*header, *body])


def _mode_lines(base: Version, mode: str) -> list[str]:
    if not base.mode:
        return [f"new file mode {mode}"]
    return [f"old mode {base.mode}", f"new mode {mode}"] if mode else [f"deleted file mode {base.mode}"]


def text(lines: Sequence[bytes]) -> list[str]:
    """Lines of a file as texts without their ends. Bytes that are not UTF-8 are escaped."""
    whole = b"".join(lines).decode("utf-8", "backslashreplace")
    return whole.removesuffix("\n").split("\n") if whole else []
