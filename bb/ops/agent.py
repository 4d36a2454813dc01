"""Identities and their liveness (Operative Protocol §3, §4)."""

from __future__ import annotations

from bb.coordination import callers, identity, liveness, roster
from bb.coordination.facts import Updated
from bb.kernel import ids
from bb.kernel.errors import Forbidden, NotFound, Refused
from bb.ledger import presence
from bb.ops import life
from bb.ops.catalogue import op
from bb.ops.params import AgentId, DisplayName, Key, NewAgentId, Reason, Role, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.coordination.roster import Agent
    from bb.ledger.index import Index
    from bb.ledger.presence import Presence
    from bb.ops.desk import Desk


class Status(Text):
    """Only agents of this status."""

    choices = ("idle",)


class Liveness(Text):
    """Only agents of this liveness: active, stale or evicted."""

    choices = (liveness.ACTIVE, liveness.STALE, liveness.EVICTED)


@op(
    "agent.register",
    examples=(
        "bb agent register --name amber-otter --role builder",
        "bb agent register --name amber-otter --role reviewer --force-update --json",
    ),
    force_update="Change the identity if it exists already.",
)
def register(
    desk: Desk,
    *,
    name: NewAgentId,
    role: Role,
    display: DisplayName | None = None,
    force_update: bool = False,
    key: Key | None = None,
    allow_secret: Reason | None = None,
) -> dict[str, Any]:
    """Take an identity for this session, under a name nobody has yet.

    Name yourself adjective-noun, such as amber-otter or cobalt-harbor, with a new name for every session. A name
    that is taken is refused; --force-update changes the role and display name of an identity that is at work: your
    own. To go on as one that has fallen silent is to adopt it: `bb init --adopt`. The ledger is made first when the
    repository has none.
    """
    now, _, session = desk.now(), desk.stale_after, _session(desk, name)
    if not desk.store.exists:
        _refuse_secrets(role, display, key, allow_secret)
    desk.store.make(desk.place.title, desk.principal(), now)

    is_decided = False

    def decide(index: Index) -> list[Any]:
        nonlocal is_decided
        is_decided = True
        present = roster.agent(name, index.state(roster.NAME, name))
        state = desk.holdings(index, now).liveness_of(name)
        fact = identity.register(present, name, role, display, force=force_update, state=state)
        if isinstance(fact, Updated):
            desk.actor(name)
            life.judged(desk, index, name)
            return [fact]
        return [fact.but(session=session)]

    desk.store.record(decide, by=name, now=now, key=key, request=desk.request, allow_secret=allow_secret)
    agent = identity.known(_agent(desk, name), name)
    if not is_decided:  # the key has brought back what was recorded under it before, perhaps by another session
        is_evicted = life.state_of(desk, desk.store.index, agent, now) == liveness.EVICTED
        callers.judge(agent, desk.sessions, is_evicted=is_evicted)
    return life.shown(life.beat(desk, agent, now), now, desk.stale_after_in(desk.store.index))


@op(
    "agent.heartbeat",
    examples=("bb agent heartbeat --agent amber-otter --json", "BB_AGENT=amber-otter bb agent heartbeat"),
)
def heartbeat(desk: Desk, *, agent: AgentId | None = None) -> dict[str, Any]:
    """Say that you are alive. Safe to repeat as often as you like; once a minute is plenty.

    An agent that is silent for 15 minutes counts as stale, for 30 as evicted (BB_AGENT_STALE_MINUTES changes the
    15). A heartbeat makes it active again, but gives nothing back that was taken over meanwhile.
    """
    who = desk.caller(agent)
    now = desk.now()
    threshold = desk.stale_after
    desk.may_write()
    last = presence.read(desk.place.store, who, now)
    is_active = last and (last.paused or liveness.liveness(last.seen_at, now, threshold) == liveness.ACTIVE)
    if last is None or not is_active or not _is_its_session(desk, last):
        last = _come_back(desk, who, now)
    beat = last.but(seen_at=now, beats=last.beats + 1, is_remote=False)
    presence.write(desk.place.store, beat)
    desk.has_beaten = True
    return life.shown(beat, now, threshold)


@op("agent.list", examples=("bb agent list", "bb agent list --liveness stale --json"))
def list_agents(
    desk: Desk,
    *,
    role: Role | None = None,
    status: Status | None = None,
    liveness: Liveness | None = None,
) -> list[dict[str, Any]]:
    """Who is registered here, by id. Retired identities are left out."""
    index = desk.store.caught_up()
    answers = life.listed(desk, index, roster.in_service(index.states(roster.NAME)))
    wanted = {"role": role, "status": status, "liveness": liveness}
    return [
        answer
        for answer in answers
        if all(value is None or answer[member] == value for member, value in wanted.items())
    ]


@op("agent.show", examples=("bb agent show --agent amber-otter",))
def show(desk: Desk, *, agent: AgentId | None = None) -> dict[str, Any]:
    """One identity: role, liveness, when it joined and when it was last seen."""
    from bb.ops import paused  # noqa: PLC0415  (a heartbeat goes by what its presence says)

    who = desk.subject(agent)
    now = desk.now()
    known = identity.known(_agent(desk, who), who)
    last = life.presence_of(known, presence.read(desk.place.store, who, now), now)
    last = last.but(paused=paused.shown(desk.store.caught_up(), who))
    answer = life.shown(last, now, desk.stale_after_in(desk.store.index))
    return answer | ({"status": "retired", "liveness": None} if known.is_retired else {})


def _refuse_secrets(role: str, display: str | None, key: str | None, allow_secret: str | None) -> None:
    """Who is refused for a secret must not have made a ledger before."""
    from bb.kernel import tokens  # noqa: PLC0415  (a heartbeat shows nobody anything new)

    for text in (role, display or ""):
        tokens.refuse_secrets(text, allow_secret)
    for text in (key or "", allow_secret or ""):
        tokens.refuse_secrets(text)


def _session(desk: Desk, name: str) -> str | None:
    """The session that takes a NAME; none where the caller works as another agent, as BB_AGENT says, and registers
    this one for somebody else."""
    other = desk.env.get("BB_AGENT") or name
    return None if other != name and _works_as(desk, other) else next(iter(desk.sessions), None)


def _works_as(desk: Desk, agent: str) -> bool:
    """Whether the caller may act as this AGENT."""
    if not ids.is_actor_id(agent):
        return agent == ids.PERSON
    try:
        life.judged(desk, life.index_of(desk, agent), agent)
    except (NotFound, Refused, Forbidden):
        return False
    return True


def _is_its_session(desk: Desk, last: Presence) -> bool:
    """Whether the caller may be the session that works under the name, as the presence has it. In doubt the ledger is
    asked: where the two files differ, or the session is not the caller's."""
    noted, sessions = presence.session(desk.place.store, last.agent_id), desk.sessions
    return noted == last.session and (not (noted and sessions) or noted in sessions)


def _come_back(desk: Desk, who: str, now: int) -> Presence:
    """The presence of an agent that has been silent for long, was never seen in this clone, or whose session may be
    another one.

    That it is back is a change of state, and those are recorded.
    """
    agent = life.judged(desk, life.index_of(desk, who), who)
    from bb.ops import paused  # noqa: PLC0415  (most heartbeats go by what their presence says)

    last = life.presence_of(agent, presence.read(desk.place.store, who, now), now)
    last = last.but(paused=paused.shown(desk.store.caught_up(), who))
    if life.return_of(desk, desk.store.caught_up(), agent, now):
        desk.store.record(
            lambda index: life.return_of(desk, index, life.judged(desk, index, who), now), by=who, now=now
        )
        last = last.but(session=life.in_service(desk.store.caught_up(), who).session)
    presence.open_session(desk.place.store, who, last.session)
    return last


def _agent(desk: Desk, agent_id: str) -> Agent | None:
    return roster.agent(agent_id, desk.store.caught_up().state(roster.NAME, agent_id))
