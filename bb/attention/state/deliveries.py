"""The delivery of one message to one agent. A fold: an entry is a log of steps, and the delivery follows from it.

    decided ─> offered ─> accepted ─> started ─> ended        the phase: how far it has come
    open ─> claimed, deferred ─> responded, acknowledged, ignored, superseded, failed        the disposition

Phase and disposition are independent: an agent may answer a message before the harness acknowledges it. A step that the
state does not allow changes nothing, so every clone can read any log. A final disposition stays, with four exceptions:
an acknowledged message may be responded to, a failed one may be tried again, an answer that the platform permanently
refuses does not count, and a merged piece is restored when the message that it was merged into is deleted.
"""

from __future__ import annotations

from bb.attention import decision as decisions
from bb.attention.decision import Decision
from bb.attention.facts import Deleted, Edited, Moved, Posted
from bb.attention.words import (
    ACK_ONLY,
    ACKNOWLEDGED,
    CLAIMED,
    DEFERRED,
    DIGEST,
    FAILED,
    FINAL,
    IGNORED,
    IMMEDIATE,
    MAILBOX,
    MUST,
    MUST_NOT,
    NOTIFY,
    QUESTION,
    RESPONDED,
    SIGNALS,
    SILENT,
    SUPERSEDED,
)
from bb.coordination.facts import Incurred
from bb.kernel import clock
from bb.kernel.order import event as event_at
from bb.kernel.order import sortable
from bb.kernel.record import Record
from bb.messaging.facts import Acked, Agreed, Read, Sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, TypeAlias

    from bb.kernel.order import Place, State

DeliveryFact: TypeAlias = "Posted | Edited | Deleted | Moved | Sent | Incurred | Read | Acked | Agreed"

NAME = "c2a.delivery"
FACTS = (Posted, Edited, Deleted, Moved, Sent, Incurred, Read, Acked, Agreed)

# The steps.
DECIDED, DELETED = "decided", "deleted"
OFFERED, ACCEPTED, PARKED, REJECTED = "offered", "accepted", "parked", "rejected"
STARTED, ENDED, TURN_FAILED, GAVE_UP = "started", "ended", "turn_failed", "gave_up"
PULLED, CHECKED, REMINDED, STALE, ESCALATED = "pulled", "checked", "reminded", "stale", "escalated"
CLARIFIED = "clarified"
ANSWERED, REACTED, PUT_OFF, RESOLVED, LAPSED, MERGED = "answered", "reacted", "put_off", "resolved", "lapsed", "merged"
TOOK, GAVE_BACK, SETTLED, RESURFACED, UNSENT = "took", "gave_back", "settled", "resurfaced", "unsent"
RESTORED = "restored"

FIRST = 1  # version of a message
OPEN = (None, CLAIMED, DEFERRED)
# step -> dispositions from which it is allowed, new disposition
ENDINGS: dict[str, tuple[tuple[str | None, ...], str | None]] = {
    ANSWERED: ((*OPEN, ACKNOWLEDGED, FAILED), RESPONDED),
    RESOLVED: ((*OPEN, ACKNOWLEDGED, FAILED), RESPONDED),
    PUT_OFF: (OPEN, DEFERRED),
    TOOK: ((None, DEFERRED), CLAIMED),
    GAVE_BACK: ((CLAIMED,), None),
    RESURFACED: ((DEFERRED,), None),
    LAPSED: (OPEN, IGNORED),
    MERGED: (OPEN, SUPERSEDED),
    SETTLED: (OPEN, SUPERSEDED),
    DELETED: ((*OPEN, IGNORED, FAILED), SUPERSEDED),
    REJECTED: (OPEN, FAILED),
    GAVE_UP: (OPEN, FAILED),
    UNSENT: ((RESPONDED,), FAILED),  # the platform refused the answer
    RESTORED: ((SUPERSEDED,), None),  # the message that it was merged into was deleted
}
SHOWN = "content"  # the shape of an offer that shows the text
UNSEEN: dict[str, Any] = {
    "is_shown": False,
    "attempt": 0,
    "offered_at": None,
    "accepted": False,
    "is_parked": False,
    "turn": "",
    "pulled_at": None,
}
OUTCOMES = {"answered": RESPONDED, "done": RESPONDED, "wont_do": IGNORED, "duplicate": SUPERSEDED}
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
    accepted: bool = False
    is_parked: bool = False
    turn: str = ""
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
        "is_whole": bool(c2a.get("parts")),
    }
    for agent, decided in decisions_by_agent.items() if isinstance(decisions_by_agent, dict) else ():
        yield delivery_key(event, agent), (DECIDED, {"version": version, "decision": decided}, head)


def step(state: State | None, part: tuple[str, dict[str, Any], dict[str, Any] | None], at: Place, ts: str) -> State:
    """STATE after one more step."""
    what, about, head = part
    after = dict(state or {"log": []})
    ms = clock.parse_or(ts, 0)
    others = [each for each in after["log"] if each[:3] != at or each[4] != what]
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


def _taken(key: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """The members of that delivery."""
    event, _, agent = key.rpartition(" ")
    members: dict[str, Any] = {"event": event, "agent": agent, "disposition": None, "decision": Decision()}
    if "head" in state:
        *at, arrived, head = state["head"]
        members |= {**head, "arrived": arrived, "place": sortable(at)}
    for _, _, _, ms, what, about in state["log"]:
        _take(members, what, about if isinstance(about, dict) else {}, ms)
    return members


def _take(members: dict[str, Any], what: str, about: Mapping[str, Any], ms: int) -> None:
    """Apply one step to the members of a delivery."""
    if what == DECIDED:
        _decide(members, about, ms)
    elif what == REACTED:
        _react(members, about, ms)
    elif what in ENDINGS:
        _end(members, what, about)
    elif change := STEPS.get(what):
        members.update(change(members, about, ms))


def _decide(members: dict[str, Any], about: Mapping[str, Any], ms: int) -> None:
    decided = decisions.decision_of_json(about.get("decision"))
    version = about.get("version")
    if decided is None or type(version) is not int or version < members.get("version", 0):
        return
    if version == members.get("version") == FIRST:  # another clone received the message too and decided itself
        return
    was_let_be = members["disposition"] == IGNORED and members["decision"].policy == MUST_NOT
    is_again = "version" in members
    members["version"] = version
    if members["disposition"] not in OPEN and not was_let_be:
        return
    members["decision"] = decided
    if was_let_be or decided.policy == MUST_NOT:
        members["disposition"] = IGNORED if decided.policy == MUST_NOT else None
    if is_again:  # the agent has not seen this version
        members.update(changed_at=ms, **UNSEEN)


def _react(members: dict[str, Any], about: Mapping[str, Any], ms: int) -> None:
    """Apply a reaction signal. Removing it undoes its effect, unless the disposition is final."""
    signal = about.get("counts_as") or about.get("signal")
    if signal not in SIGNALS:
        return
    if about.get("remove"):
        if members.get("signal") == signal and signal == "unclear":
            members.update(signal="", clarified_at=members.get("clarified_at") or members.get("awaits_clarification"))
        elif members.get("signal") == signal and members["disposition"] in (CLAIMED, DEFERRED):
            members.update(disposition=None, signal="", until=None)
        return
    members.update(signal=signal, eta=about.get("eta", ""))
    to = settles(signal, members["decision"].policy, members.get("intent", ""))
    if signal == "unclear":  # the clock stops only once, however often the agent asks back
        members["awaits_clarification"] = members.get("awaits_clarification") or ms
    if to is None or not _may_become(members["disposition"], to):
        return
    if to == DEFERRED:
        members["until"] = about.get("until")
        if members["disposition"] != DEFERRED:
            members.update(deferrals=(*members.get("deferrals", ()), f"signal {signal}"), reminded_at=None)
    members.update(disposition=to, cause=f"signal {signal}")
    if to == IGNORED and members["decision"].policy == MUST:
        members["deviates"] = True


def settles(signal: str, policy: str, intent: str) -> str | None:
    """The disposition that a signal gives a message; None if it gives none.

    `seen` does not settle a request, and `agree` does not answer a question.
    """
    to = SIGNALS[signal].disposition
    if policy == MUST_NOT:
        return None
    if policy == MUST and to == ACKNOWLEDGED and (signal == "seen" or intent == QUESTION):
        return None
    return to


def _may_become(disposition: str | None, to: str) -> bool:
    if disposition in OPEN or disposition == FAILED:
        return not (disposition == CLAIMED and to == CLAIMED)
    return disposition == ACKNOWLEDGED and to == RESPONDED


def _end(members: dict[str, Any], what: str, about: Mapping[str, Any]) -> None:
    sources, to = ENDINGS[what]
    if members["disposition"] not in sources or not _is_possible(members, what):
        return
    if what == ANSWERED and members["decision"].policy == ACK_ONLY:
        to = ACKNOWLEDGED
    elif what == RESOLVED:
        to = OUTCOMES.get(str(about.get("outcome")), RESPONDED)
    if members["disposition"] == ACKNOWLEDGED and to != RESPONDED:  # final, except for an answer
        return
    members.update(_beside(members, what, to, about))
    members.update(disposition=to, cause=what)


def _is_possible(members: dict[str, Any], what: str) -> bool:
    if what == RESTORED:
        return bool(members.get("cause") == MERGED)
    return what != TOOK or members["decision"].policy != MUST_NOT


def _beside(members: dict[str, Any], what: str, to: str | None, about: Mapping[str, Any]) -> dict[str, Any]:
    """The other members that a step changes together with the disposition."""
    reason = str(about.get("reason", ""))
    if what == PUT_OFF:
        before = members.get("deferrals", ())
        reasons = before if before[-1:] == (reason,) else (*before, reason)
        eta = str(about.get("eta", ""))
        return {"until": about.get("until"), "reason": reason, "eta": eta, "deferrals": reasons, "reminded_at": None}
    if what == RESTORED:
        return {"superseded_by": "", **UNSEEN}
    if what == ANSWERED:
        return {"has_spoken": True}
    if to == SUPERSEDED:
        return {"superseded_by": str(about.get("by", ""))}
    if to == FAILED:
        return {"reason": reason}
    return {"deviates": True} if to == IGNORED and members["decision"].policy == MUST else {}


STEPS: dict[str, Callable[[dict[str, Any], Mapping[str, Any], int], dict[str, Any]]] = {
    OFFERED: lambda found, about, ms: {
        "attempt": max(found.get("attempt", 0), _int(about.get("attempt"), 1)),
        "offered_at": ms,
        "offered_as": str(about.get("as", "")),
        "is_shown": found.get("is_shown", False) or about.get("as") == SHOWN,
        "merged_from": tuple(about.get("merged_from") or found.get("merged_from", ())),
        "accepted": False,
        "is_parked": False,
        "turn": "",
    },
    ACCEPTED: lambda found, about, ms: {"accepted": True, "is_parked": False},  # noqa: ARG005
    PARKED: lambda found, about, ms: {"is_parked": True},  # noqa: ARG005
    STARTED: lambda found, about, ms: {"turn": STARTED},  # noqa: ARG005
    ENDED: lambda found, about, ms: {"turn": ENDED},  # noqa: ARG005
    TURN_FAILED: lambda found, about, ms: {  # noqa: ARG005
        "turn": TURN_FAILED,
        "turns": found.get("turns", 0) + 1,
        "has_spoken": found.get("has_spoken", False) or about.get("outbound") is True,
        "accepted": False,
    },
    PULLED: lambda found, about, ms: {"pulled_at": found.get("pulled_at") or ms},  # noqa: ARG005
    CHECKED: lambda found, about, ms: {"checked_at": ms},  # noqa: ARG005
    REMINDED: lambda found, about, ms: {"reminded_at": ms},  # noqa: ARG005
    STALE: lambda found, about, ms: {"stale_at": found.get("stale_at") or ms},  # noqa: ARG005
    ESCALATED: lambda found, about, ms: {"escalated_to": str(about.get("to", ""))},  # noqa: ARG005
    CLARIFIED: lambda found, about, ms: {"clarified_at": found.get("clarified_at") or _int(about.get("at"), ms)},
}


def _int(value: Any, otherwise: int) -> int:
    return value if type(value) is int else otherwise
