"""Overview ops for people, and for agents that start again: status, problems, timeline, resume."""

from __future__ import annotations

from bb.coordination.agents import liveness, pauses, roster, thresholds
from bb.coordination.guards import changes
from bb.kernel import clock, ids, token_budget
from bb.kernel.errors import Forbidden, Refused
from bb.kernel.token_budget import cost
from bb.ledger.git import git, work_tree
from bb.ledger.local import last_sync, presence
from bb.ledger.published import pins
from bb.ledger.records import event_filters
from bb.ledger.travel import publish
from bb.ledger.views import holdings_queue
from bb.ledger.views import mail as mails
from bb.ledger.views.protocol_events import Events
from bb.messaging.mail import mail
from bb.ops.agent_params import Since
from bb.ops.catalogue import TruncatedRows, older_events, op
from bb.ops.desk import agent_rows, fleet_age, pause_check, signs_of_life, taken_names
from bb.ops.holdings.recording import shown as shown_reservation
from bb.ops.overview import problems, sentences
from bb.ops.params import AgentOrPerson, Number, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.index.index import Index
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.agent_rows import Agents
    from bb.ops.desk.desk import Desk

ProblemsOpen = Refused.declare(
    "PROBLEMS_OPEN", "There are problems that need a person", hint="take the `next_step` of each problem"
)

LATELY = 30


class Limit(Number):
    """The number of newest entries to show, at most 1000."""

    most = 1000


@op("status", reads=True, screen="overview", examples=("bb status", "bb status --json", "bb status --all"))
def status(desk: Desk, *, all_: bool = False) -> dict[str, Any]:
    """Show agents, reservations, messages to accept, incursions, the queue, and the last sync or the fleet.

    Of many agents, the 50 that were seen last are shown. Of many reservations, 50 are shown: freezes, then those of
    active and stale agents, then the latest. `left_out` has the numbers of the others.

    Parameters:
        all_: Show every agent and every reservation.
    """
    now = desk.now()
    desk.store.require_ledger()
    index = desk.store.caught_up()
    held = desk.holdings(index, now)
    agents = shown_agents(desk, index, is_all=all_)
    live, others = (held.everything(), 0) if all_ else held.latest(agent_rows.MOST, agents.live)
    left_out = {name: count for name, count in (("agents", agents.left_out), ("reservations", others)) if count}
    events = Events(index, held, work_tree.root_of(desk.place))
    return {
        "repository": desk.place.title,
        "at": clock.text(now),
        "paused": pause_check.pause_row(index, pauses.EVERYBODY),
        "stale_minutes": _stale_minutes(desk, index),
        "agents": agents.rows,
        "retired_agents": index.count(roster.NAME, roster.GONE),
        "reservations": [
            shown_reservation(held, one.reservation)
            | {"seconds_left": max(one.expires_at - now, 0) // clock.SECOND if one.ends_at else None}
            for one in live
        ],
        "unacked": [_brief(message) for message in mails.unsettled(index)],
        "incursions": events.open_incursions(),
        "waiting": [
            holdings_queue.row(one, line, held)
            for line in [holdings_queue.in_order(index, held, desk.place.store)]
            for one in line
        ],
        "is_damaged": bool(desk.store.damages()),
        **_exchange(desk),
        **({"left_out": left_out} if left_out else {}),
    }


def _stale_minutes(desk: Desk, index: Index) -> dict[str, Any]:
    """The minutes of silence after which an agent is stale here, and the value pinned for every clone."""
    pinned = thresholds.pinned(index.state(thresholds.NAME, thresholds.ENTRY))
    return {"minutes": desk.stale_after_in(index) // clock.MINUTE, "pinned": pinned}


def _exchange(desk: Desk) -> dict[str, Any]:
    """How this clone exchanges lines with others: the last sync, and in a fleet the state of that."""
    if pins.read(desk.place.store).terms is None:
        return {"sync": _synced(desk)}
    from bb.ledger.fleet import overview as fleets  # noqa: PLC0415  (needed only in a fleet)

    state = fleets.line(fleets.overview(desk.place, desk.now(), asks_engine=False)) or {}
    age = fleet_age.member(desk).get("fleet", {})
    return {"sync": None if desk.is_in_fleet else _synced(desk), "fleet": {"place": None, **age, **state}}


def _synced(desk: Desk) -> dict[str, Any] | None:
    """The last sync of this clone and its unpublished events; None if this clone does not publish."""
    saved_pins = pins.read(desk.place.store)
    if (name := saved_pins.publishes_to) is None:
        return None
    last = last_sync.read(desk.place.store)
    return {
        "remote": name,
        "unpublished": publish.unpublished(desk.store, saved_pins.remote(name).tip).count,
        "ok_at": clock.text(last.ok_at) if last and last.ok_at is not None else None,
        "tried_at": clock.text(last.at) if last else None,
        "failed_with": last.code if last else None,
        "in_background": last.background if last else False,
    }


@op(
    "problems",
    reads=True,
    screen="overview",
    verdicts=("PROBLEMS_OPEN",),
    examples=("bb problems", "bb problems --json"),
)
def problems_op(desk: Desk) -> dict[str, Any]:
    """List the problems that need a person, oldest first. The exit status is 4 if there are any.

    Problems are: requests to the person, messages that wait too long or for a silent agent, reservations whose holder
    is evicted, agents that work on the same files, a name that another clone has, and a damaged ledger.
    """
    desk.store.require_ledger()
    open_problems = problems.open_problems(desk)
    if open_problems:
        needs = "problem needs" if len(open_problems) == 1 else "problems need"
        raise ProblemsOpen(f"{len(open_problems)} {needs} a person", problems=open_problems)
    return {"problems": []}


@op("timeline", reads=True, screen="overview", examples=("bb timeline", "bb timeline --bead bb-12 --since 2h --json"))
def timeline(
    desk: Desk,
    *,
    agent: AgentOrPerson | None = None,
    bead: Text | None = None,
    since: Since | None = None,
    limit: Limit | None = None,
) -> list[dict[str, Any]]:
    """List recent events, one sentence each, oldest first: the last 30, or all events since --since.

    If --limit leaves out events, the answer says so.

    Parameters:
        agent: Only events by or about this agent.
        bead (BEAD): Only entries about this bead (work item).
    """
    now = desk.now()
    desk.store.require_ledger()
    if agent is not None and agent != ids.PERSON:
        signs_of_life.registered(desk.store.caught_up(), agent)
    event_filter = event_filters.Filter(
        kinds=sentences.KINDS, agent=None, since=clock.text(clock.before(since, now)) if since is not None else None
    )
    if limit is None and since is not None:
        return sentences.latest(desk.store, event_filter, agent, bead, None)
    most = limit or LATELY
    # The omitted entries are counted only back to --since. Without it, counting would read the whole ledger.
    rows = sentences.latest(desk.store, event_filter, agent, bead, most + 1 if since is None else None)
    if len(rows) <= most:
        return rows
    omitted = len(rows) - most if since is not None else None
    return TruncatedRows(rows[-most:], older_events(min(Limit.most, most * 4), omitted), omitted)


@op(
    "resume",
    reads=True,
    screen="overview",
    examples=("bb resume --agent amber-otter", "BB_AGENT=amber-otter bb resume --json"),
)
def resume(desk: Desk, *, agent: AgentOrPerson | None = None) -> dict[str, Any]:
    """Show what an agent needs to continue after a crash or a compaction, in few words.

    That is: its name and role, its reservations, its mail, the last hand-off with the next step, and the files with
    uncommitted changes in its scopes.

    Parameters:
        agent: The agent that continues. Default: the caller.
    """
    who = desk.subject(agent)
    index = signs_of_life.index_of(desk, who)
    registered_agent = signs_of_life.registered(index, who)
    now = desk.now()
    held = desk.holdings(index, now)
    mine = held.reservations_of_agent(who)
    last_seen = signs_of_life.presence_of(registered_agent, presence.read(desk.place.store, who, now), now)
    owed = mails.unacknowledged(index, who)
    answer = {
        "agent_id": who,
        "role": registered_agent.role[:40],
        "liveness": "retired" if registered_agent.is_retired else held.liveness_of(who),
        "last_seen_at": clock.text(last_seen.seen_at),
        **({"paused": pause} if (pause := pause_check.pause_row(index, who)) else {}),
        "holds": [
            {
                "scope": own.reservation.scope,
                "bead": own.reservation.bead,
                "expires_at": own.ends_at,
                **({"is_expired": True} if own.is_over else {}),
            }
            for own in mine
        ],
        "unread": mails.count_unread(index, who),
        "to_accept": [
            {
                "id": _event_of(message),
                "from": message["from_agent"],
                **problems.doubt_of(message),
                "subject": message["subject"],
            }
            for message in owed
        ],
        "last_handoff": _last_handoff(index, who),
        "dirty": _dirty(desk, held, who),
    }
    return _within(answer, RESUME_CHARACTERS)


RESUME_CHARACTERS = 1000  # for 400 tokens
TEXTS = ("role", "subject", "summary", "next_action", "why")  # other members are names, which are useless if cut


def _within(answer: dict[str, Any], budget: int) -> dict[str, Any]:
    """ANSWER shortened to BUDGET: first the texts, until they take at most half of it, then the lists."""
    for longest in token_budget.LONGEST:
        cut = token_budget.cut(answer, longest, TEXTS)
        filled = _filled(cut, budget)
        if "left_out" not in filled or cost({n: v for n, v in cut.items() if not isinstance(v, list)}) <= budget // 2:
            break
    return filled


def _filled(answer: dict[str, Any], budget: int) -> dict[str, Any]:
    """ANSWER with as many list items as fit into BUDGET."""
    lists = {name: list(value) for name, value in answer.items() if isinstance(value, list)}
    kept: dict[str, list[Any]] = {name: [] for name in lists}
    room = budget - cost(answer | kept)
    while waiting := [name for name in lists if lists[name] and cost(lists[name][0]) < room]:
        for name in waiting:
            if (needed := cost(lists[name][0]) + 1) <= room:
                room -= needed
                kept[name].append(lists[name].pop(0))
    left_out = {name: len(rest) for name, rest in lists.items() if rest}
    return answer | kept | ({"left_out": left_out} if left_out else {})


def _last_handoff(index: Index, who: str) -> dict[str, Any] | None:
    """The last hand-off to WHO."""
    message = next((message for message in mails.handed_to(index, who) if message["payload"]), None)
    if message is None:
        return None
    is_same = message["payload"]["summary"] == message["payload"]["next_action"]
    return {
        "id": _event_of(message),
        "from": message["from_agent"],
        **problems.doubt_of(message),
        "bead": message["bead_id"],
        "state": message["state"],
        "summary": message["payload"]["summary"],
        # A plain message of category HANDOFF has one body for both members.
        "next_action": "" if is_same else message["payload"]["next_action"],
    }


def _event_of(message: dict[str, Any]) -> str:
    """The event id of a message: a shorter name, which its recipient may use."""
    return str(message["message_id"]).partition("_")[0]


def _dirty(desk: Desk, held: Holdings, who: str) -> list[str] | None:
    """The files with uncommitted changes in the current or last scopes of WHO; None if git cannot list them."""
    if desk.place.work_tree is None:
        return None
    scopes = [scope for scope, _ in held.claimed_by(who)]
    if not scopes:
        return []
    try:
        changed = changes.changed_paths(git.status_porcelain(desk.place.work_tree))
    except (Refused, Forbidden):  # Forbidden: the repository belongs to another user, so git is not run
        return None
    return [path for path in changed if any(held.lies_in(path, scope) for scope in scopes)]


def shown_agents(desk: Desk, index: Index, *, is_all: bool = False) -> Agents:
    """The agents in service that were seen last, or all: active ones first, then stale, then evicted."""
    found = agent_rows.every(desk, index) if is_all else agent_rows.latest(desk, index)
    taken = taken_names.taken_names(desk, index)
    rows = [row | ({"name_taken": True} if row["agent_id"] in taken else {}) for row in found.rows]
    order = [liveness.ACTIVE, liveness.STALE, liveness.EVICTED]
    return found.replace(rows=sorted(rows, key=lambda agent: (order.index(agent["liveness"]), agent["agent_id"])))


def _brief(message: dict[str, Any]) -> dict[str, Any]:
    names = ("message_id", "category", "from_agent", "to_agent", "bead_id", "subject", "state", "created_at")
    label = mail.LABELS.get(message["category"], "Update")
    return {name: message[name] for name in names} | problems.doubt_of(message) | {"label": label}
