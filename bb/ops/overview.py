"""For people, and for agents that have lost the thread: who is here, what needs somebody, what has happened."""

from __future__ import annotations

from bb.coordination import changes, liveness, protocol, roster
from bb.kernel import clock
from bb.kernel.errors import Refused
from bb.ledger import git, presence, queue, tree, walk
from bb.ledger import mail as mails
from bb.ledger.protocol import OPEN, Events
from bb.messaging import mail
from bb.ops import life, problems, telling
from bb.ops.catalogue import op
from bb.ops.params import AgentId, Number, Someone, Text
from bb.ops.reservations import shown as shown_reservation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.holdings import Holdings
    from bb.ledger.index import Index
    from bb.ops.desk import Desk


class ProblemsOpen(Refused):
    """Something needs a person."""

    code = "PROBLEMS_OPEN"
    hint = "each problem names the next step"


class Since(Text):
    """Only from this moment on: a time like 2026-11-21T03:40:35Z, or an age like 90s, 15m, 2h, 7d."""

    metavar = "TIME"


class About(Text):
    """Only what is about this bead."""

    metavar = "BEAD"


class Limit(Number):
    """At most so many, the newest."""

    most = 1000


@op("status", examples=("bb status", "bb status --json"))
def status(desk: Desk) -> dict[str, Any]:
    """One look: who is here and alive, who holds what and for how long, what waits to be accepted, who collides."""
    now = desk.now()
    desk.store.must_exist()
    index = desk.store.caught_up()
    held = desk.holdings(index, now)
    live = held.everything()
    events = Events(index, held, tree.root_of(desk.place))
    return {
        "repository": desk.place.title,
        "at": clock.text(now),
        "agents": shown_agents(desk, index),
        "reservations": [
            shown_reservation(held, each.reservation) | {"seconds_left": max(each.expires_at - now, 0) // clock.SECOND}
            for each in live
        ],
        "unacked": [_brief(message) for message in mails.owed(index)],
        "incursions": [event for event in _public(events.newest_first(protocol.INCURSION)) if event["state"] == OPEN],
        "waiting": [
            {"agent_id": waiter.agent, "scopes": [scope.text for scope in waiter.scopes]}
            for waiter in queue.line(desk.place.store)
        ],
        "is_damaged": bool(index.damages()),
    }


@op("problems", examples=("bb problems", "bb problems --json"))
def problems_op(desk: Desk) -> dict[str, Any]:
    """Only what needs a person, oldest first. Exit status 4 if there is anything.

    That is: what agents ask of the person, what waits for an agent that has fallen silent or waits for too long,
    reservations whose holder is gone, agents that work in each other's files, a damaged ledger.
    """
    desk.store.must_exist()
    found = problems.found(desk)
    if found:
        raise ProblemsOpen(
            f"{len(found)} {'thing needs' if len(found) == 1 else 'things need'} a person", problems=found
        )
    return {"problems": []}


@op("timeline", examples=("bb timeline", "bb timeline --bead bb-12 --since 2h --json"))
def timeline(
    desk: Desk,
    *,
    agent: AgentId | None = None,
    bead: About | None = None,
    since: Since | None = None,
    limit: Limit = Limit(30),  # noqa: B008
) -> list[dict[str, Any]]:
    """What has happened lately, one sentence each, oldest first."""
    now = desk.now()
    desk.store.must_exist()
    wanted = walk.Filter(
        kinds=telling.KINDS, agent=None, since=clock.text(clock.before(since, now)) if since is not None else None
    )
    return telling.latest(desk.store, wanted, agent, bead, limit)


@op("resume", examples=("bb resume --agent amber-otter", "BB_AGENT=amber-otter bb resume --json"))
def resume(desk: Desk, *, agent: Someone | None = None) -> dict[str, Any]:
    """All you need to go on after a crash or a compaction, in few words.

    Who you are, what you hold, what waits for you, the last hand-off with its next step, and which files in your
    scopes have uncommitted changes.
    """
    who = desk.caller(agent)
    index = life.index_of(desk, who)
    known = life.registered(index, who)
    now = desk.now()
    held = desk.holdings(index, now)
    mine = held.of(who)
    last_seen = life.presence_of(known, presence.read(desk.place.store, who), now)
    owed = mails.owed(index, who)
    answer = {
        "agent_id": who,
        "role": known.role[:40],
        "liveness": "retired" if known.is_retired else held.liveness_of(who),
        "last_seen_at": clock.text(last_seen.seen_at),
        "holds": [
            {
                "scope": each.reservation.scope,
                "bead": each.reservation.bead,
                "expires_at": clock.text(each.expires_at),
                **({"is_expired": True} if each.is_over else {}),
            }
            for each in mine
        ],
        "unread": mails.count_unread(index, who),
        "to_accept": [
            {"id": found["message_id"], "from": found["from_agent"], "subject": found["subject"]} for found in owed
        ],
        "last_handoff": _last_handoff(index, who),
        "dirty": _dirty(desk, held, who),
    }
    return _within(answer, RESUME_CHARACTERS)


# A token is about four characters of text; 400 of them is what an agent's context can spare for this.
RESUME_CHARACTERS = 1500
SHORTEST = 24


def _within(answer: dict[str, Any], budget: int) -> dict[str, Any]:
    """ANSWER cut down until it fits: first long texts, then long lists, always saying how much is left out."""
    from bb.kernel import jsontext  # noqa: PLC0415

    lengths = {name: len(value) for name, value in answer.items() if isinstance(value, list)}
    longest, most = 160, 8
    while True:
        cut = {name: _cut(value, longest, most) for name, value in answer.items()}
        more = {name: length - most for name, length in lengths.items() if length > most}
        cut |= {"left_out": more} if more else {}
        if len(jsontext.dumps(cut)) <= budget or (longest <= SHORTEST and most <= 1):
            return cut
        longest, most = (longest * 3 // 4, most) if longest > 60 else (longest, most - 1) if most > 2 else (SHORTEST, 1)


def _cut(value: Any, longest: int, most: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= longest else value[: longest - 1] + "…"
    if isinstance(value, list):
        return [_cut(item, longest, most) for item in value[:most]]
    if isinstance(value, dict):
        return {name: _cut(item, longest, most) for name, item in value.items()}
    return value


def _last_handoff(index: Index, who: str) -> dict[str, Any] | None:
    """The last hand-off that WHO was given."""
    found = next((m for m in mails.inbox(index, who) if m["category"] == protocol.HANDOFF and m["payload"]), None)
    if found is None:
        return None
    return {
        "id": found["message_id"],
        "from": found["from_agent"],
        "bead": found["bead_id"],
        "state": found["state"],
        "summary": str(found["payload"].get("summary", "")),
        "next_action": str(found["payload"].get("next_action", "")),
    }


def _dirty(desk: Desk, held: Holdings, who: str) -> list[str] | None:
    """Files with uncommitted changes in what WHO holds, or held last; None where git cannot tell."""
    if desk.place.work_tree is None:
        return None
    scopes = held.claimed_by(who)
    if not scopes:
        return []
    try:
        changed = changes.changed_paths(git.changed(desk.place.work_tree))
    except Refused:
        return None
    return [path for path in changed if any(held.lies_in(path, scope) for scope in scopes)]


def shown_agents(desk: Desk, index: Index) -> list[dict[str, Any]]:
    """Agents in service, the liveliest first."""
    now, threshold = desk.now(), desk.stale_after
    beats = presence.everybody(desk.place.store)
    known = [found for name, state in index.states(roster.NAME) if (found := roster.agent(name, state))]
    shown = [
        life.shown(life.presence_of(agent, beats.get(agent.agent_id), now), now, threshold)
        for agent in known
        if not agent.is_retired
    ]
    order = [liveness.ACTIVE, liveness.STALE, liveness.EVICTED]
    return sorted(shown, key=lambda agent: (order.index(agent["liveness"]), agent["agent_id"]))


def _brief(message: dict[str, Any]) -> dict[str, Any]:
    wanted = ("message_id", "category", "from_agent", "to_agent", "bead_id", "subject", "state", "created_at")
    return {name: message[name] for name in wanted} | {"label": mail.LABELS.get(message["category"], "Update")}


def _public(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in event.items() if name != "order"} for event in events]
