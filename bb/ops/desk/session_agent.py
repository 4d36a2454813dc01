"""Which agent a caller is by its host's session id: the hooks of a host, its MCP server and its shell are one agent.

The file of a session (`ledger/local/editor_sessions.py`) names its agent. The hook at the start of the session writes
it, and so do registration and adoption if the caller has a session id. A session without a file names no agent.
"""

from __future__ import annotations

from bb.coordination.agents import callers, liveness, roster
from bb.ledger.git import place as places
from bb.ledger.local import editor_sessions, host_processes, presence
from bb.ledger.local.editor_sessions import Session
from bb.ops.desk.after_recording import AfterRecording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ops.desk.desk import Desk

LONGEST_REASON = 40
GEMINI_ID = "GEMINI_SESSION_ID"


def to_open(desk: Desk) -> str | None:
    """The session that a new name of the caller belongs to: the first one without an agent, else the first."""
    named = editor_sessions.agents(desk.place.store, desk.host_sessions)
    return next((session for session in desk.sessions if session not in named), next(iter(desk.sessions), None))


def save(desk: Desk, who: str, *, continues: bool = False) -> None:
    """Save that the caller's session is WHO, unless it is another agent in service already. With CONTINUES, the session
    goes on as WHO in any case."""
    store = desk.place.store
    files = {session: editor_sessions.read(store, session) for session in desk.host_sessions}
    outers = {outer for file in files.values() for outer in file.outer}
    for session, file in files.items():
        if _is_free(desk, file) or (continues and callers.session_digest(session) not in outers):
            with AfterRecording(desk):
                start(desk, session, who, file)


def goes_on(desk: Desk) -> Session | None:
    """The session in this work tree that goes on under the caller's new id because its conversation was cleared; None
    if it is not certain. Its MCP server and its name keep the id that it had first."""
    if any(editor_sessions.read(desk.place.store, session).agent for session in desk.host_sessions):
        return None
    sessions = editor_sessions.by_digest(desk.place.store)
    followed = {earlier for file in sessions.values() for earlier in file.also}
    found = [
        Session(file.agent, file.work_tree, also=(session, *file.also)[: editor_sessions.MOST])
        for session, file in sessions.items()
        if file.over == editor_sessions.CLEARED and session not in followed and file.work_tree == desk.place.work_tree
    ]
    return found[0] if len(found) == 1 else None


def start(desk: Desk, session: str, who: str, file: Session, *, own: str = "") -> None:
    """Save that SESSION, whose file has been FILE, is WHO, at work here. OWN is another id of the same session."""
    others = (*desk.host_sessions, *callers.host_sessions(desk.env), *_processes_around_host(desk))
    outer = tuple(callers.session_digest(other) for other in dict.fromkeys(others) if other not in (session, own))
    work_tree = desk.place.work_tree or file.work_tree
    editor_sessions.write(desk.place.store, session, file.replace(agent=who, work_tree=work_tree, outer=outer, over=""))


def start_process(desk: Desk, session: str, who: str) -> None:
    """Save that the process which has started this hook is SESSION, for a host that passes its id to hooks only."""
    process = next(host_processes.around(), None)
    if process and desk.env.get(GEMINI_ID) == session:
        known = editor_sessions.read(desk.place.store, session)
        file = Session(also=(callers.session_digest(session), *known.also))
        start(desk, process, who, file, own=session)


def _processes_around_host(desk: Desk) -> tuple[str, ...]:
    """The processes around the caller's host, which is the nearest one, if a host that is known by its process may be
    among them."""
    return tuple(host_processes.around())[1:] if desk.env.get(callers.GEMINI) else ()


def end(desk: Desk, session: str, reason: str) -> None:
    """Save that the host has ended SESSION for a REASON. Until it is resumed, its id names no agent."""
    file = editor_sessions.read(desk.place.store, session)
    if file.agent:
        editor_sessions.write(desk.place.store, session, file.replace(over=reason[:LONGEST_REASON] or "other"))


def has_hooks(desk: Desk) -> bool:
    """Whether a session with hooks is at work in this work tree."""
    try:
        here, store, now = desk.place.work_tree, desk.place.store, desk.now()
    except places.NotARepository.error:
        return False
    for file in editor_sessions.all_sessions(store):
        if file.agent and not file.is_over and file.work_tree == here:
            last = presence.read(store, file.agent, now)
            if last and liveness.liveness(last.seen_at, now, desk.stale_after) == liveness.ACTIVE:
                return True
    return False


def _is_free(desk: Desk, file: Session) -> bool:
    """Whether a session has no agent that is in service."""
    if file.agent is None or file.is_over:
        return True
    agent = roster.agent(file.agent, desk.store.caught_up().state(roster.NAME, file.agent))
    return agent is None or agent.is_retired
