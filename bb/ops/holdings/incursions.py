"""INCURSIONs: found by hooks and CI, listed, and settled by those whom they concern."""

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
from bb.ops.params import Number, Plain, Reason, Someone, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.facts import HoldingFact, NoticeFact
    from bb.coordination.holdings.reservations import Held
    from bb.coordination.holdings.scopes import Scope
    from bb.coordination.protocol.notices import Incident
    from bb.kernel.event import Event
    from bb.ledger.index.index import Index
    from bb.ledger.journal.kinds import Fact
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

SETTLED = (ACCEPTED, REVERTED, TRANSFERRED)
STATES = (notices.OPEN, *SETTLED, notices.CLOSED)
# A path that looks like a secret is in the work tree already, and a guard must be able to name it.
AS_IT_IS_CALLED = "a path, as it is called in the work tree"


class State(Text):
    """Only incursions in this state: open, accepted, reverted, transferred or closed."""

    choices = STATES


class Concerning(Someone):
    """Only incursions by this agent, or into what it holds."""


class Limit(Number):
    """At most so many."""

    most = 500


class EventId(Text):
    """The id of the incursion."""

    metavar = "ID"


class As(Text):
    """What becomes of it: accepted, reverted or transferred."""

    metavar = "STATE"
    choices = SETTLED


class Note(Plain):
    """A word to those whom it concerns."""


@op(
    "protocol.incursions",
    reads=True,
    screen="overview",
    examples=("bb protocol incursions", "bb protocol incursions --state open --json"),
)
def list_incursions(
    desk: Desk,
    *,
    state: State | None = None,
    agent: Concerning | None = None,
    limit: Limit = Limit(50),  # noqa: B008
) -> list[dict[str, Any]]:
    """Who wanted, or touched, what another agent holds: first what is open, and of that the newest.

    Open is what was touched and nobody has settled, and where two agents work in each other's way.
    """
    known = events(desk)
    if agent is not None and agent != ids.PERSON:
        signs_of_life.registered(desk.store.index, agent)
    found = (
        event
        for event in known.incursions()
        if agent in (None, event["from_agent"], event["to_agent"]) and state in (None, event["state"])
    )
    return first_rows(map(shown, found), limit, Limit.most)


@op(
    "protocol.resolve",
    screen="overview",
    examples=(
        "bb protocol resolve k7q2mzp4x3ab.17 --as accepted --agent amber-otter",
        "bb protocol resolve k7q2mzp4x3ab.17 --as reverted --note 'It is as it was.' --json",
    ),
)
def resolve(
    desk: Desk,
    event: EventId,
    *,
    agent: Someone | None = None,
    as_: As,
    note: Note | None = None,
    allow_secret: Reason | None = None,
) -> dict[str, Any]:
    """Say what becomes of an incursion: it is accepted, it is reverted, or the place is transferred.

    Whoever holds the place may say any of it, and so may the person (`--agent user`); who came in may say that it has
    reverted what it did. `transferred` passes the reservation on, as it is, to who came in. The others are told.
    Saying the same again changes nothing.
    """
    who = signs_of_life.caller(desk, agent, may_be_person=True)
    said = incursions.note(note)

    def decide(index: Index, held: Holdings) -> list[Fact]:
        found = _found(Events(index, held, ""), event)
        facts = incursions.resolve(found, who, as_, said)
        passed_on = _passed_on(index, held, found, who) if facts and as_ == TRANSFERRED else []
        told = [letter for fact in facts if isinstance(fact, Resolved) for letter in mail.settled(found.fact, fact)]
        return [*facts, *passed_on, *told, *mail.about(passed_on)]

    signs_of_life.act(desk, who, decide, allow_secret=allow_secret, author=_author)
    return shown(events(desk).one(event)[0])


def report(
    desk: Desk, incoming: str, found_by: str, touched: Sequence[tuple[str, Held]], commit: str | None = None
) -> list[Event]:
    """Record, and tell every owner, that INCOMING has touched these paths, each with what is held there.

    INCOMING is an agent, or `user`: whoever is not known to be an agent is a person. What is on record already is not
    recorded again. For hooks and CI, which say whether it was FOUND_BY a hook, in a commit or by CI. The INCURSIONs
    that are new.
    """
    if not (touched and desk.store.exists):
        return []

    def decide(index: Index, held: Holdings) -> list[Fact]:
        facts = incursions.report(incoming, found_by, touched, commit or "", Events(index, held, "").known)
        return [*facts, *mail.about(facts)]

    recorded = signs_of_life.act(
        desk, ids.PERSON, decide, by=signs_of_life.principal(desk), allow_secret=AS_IT_IS_CALLED
    )
    return [event for event in recorded if event.kind == "system.notify"]


def touched(held: Holdings, scopes: Sequence[Scope], who: str) -> list[tuple[str, Held]]:
    """What others than WHO hold of these, each with the path that lies there."""
    found = [(scope.path or scope.text, overlap.held) for scope in scopes for overlap in held.met_by([scope])]
    return [(path, each) for path, each in found if each.reservation.agent != who]


def events(desk: Desk) -> Events:
    """The protocol events of the ledger we are in."""
    desk.store.must_exist()
    index = desk.store.caught_up()
    return Events(index, desk.holdings(index, desk.now()), work_tree.root_of(desk.place))


def shown(event: dict[str, Any]) -> dict[str, Any]:
    """A protocol event as every face shows it."""
    return event | {"label": protocol_events.LABELS[event["event_type"]]}


def _found(known: Events, name: str) -> Incident:
    found = known.incident(name)
    if found is None:
        raise NotAnIncursion(f"there is no incursion {name[:80]}", event_id=name[:80])
    return found


def _passed_on(index: Index, held: Holdings, found: Incident, who: str) -> list[HoldingFact | NoticeFact]:
    """What the owner holds there goes to who came in, if that agent is in service."""
    if found.fact.incoming != ids.PERSON:
        signs_of_life.in_service(index, found.fact.incoming)
    given = held.live(found.fact.reservation)
    met = held.met_by([given.scope]) if given else []
    return incursions.transfer(found, who, given, met, lambda incident: index.count(notices.NAME, incident) > 0)


def _author(fact: Fact) -> str:
    """Who says it: the first that a fact names. What is transferred is held by who came in."""
    return str(getattr(fact, fact.__match_args__[0]))
