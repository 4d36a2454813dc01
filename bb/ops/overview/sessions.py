"""Sessions: the current work by bead (Operative Protocol §6.3), as data for a page or a terminal."""

from __future__ import annotations

from bb.coordination.agents import beads as rules
from bb.coordination.agents import pauses, roster, work_state
from bb.coordination.agents.beads import Bead
from bb.coordination.holdings import freezing, holdings
from bb.coordination.holdings.scopes import EXACT
from bb.coordination.protocol import events, notices
from bb.kernel import clock, ids
from bb.kernel.errors import NotFound
from bb.kernel.validation import NO_BEAD
from bb.ledger.git import work_tree
from bb.ledger.index.folded_state import MOST_AT_ONCE
from bb.ledger.local import beads
from bb.ledger.views import mail as mails
from bb.ledger.views.protocol_events import Events
from bb.messaging import messages as messaging_messages
from bb.messaging.mail import mail, mailbox
from bb.ops.catalogue import op
from bb.ops.overview.overview import shown_agents
from bb.ops.overview.problems import doubt_of
from bb.ops.params import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Any

    from bb.coordination.holdings.held import Held
    from bb.ledger.index.index import Index
    from bb.ledger.local.beads import KnownBeads
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

BEADS = 50  # of those that the tracker does not name
MENTIONS = (holdings.NAME, messaging_messages.NAME, notices.NAME)  # folds with entries that name beads
NO_EPIC = {"id": None, "title": "Uncategorized", "status": None}
SNIPPET = 120
NO_BEADS = ("", NO_BEAD, freezing.BEAD, pauses.BEAD)  # placeholders of facts without a bead

SessionNotFound = NotFound.declare(
    "SESSION_NOT_FOUND", "There is no session for that bead", hint="`bb sessions list` lists the beads"
)


class State(Text):
    """Only sessions in this state."""

    metavar = "STATE"
    choices = work_state.STATES


@op(
    "sessions.list",
    reads=True,
    screen="overview",
    examples=("bb sessions list", "bb sessions list --state needs_input --json", "bb sessions list --all"),
)
def list_sessions(
    desk: Desk, *, state: State | None = None, owner: Text | None = None, all_: bool = False
) -> dict[str, Any]:
    """List the beads by epic with their state, owner and messages; also agents, their liveness and open incursions.

    Titles and statuses are read from the bead tracker's files. All beads in these are listed, and of the other beads
    that reservations and messages name, the latest 50. Of many agents, the 50 that were seen last are listed.
    `left_out` has the numbers of the others.

    Parameters:
        owner (ID): Only sessions of this agent.
        all_: List every bead and every agent.
    """
    view = _View(desk)
    if owner is not None:
        names, others = view.names_owned_by(owner), 0
    else:
        names, others = view.names(None if all_ or state else BEADS)
    tasks = [view.task(name) for name in names]
    matching = [task for task in tasks if state in (None, task["session_state"]) and owner in (None, task["owner"])]
    agents = shown_agents(desk, desk.store.index, is_all=all_)
    left_out = {name: count for name, count in (("beads", others), ("agents", agents.left_out)) if count}
    return {
        "feed": view.by_epic(matching),
        "liveness": {agent["agent_id"]: agent["liveness"] for agent in agents.rows},
        "incursions": view.open_incursions(),
        "agents": agents.rows,
        "beads": provenance(view.tracker, desk.now()),
        **({"left_out": left_out} if left_out else {}),
    }


@op("sessions.show", reads=True, screen="overview", examples=("bb sessions show bb-12",))
def show(desk: Desk, bead: Text) -> dict[str, Any]:
    """Show one bead: its state, and all messages, protocol events and reservations about it, oldest first.

    Parameters:
        bead (BEAD): The bead's id.
    """
    view = _View(desk)
    if not view.knows(bead):
        raise SessionNotFound(f"there is no session for bead {bead[:60]}", bead_id=bead[:60])
    return view.task(bead) | {"conversation": view.conversation(bead), "beads": provenance(view.tracker, desk.now())}


def provenance(found: KnownBeads, now: int) -> dict[str, Any]:
    """The source of the bead data, and its age NOW."""
    return {
        "source": found.source,
        "path": found.path,
        "as_of": None if found.as_of is None else clock.text(found.as_of),
        "age_seconds": None if found.as_of is None else max(now - found.as_of, 0) // clock.SECOND,
        "skipped": found.skipped,
        "note": found.note,
    }


class _View:
    """Beads, reservations and messages at one moment."""

    def __init__(self, desk: Desk) -> None:
        desk.store.require_ledger()
        self._index: Index = desk.store.caught_up()
        self._held: Holdings = desk.holdings(self._index, desk.now())
        self._events = Events(self._index, self._held, work_tree.root_of(desk.place))
        self.tracker: KnownBeads = beads.read_beads(desk.place, desk.env)
        self._beads: dict[str, Bead] = {bead.id: bead for bead in self.tracker.beads}
        self._conflicts = dict(self._incursion_kinds())

    def names(self, most: int | None) -> tuple[list[str], int]:
        """The beads that the tracker names, and of those that a reservation, a message or a notice names the MOST that
        were mentioned last, or all; the number of those left out."""
        others, count = self._others(most)
        return sorted({*self._beads, *others}), count - len(others)

    def names_owned_by(self, owner: str) -> list[str]:
        """Every bead that OWNER may own: the tracker names its assignee, else its first holder owns it."""
        held = (one.reservation.bead for one in self._held.reservations_of_agent(owner))
        return sorted({*self._beads, *(bead for bead in held if bead and bead not in NO_BEADS)})

    def knows(self, bead: str) -> bool:
        """Whether the tracker, a reservation, a message or a notice names this bead."""
        is_mentioned = any(self._index.count(fold, f"bead {bead}") for fold in MENTIONS)
        return bead in self._beads or (is_mentioned and bead not in NO_BEADS)

    def _others(self, most: int | None) -> tuple[list[str], int]:
        """The beads that a reservation, a message or a notice names and the tracker does not, at most MOST, the ones
        mentioned last; the number of all of them."""
        known = {f"bead {name}" for name in (*self._beads, *NO_BEADS)}
        excluded = sorted(known) if len(known) < MOST_AT_ONCE else []  # a large tracker's beads are left out below
        chosen = f"""from term where fold in ({_marks(MENTIONS)}) and term >= 'bead ' and term < 'bead!'
            and term not in ({_marks(excluded)})"""
        limit = most if most is not None and excluded else -1
        query = f"select term {chosen} group by term order by max(place) desc limit ?"
        rows = self._index.ask(query, *MENTIONS, *excluded, limit)
        found = [term.removeprefix("bead ") for (term,) in rows if term not in known]
        if len(found) != limit:
            return found[:most], len(found)
        ((count,),) = self._index.ask(f"select count(distinct term) {chosen}", *MENTIONS, *excluded)
        return found, count

    def task(self, name: str) -> dict[str, Any]:
        bead = self._beads.get(name)
        messages = [message for _, message in mails.about(self._index, name)]
        live = [held for held in self._held.current_about(name) if not held.is_over]
        contested = [held for held in live if self._is_contested(held)]
        first = next((held for held in live if held not in contested), live[0] if live else None)
        owner = (bead.assignee if bead else None) or (first.reservation.agent if first else None)
        owed = [message for message in messages if message["requires_ack"] and message["state"] != mailbox.ACKED]
        liveness = self._liveness_of(owner)
        last = messages[-1] if messages else None
        acts = [(last["created_at"], last["from_agent"])] if last else []
        acts += [(clock.text(held.reservation.renewed_at), held.reservation.agent) for held in live]
        at, actor = max(acts, default=(bead.updated_at if bead else None, owner))
        return {
            "id": name,
            "title": bead.title if bead else None,
            "epic_id": rules.epic_of(bead, self._beads) if bead else None,
            "status": bead.status if bead else None,
            "session_state": work_state.state(
                bead.status if bead else None, liveness, is_owed=bool(owed), is_held=bool(live)
            ),
            "owner": owner,
            "owner_liveness": liveness,
            "scopes": [held.reservation.scope for held in live],
            "contested": [held.reservation.scope for held in contested],
            "conflict": self._conflicts.get(name),
            "last_actor": actor,
            "last_activity_at": at,
            "communication": {
                "unread_count": sum(message["state"] == mailbox.UNREAD for message in messages),
                "pending_required": len(owed),
                "latest_snippet": last["subject"][:SNIPPET] if last else None,
                **doubt_of(last or {}),
            },
        }

    def _is_contested(self, held: Held) -> bool:
        return self._held.state_of(held.reservation, is_over=held.is_over) == holdings.CONTESTED

    def _liveness_of(self, owner: str | None) -> str | None:
        """The liveness of an owner; None if it is not a registered agent, such as a person in the tracker."""
        is_known = owner is not None and self._index.state(roster.NAME, owner) is not None
        return self._held.liveness_of(owner) if owner and is_known else None

    def by_epic(self, tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The tasks grouped by epic. An epic is not listed as a task, unless it is part of another epic."""
        epics = {task["epic_id"] for task in tasks if task["epic_id"]}
        groups: dict[str, list[dict[str, Any]]] = {}
        for task in tasks:
            if task["epic_id"] or task["id"] not in epics:
                groups.setdefault(task["epic_id"] or "", []).append(task)
        return [{"epic": self._epic(name), "tasks": groups[name]} for name in sorted(groups, key=lambda n: (not n, n))]

    def _epic(self, name: str) -> dict[str, Any]:
        bead = self._beads.get(name)
        return {"id": bead.id, "title": bead.title, "status": bead.status} if bead else NO_EPIC

    def open_incursions(self) -> list[dict[str, Any]]:
        return self._events.open_incursions()

    def _incursion_kinds(self) -> Iterator[tuple[str, str]]:
        """The beads of both sides of each open INCURSION, with its kind. Exact ones come last, so that they prevail."""
        for event in sorted(self.open_incursions(), key=lambda event: event["payload"]["incursion_kind"] == EXACT):
            kind = event["payload"]["incursion_kind"]
            yield event["bead_id"], kind
            beads = [held.reservation.bead for held in self._held_by(event["to_agent"], event["held"])]
            yield from ((bead, kind) for bead in beads if bead)

    def _held_by(self, agent: str, scope: str) -> list[Held]:
        return [held for held in self._held.reservations_of_agent(agent) if held.reservation.scope == scope]

    def conversation(self, name: str) -> list[dict[str, Any]]:
        """Messages, protocol events and reservations, in the ledger's order."""
        placed = [(place, _message_row(message)) for place, message in mails.about(self._index, name)]
        placed += [(place, _event_row(event)) for place, event in self._events.notices_about(name)]
        placed += [row for reservation in self._held.ever_about(name) for row in _activity_rows(reservation)]
        return [row for _, row in sorted(placed, key=lambda found: found[0])]


def _message_row(message: dict[str, Any]) -> dict[str, Any]:
    is_protocol = message["payload"] is not None
    can_see = [events.SEEN] if message["state"] == "unread" else []
    can_accept = [events.ACCEPTED] if message["requires_ack"] and message["state"] != "acked" else []
    return {
        "type": "protocol" if is_protocol else "message",
        "id": message["message_id"],
        "at": message["created_at"],
        "label": mail.LABELS.get(message["category"], "Update"),
        "event_type": message["category"] if is_protocol else None,
        "from": message["from_agent"],
        "to": message["to_agent"],
        "subject": message["subject"],
        "body": message["body"],
        "state": message["state"],
        "state_label": {"read": events.SEEN, "acked": events.ACCEPTED}.get(message["state"], "Unread"),
        "actions": [*can_see, *can_accept],
        **doubt_of(message),
    }


def _event_row(event: dict[str, Any]) -> dict[str, Any]:
    payload = event["payload"]
    if event["event_type"] == events.INCURSION:
        subject = f"{events.incursion_sentence(event)}, held by {event['to_agent']} ({event['held']})"
        body = payload["resolution_hint"]
    else:
        subject = f"{event['from_agent']} continues as {payload['adopted_agent']}"
        body = payload["evidence"]
    return {
        "type": "protocol",
        "id": event["id"],
        "at": event["created_at"],
        "label": events.LABELS[event["event_type"]],
        "event_type": event["event_type"],
        "from": event["from_agent"],
        "to": event["to_agent"],
        "subject": subject,
        "body": body,
        "state": event["state"],
        "state_label": event["state"].capitalize(),
        "actions": [],
        **doubt_of(event),
    }


def _activity_rows(reservation: holdings.Reservation) -> list[tuple[str, dict[str, Any]]]:
    """The rows for the start and the end of a reservation, each with its place in the ledger's order."""
    name, scope = reservation.id, reservation.scope
    began = _activity(name, reservation.made_at, reservation.agent, f"reserved {scope}", scope)
    if reservation.given_by:
        text = f"transferred {scope} to {reservation.agent}"
        began = _activity(f"{name} {reservation.agent}", reservation.made_at, reservation.given_by, text, scope)
    if reservation.ended_at is None or reservation.state == holdings.TRANSFERRED:
        return [(reservation.place, began)]  # the next holder's row reports the transfer
    is_others = reservation.ended_by not in (reservation.agent, ids.PERSON)
    verb = "took over" if is_others else {holdings.EXPIRED: "let lapse"}.get(reservation.state, "released")
    ended = _activity(
        f"{name} {reservation.state}", reservation.ended_at, reservation.ended_by, f"{verb} {scope}", scope
    )
    return [(reservation.place, began), (reservation.ended_place or reservation.place, ended)]


def _activity(name: str, at: int, by: str | None, subject: str, scope: str) -> dict[str, Any]:
    return {"type": "activity", "id": name, "at": clock.text(at), "from": by, "subject": subject, "scope": scope}


def _marks(values: Collection[str]) -> str:
    return ", ".join("?" * len(values))
