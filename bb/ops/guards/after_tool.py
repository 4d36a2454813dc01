"""The hook after an editor's tool ran: a sign of life, and a warning if the tool changed held files.

Most tools change no files. For those it is only a heartbeat, so the ledger and its rules are imported for the others.
"""

from __future__ import annotations

import os

from bb.coordination.agents.callers import NotYourName, SessionSuperseded
from bb.coordination.wiring import editors
from bb.coordination.wiring.editors import NotUnderstood
from bb.kernel import escaping
from bb.kernel.errors import BbError
from bb.ledger.git.place import NotARepository
from bb.ledger.lines import going_commands
from bb.ops.agents import heartbeat
from bb.ops.catalogue import op
from bb.ops.guards.editor_requests import EditorAgent, Host, Payload, agent_of, allow, notes_lines, read_payload
from bb.ops.params import AgentId

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.coordination.wiring.editors import HookPayload
    from bb.ops.desk.desk import Desk


@op(
    "hook.post-tool",
    reads=True,
    output="editor",
    examples=("bb hook post-tool < payload.json", "bb hook post-tool --host gemini --agent amber-otter"),
)
def post_tool(
    desk: Desk, *, host: Host | None = None, agent: EditorAgent | None = None, payload: Payload | None = None
) -> dict[str, Any]:
    """Record a sign of life after an editor's tool ran, and warn if it changed files that another agent holds.

    Errors are written to stderr and stop nothing.
    """
    try:
        heard = read_payload(desk, editors.POST_TOOL, host, payload)
    except NotUnderstood as error:
        return allow(None, f"bb: the payload was not understood: {error}")
    try:
        who = agent_of(desk, heard, agent) if os.path.isdir(desk.place.store) else None
        if who is None:
            return allow(heard)
        heartbeat.heartbeat(desk, agent=AgentId(who))
        entangled = _ended(desk, heard, who)
        warning = "\n".join(filter(None, [_warning(desk, heard, who) if heard.paths else "", entangled]))
    except NotARepository.error:
        return allow(heard)
    except (SessionSuperseded.error, NotYourName.error) as error:
        return allow(heard, reply=editors.context_answer(heard, escaping.sentence(f"bb: {error}. {error.hint}")))
    except (BbError, NotUnderstood) as error:
        return allow(heard, f"bb: {error}")
    if warning:
        return allow(heard, reply=editors.context_answer(heard, warning))
    return _unknown_tool(desk, heard, agent) if heard.unknown_path else allow(heard)


def _ended(desk: Desk, heard: HookPayload, who: str) -> str:
    """The edit or the command has ended, so what has changed is known to be the agent's. Empty, or a warning."""
    is_command_going = bool(heard.command) and going_commands.is_noted(desk.place, who)
    if not (heard.paths or is_command_going) or not notes_lines(desk):
        return ""
    from bb.ops.guards import edit_brackets  # noqa: PLC0415  (most tools change no files)

    if is_command_going:
        edit_brackets.end_command(desk, who)
    return edit_brackets.end(desk, heard, who) if heard.paths else ""


def _warning(desk: Desk, heard: HookPayload, who: str) -> str:
    """The warning about held files that the tool has changed; empty if it changed none."""
    from bb.ops.guards import repeated_edits  # noqa: PLC0415  (most tools change no files)

    if repeated_edits.are_known(desk, heard, who):
        return ""
    from bb.ops.guards import changed_files  # noqa: PLC0415  (the edit was judged before, mostly)

    return changed_files.warning(desk, heard, who)


def _unknown_tool(desk: Desk, heard: HookPayload, named: str | None) -> dict[str, Any]:
    from bb.ops.guards import unknown_tools  # noqa: PLC0415  (rarely needed)

    return unknown_tools.warned(desk, heard, named)
