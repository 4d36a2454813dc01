"""The hooks before and after an editor's tool runs: may it change these files, and did it change held files?"""

from __future__ import annotations

import os

from bb.coordination.agents import liveness
from bb.coordination.agents.callers import NotYourName, SessionSuperseded
from bb.coordination.facts import HOOK
from bb.coordination.wiring import editors
from bb.coordination.wiring.editors import NotUnderstood
from bb.kernel import escaping
from bb.kernel.errors import BbError
from bb.kernel.escaping import quoted
from bb.kernel.foreign import Foreign, quotation
from bb.ledger.git.place import NotARepository
from bb.ops.agents import heartbeat
from bb.ops.catalogue import op
from bb.ops.desk import pause_check, signs_of_life
from bb.ops.guards import path_verdicts
from bb.ops.guards.editor_requests import (
    REFUSED,
    EditorAgent,
    Host,
    Payload,
    agent_of,
    allow,
    files_of,
    holder,
    ignored,
    read_payload,
    refuse,
    written_paths,
)
from bb.ops.params import AgentId, UncheckedText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.agents.pauses import Pause
    from bb.coordination.holdings.scopes import Scope
    from bb.coordination.wiring.editors import HookPayload
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk
    from bb.ops.guards.editor_requests import File

WITHOUT_NAME = "the person can install it without --agent: `bb hooks install --editor EDITOR`"
LONGEST_NAME = 200  # characters of a path or a bead in a command that is shown


class AutoBead(UncheckedText):
    """The bead of reservations made by --auto-reserve."""

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
    bead: AutoBead = AutoBead("auto"),  # noqa: B008  (a text)
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
    auto_bead = bead if auto_reserve else None
    if heard.paths:
        answer = _edit(desk, heard, agent, auto_bead)
        if answer["verdict"] == REFUSED or answer["reply"] or not heard.command:
            return answer
    if heard.command:
        return _command(desk, heard, agent, auto_bead)
    if editors.is_edit(heard):
        return allow(heard, f"bb: {escaping.name(heard.tool, 40)} names no file, so it may run")
    return allow(heard)


@op(
    "hook.post-tool",
    reads=True,
    output="editor",
    examples=("bb hook post-tool < payload.json", "bb hook post-tool --host gemini --agent amber-otter"),
)
def post_tool(
    desk: Desk, *, host: Host | None = None, agent: EditorAgent | None = None, payload: Payload | None = None
) -> dict[str, Any]:
    """After an editor's tool ran: record a sign of life, and warn if it changed files that another agent holds.

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
        files = files_of(desk, heard.paths)
        changed = _held_by_others(desk, who, files) if files else {}
        if changed:
            _report(desk, who, [file.scope for file in changed])
    except NotARepository.error:
        return allow(heard)
    except _another_session() as error:
        return allow(heard, reply=editors.context_answer(heard, escaping.sentence(f"bb: {error}. {error.hint}")))
    except (BbError, NotUnderstood) as error:
        return allow(heard, f"bb: {error}")
    if not changed:
        return allow(heard)
    first = next(iter(changed.values()))
    them = Foreign(holder(first, who)["agent_id"])
    whose = "that the person has frozen" if path_verdicts.is_frozen(first) else "that another agent holds"
    news = f"bb: you have changed a file {whose}: {_whose(first, who)}."
    ways = f"Undo your change with your editor, or tell {them}: bb agent send --from {who} --to {them}."
    return allow(heard, reply=editors.context_answer(heard, f"{news} {ways}"))


def _held_by_others(desk: Desk, who: str, files: Sequence[File]) -> dict[File, dict[str, Any]]:
    held = desk.holdings(desk.store.caught_up(), desk.now())
    return _that_are(path_verdicts.HELD, desk, _verdicts(held, files, who))


def _verdicts(held: Holdings, files: Sequence[File], who: str | None) -> dict[File, dict[str, Any]]:
    return {file: path_verdicts.path_verdict(held, file.scope, who) for file in files}


def _that_are(verdict: str, desk: Desk, verdicts: dict[File, dict[str, Any]]) -> dict[File, dict[str, Any]]:
    """The files with that VERDICT, without those that the ignore file names."""
    files = [file for file, row in verdicts.items() if row["verdict"] == verdict]
    skipped = ignored(desk, files)
    return {file: verdicts[file] for file in files if file not in skipped}


def _report(desk: Desk, who: str, scopes: Sequence[Scope]) -> None:
    """Record the changes by WHO in reservations of others, and notify the holders; each change once."""
    from bb.ops.holdings import incursions  # noqa: PLC0415  (rarely needed)

    held = desk.holdings(desk.store.caught_up(), desk.now())
    incursions.report(desk, who, HOOK, incursions.overlapping_reservations(held, scopes, who))


def _edit(desk: Desk, heard: HookPayload, named: str | None, bead: str | None) -> dict[str, Any]:
    """May these files be edited?"""
    who = named or desk.env.get("BB_AGENT")  # an agent is at work, even if it turns out not to be registered
    try:
        if not desk.store.exists:
            return allow(heard)
        who = agent_of(desk, heard, named)
        files = files_of(desk, heard.paths)
        return _judged(desk, heard, who, files, bead) if files else allow(heard)
    except NotARepository.error:
        return allow(heard)
    except Exception as error:
        if not who and not isinstance(error, BbError | NotUnderstood):
            raise  # a bug is reported as one
        return _no_verdict(heard, who, error)  # editors allow a tool when its hook fails, so even a bug must refuse


def _command(desk: Desk, heard: HookPayload, named: str | None, bead: str | None) -> dict[str, Any]:
    """May this shell command run? It may write held files, or harm other agents' work through git."""
    from bb.ops.guards import shell_hazards  # noqa: PLC0415  (needed only for shell commands)

    answer = _written(desk, heard, named, bead) if heard.written else allow(heard)
    if answer["verdict"] == REFUSED or answer["reply"]:
        return answer
    judged = shell_hazards.shell_verdict(desk, heard, named)
    return judged | {"notes": [*answer["notes"], *judged["notes"]]}


def _written(desk: Desk, heard: HookPayload, named: str | None, bead: str | None) -> dict[str, Any]:
    """May the command write these files? Checked as an edit, but if the check fails, the command passes."""
    try:
        files = files_of(desk, written_paths(desk, heard)) if os.path.isdir(desk.place.store) else []
        return _judged(desk, heard, agent_of(desk, heard, named), files, bead) if files else allow(heard)
    except NotARepository.error:
        return allow(heard)
    except _another_session() as error:
        if named:
            error.hint = f"{error.hint}. This hook passes --agent {named} in every session; {WITHOUT_NAME}"
        return _no_verdict(heard, named or desk.env.get("BB_AGENT") or heard.session, error)
    except (BbError, NotUnderstood) as error:
        return allow(heard, f"bb cannot check whether this writes files that others hold, so it may run: {error}")


def _another_session() -> tuple[type[BbError], ...]:
    """The refusals of a caller that is known not to be the agent that it names."""
    return SessionSuperseded.error, NotYourName.error


def _no_verdict(heard: HookPayload, who: str | None, error: Exception) -> dict[str, Any]:
    """The check failed: refuse an agent, warn a person."""
    is_known = isinstance(error, BbError | NotUnderstood)
    message = str(error) if is_known else f"bb itself failed, {type(error).__name__}: {error}"
    hint = f" ({error.hint})" if isinstance(error, BbError) and error.hint else ""
    start = "bb: " if isinstance(error, _another_session()) else "bb cannot check whether this may be edited: "
    why = f"{start}{message}{hint}"
    return refuse(heard, why) if who else allow(heard, why, reply=editors.person_answer(why))


def _judged(desk: Desk, heard: HookPayload, who: str | None, files: Sequence[File], bead: str | None) -> dict[str, Any]:
    index = desk.store.caught_up()
    if who:
        signs_of_life.checked_agent(desk, index, who)
        if pause := pause_check.pause_of(index, who):
            return refuse(heard, _paused(pause, who))
    if damages := desk.store.damages():  # an unreadable line may be a reservation
        from bb.ledger.journal.journal import LedgerDamaged  # noqa: PLC0415

        raise LedgerDamaged(f"line {damages[0].n} of {damages[0].writer} is damaged: {damages[0].reason}")
    verdicts = _verdicts(desk.holdings(index, desk.now()), files, who)
    if in_way := list(_that_are(path_verdicts.HELD, desk, verdicts).values()):
        if who:
            return refuse(heard, _why_not(in_way, who))
        warning = f"bb: {_whose(in_way[0], None)}. No agent is named, so this is allowed as a person's edit."
        return allow(heard, warning, reply=editors.person_answer(warning))
    if not who or bead is None:
        return allow(heard)
    free = [file.scope for file in _that_are(path_verdicts.FREE, desk, verdicts)]
    return _reserved(desk, heard, who, free, bead) if free else allow(heard)


def _reserved(desk: Desk, heard: HookPayload, who: str, scopes: Sequence[Scope], bead: str) -> dict[str, Any]:
    """Reserve the files that WHO is about to edit. Refused if another agent was faster or waits for them."""
    from bb.coordination.holdings.reservations import Wanted, minutes  # noqa: PLC0415  (only a first edit reserves)
    from bb.coordination.holdings.reservations import bead as checked  # noqa: PLC0415
    from bb.ops.holdings import recording  # noqa: PLC0415

    try:
        recording.reserved(desk, Wanted(who, tuple(scopes), checked(bead), minutes(recording.TTL)))
    except BbError as error:
        return refuse(heard, f"bb: the file cannot be reserved, so do not edit it: {error} ({error.hint})")
    return allow(heard)


def _why_not(in_way: Sequence[dict[str, Any]], who: str) -> str:
    """The refusal of an edit: the holder, the bead, the end of the reservation, and alternatives."""
    if frozen := next((row for row in in_way if path_verdicts.is_frozen(row)), None):
        return _why_frozen(frozen, who)
    first = holder(in_way[0], who)
    path = _short(in_way[0]["path"])
    more = f" (and {len(in_way) - 1} more of these files are held)" if len(in_way) > 1 else ""
    bead = quoted(_short(first["bead_id"]))
    reserve = f"bb agent reserve --agent {who} --bead BEAD --scope"
    if first["liveness"] != liveness.ACTIVE or first["is_expired"]:
        scope = quoted(_short(first["scope"]))
        way = f"take it over, because its holder is silent: {reserve} {scope} --takeover-stale"
    else:
        way = f"wait for it: {reserve} {quoted(path)} --wait 300"
    letter = f"--bead {bead} --category BLOCKED --subject {quoted(f'I need {path}')} --body 'Why, and until when?'"
    ask = f"ask: bb agent send --from {who} --to {Foreign(first['agent_id'])} {letter}"
    whose = _whose(in_way[0], who)
    return f"bb: {whose}{more}. Do not edit it. Instead: {way}; {ask}; or work on something else."


def _why_frozen(found: dict[str, Any], who: str) -> str:
    """The refusal of an edit of a frozen path."""
    subject = quoted(f"I need {_short(found['path'])}")
    letter = f"--bead BEAD --category BLOCKED --subject {subject} --body 'Why?'"
    ask = f"ask: bb agent send --from {who} --to user {letter}"
    return f"bb: {_whose(found, who)}. Do not edit it until the person thaws it. Instead: {ask}; or work elsewhere."


def _paused(pause: Pause, who: str) -> str:
    """The refusal of a paused agent's change."""
    may = f"read and answer mail, hand over (bb protocol handoff), release (bb agent release --agent {who} --all)"
    return f"bb: {pause.sentence()}. Change nothing until the person unpauses you. You may still {may}, or stop here."


def _whose(found: dict[str, Any], who: str | None) -> str:
    """`src/a.py is reserved by cobalt-harbor for bb-12 (active, until …)`."""
    first = Foreign(holder(found, who))
    path, scope = found["path"], holder(found, who)["scope"]
    if path_verdicts.is_frozen(found):
        until = f" until {first['expires_at']}" if first["expires_at"] else ""
        why = f": {quotation(first['why'])}" if first["why"] else ""
        named = escaping.name(scope)
        part = "" if scope == path else f" as part of {named}" if path.startswith(f"{scope}/") else f" ({named})"
        return f"{escaping.name(path)} is frozen by {first['agent_id']}{part}{until}{why}"
    end = "expired at" if first["is_expired"] else "until"
    file, part = escaping.name(path), ""
    if path == "." or scope.startswith(f"{path}/"):
        file = f"{escaping.name(scope)} in {file}"
    elif scope != path:
        part = f" as part of {escaping.name(scope)}"
    return (
        f"{file} is reserved by {first['agent_id']}{part} for {first['bead_id']} "
        f"({first['liveness']}, {end} {first['expires_at']})"
    )


def _short(text: str) -> str:
    """A path or a bead, shortened for a command that is shown."""
    return escaping.clipped(text, LONGEST_NAME)
