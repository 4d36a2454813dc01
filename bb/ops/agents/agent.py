"""Ops on agent identities and their liveness (Operative Protocol §3, §4)."""

from __future__ import annotations

from bb.coordination.agents import callers, identity, liveness, names, roster
from bb.coordination.facts import Updated
from bb.kernel import ids
from bb.kernel.errors import Forbidden, NotFound, Refused
from bb.ledger.local import presence
from bb.ledger.records import creation
from bb.ops.agent_params import DisplayName, Email, NewAgentId, Role
from bb.ops.catalogue import TruncatedRows, op
from bb.ops.desk import registered_names, session_agent, signs_of_life
from bb.ops.params import AgentId, AllowSecretReason, Key, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.coordination.agents.roster import Agent
    from bb.ledger.index.index import Index
    from bb.ops.desk.desk import Desk

OTHERS = "agents that were seen earlier omitted; --all lists every agent"


class Status(Text):
    """Only agents with this status."""

    choices = ("idle",)


class Liveness(Text):
    """Only agents with this liveness: active, stale or evicted."""

    choices = (liveness.ACTIVE, liveness.STALE, liveness.EVICTED)


@op(
    "agent.register",
    examples=(
        "bb agent register --name amber-otter --role builder",
        "bb agent register --name amber-otter --role reviewer --force-update --json",
        "bb agent register --name tidy-robin --role bot --email 'renovate[bot]@users.noreply.github.com'",
    ),
)
def register(
    desk: Desk,
    *,
    name: NewAgentId,
    role: Role,
    display: DisplayName | None = None,
    email: list[Email] | None = None,
    force_update: bool = False,
    key: Key | None = None,
    allow_secret: AllowSecretReason | None = None,
) -> dict[str, Any]:
    """Register this session as an agent under an unused name.

    Choose an adjective-noun name, such as amber-otter or cobalt-harbor, and a new name for every session. A name that
    is already registered is refused. --force-update changes the role, display name and addresses of your own active
    identity. To continue as an agent that has become silent, adopt it: `bb init --adopt`. If the repository has no
    ledger, it is created first.

    Parameters:
        email: An address under which its commits appear, as author or co-author. `bb ci check` uses it for commits
            without a BB-Agent trailer. The addresses replace those registered before.
        force_update: Update the identity if it exists already.
    """
    now, _, session = desk.now(), desk.stale_after, _session(desk, name)
    if not desk.store.exists:
        _refuse_secrets(role, display, key, allow_secret)
    creation.make(desk.store, desk.place.title, desk.principal(), now)

    is_decided = False

    def decide(index: Index) -> list[Any]:
        nonlocal is_decided
        is_decided = True
        present = roster.agent(name, index.state(roster.NAME, name))
        state = desk.holdings(index, now).liveness_of(name)
        fact = identity.register(present, name, role, display, force=force_update, state=state, emails=email)
        if isinstance(fact, Updated):
            desk.actor(name)
            signs_of_life.checked_agent(desk, index, name)
            return [fact]
        return [fact.replace(session=session)]

    desk.store.record(decide, by=name, now=now, key=key, request=desk.request, allow_secret=allow_secret)
    agent = identity.registered(_agent(desk, name), name)
    if not is_decided:  # the key matched an earlier request, perhaps by another session
        is_evicted = signs_of_life.state_of(desk, desk.store.index, agent, now) == liveness.EVICTED
        callers.refuse_wrong_session(agent, desk.sessions, is_evicted=is_evicted)
    if callers.is_current(agent.session, desk.sessions):
        session_agent.save(desk, name)
    answer = signs_of_life.write_presence(desk, agent, now).shown(now, desk.stale_after_in(desk.store.index))
    return answer | ({"emails": list(agent.emails)} if agent.emails else {})


def register_free(desk: Desk, role: Role) -> str:
    """Register this session under an unused name. The name is chosen under the ledger's lock, so no other caller gets
    it, whatever happens at the same time."""
    now, session = desk.now(), session_agent.to_open(desk)
    if not desk.store.exists:
        _refuse_secrets(role, None, None, None)
    creation.make(desk.store, desk.place.title, desk.principal(), now)
    chosen: list[str] = []

    def decide(index: Index) -> list[Any]:
        chosen[:] = [names.free(f"{desk.place.title} {session or ''}".strip(), registered_names.RegisteredNames(index))]
        fact = identity.register(None, chosen[0], role, None, force=False, state=liveness.EVICTED)
        return [fact.replace(session=session)]

    desk.store.record(decide, by=ids.PERSON, now=now, author=lambda fact: fact.agent)  # type: ignore[union-attr]
    agent = identity.registered(_agent(desk, chosen[0]), chosen[0])
    if callers.is_current(agent.session, desk.sessions):
        session_agent.save(desk, agent.agent_id)
    signs_of_life.write_presence(desk, agent, now)
    return agent.agent_id


@op(
    "agent.list",
    reads=True,
    screen="overview",
    examples=("bb agent list", "bb agent list --liveness stale --json", "bb agent list --all"),
)
def list_agents(
    desk: Desk,
    *,
    role: Role | None = None,
    status: Status | None = None,
    liveness: Liveness | None = None,
    all_: bool = False,
) -> list[dict[str, Any]]:
    """List the registered agents by id: the 50 that were seen last. Retired agents are not listed.

    If agents are left out, the answer says so.

    Parameters:
        all_: List every agent.
    """
    from bb.ops.desk import agent_rows  # noqa: PLC0415  (a registration lists no agents)

    index = desk.store.caught_up()
    if not all_:
        found = agent_rows.latest(desk, index, role=role, state=liveness)
        return found.rows if found.left_out == 0 else TruncatedRows(found.rows, OTHERS, found.left_out)
    filters = {"role": role, "status": status, "liveness": liveness}
    return [
        answer
        for answer in agent_rows.every(desk, index).rows
        if all(value is None or answer[member] == value for member, value in filters.items())
    ]


@op("agent.show", reads=True, examples=("bb agent show --agent amber-otter",))
def show(desk: Desk, *, agent: AgentId | None = None) -> dict[str, Any]:
    """Show one agent: its role, its liveness, when it joined and when it was last seen.

    Parameters:
        agent: The agent to show. Default: the caller.
    """
    from bb.ops.desk import pause_check  # noqa: PLC0415  (a heartbeat reads the pause from its presence file)

    who = desk.subject(agent)
    now = desk.now()
    registered_agent = identity.registered(_agent(desk, who), who)
    last = signs_of_life.presence_of(registered_agent, presence.read(desk.place.store, who, now), now)
    last = last.replace(paused=pause_check.pause_row(desk.store.caught_up(), who))
    answer = last.shown(now, desk.stale_after_in(desk.store.index))
    answer |= {"emails": list(registered_agent.emails)} if registered_agent.emails else {}
    return answer | ({"status": "retired", "liveness": None} if registered_agent.is_retired else {})


def _refuse_secrets(role: str, display: str | None, key: str | None, allow_secret: str | None) -> None:
    """Refuse secrets before the ledger is created, so that a refused request does not create one."""
    from bb.kernel import secret_patterns  # noqa: PLC0415  (needed only when a ledger is created)

    for text in (role, display or ""):
        secret_patterns.refuse_secrets(text, allow_secret)
    for text in (key or "", allow_secret or ""):
        secret_patterns.refuse_secrets(text)


def _session(desk: Desk, name: str) -> str | None:
    """The session that is to hold NAME. None if the caller works as another agent (BB_AGENT) and registers NAME for a
    different session."""
    other = desk.env.get("BB_AGENT") or name
    return None if other != name and _works_as(desk, other) else session_agent.to_open(desk)


def _works_as(desk: Desk, agent: str) -> bool:
    """Whether the caller may act as this AGENT."""
    if not ids.is_actor_id(agent):
        return agent == ids.PERSON
    try:
        signs_of_life.checked_agent(desk, signs_of_life.index_of(desk, agent), agent)
    except (NotFound, Refused, Forbidden):
        return False
    return True


def _agent(desk: Desk, agent_id: str) -> Agent | None:
    return roster.agent(agent_id, desk.store.caught_up().state(roster.NAME, agent_id))
