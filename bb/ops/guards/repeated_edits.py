"""An edit of files that were judged a moment ago passes without the ledger, unless the ledger has changed since.

The hook before a tool notes what passes; it and the hook after the tool ask for it. Only the edits of a known agent are
noted, and only if no other agent holds any of the files.
"""

from __future__ import annotations

import os

from bb.kernel.errors import BbError
from bb.ledger.local import passed_edits
from bb.ledger.local.passed_edits import Passed
from bb.ops.guards.editor_requests import agent_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.coordination.wiring.editors import HookPayload
    from bb.ops.desk.desk import Desk


def are_known(desk: Desk, heard: HookPayload, named: str | None, *, is_reserved: bool = False) -> bool:
    """Whether the tool's edits passed a moment ago. With IS_RESERVED, nothing may have remained to be reserved."""
    try:
        who = agent_of(desk, heard, named) if _are_plain(heard) else None
        if who is None or not os.path.isdir(store := desk.place.store):
            return False
        return passed_edits.are_known(store, _edits(desk, heard, who, state_of(desk), is_reserved), desk.now())
    except Exception:  # whatever is wrong, the judgement explains it, and refuses if it fails as well
        return False


def state_of(desk: Desk) -> str:
    """The state of the ledger. It is read before the files are judged, so that a change meanwhile counts as later."""
    return passed_edits.state(desk.place.store)


def note(desk: Desk, heard: HookPayload, who: str, state: str, *, is_reserved: bool) -> None:
    """Note that the tool's edits pass in this STATE of the ledger."""
    try:
        if _are_plain(heard):
            desk.may_write()
            passed_edits.note(desk.place.store, _edits(desk, heard, who, state, is_reserved), desk.now())
    except (BbError, ValueError):
        return  # the next hook judges again


def _are_plain(heard: HookPayload) -> bool:
    return len(heard.paths) <= passed_edits.MOST and not any("\0" in path for path in heard.paths)


def _edits(desk: Desk, heard: HookPayload, who: str, state: str, is_reserved: bool) -> Passed:
    paths = [os.path.join(desk.cwd, path) for path in heard.paths]
    files = [f"{path} is {os.path.realpath(path)}" for path in paths]  # a link may lead elsewhere by now
    return Passed(state, (who, *desk.sessions), tuple(files), is_reserved)
