"""INCURSIONs: recorded by hooks and CI, listed, and resolved by the agents concerned."""

from __future__ import annotations

from bb.coordination.facts import ACCEPTED, REVERTED, TRANSFERRED, Resolved
from bb.coordination.holdings import incursions
from bb.coordination.holdings.incursions import NotAnIncursion
from bb.coordination.protocol import events as protocol_events
from bb.coordination.protocol import notices
from bb.kernel import ids
from bb.ledger.git import work_tree
from bb.ledger.views.protocol_events import Events
from bb.messaging.mail import mail
from bb.ops.catalogue import first_rows, op
from bb.ops.desk import signs_of_life
from bb.ops.params import AgentOrPerson, AllowSecretReason, Number, Text, UncheckedText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.facts import HoldingFact, NoticeFact
    from bb.coordination.holdings.held import Held
    from bb.coordination.holdings.scopes import Scope
    from bb.coordination.protocol.notices import Incident
    from bb.kernel.event import Event
    from bb.ledger.index.index import Index
    from bb.ledger.journal.kinds import Fact
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

SETTLED = (ACCEPTED, REVERTED, TRANSFERRED)
STATES = (notices.OPEN, *SETTLED, notices.CLOSED)
# A path that looks like a secret is already in the work tree, and an incursion must be able to name it.
PATH_IN_WORK_TREE = "the path of a file in the work tree"


class State(Text):
    """Only incursions in this state: open, accepted, reverted, transferred or closed."""

    choices = STATES


class Limit(Number):
    """The number of incursions to show, at most 500."""

    most = 500


class Resolution(Text):
    """The resolution: accepted, reverted or transferred."""

    metavar = "STATE"
    choices = SETTLED


@op(
    "protocol.incursions",
    reads=True,
    screen="protocol_events",
    examples=("bb protocol incursions", "bb protocol incursions --state open --json"),
)
def list_incursions(
    desk: Desk,
    *,
    state: State | None = None,
    agent: AgentOrPerson | None = None,
    limit: Limit = Limit(50),  # noqa: B008
) -> list[dict[str, Any]]:
    """List incursions: requests for, or changes in, scopes that another agent holds. Open ones first, newest first.

    An incursion is open while a change is not resolved, or while two agents work on overlapping scopes.

    Parameters:
        agent: Only incursions by this agent or into its reservations.
    """
    all_events = events(desk)
    if agent is not None and agent != ids.PERSON:
        signs_of_life.registered(desk.store.index, agent)
    matching = (
        event
        for event in all_events.incursions()
        if agent in (None, event["from_agent"], event["to_agent"]) and state in (None, event["state"])
    )
    return first_rows(map(event_row, matching), limit, Limit.most)


@op(
    "protocol.resolve",
    screen="protocol_events",
    examples=(
        "bb protocol resolve k7q2mzp4x3ab.17 --as accepted --agent amber-otter",
        "bb protocol resolve k7q2mzp4x3ab.17 --as reverted --note 'It is as it was.' --json",
    ),
)
def resolve(
    desk: Desk,
    event: Text,
    *,
    agent: AgentOrPerson | None = None,
    as_: Resolution,
    note: UncheckedText | None = None,
    allow_secret: AllowSecretReason | None = None,
) -> dict[str, Any]:
    """Resolve an incursion: the change is accepted or reverted, or the reservation is transferred.

    The holder and the person (`--agent user`) may choose any resolution. The agent that made the change may report
    that it reverted the change. `transferred` passes the reservation on, unchanged, to the agent that made the change.
    The other parties are notified. Resolving it the same way again changes nothing.

    Parameters:
        event (ID): The incursion's id.
        note: A note to the agents concerned.
    """
    who = signs_of_life.caller(desk, agent, may_be_person=True)
    text = incursions.note(note)

    def decide(index: Index, held: Holdings) -> list[Fact]:
        incident = _incident(Events(index, held, ""), event)
        facts = incursions.resolve(incident, who, as_, text)
        passed_on = _passed_on(index, held, incident, who) if facts and as_ == TRANSFERRED else []
        letters = [
            letter
            for fact in facts
            if isinstance(fact, Resolved)
            for letter in mail.resolution_notifications(incident.fact, fact)
        ]
        return [*facts, *passed_on, *letters, *mail.incursion_notifications(passed_on)]

    signs_of_life.act(desk, who, decide, allow_secret=allow_secret, author=_author)
    return event_row(events(desk).by_id(event)[0])


def report(
    desk: Desk, incoming: str, found_by: str, touched: Sequence[tuple[str, Held]], commit: str | None = None
) -> list[Event]:
    """Record that INCOMING changed the TOUCHED paths, each with its reservation, and notify the holders.

    INCOMING is an agent; a change without a known agent is the person's (`user`). FOUND_BY says whether a hook, a
    commit or CI found it. An incursion that is already recorded is not recorded again. Returns the new INCURSIONs.
    """
    if not (touched and desk.store.exists):
        return []

    def decide(index: Index, held: Holdings) -> list[Fact]:
        facts = incursions.report(incoming, found_by, touched, commit or "", Events(index, held, "").incident_by_key)
        return [*facts, *mail.incursion_notifications(facts)]

    recorded = signs_of_life.act(
        desk, ids.PERSON, decide, by=signs_of_life.principal(desk), allow_secret=PATH_IN_WORK_TREE
    )
    return [event for event in recorded if event.kind == "system.notify"]


def overlapping_reservations(
    held: Holdings, scopes: Sequence[Scope], who: str, *, with_regions: bool = True
) -> list[tuple[str, Held]]:
    """The reservations of agents other than WHO that overlap SCOPES, each with the path of the scope. What another
    agent holds open may be changed, so it is left out."""
    overlaps = [(scope.path or scope.where, overlap.held) for scope in scopes for overlap in held.overlaps([scope])]
    return [
        (path, other)
        for path, other in overlaps
        if other.reservation.agent != who
        and not other.reservation.is_open
        and (with_regions or other.reservation.region is None)
    ]


def events(desk: Desk) -> Events:
    """The protocol events of this repository's ledger."""
    desk.store.require_ledger()
    index = desk.store.caught_up()
    return Events(index, desk.holdings(index, desk.now()), work_tree.root_of(desk.place))


def event_row(event: dict[str, Any]) -> dict[str, Any]:
    """A protocol event as every face shows it."""
    return event | {"label": protocol_events.LABELS[event["event_type"]]}


def _incident(known: Events, name: str) -> Incident:
    incident = known.incident(name)
    if incident is None:
        raise NotAnIncursion(f"there is no incursion {name[:80]}", event_id=name[:80])
    return incident


def _passed_on(index: Index, held: Holdings, incident: Incident, who: str) -> list[HoldingFact | NoticeFact]:
    """The facts that transfer the reservation to the agent that made the change, which must be in service."""
    if incident.fact.incoming != ids.PERSON:
        signs_of_life.in_service(index, incident.fact.incoming)
    reservation = held.live(incident.fact.reservation)
    met = held.overlaps([reservation.scope]) if reservation else []
    return incursions.transfer(incident, who, reservation, met, lambda name: index.count(notices.NAME, name) > 0)


def _author(fact: Fact) -> str:
    """The author of a fact: its first member. For a transferred reservation, that is the new holder."""
    return str(getattr(fact, fact.__match_args__[0]))
