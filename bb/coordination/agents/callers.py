"""Who may act under a name now: names are held by sessions (Operative Protocol §3.2, §3.3).

A session is one run of an agent program, known by an id. The program's own id comes first: what the payload of an
editor's hook says, then what the program sets in the environment of everything it starts (HOSTS). Behind them stands
BB_SESSION. A caller may have several ids; the first opens a session, and any of them shows that one is it: a hook that
knows only its payload and a shell that knows more are one session.

To register or to adopt opens a session of the name, and the last to be opened, in ledger order, is the current one. In
the ledger a session is a digest, because ids may be private. One that bb itself named, for an adopter without an id,
is marked until somebody shows it.

    the name's session is …        caller without an id      the same id    an earlier session's   another id
    not known                      may act                   -              SESSION_SUPERSEDED     may act
    named by bb, not shown yet     may act                   is confirmed   SESSION_SUPERSEDED     until evicted
    known                          until evicted             may act        SESSION_SUPERSEDED     NOT_YOUR_NAME

A caller without an id cannot be told from any other, so it is believed while the agent is alive; a name that was
evicted comes back by its own session, or by adoption.
"""

from __future__ import annotations

from bb.coordination.agents import liveness
from bb.coordination.agents.identity import AdoptionNeeded
from bb.kernel import clock, ids
from bb.kernel.errors import Forbidden, Usage
from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bb.coordination.agents.roster import Agent

OWN = "BB_SESSION"
# Where agent programs say which session of theirs runs a command. A new program is one more name here.
HOSTS = ("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "GEMINI_SESSION_ID")
VARIABLES = (*HOSTS, OWN)
LONGEST = 200  # characters of an id
KEY_LENGTH = 16
HEX = "0123456789abcdef"
NAMED_BY_BB = "?"  # before a session that bb named, until somebody shows its id
ALIVE = 2 * clock.MINUTE  # a session that gave a sign of life so lately is known to be alive


class InvalidSession(Usage):
    """BB_SESSION must be one line of 1 to 200 printable characters."""

    code = "INVALID_SESSION"
    hint = "unset BB_SESSION, or set it to an id of your own, such as a UUID"


class NotYourName(Forbidden):
    """That is the name of another agent, or of another session."""

    code = "NOT_YOUR_NAME"
    hint = "act in your own name; to go on with that agent's work adopt it: `bb init --adopt ID`"


class SessionSuperseded(Forbidden):
    """Another session works under this name since."""

    code = "SESSION_SUPERSEDED"
    hint = "start under a name of your own: `bb init --register NAME`; to take the name back: `bb init --adopt ID`"


def sessions(env: Mapping[str, str], said: str = "") -> tuple[str, ...]:
    """The sessions that the caller may be, the one that counts first: as it has SAID, else as ENV says."""
    own = env.get(OWN, "")
    if own and not _is_sound(own):
        raise InvalidSession
    found = [said, *(env.get(name, "") for name in HOSTS), own]
    return tuple(dict.fromkeys(key(each) for each in found if each and _is_sound(each)))


def without(env: Mapping[str, str], *, keeps_own: bool = False) -> dict[str, str]:
    """ENV without the sessions of whoever started a server: they are not those of whoever asks it."""
    left_out = HOSTS if keeps_own else VARIABLES
    return {name: value for name, value in env.items() if name not in left_out}


def key(session: str) -> str:
    """What a session is called in the ledger."""
    from bb.kernel.digest import digest  # noqa: PLC0415  (many callers have no session)

    return digest(session.encode("utf-8", "surrogatepass"))[:KEY_LENGTH]


def is_session(value: object) -> bool:
    """Whether VALUE, as a line has it, stands for a session."""
    bare = value.removeprefix(NAMED_BY_BB) if isinstance(value, str) else ""
    return len(bare) == KEY_LENGTH and not bare.strip(HEX)


def fresh(octets: bytes) -> str:
    """The id of a session that has none of its own, made from random OCTETS."""
    return f"bb-{ids.writer_id(octets)}"


def _is_sound(session: str) -> bool:
    return len(session) <= LONGEST and session.isprintable() and bool(session.strip())


def actor(named: str | None, is_set: str | None) -> str:
    """Who acts: as NAMED in the request, else as BB_AGENT IS_SET. The two must not contradict each other.

    The person may say `user` at an agent's shell, and nobody else's name.
    """
    if named and is_set and named not in (is_set, ids.PERSON):
        who, whom = harmless(is_set[:60]), harmless(named[:60])
        hint = f"leave the name out, or unset BB_AGENT; a person acts with the person's own verbs: --agent {ids.PERSON}"
        raise NotYourName(f"BB_AGENT says that you are {who}, so you cannot act as {whom}", hint=hint, agent_id=whom)
    return named or is_set or ""


def judge(present: Agent, sessions: Sequence[str], *, is_evicted: bool, others: Sequence[str] = ()) -> None:
    """Refuse a caller, known by its SESSIONS, that is not the session that works under the name now.

    OTHERS are the names that its sessions hold.
    """
    if is_current(present.session, sessions):
        return
    is_its_own, who = is_known(present.session), present.agent_id
    if any(each in present.former for each in sessions):
        since = clock.text(present.session_at)
        raise SessionSuperseded(
            f"another session works as {who} since {since}",
            hint=f"stop working as {who}; start under a name of your own: `bb init --register NAME`, "
            f"or, if its work is yours to go on with: `bb init --adopt {who}`",
            agent_id=who,
            since=since,
        )
    if others and not is_its_own:
        names = ", ".join(others[:5])
        raise NotYourName(
            f"this session works as {names}, so it cannot act as {who}",
            hint=f"say --agent {others[0]}; to go on as {who}: `bb init --adopt {who}`",
            agent_id=who,
        )
    if sessions and is_its_own:
        raise NotYourName(
            f"{who} is the name of another session",
            hint=f"start under a name of your own: `bb init --register NAME`, or adopt it: `bb init --adopt {who}`",
            agent_id=who,
        )
    if is_evicted and present.session and (is_its_own or sessions):
        raise AdoptionNeeded(
            f"{who} has been silent for so long that it was evicted, and this is not known to be its session",
            hint=f"to go on as {who}: `bb init --adopt {who}`",
            agent_id=who,
        )


def is_known(session: str) -> bool:
    """Whether a SESSION showed an id of its own: not where there is none, nor where bb named it and it has not."""
    return bool(session) and not session.startswith(NAMED_BY_BB)


def is_current(session: str, sessions: Sequence[str]) -> bool:
    """Whether a caller of these SESSIONS is the SESSION that works under a name."""
    return bool(session) and session.removeprefix(NAMED_BY_BB) in sessions


def to_confirm(session: str, sessions: Sequence[str]) -> str | None:
    """The session that bb had named, when a caller of these SESSIONS shows its id for the first time."""
    return session.removeprefix(NAMED_BY_BB) if session[:1] == NAMED_BY_BB and is_current(session, sessions) else None


def alive_at(present: Agent, sessions: Sequence[str], seen_at: int, now: int) -> int | None:
    """When a session other than the caller's gave a sign of life under that name, if it was lately; else None.

    SEEN_AT is the agent's last sign of life. To open a session is one.
    """
    if present.is_retired or not present.session or is_current(present.session, sessions):
        return None
    last = liveness.latest((present.session_at, seen_at), now)
    return last if abs(now - last) < ALIVE else None
