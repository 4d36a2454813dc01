"""What every recorded act does for the agents in line: it grants the places whose way is free, and ends those that are
over. Loaded only if this clone has a place in the line."""

from __future__ import annotations

from bb.coordination.agents import roster
from bb.coordination.facts import Incurred, LeftLine, Retired
from bb.coordination.holdings import granting, places
from bb.coordination.protocol import notices
from bb.kernel import clock, escaping
from bb.kernel.errors import BbError
from bb.ledger.records.drafts import draft_of
from bb.ledger.views import holdings_queue
from bb.messaging.mail import mail
from bb.ops.desk import fleet_hints

MOST_NAMED = 10  # scopes
NOWHERE = "a" * 12  # the writer of a place that is not recorded yet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.facts import Queued
    from bb.coordination.holdings.places import Place
    from bb.coordination.holdings.queue import Waiter
    from bb.ledger.index.index import Index
    from bb.ledger.views.holdings import Holdings
    from bb.messaging.facts import Sent


def due(
    index: Index, held: Holdings, store: str, who: str, decided: Sequence[Any], *, is_in_fleet: bool = False
) -> list[Any]:
    """The facts to record for the agents in line, after the facts DECIDED by WHO. Their author is the agent that each
    fact names first. IN a FLEET, a reservation that is granted here would not hold on other machines, so the places end
    (but not those that wait to hold something open)."""
    left = {fact.place for fact in decided if isinstance(fact, LeftLine)}
    live = [place for place in holdings_queue.own_places(index) if place.id not in left]
    ended = [fact for place in live for fact in _ended(index, held, place, decided, is_in_fleet)]
    left |= {fact.place for fact in ended if isinstance(fact, LeftLine)}
    line = [
        one
        for one in holdings_queue.in_order(index, held, store, acting=who)
        if one.skipped is None and not (one.place and one.place.id in left)
    ]
    granted = granting.grants(
        [one.place for one in line if one.place],
        [one.waiter for one in line],
        decided,
        lambda place: held.overlaps(place.scopes),
        lambda incident: index.count(notices.NAME, incident) > 0,
        ignore_case=held.ignore_case,
    )
    return [*ended, *(fact for place, facts in granted for fact in _granted(place, facts, who))]


def at_once(index: Index, held: Holdings, queued: Queued, line: Sequence[Waiter]) -> list[Any]:
    """The facts that grant a place which is about to be QUEUED behind LINE, if only expired reservations are in its
    way."""
    state = places.step(None, queued, [0, NOWHERE, 1], clock.text(held.now))
    place = places.place(f"{NOWHERE}.1", state)
    if place is None:
        return []
    granted = granting.grants(
        [place],
        line,
        [],
        lambda one: held.overlaps(one.scopes),
        lambda incident: index.count(notices.NAME, incident) > 0,
        ignore_case=held.ignore_case,
    )
    return [fact for _, facts in granted for fact in [*facts, *mail.incursion_notifications(facts)]]


def _ended(index: Index, held: Holdings, place: Place, decided: Sequence[Any], is_in_fleet: bool) -> list[Any]:
    """The facts that end PLACE without a grant; none if it goes on."""
    if granting.is_settled(place, decided, lambda one: held.overlaps(one.scopes)):
        return [LeftLine(place.agent, place.id, places.GRANTED)]
    if _is_retired(index, place.agent, decided):
        return [LeftLine(place.agent, place.id, places.RETIRED)]
    if place.until <= held.now:
        return [LeftLine(place.agent, place.id, places.TIME_OVER), _time_over(place)]
    if is_in_fleet and not place.is_open:
        return [LeftLine(place.agent, place.id, places.CANCELLED), _without_line(place)]
    return []


def _is_retired(index: Index, agent: str, decided: Sequence[Any]) -> bool:
    if any(isinstance(fact, Retired) and fact.agent == agent for fact in decided):
        return True
    found = roster.agent(agent, index.state(roster.NAME, agent))
    return found is None or found.is_retired


def _granted(place: Place, facts: Sequence[Any], who: str) -> list[Any]:
    """The facts of a grant. If they may not be recorded, for example because of a secret in a path, the place ends."""
    told = mail.incursion_notifications(facts) if any(isinstance(fact, Incurred) for fact in facts) else []
    every = [*facts, LeftLine(place.agent, place.id, places.GRANTED), *told, _grant(place, who)]
    try:
        for fact in every:
            draft_of(fact, place.agent)
    except BbError:
        return [LeftLine(place.agent, place.id, places.CANCELLED)]
    return every


def _grant(place: Place, who: str) -> Sent:
    """The message that tells an agent that its place was granted."""
    text = f"You hold {_names(place)} now: your turn in line has come"
    body = f"{text}. It lasts {place.ttl} minutes after your last sign of life. If you no longer need it: "
    body = f"{body}`bb release {_words(place)}`."
    return mail.notice(who, (place.agent,), text, body, place.bead, news=places.GRANTED)


def _time_over(place: Place) -> Sent:
    """The message that tells an agent that its place in line is over."""
    text = f"Your place in line for {_names(place)} is over: its time ended at {clock.text(place.until)}"
    body = f"{text}. To get in line again: `bb reserve {_words(place)} --queue`."
    return mail.notice(place.agent, (place.agent,), text, body, place.bead)


def _without_line(place: Place) -> Sent:
    """The message that tells an agent that a fleet has begun, which keeps no line."""
    text = f"Your place in line for {_names(place)} is over: this ledger has a fleet now, which keeps no line"
    body = f"{text}. To wait for it: `bb reserve {_words(place)} {fleet_hints.WAIT}`."
    return mail.notice(place.agent, (place.agent,), text, body, place.bead)


def _names(place: Place) -> str:
    """The first scopes of PLACE, and how many more there are. A message must fit into a line of the ledger."""
    more = len(place.names) - MOST_NAMED
    return ", ".join(map(escaping.name, place.names[:MOST_NAMED])) + (f" and {more} more" if more > 0 else "")


def _words(place: Place) -> str:
    """The first scopes of PLACE, for a command."""
    more = " …" if len(place.names) > MOST_NAMED else ""
    return " ".join(map(escaping.quoted, place.names[:MOST_NAMED])) + more
