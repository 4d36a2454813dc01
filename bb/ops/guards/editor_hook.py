"""The hook before an editor's tool runs: may it change these files, and may this shell command run?

Editors call it before every tool, so what judges files is imported once a tool changes some.
"""

from __future__ import annotations

import os

from bb.coordination.wiring import editors
from bb.coordination.wiring.editors import NotUnderstood
from bb.kernel import escaping
from bb.kernel.errors import BbError
from bb.kernel.validation import AUTO
from bb.ledger.lines import lines_folder
from bb.ops.catalogue import op
from bb.ops.guards.editor_requests import (
    REFUSED,
    EditorAgent,
    Host,
    Payload,
    agent_of,
    allow,
    notes_lines,
    read_payload,
    refuse,
)
from bb.ops.params import UncheckedText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.coordination.wiring.editors import HookPayload
    from bb.ops.desk.desk import Desk


class AutoBead(UncheckedText):
    """The bead (work item) of reservations made by --auto-reserve. Default: none."""

    metavar = "BEAD"


@op(
    "hook.pre-tool",
    reads=True,
    output="editor",
    examples=(
        "bb hook pre-tool < payload.json",
        "bb hook pre-tool --host claude --auto-reserve --bead bb-12",
        """bb hook pre-tool --agent amber-otter --json --payload '{"tool_name": "Write", "tool_input": {}}'""",
    ),
)
def pre_tool(
    desk: Desk,
    *,
    host: Host | None = None,
    agent: EditorAgent | None = None,
    auto_reserve: bool = False,
    bead: AutoBead | None = None,
    payload: Payload | None = None,
) -> dict[str, Any]:
    """Check an editor's tool before it runs. Editors call this before every edit and every shell command.

    Reads the editor's payload on stdin and answers in the editor's format. The answer is empty if the tool may run. It
    is a refusal with its reason if another agent holds a file that the tool edits or a shell command writes, if the
    person has frozen the file, or if the person has paused the agent. A payload that is not understood passes, with a
    note on stderr. If the check of an edit by a known agent fails, the edit is refused. A person gets a warning and is
    not stopped.

    Parameters:
        auto_reserve: Reserve a free file when the agent first edits it.
    """
    try:
        heard = read_payload(desk, editors.PRE_TOOL, host, payload)
    except NotUnderstood as error:
        return allow(None, f"bb: the payload was not understood, so the tool may run: {error}")
    auto_bead = (bead or AUTO) if auto_reserve else None
    if heard.paths:
        answer = _edit(desk, heard, agent, auto_bead)
        if answer["verdict"] == REFUSED or answer["reply"] or not heard.command:
            return answer
    if heard.command:
        return _command(desk, heard, agent, auto_bead)
    if heard.unknown_path:
        return _unknown_tool(desk, heard, agent)
    if editors.is_edit(heard):
        return allow(heard, f"bb: {escaping.name(heard.tool, 40)} names no file, so it may run")
    return allow(heard)


def _edit(desk: Desk, heard: HookPayload, named: str | None, bead: str | None) -> dict[str, Any]:
    """May these files be edited? If they were judged a moment ago, the ledger is not opened again."""
    from bb.ops.guards import repeated_edits  # noqa: PLC0415  (only needed for edits)

    answer = allow(heard)
    if not repeated_edits.are_known(desk, heard, named, is_reserved=bead is not None):
        from bb.ops.guards import edit_check  # noqa: PLC0415

        answer = edit_check.edit(desk, heard, named, bead)
    return answer if answer["verdict"] == REFUSED or answer["reply"] else _begun(desk, heard, named, answer)


def _begun(desk: Desk, heard: HookPayload, named: str | None, answer: dict[str, Any]) -> dict[str, Any]:
    """The edit of a known agent begins, unless it would change uncommitted lines of others."""
    try:
        who = agent_of(desk, heard, named) if notes_lines(desk) and os.path.isdir(desk.place.store) else None
        if who is None:
            return answer
        from bb.ops.guards import edit_brackets  # noqa: PLC0415

        reason = edit_brackets.begin(desk, heard, who)
    except (BbError, NotUnderstood) as error:
        return answer | {"notes": [*answer["notes"], f"bb: whose lines this edit changes will not be known: {error}"]}
    return refuse(heard, reason) if reason else answer


def _unknown_tool(desk: Desk, heard: HookPayload, named: str | None) -> dict[str, Any]:
    from bb.ops.guards import unknown_tools  # noqa: PLC0415  (rarely needed)

    return unknown_tools.warned(desk, heard, named)


def _command(desk: Desk, heard: HookPayload, named: str | None, bead: str | None) -> dict[str, Any]:
    """May this shell command run? It may write held files, or harm other agents' work through git."""
    from bb.coordination.guards import brought_changes  # noqa: PLC0415  (needed only for shell commands)
    from bb.ops.guards import shell_hazards  # noqa: PLC0415  (needed only for shell commands)

    answer = allow(heard)
    if heard.written:
        from bb.ops.guards import edit_check  # noqa: PLC0415  (few commands write files of the repository)

        answer = edit_check.written(desk, heard, named, bead)
    if answer["verdict"] == REFUSED or answer["reply"]:
        return answer
    if found := brought_changes.find_questions(heard.command):
        from bb.ops.guards import edit_check  # noqa: PLC0415  (few commands bring changes)

        answer = edit_check.brought(desk, heard, named, found)
        if answer["verdict"] == REFUSED or answer["reply"]:
            return answer
    judged = shell_hazards.shell_verdict(desk, heard, named)
    judged = judged | {"notes": [*answer["notes"], *judged["notes"]]}
    return judged if judged["verdict"] == REFUSED else _command_begun(desk, heard, named, judged)


def _command_begun(desk: Desk, heard: HookPayload, named: str | None, answer: dict[str, Any]) -> dict[str, Any]:
    """The command of a known agent begins. What it changes will be known as the agent's."""
    from bb.coordination.guards import commands  # noqa: PLC0415  (needed only for shell commands)

    try:
        is_reading = not heard.written and commands.effect(heard.command) == commands.READS
        if is_reading and not lines_folder.has_commands(desk.place):  # nor one that was not permitted
            return answer
        who = agent_of(desk, heard, named) if notes_lines(desk) and os.path.isdir(desk.place.store) else None
        if who is not None:
            from bb.ops.guards import edit_brackets  # noqa: PLC0415

            edit_brackets.begin_command(desk, heard, who)
    except (BbError, NotUnderstood) as error:
        return answer | {"notes": [*answer["notes"], f"bb: whose lines this changes will not be known: {error}"]}
    return answer
