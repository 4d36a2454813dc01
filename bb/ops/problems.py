"""What needs a person: everything that will not be settled by the agents at work."""

from __future__ import annotations

from bb.coordination import liveness, protocol
from bb.kernel import clock, ids
from bb.ledger import mail as mails
from bb.ledger import tree
from bb.ledger.protocol import OPEN, Events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.ledger.holdings import Holdings
    from bb.ledger.index import Index
    from bb.ops.desk import Desk


def found(desk: Desk) -> list[dict[str, Any]]:
    """Every problem there is, oldest first."""
    now = desk.now()
    index = desk.store.caught_up()
    held = desk.holdings(index, now)
    events = Events(index, held, tree.root_of(desk.place))
    problems = [
        *_damage(index, now),
        *_asked_of_the_person(index),
        *_not_accepted(index, held, now, desk.stale_after),
        *_gone_holders(held),
        *_collisions(events),
    ]
    return sorted(problems, key=lambda problem: (str(problem["since"]), str(problem["text"])))


def _problem(kind: str, since: str, text: str, mend: str, **about: Any) -> dict[str, Any]:
    return {"kind": kind, "since": since, "text": text, "next_step": mend, **about}


def _damage(index: Index, now: int) -> Iterator[dict[str, Any]]:
    for damage in index.damages():
        text = f"line {damage.n} of the ledger's journal {damage.writer} is damaged: {damage.reason}"
        yield _problem("damage", clock.text(now), text, "bb doctor --fix")


def _asked_of_the_person(index: Index) -> Iterator[dict[str, Any]]:
    """Requests to the person that are not accepted, and questions that are not even seen."""
    for message in mails.inbox(index, ids.PERSON):
        if message["state"] == "acked" or not (message["requires_ack"] or message["category"] == "DECISION"):
            continue
        if message["requires_ack"] or message["state"] == "unread":
            verb = "ack" if message["requires_ack"] else "read"
            yield _about(message, "asked", f"bb agent {verb} --agent user --message {message['message_id']}")


def _not_accepted(index: Index, held: Holdings, now: int, threshold: int) -> Iterator[dict[str, Any]]:
    """Hand-offs and blockers for agents that are gone, or that wait for longer than an agent may be silent."""
    for message in mails.owed(index):
        if message["to_agent"] == ids.PERSON:
            continue
        age = now - clock.parse_or(message["created_at"], now)
        state = held.liveness_of(message["to_agent"])
        if state != liveness.ACTIVE or age >= 2 * threshold:
            yield _about(
                message,
                "not_accepted",
                f"ask {message['to_agent']}, or give it to somebody else: bb protocol handoff --from user …",
                liveness=state,
            )


def _about(message: dict[str, Any], kind: str, mend: str, **more: Any) -> dict[str, Any]:
    what = {protocol.HANDOFF: "hands over to", protocol.BLOCKED: "is blocked and asks"}.get(message["category"], "asks")
    text = f"{message['from_agent']} {what} {message['to_agent']}: {message['subject']}"
    about = {name: message[name] for name in ("message_id", "bead_id", "category", "from_agent", "to_agent")}
    return _problem(kind, message["created_at"], text, mend, **about, **more)


def _gone_holders(held: Holdings) -> Iterator[dict[str, Any]]:
    """Reservations whose holder has been silent for so long that it will hardly come back."""
    for each in held.everything():
        if each.liveness == liveness.EVICTED:
            name = each.reservation.agent
            yield _problem(
                "holder_gone",
                clock.text(each.reservation.renewed_at),
                f"{name} is gone and still holds {each.reservation.scope}",
                f"take it over with --takeover-stale, or let it go: bb agent retire --agent {name}",
                agent_id=name,
                bead_id=each.reservation.bead,
                scope=each.reservation.scope,
            )


def _collisions(events: Events) -> Iterator[dict[str, Any]]:
    for event in events.newest_first(protocol.INCURSION):
        if event["state"] == OPEN:
            owner, incoming = event["to_agent"], event["from_agent"]
            yield _problem(
                "incursion",
                event["created_at"],
                f"{incoming} works in {event['scope']}, inside what {owner} holds: {event['held']}",
                "see that they agree on who changes what; one of them releases",
                event_id=event["id"],
                bead_id=event["bead_id"],
            )
