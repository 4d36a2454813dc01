"""May the files that an editor's tool or a shell command is about to change be changed by this agent?"""

from __future__ import annotations

import os

from bb.coordination.agents import liveness
from bb.coordination.agents.callers import NotYourName, SessionSuperseded
from bb.coordination.guards import hazards
from bb.coordination.wiring import editors
from bb.coordination.wiring.editors import NotUnderstood
from bb.kernel import escaping
from bb.kernel.errors import BbError
from bb.kernel.escaping import quoted
from bb.kernel.foreign import Foreign
from bb.ledger.git.place import NotARepository
from bb.ops.desk import pause_check, signs_of_life
from bb.ops.guards import edit_verdicts, path_verdicts, repeated_edits, touched_lines
from bb.ops.guards.edited_files import files_of, written_paths
from bb.ops.guards.editor_requests import REFUSED, agent_of, allow, refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from bb.coordination.agents.pauses import Pause
    from bb.coordination.guards.brought_changes import Question
    from bb.coordination.holdings.scopes import Scope
    from bb.coordination.wiring.editors import HookPayload
    from bb.ops.desk.desk import Desk
    from bb.ops.guards.edited_files import File

WITHOUT_NAME = "the person can install it without --agent: `bb hooks install --editor EDITOR`"
LONGEST_NAME = 200  # characters of a path or a bead in a command that is shown


def edit(desk: Desk, heard: HookPayload, named: str | None, bead: str | None) -> dict[str, Any]:
    """May these files be edited?"""
    who = named or desk.env.get("BB_AGENT")  # an agent is at work, even if it turns out not to be registered
    try:
        if not desk.store.exists:
            return allow(heard)
        who = agent_of(desk, heard, named)
        if who and (why := _of_bb(desk, heard.paths)):
            return refuse(heard, f"bb: {why}")
        files = files_of(desk, heard.paths)
        state = repeated_edits.state_of(desk)
        return _judged(desk, heard, who, files, bead, state) if files else allow(heard)
    except NotARepository.error:
        return allow(heard)
    except Exception as error:
        if not who and not isinstance(error, BbError | NotUnderstood):
            raise  # a bug is reported as one
        return _no_verdict(heard, who, error)  # editors allow a tool when its hook fails, so even a bug must refuse


def _of_bb(desk: Desk, paths: Sequence[str]) -> str:
    """Why the tool may not write these files, if they are bb's own."""
    common = os.path.realpath(desk.place.common)
    near = [path for path in paths if os.path.realpath(os.path.join(desk.cwd, path)).startswith(common)]
    if not near:
        return ""
    from bb.ops.guards import own_files  # noqa: PLC0415  (few edits are in git's folder)

    return own_files.refused_edit(desk, near)


def written(desk: Desk, heard: HookPayload, named: str | None, bead: str | None) -> dict[str, Any]:
    """May the command write these files? Checked as an edit, but if the check fails, the command passes."""
    return _command(desk, heard, named, bead, lambda: written_paths(desk, heard))


def brought(desk: Desk, heard: HookPayload, named: str | None, found: Sequence[Question]) -> dict[str, Any]:
    """May the command bring changes of commits, stashes and patches into their files? Nothing is reserved for them."""
    from bb.ops.guards import brought_files  # noqa: PLC0415  (few commands do that)

    command = escaping.clipped(found[0].command, hazards.LONGEST_COMMAND)
    return _command(desk, heard, named, None, lambda: brought_files.paths_of(desk, found), command)


def _command(
    desk: Desk, heard: HookPayload, named: str | None, bead: str | None, paths: Callable[[], list[str]], by: str = ""
) -> dict[str, Any]:
    try:
        files = files_of(desk, paths()) if os.path.isdir(desk.place.store) else []
        return _judged(desk, heard, agent_of(desk, heard, named), files, bead, by=by) if files else allow(heard)
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


def _judged(
    desk: Desk,
    heard: HookPayload,
    who: str | None,
    files: Sequence[File],
    bead: str | None,
    state: str | None = None,
    by: str = "",
) -> dict[str, Any]:
    """May WHO change these FILES? With the STATE of the ledger before, the answer is noted for the next hooks. BY is
    the command, if it does not name the files itself."""
    index = desk.store.caught_up()
    if who:
        signs_of_life.checked_agent(desk, index, who)
        if pause := pause_check.pause_of(index, who):
            return refuse(heard, _paused(pause, who))
    if damages := desk.store.damages():  # an unreadable line may be a reservation
        from bb.ledger.journal.journal import LedgerDamaged  # noqa: PLC0415

        raise LedgerDamaged(f"line {damages[0].n} of {damages[0].writer} is damaged: {damages[0].reason}")
    judged = edit_verdicts.verdicts(desk.holdings(index, desk.now()), files, who, touched_lines.before(desk, heard))
    if in_way := list(edit_verdicts.that_are(path_verdicts.HELD, desk, judged).values()):
        if who:
            return refuse(heard, _as_possible_here(desk, _why_not(in_way, who, by)))
        warning = (
            f"bb: {edit_verdicts.whose(in_way[0], None)}. No agent is named, so this is allowed as a person's edit."
        )
        return allow(heard, warning, reply=editors.person_answer(warning))
    free = [file.scope for file in _unreserved(desk, judged, who)] if bead is not None else []
    if who and bead is not None and free:
        answer = _reserved(desk, heard, who, free, bead)
        is_new = state is not None and answer["verdict"] != REFUSED
        return _judged(desk, heard, who, files, None, repeated_edits.state_of(desk)) if is_new else answer
    found = [row["verdict"] for row in judged.values()]
    is_same_everywhere = not any(edit_verdicts.IN_PART in row for row in judged.values())
    if who and state is not None and is_same_everywhere and path_verdicts.HELD not in found:
        # Otherwise an ignore file lets it pass, or the next edit may be in another region.
        repeated_edits.note(desk, heard, who, state, is_reserved=path_verdicts.FREE not in found)
    return allow(heard)


def _unreserved(desk: Desk, judged: dict[File, dict[str, Any]], who: str | None) -> list[File]:
    """The files that WHO may edit and does not hold: free ones, and those that only others hold open. Beside the region
    of another agent, nothing is reserved: the whole file could not be."""
    found = edit_verdicts.that_are(path_verdicts.FREE, desk, judged)
    beside = edit_verdicts.that_are(path_verdicts.OPEN, desk, judged)
    found |= {file: row for file, row in beside.items() if all(each["agent_id"] != who for each in row["held_by"])}
    return [file for file, row in found.items() if edit_verdicts.IN_PART not in row]


def _reserved(desk: Desk, heard: HookPayload, who: str, scopes: Sequence[Scope], bead: str) -> dict[str, Any]:
    """Reserve the files that WHO is about to edit. Refused if another agent was faster or waits for them."""
    from bb.coordination.holdings.reservations import Wanted, minutes  # noqa: PLC0415  (only a first edit reserves)
    from bb.coordination.holdings.reservations import bead as checked  # noqa: PLC0415
    from bb.ops.holdings import recording  # noqa: PLC0415

    try:
        wanted = Wanted(who, tuple(scopes), checked(bead), minutes(recording.TTL), is_open=True)
        recording.reserved(desk, wanted)
    except BbError as error:
        why = f"bb: the file cannot be reserved, so do not edit it: {error} ({error.hint})"
        return refuse(heard, _as_possible_here(desk, why))
    return allow(heard)


def _as_possible_here(desk: Desk, why: str) -> str:
    """The reason WHY an edit is refused, with commands that are possible in a fleet if this is one."""
    if not desk.is_in_fleet:
        return why
    from bb.ops.desk import fleet_hints  # noqa: PLC0415  (needed only in a fleet)

    return fleet_hints.without_line(why)


def _why_not(in_way: Sequence[dict[str, Any]], who: str, by: str) -> str:
    """The refusal of an edit: the holder, the bead, the end of the reservation, and alternatives."""
    start = f"bb: `{by}` would change {_short(in_way[0]['path'])}. " if by else "bb: "
    if frozen := next((row for row in in_way if path_verdicts.is_frozen(row)), None):
        return _why_frozen(frozen, who)
    first = edit_verdicts.holder(in_way[0], who)
    is_in_part = edit_verdicts.IN_PART in in_way[0]
    path = _short(first["scope"] if is_in_part else in_way[0]["path"])
    more = f" (and {len(in_way) - 1} more of these files are held)" if len(in_way) > 1 else ""
    if first["liveness"] != liveness.ACTIVE or first["is_expired"]:
        scope = quoted(_short(first["scope"]))
        way = f"take it over, because its holder is silent: bb reserve {scope} --takeover-stale --agent {who}"
    else:
        way = f"get in line for it: bb reserve {quoted(path)} --queue --agent {who}"
    ask = f"ask: bb send {Foreign(first['agent_id'])} {quoted(f'I need {path}: why, and until when')} --agent {who}"
    whose = edit_verdicts.whose(in_way[0], who)
    rest = "edit another part of the file" if is_in_part else "work on something else"
    return f"{start}{whose}{more}. Do not edit it. Instead: {way}; {ask}; or {rest}."


def _why_frozen(found: dict[str, Any], who: str) -> str:
    """The refusal of an edit of a frozen path."""
    text = quoted(f"I need {_short(found['path'])}: why")
    ask = f"ask: bb send user {text} --agent {who}"
    whose = edit_verdicts.whose(found, who)
    return f"bb: {whose}. Do not edit it until the person thaws it. Instead: {ask}; or work elsewhere."


def _paused(pause: Pause, who: str) -> str:
    """The refusal of a paused agent's change."""
    may = f"read and answer mail, hand over (bb handoff), release (bb release --all --agent {who})"
    return f"bb: {pause.sentence()}. Change nothing until the person unpauses you. You may still {may}, or stop here."


def _short(text: str) -> str:
    """A path or a bead, shortened for a command that is shown."""
    return escaping.clipped(text, LONGEST_NAME)
