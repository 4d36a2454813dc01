"""The delivery of one message to one agent. A fold: an entry is a log of steps, and the delivery follows from it.

`transitions` holds the state machine. The phase of a delivery follows from its members.
"""

from __future__ import annotations

from bb.attention.decision import Decision
from bb.attention.facts import Deleted, Edited, Moved, Posted
from bb.attention.messages.spoken_parts import has_more_than_words
from bb.attention.state.transitions import ANSWERED, DECIDED, OPEN, PULLED, REACTED, STARTED, take
from bb.attention.words import (
    DIGEST,
    FINAL,
    IMMEDIATE,
    MAILBOX,
    MUST_NOT,
    NOTIFY,
    SILENT,
)
from bb.coordination.facts import Incurred
from bb.kernel import clock
from bb.kernel.record import Record
from bb.kernel.total_order import event as event_at
from bb.kernel.total_order import sortable
from bb.messaging.facts import Acked, Agreed, Read, Sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, TypeAlias

    from bb.kernel.total_order import Place, State

DeliveryFact: TypeAlias = "Posted | Edited | Deleted | Moved | Sent | Incurred | Read | Acked | Agreed"

NAME = "c2a.delivery"
FACTS = (Posted, Edited, Deleted, Moved, Sent, Incurred, Read, Acked, Agreed)

# injection mode -> phase before the first offer
WAITING = {IMMEDIATE: "held_for_boundary", "buffered": "buffering", NOTIFY: "knocked", MAILBOX: "mailboxed"}
WAITING |= {DIGEST: "digest_pending", SILENT: "silent"}


class Delivery(Record):
    """The current state of a delivery."""

    event: str
    agent: str
    line: str = ""  # the line of the message
    window: str = ""
    author: str = ""
    author_kind: str = ""
    at: int = 0  # when it was written
    arrived: int = 0  # when it was recorded
    intent: str = ""
    platform: str = ""
    is_whole: bool = False  # whether it has parts besides text, so that it is not merged with other messages
    place: str = ""  # its place in ledger order
    decision: Decision = Decision()
    original: str = ""  # the policy, before it became stale
    version: int = 1
    changed_at: int = 0  # when it was last edited
    disposition: str | None = None
    cause: str = ""  # the step that set the disposition
    attempt: int = 0
    offered_at: int | None = None
    offered_as: str = ""
    is_shown: bool = False  # whether the agent was ever given the text
    offered_version: int = 0  # the content version that was last offered as content
    seen_version: int = 0  # the highest content version that the agent was given; 0 if none
    accepted: bool = False
    is_parked: bool = False
    turn: str = ""
    started_at: int | None = None  # when its last turn started
    turns: int = 0  # failed turns
    has_spoken: bool = False
    pulled_at: int | None = None
    checked_at: int | None = None
    reminded_at: int | None = None
    stale_at: int | None = None
    escalated_to: str = ""
    signal: str = ""
    eta: str = ""
    until: int | None = None  # until when it is deferred
    deferrals: tuple[str, ...] = ()
    reason: str = ""
    superseded_by: str = ""
    stopped_by: str = ""  # the order to stop that ended the work on it
    merged_from: tuple[str, ...] = ()
    awaits_clarification: int | None = None  # since when the agent waits for an answer to its question
    clarified_at: int | None = None  # when the author wrote more
    deviates: bool = False

    @property
    def is_open(self) -> bool:
        return self.disposition in OPEN

    @property
    def phase(self) -> str:
        """How far the delivery has come."""
        if self.disposition in FINAL and self.decision.policy != MUST_NOT:
            return "closed"
        if self.turn == STARTED:
            return "in_turn"
        if self.is_parked:
            return "parked"
        if self.accepted:
            return "accepted"
        return "offered" if self.attempt else WAITING[self.decision.mode]


def delivery_key(event: str, agent: str) -> str:
    """The key of the entry."""
    return f"{event} {agent}"


def keys(fact: DeliveryFact, at: Place) -> list[str]:
    """The entries that FACT is about."""
    return [key for key, _ in parts(fact, at)]


def parts(fact: DeliveryFact, at: Place) -> Iterator[tuple[str, Any]]:
    """The steps of FACT by the key of their delivery: step, details and, for a message, its head."""
    match fact:
        case Posted(c2a=c2a):
            event = c2a.get("event") or event_at(at)
            yield from _decided(c2a, event, 1, event_at(at))
            if (agent := c2a.get("agent")) and (answered := c2a.get("in_reply_to")):
                yield delivery_key(answered, agent), (ANSWERED, {"by": event}, None)
        case Edited(event=event, c2a=c2a, version=version):
            yield from _decided(c2a, event, version, event_at(at))
        case Deleted():
            return
        case Moved(event=event, agent=agent, to=to, about=about):
            yield delivery_key(event, agent), (to, about or {}, None)
        case Sent() | Incurred():
            from bb.attention.messages import system_messages  # noqa: PLC0415  (not needed to read a folded state)

            yield from _decided(system_messages.c2a_of_mail_or_incursion(fact), event_at(at), 1, event_at(at))
            if answered := isinstance(fact, Sent) and system_messages.answered_by(fact):
                yield delivery_key(answered, fact.sender), (ANSWERED, {"by": event_at(at)}, None)
        case Read(agent=agent, message=event):
            yield delivery_key(event, agent), (PULLED, {}, None)
        case Acked(agent=agent, message=event) | Agreed(agent=agent, message=event):
            yield delivery_key(event, agent), (REACTED, {"signal": "agree"}, None)


def _decided(c2a: Mapping[str, Any], event: str, version: int, line: str) -> Iterator[tuple[str, Any]]:
    decisions_by_agent = c2a.get("for")
    head = {
        "line": line,
        "window": f"{c2a.get('conversation', '')} {c2a.get('thread', '')}",
        "author": c2a.get("author", ""),
        "author_kind": c2a.get("author_kind", ""),
        "at": c2a.get("at", 0),
        "intent": c2a.get("intent", ""),
        "platform": c2a.get("platform", ""),
        "is_whole": has_more_than_words(c2a.get("parts") or ()),
    }
    for agent, decided in decisions_by_agent.items() if isinstance(decisions_by_agent, dict) else ():
        yield delivery_key(event, agent), (DECIDED, {"version": version, "decision": decided}, head)


def step(state: State | None, part: tuple[str, dict[str, Any], dict[str, Any] | None], at: Place, ts: str) -> State:
    """STATE after one more step."""
    what, about, head = part
    after = dict(state or {"log": []})
    ms = clock.parse_or(ts, 0)
    others = [entry for entry in after["log"] if entry[:3] != at or entry[4] != what]
    after["log"] = sorted([*others, [*at, ms, what, about]], key=_place)
    if head is not None and ("head" not in after or at < after["head"][:3]):
        after["head"] = [*at, ms, head]
    return after


def _place(entry: list[Any]) -> tuple[Any, ...]:
    return (*entry[:3], entry[4])


def terms(key: str, state: State) -> list[tuple[str, str]]:
    """The index terms of a delivery."""
    if "head" not in state:
        return []
    members = _taken(key, state)
    agent, place = members["agent"], members["place"]
    if members["decision"].policy == MUST_NOT or members["disposition"] not in OPEN:
        return [(f"to {agent}", place)]
    return [(f"to {agent}", place), (f"open {agent}", place), ("open", f"{place} {agent}")]


def delivery_of_state(key: str, state: Mapping[str, Any]) -> Delivery:
    """The delivery that follows from the steps in STATE."""
    return Delivery(**_taken(key, state))


def with_steps(delivery: Delivery, state: Mapping[str, Any] | None) -> Delivery:
    """DELIVERY, which has no head in the ledger, after the steps in STATE."""
    members: dict[str, Any] = {name: getattr(delivery, name) for name in Delivery.__match_args__}
    for _, _, _, ms, what, about in (state or {"log": []})["log"]:
        take(members, what, about if isinstance(about, dict) else {}, ms)
    return Delivery(**members)


def _taken(key: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """The members of that delivery."""
    event, _, agent = key.rpartition(" ")
    members: dict[str, Any] = {"event": event, "agent": agent, "disposition": None, "decision": Decision()}
    if "head" in state:
        *at, arrived, head = state["head"]
        members |= {**head, "arrived": arrived, "place": sortable(at)}
    for _, _, _, ms, what, about in state["log"]:
        take(members, what, about if isinstance(about, dict) else {}, ms)
    return members
