"""A warning about a tool that bb does not know, but that seems to change a file. Once for each tool and session."""

from __future__ import annotations

import os

from bb.coordination.wiring import editors
from bb.coordination.wiring.editors import NotUnderstood
from bb.kernel import escaping
from bb.kernel.errors import BbError
from bb.kernel.escaping import quoted
from bb.ledger.local import editor_sessions
from bb.ops.guards.edited_files import files_of
from bb.ops.guards.editor_requests import agent_of, allow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.coordination.wiring.editors import HookPayload
    from bb.ops.desk.desk import Desk

LONGEST = 200  # characters of a path or a tool's name in the warning


def warned(desk: Desk, heard: HookPayload, named: str | None) -> dict[str, Any]:
    """Let the tool pass, with a warning for the agent and the person if it may change a file of this repository."""
    try:
        who = agent_of(desk, heard, named) if os.path.isdir(desk.place.store) else None
        if who is None or not files_of(desk, [heard.unknown_path]) or not _is_new(desk, heard, who):
            return allow(heard)
    except (BbError, NotUnderstood) as error:
        return allow(heard, f"bb: {error}")
    if heard.host == editors.OTHER:  # it has no known form of an answer
        return allow(heard, _warning(heard))
    return allow(heard, reply=editors.warning_answer(heard, _warning(heard)))


def _is_new(desk: Desk, heard: HookPayload, who: str) -> bool:
    """Whether this session was not warned of this tool before. It is remembered from now on."""
    key = f"tool {heard.tool[:LONGEST]}"
    if editors.is_told_later(heard):
        key += " before"  # only the person reads this answer, so the agent is told after the tool
    name = heard.session or f"agent {who}"
    session = editor_sessions.read(desk.place.store, name)
    if key in session.told:
        return False
    editor_sessions.write(desk.place.store, name, session.replace(told=(*session.told, key)))
    return True


def _warning(heard: HookPayload) -> str:
    path = quoted(escaping.clipped(heard.unknown_path, LONGEST))
    return (
        f"bb does not know the tool {escaping.name(heard.tool, LONGEST)}, so it does not check what this tool changes. "
        f"Before you change a file with it, run: bb check {path}"
    )
