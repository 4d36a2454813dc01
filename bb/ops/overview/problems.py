"""The problems of a ledger that need a person, because the agents at work will not settle them."""

from __future__ import annotations

from bb.coordination.agents import liveness
from bb.coordination.facts import TOUCHED
from bb.coordination.protocol import events as protocol_events
from bb.kernel import clock, ids
from bb.kernel.escaping import quoted
from bb.kernel.validation import shown_bead
from bb.ledger.git import work_tree
from bb.ledger.views import mail as mails
from bb.ledger.views.protocol_events import Events
from bb.messaging.facts import CBCL
from bb.messaging.mail import mail, mailbox
from bb.ops.desk import agent_rows, taken_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from bb.coordination.holdings.holdings import Reservation
    from bb.ledger.index.index import Index
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

GONE = 50  # reservations of evicted agents that are a problem of their own; the others are one together
SHORT = 20  # most characters of a scope in a command, so that the command fits on a line
OTHERS = "holders_gone:others"
CONFIRMATIONS = ("c2a.confirmation", "unanswered")  # the fold and the search term of open requests


def open_problems(desk: Desk) -> list[dict[str, Any]]:
    """All problems, oldest first."""
    now = desk.now()
    index = desk.store.caught_up()
    held = desk.holdings(index, now)
    events = Events(index, held, work_tree.root_of(desk.place))
    problems = [
        *_damage(desk, now),
        *_fleet(desk, now),
        *_taken_names(desk, index, now),
        *_asked_of_the_person(index),
        *_to_confirm(index, now, desk.principal()),
        *_not_accepted(index, held, now, desk.stale_after_in(index)),
        *_gone_holders(desk, index, held),
        *_collisions(events),
    ]
    return sorted(problems, key=lambda problem: (str(problem["since"]), str(problem["text"])))


def new_and_settled(
    before: Mapping[str, dict[str, Any]], now: Mapping[str, dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The problems that are new NOW, and those BEFORE that are settled. Both mappings are by problem id."""
    settled = [before[name] for name in before if name not in now and not _may_be_among_others(before[name], now)]
    return [now[name] for name in now if name not in before], settled


def _may_be_among_others(problem: Mapping[str, Any], now: Mapping[str, dict[str, Any]]) -> bool:
    """Whether a problem that is not listed NOW may only have been put together with others of its kind."""
    return OTHERS in now and problem["kind"] == "holder_gone"


def _problem(kind: str, name: str, since: str, text: str, next_step: str, **about: Any) -> dict[str, Any]:
    """A problem. Its id contains the NAME of its cause (a message, reservation, incursion or line), so the id stays the
    same while the text changes."""
    return {"id": f"{kind}:{name}", "kind": kind, "since": since, "text": text, "next_step": next_step, **about}


def _damage(desk: Desk, now: int) -> Iterator[dict[str, Any]]:
    for damage in desk.store.damages():
        text = f"line {damage.n} of the ledger's journal {damage.writer} is damaged: {damage.reason}"
        yield _problem("damage", f"{damage.writer}.{damage.n}", clock.text(now), text, "bb doctor --fix")


def _fleet(desk: Desk, now: int) -> Iterator[dict[str, Any]]:
    """A fleet whose engine has another history, or is not durable. One that is only away comes back by itself."""
    if not desk.is_in_fleet:
        return
    from bb.ledger.fleet import overview  # noqa: PLC0415  (needed only in a fleet)

    found = overview.overview(desk.place, now, asks_engine=False)
    if found["state"] == overview.STOPPED:
        step = found["hint"] or "look at it: bb fleet status"
        yield _problem("fleet", str(found["code"]), clock.text(now), f"the fleet has stopped: {found['message']}", step)


def _taken_names(desk: Desk, index: Index, now: int) -> Iterator[dict[str, Any]]:
    for name in taken_names.taken_names(desk, index):
        text = f"another clone registered the name {name} too, and published it first"
        step = f"{taken_names.NEXT}; {taken_names.OR}".format(name=name)
        yield _problem("name_taken", name, clock.text(now), text, step, agent_id=name)


def _asked_of_the_person(index: Index) -> Iterator[dict[str, Any]]:
    """Requests to the person that are not accepted, and unread questions."""
    for message in mails.unacknowledged(index, ids.PERSON):
        yield _asked(message, f"bb ack {message['message_id']} --agent user")
    for message in mails.inbox(index, ids.PERSON, mailbox.UNREAD):
        if message["category"] == mail.DECISION and not message["requires_ack"]:
            yield _asked(message, f"bb read {message['message_id']} --agent user")


def _to_confirm(index: Index, now: int, reader: str) -> Iterator[dict[str, Any]]:
    """What agents ask the person to allow. Its text is only for the person and the agent that asks.

    The count is almost always zero, and then nothing else is loaded.
    """
    if not index.count(*CONFIRMATIONS):
        return
    from bb.attention.state import confirmations  # noqa: PLC0415

    for name, state in index.entries_by_term(*CONFIRMATIONS):
        request = confirmations.request_of_state(name, state)
        if request.state_at(now) == confirmations.OPEN:
            where = request.about.get("to") or "another conversation"
            is_tool = request.about.get("kind") == confirmations.TOOL
            wish = "run a tool of its program" if is_tool else f"show private content in {where}"
            text = f"{request.agent} asks to {wish}"
            step = f"bb chat confirm {quoted(name)} --agent user, or the same with --refuse"
            body = request.about.get("message", "") if reader in (ids.PERSON, request.agent) else ""
            about = {"agent_id": request.agent, "body": body, "request": name}
            yield _problem("confirmation", name, clock.text(request.asked_at), text, step, **about)


def _asked(message: dict[str, Any], settle: str) -> dict[str, Any]:
    """The problem of a request to the person, with its text and the command to answer it."""
    answer = f"bb reply {message['message_id']} '…' --agent user"
    if message.get("content_type") == CBCL:
        reply = f'(reply @{message["from_agent"]} "…" :in-reply-to "{message["message_id"]}")'
        answer = settle = f"bb cbcl send --agent user '{reply}'"
    return _about(message, "asked", settle, body=message["body"], answer=answer)


def _not_accepted(index: Index, held: Holdings, now: int, threshold: int) -> Iterator[dict[str, Any]]:
    """Hand-offs and blockers whose recipient is not active, or that wait for longer than twice the stale threshold."""
    for message in mails.unsettled(index):
        if message["to_agent"] == ids.PERSON:
            continue
        age = now - clock.parse_or(message["created_at"], now)
        state = held.liveness_of(message["to_agent"])
        if state != liveness.ACTIVE or age >= 2 * threshold:
            yield _about(
                message,
                "not_accepted",
                _another(message, state),
                liveness=state,
            )


def _another(message: dict[str, Any], state: str) -> str:
    """The next step for a message that its recipient does not accept."""
    verb = "blocked" if message["category"] == protocol_events.BLOCKED else "handoff"
    instead = f"another agent: bb protocol {verb} --from user --to AGENT --bead {_bead(message)} …"
    return f"ask {instead}" if state == liveness.EVICTED else f"ask {message['to_agent']} or {instead}"


def doubt_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The `signature` member of a message or an event in the person's name that the person has not signed."""
    return {"signature": row["signature"]} if "signature" in row else {}


def _bead(message: dict[str, Any]) -> str:
    """The bead of a message for a command; the placeholder BEAD if it has none."""
    return quoted(message["bead_id"]) if message["bead_id"] else "BEAD"


def _about(message: dict[str, Any], kind: str, next_step: str, **more: Any) -> dict[str, Any]:
    verb = {protocol_events.HANDOFF: "hands over to", protocol_events.BLOCKED: "is blocked and asks"}.get(
        message["category"], "asks"
    )
    doubt = doubt_of(message)
    who = f"{message['from_agent']}{', unverified,' if doubt else ''}"
    text = f"{who} {verb} {message['to_agent']}: {message['subject']}"
    about = {name: message[name] for name in ("message_id", "bead_id", "category", "from_agent", "to_agent")}
    return _problem(kind, message["message_id"], message["created_at"], text, next_step, **about, **doubt, **more)


def _gone_holders(desk: Desk, index: Index, held: Holdings) -> list[dict[str, Any]]:
    """Reservations whose holder is evicted: the latest ones, and one problem for all the others."""
    live = agent_rows.live(desk, index)
    possibly = set(live.possibly)
    holders = {name: count for name, count in held.count_by_holder().items() if name not in live.elsewhere}
    gone = {name: holders[name] for name in holders if name not in possibly or _is_gone(held, name)}
    rows = [_gone_holder(one.reservation) for one in held.latest_of(gone, GONE)]
    if (count := sum(gone.values())) > GONE:
        others = f"{count - len(rows):,} more reservations are held by evicted agents"
        step = "take them over with --takeover-stale, or release them; to list them: bb agent status --all"
        rows.append(_problem("holders_gone", "others", min(str(row["since"]) for row in rows), others, step))
    return rows


def _is_gone(held: Holdings, agent: str) -> bool:
    return held.liveness_of(agent) == liveness.EVICTED


def _gone_holder(reservation: Reservation) -> dict[str, Any]:
    place = quoted(reservation.scope) if len(reservation.scope) <= SHORT else "SCOPE"
    return _problem(
        "holder_gone",
        reservation.id,
        clock.text(reservation.renewed_at),
        f"{reservation.agent} is evicted and still holds {reservation.scope}",
        f"take it over with --takeover-stale, or release it: bb release {place} --agent user",
        agent_id=reservation.agent,
        bead_id=reservation.bead,
        scope=reservation.scope,
    )


def _collisions(events: Events) -> Iterator[dict[str, Any]]:
    """Open incursions: agents that work on the same scope, and changes that are not resolved."""
    for event in events.open_incursions():
        next_step = "ask both agents to agree; one of them should release its reservation"
        if event["outcome"] == TOUCHED:
            settle = f"bb protocol resolve {event['id']} --agent user --as accepted"
            next_step = f"look at the change, then resolve it as accepted, reverted or transferred: {settle}"
        yield _problem(
            "incursion",
            event["id"],
            event["created_at"],
            f"{protocol_events.incursion_sentence(event)}, in a scope that {event['to_agent']} holds: {event['held']}",
            next_step,
            event_id=event["id"],
            bead_id=shown_bead(event["bead_id"]),
            from_agent=event["from_agent"],
            to_agent=event["to_agent"],
            **doubt_of(event),
        )
