"""Identities and their liveness (Operative Protocol §3, §4)."""

from __future__ import annotations

from bb.coordination import identity, liveness, roster
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
    now = desk.now()
    threshold = desk.stale_after
    if not desk.store.exists:
        _refuse_secrets(role, display, key, allow_secret)
    desk.store.make(desk.place.title, desk.principal(), now)

    def decide(index: Index) -> list[Any]:
        present = roster.agent(name, index.state(roster.NAME, name))
        state = desk.holdings(index, now).liveness_of(name)
        return [identity.register(present, name, role, display, force=force_update, state=state)]

    desk.store.record(decide, by=name, now=now, key=key, request=desk.request, allow_secret=allow_secret)
    agent = identity.known(_agent(desk, name), name)
    return life.shown(life.beat(desk, agent, now), now, threshold)


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
    state = liveness.liveness(last.seen_at, now, threshold) if last else None
    if last is None or state != liveness.ACTIVE:
        last = _come_back(desk, who, now, threshold)
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

    who = desk.caller(agent)
    now = desk.now()
    known = identity.known(_agent(desk, who), who)
    last = life.presence_of(known, presence.read(desk.place.store, who, now), now)
    last = last.but(paused=paused.shown(desk.store.caught_up(), who))
    answer = life.shown(last, now, desk.stale_after)
    return answer | ({"status": "retired", "liveness": None} if known.is_retired else {})


def _refuse_secrets(role: str, display: str | None, key: str | None, allow_secret: str | None) -> None:
    """Who is refused for a secret must not have made a ledger before."""
    from bb.kernel import tokens  # noqa: PLC0415  (a heartbeat shows nobody anything new)

    for text in (role, display or ""):
        tokens.refuse_secrets(text, allow_secret)
    for text in (key or "", allow_secret or ""):
        tokens.refuse_secrets(text)


def _come_back(desk: Desk, who: str, now: int, threshold: int) -> Presence:
    """The presence of an agent that has been silent for long, or was never seen in this clone.

    That it is back is a change of state, and those are recorded.
    """
    agent = identity.in_service(_agent(desk, who), who)
    from bb.ops import paused  # noqa: PLC0415  (most heartbeats go by what their presence says)

    last = life.presence_of(agent, presence.read(desk.place.store, who, now), now)
    last = last.but(paused=paused.shown(desk.store.caught_up(), who))
    state = liveness.liveness(last.seen_at, now, threshold)
    if state != liveness.ACTIVE:
        desk.store.record(
            lambda index: life.return_of(desk, life.in_service(index, who), now, threshold), by=who, now=now
        )
    return last


def _agent(desk: Desk, agent_id: str) -> Agent | None:
    return roster.agent(agent_id, desk.store.caught_up().state(roster.NAME, agent_id))
