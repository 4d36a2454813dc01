"""Which caller may act under a name: each name belongs to one session at a time (Operative Protocol §3.2, §3.3).

A session is one run of an agent program, identified by an id. The sources of the id, in order of precedence: the
payload of an editor's hook or the metadata of an MCP call, the environment variables that the program sets (HOSTS), and
BB_SESSION. A caller may have several ids. The first id opens a session, and each of the ids identifies it: a hook that
has only its payload and a shell that has more variables are one session.

Registration and adoption open a session. The last session opened, in ledger order, is the current one. The ledger
stores a digest of the id, because ids may be private. If an adopter has no id, bb generates one and marks it until a
caller presents it.

    session of the name             caller without an id   the same id    an earlier session's id   another id
    unknown                         may act                -              SESSION_SUPERSEDED        may act
    generated, not presented yet    may act                is confirmed   SESSION_SUPERSEDED        until evicted
    known                           until evicted          may act        SESSION_SUPERSEDED        NOT_YOUR_NAME

A caller without an id cannot be distinguished from other callers, so it may act until the agent is evicted. After
eviction, only the agent's own session or an adoption reactivates the name.
"""

from __future__ import annotations

from bb.coordination.agents import liveness
from bb.coordination.agents.identity import AdoptionNeeded
from bb.kernel import clock, ids
from bb.kernel.errors import Forbidden, Usage
from bb.kernel.escaping import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bb.coordination.agents.roster import Agent

OWN = "BB_SESSION"
# Environment variables in which agent programs pass their session id. Codex names the thread, and the session that a
# thread and its subagents share. OpenCode sets none; a plugin may set its.
HOSTS = (
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_THREAD_ID",
    "CODEX_SESSION_ID",
    "GEMINI_SESSION_ID",
    "OPENCODE_SESSION_ID",
    "COPILOT_AGENT_SESSION_ID",
    "QWEN_CODE_SESSION_ID",
)
GEMINI = "GEMINI_CLI"  # set in shells and MCP servers of Gemini CLI, which have no session id
# Environment variables by which agent programs mark what they start in a session.
MARKS = (
    *("AI_AGENT", "CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS", "CLAUDE_ENV_FILE"),
    *("CODEX_CI", "CODEX_TOOL_CALL_ID", GEMINI, "OPENCODE", "OPENCODE_PID"),
)
VARIABLES = (*HOSTS, *MARKS, OWN)
LONGEST = 200  # characters of an id
ALIVE = 2 * clock.MINUTE  # a session counts as alive for this long after its last heartbeat

InvalidSession = Usage.declare(
    "INVALID_SESSION",
    "BB_SESSION must be one line of 1 to 200 printable characters",
    hint="unset BB_SESSION, or set it to a unique id, such as a UUID",
)

NotYourName = Forbidden.declare(
    "NOT_YOUR_NAME",
    "That name belongs to another agent or session",
    hint="use your own name; to continue that agent's work, adopt it: `bb init --adopt ID`",
)

SessionSuperseded = Forbidden.declare(
    "SESSION_SUPERSEDED",
    "Another session has taken over this name",
    hint="register under another name: `bb init --register NAME`; to take the name back: `bb init --adopt ID`",
)


def sessions(env: Mapping[str, str], *said: str) -> tuple[str, ...]:
    """The digests of the caller's session ids in order of precedence: the ids that were SAID, then those in ENV."""
    own = env.get(OWN, "")
    if own and not _is_sound(own):
        raise InvalidSession()
    session_ids = (*said, *host_sessions(env), own)
    return tuple(dict.fromkeys(session_digest(session) for session in session_ids if session and _is_sound(session)))


def host_sessions(env: Mapping[str, str]) -> tuple[str, ...]:
    """The session ids that agent programs have set in ENV."""
    found = (env.get(name, "") for name in HOSTS)
    return tuple(session for session in found if session and _is_sound(session))


def named_sessions(env: Mapping[str, str]) -> tuple[str, ...]:
    """The session ids in ENV by which a host's hooks may have named an agent. A plugin may set BB_SESSION."""
    own = env.get(OWN, "")
    return (*host_sessions(env), own) if own and _is_sound(own) else host_sessions(env)


def agents_of(sessions: Mapping[str, tuple[str, Sequence[str]]]) -> list[str]:
    """The agents that a caller with these SESSIONS may be. Each session has its agent, and the sessions around it.

    A program that was started in the shell of another agent program has the variables of both. The inner one calls.
    """
    around = {outer for _, outers in sessions.values() for outer in outers}
    inner = [agent for session, (agent, _) in sessions.items() if session not in around]
    return list(dict.fromkeys(inner or (agent for agent, _ in sessions.values())))


def without_session_variables(env: Mapping[str, str], *, keeps_own: bool = False) -> dict[str, str]:
    """ENV without session ids. A server must not use the session of the process that started it for its clients."""
    left_out = (*HOSTS, *MARKS) if keeps_own else VARIABLES
    return {name: value for name, value in env.items() if name not in left_out}


def session_digest(session: str) -> str:
    """The digest that identifies a session in the ledger."""
    from bb.kernel.digest import digest  # noqa: PLC0415  (many callers have no session)

    return digest(session.encode("utf-8", "surrogatepass"))[: ids.SESSION_LENGTH]


def generated_session_id(octets: bytes) -> str:
    """A generated id, made from random OCTETS, for a session without an id."""
    return f"bb-{ids.writer_id(octets)}"


def _is_sound(session: str) -> bool:
    return len(session) <= LONGEST and session.isprintable() and bool(session.strip())


def actor(named: str | None, is_set: str | None) -> str:
    """The acting agent: the agent NAMED in the request, otherwise the value that BB_AGENT IS_SET to.

    The two must agree, except that a person may use the name `user` in an agent's shell.
    """
    if named and is_set and named not in (is_set, ids.PERSON):
        who, whom = harmless(is_set[:60]), harmless(named[:60])
        hint = f"omit --agent, or unset BB_AGENT; a person passes --agent {ids.PERSON}"
        raise NotYourName(f"BB_AGENT is {who}, so you cannot act as {whom}", hint=hint, agent_id=whom)
    return named or is_set or ""


def refuse_wrong_session(
    present: Agent, sessions: Sequence[str], *, is_evicted: bool, others: Sequence[str] = ()
) -> None:
    """Refuse a caller whose SESSIONS do not include the current session of the name.

    OTHERS are the names that belong to the caller's sessions.
    """
    if is_current(present.session, sessions):
        return
    is_its_own, who = is_known(present.session), present.agent_id
    if any(session in present.former for session in sessions):
        since = clock.text(present.session_at)
        raise SessionSuperseded(
            f"another session took over the name {who} at {since}",
            hint=f"stop working as {who}; register under another name: `bb init --register NAME`, "
            f"or take the name back to continue its work: `bb init --adopt {who}`",
            agent_id=who,
            since=since,
        )
    if others and not is_its_own:
        names = ", ".join(others[:5])
        raise NotYourName(
            f"this session belongs to {names}, so it cannot act as {who}",
            hint=f"pass --agent {others[0]}; to continue as {who}: `bb init --adopt {who}`",
            agent_id=who,
        )
    if sessions and is_its_own:
        raise NotYourName(
            f"the name {who} belongs to another session",
            hint=f"register under another name: `bb init --register NAME`, or adopt this one: `bb init --adopt {who}`",
            agent_id=who,
        )
    if is_evicted and present.session and (is_its_own or sessions):
        raise AdoptionNeeded(
            f"{who} was evicted because it stopped sending heartbeats, and this session is not known to be its session",
            hint=f"to continue as {who}: `bb init --adopt {who}`",
            agent_id=who,
        )


def is_known(session: str) -> bool:
    """Whether SESSION is an id that a caller has presented: neither empty nor generated by bb and unconfirmed."""
    return bool(session) and not session.startswith(ids.NAMED_BY_BB)


def is_current(session: str, sessions: Sequence[str]) -> bool:
    """Whether one of the caller's SESSIONS is SESSION."""
    return bool(session) and session.removeprefix(ids.NAMED_BY_BB) in sessions


def to_confirm(session: str, sessions: Sequence[str]) -> str | None:
    """The session id that bb generated, if a caller presents it in SESSIONS for the first time."""
    return (
        session.removeprefix(ids.NAMED_BY_BB)
        if session[:1] == ids.NAMED_BY_BB and is_current(session, sessions)
        else None
    )


def alive_at(present: Agent, sessions: Sequence[str], seen_at: int, now: int) -> int | None:
    """The time of the last heartbeat of another session of the name, if that session counts as alive; else None.

    SEEN_AT is the agent's last heartbeat. Opening a session counts as a heartbeat.
    """
    if present.is_retired or not present.session or is_current(present.session, sessions):
        return None
    last = liveness.latest((present.session_at, seen_at), now)
    return last if abs(now - last) < ALIVE else None
