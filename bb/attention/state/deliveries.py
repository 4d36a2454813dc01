"""One message on its way to one agent. A fold: the entry is a log of steps, and what they come to is worked out of it.

    decided ─> offered ─> accepted ─> started ─> ended        how far it has come (the phase)
    open ─> claimed, deferred ─> responded, acknowledged, ignored, superseded, failed        what became of it

The two are apart: what was offered may be answered before the harness says that it has it. A step that the state does
not admit changes nothing, so a log may be read in any clone, whatever arrived there. What is final stays so, but for a
few ways on: what was acknowledged may be responded to, what failed may be tried again, an answer that the platform
refuses for good was none, and a piece comes back when what it was merged into is taken away.
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
    from typing import Any

    from bb.kernel.order import Place, State

    DeliveryFact = Posted | Edited | Deleted | Moved | Sent | Incurred | Read | Acked | Agreed

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
# step -> from which dispositions, to which
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
    UNSENT: ((RESPONDED,), FAILED),  # the answer never came there
    RESTORED: ((SUPERSEDED,), None),  # what it was merged into was taken away
}
SHOWN = "content"  # as what is offered that shows the text
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
# How it waits until it is offered, by what the agent is to see of it.
WAITING = {IMMEDIATE: "held_for_boundary", "buffered": "buffering", NOTIFY: "knocked", MAILBOX: "mailboxed"}
WAITING |= {DIGEST: "digest_pending", SILENT: "silent"}


class Delivery(Record):
    """What the steps have come to so far."""

    event: str
    agent: str
    line: str = ""  # where it stands in the ledger
    window: str = ""
    author: str = ""
    author_kind: str = ""
    at: int = 0  # when it was said
    arrived: int = 0  # when it was recorded
    intent: str = ""
    platform: str = ""
    is_whole: bool = False  # whether there is more to it than text, so that nothing is merged with it
    place: str = ""  # where it stands in the order
    decision: Decision = Decision()
    original: str = ""  # the policy, before it became stale
    version: int = 1
    changed_at: int = 0  # when it was last edited
    disposition: str | None = None
    cause: str = ""  # by which step
    attempt: int = 0
    offered_at: int | None = None
    offered_as: str = ""
    is_shown: bool = False  # whether its agent was ever given the text
    accepted: bool = False
    is_parked: bool = False
    turn: str = ""
    turns: int = 0  # that have failed
    has_spoken: bool = False
    pulled_at: int | None = None
    checked_at: int | None = None
    reminded_at: int | None = None
    stale_at: int | None = None
    escalated_to: str = ""
    signal: str = ""
    eta: str = ""
    until: int | None = None  # until when it is put off
    deferrals: tuple[str, ...] = ()
    reason: str = ""
    superseded_by: str = ""
    merged_from: tuple[str, ...] = ()
    awaits_clarification: int | None = None  # since when
    clarified_at: int | None = None  # when who was asked back has said more
    deviates: bool = False

    @property
    def is_open(self) -> bool:
        return self.disposition in OPEN

    @property
    def phase(self) -> str:
        """How far it has come."""
        if self.disposition in FINAL and self.decision.policy != MUST_NOT:
            return "closed"
        if self.turn == STARTED:
            return "in_turn"
        if self.is_parked:
            return "parked"
        if self.accepted:
            return "accepted"
        return "offered" if self.attempt else WAITING[self.decision.mode]


def name(event: str, agent: str) -> str:
    """What the entry is called."""
    return f"{event} {agent}"


def keys(fact: DeliveryFact, at: Place) -> list[str]:
    """The entries that FACT is about."""
    return [key for key, _ in parts(fact, at)]


def parts(fact: DeliveryFact, at: Place) -> Iterator[tuple[str, Any]]:
    """What FACT says of each delivery: a step, and what is known of it; of a message, also its head."""
    match fact:
        case Posted(c2a=c2a):
            event = c2a.get("event") or event_at(at)
            yield from _decided(c2a, event, 1, event_at(at))
            if (agent := c2a.get("agent")) and (answered := c2a.get("in_reply_to")):
                yield name(answered, agent), (ANSWERED, {"by": event}, None)
        case Edited(event=event, c2a=c2a, version=version):
            yield from _decided(c2a, event, version, event_at(at))
        case Deleted():
            return
        case Moved(event=event, agent=agent, to=to, about=about):
            yield name(event, agent), (to, about or {}, None)
        case Sent() | Incurred():
            from bb.attention.messages import system_messages  # noqa: PLC0415  (nothing of it is needed to read what was folded)

            yield from _decided(system_messages.of(fact), event_at(at), 1, event_at(at))
            if answered := isinstance(fact, Sent) and system_messages.answered_by(fact):
                yield name(answered, fact.sender), (ANSWERED, {"by": event_at(at)}, None)
        case Read(agent=agent, message=event):
            yield name(event, agent), (PULLED, {}, None)
        case Acked(agent=agent, message=event) | Agreed(agent=agent, message=event):
            yield name(event, agent), (REACTED, {"signal": "agree"}, None)


def _decided(c2a: Mapping[str, Any], event: str, version: int, line: str) -> Iterator[tuple[str, Any]]:
    found = c2a.get("for")
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
    for agent, decided in found.items() if isinstance(found, dict) else ():
        yield name(event, agent), (DECIDED, {"version": version, "decision": decided}, head)


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
    """What a delivery is found by."""
    if "head" not in state:
        return []
    found = _taken(key, state)
    agent, place = found["agent"], found["place"]
    if found["decision"].policy == MUST_NOT or found["disposition"] not in OPEN:
        return [(f"to {agent}", place)]
    return [(f"to {agent}", place), (f"open {agent}", place), ("open", f"{place} {agent}")]


def delivery(key: str, state: Mapping[str, Any]) -> Delivery:
    """What the steps in STATE come to."""
    return Delivery(**_taken(key, state))


def _taken(key: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a delivery after all steps in STATE."""
    event, _, agent = key.rpartition(" ")
    found: dict[str, Any] = {"event": event, "agent": agent, "disposition": None, "decision": Decision()}
    if "head" in state:
        *at, arrived, head = state["head"]
        found |= {**head, "arrived": arrived, "place": sortable(at)}
    for _, _, _, ms, what, about in state["log"]:
        _take(found, what, about if isinstance(about, dict) else {}, ms)
    return found


def _take(found: dict[str, Any], what: str, about: Mapping[str, Any], ms: int) -> None:
    """One step: what it does to how far the message has come, and to what became of it."""
    if what == DECIDED:
        _decide(found, about, ms)
    elif what == REACTED:
        _react(found, about, ms)
    elif what in ENDINGS:
        _end(found, what, about)
    elif change := STEPS.get(what):
        found.update(change(found, about, ms))


def _decide(found: dict[str, Any], about: Mapping[str, Any], ms: int) -> None:
    decided = decisions.read(about.get("decision"))
    version = about.get("version")
    if decided is None or type(version) is not int or version < found.get("version", 0):
        return
    if version == found.get("version") == FIRST:  # another clone has taken it in too, and has decided for itself
        return
    was_let_be = found["disposition"] == IGNORED and found["decision"].policy == MUST_NOT
    is_again = "version" in found
    found["version"] = version
    if found["disposition"] not in OPEN and not was_let_be:
        return
    found["decision"] = decided
    if was_let_be or decided.policy == MUST_NOT:
        found["disposition"] = IGNORED if decided.policy == MUST_NOT else None
    if is_again:  # the agent has seen another text, or none
        found.update(changed_at=ms, **UNSEEN)


def _react(found: dict[str, Any], about: Mapping[str, Any], ms: int) -> None:
    """A signal, as far as it settles what was asked; taken back, it unsettles what is not final."""
    signal = about.get("counts_as") or about.get("signal")
    if signal not in SIGNALS:
        return
    if about.get("remove"):
        if found.get("signal") == signal and signal == "unclear":
            found.update(signal="", clarified_at=found.get("clarified_at") or found.get("awaits_clarification"))
        elif found.get("signal") == signal and found["disposition"] in (CLAIMED, DEFERRED):
            found.update(disposition=None, signal="", until=None)
        return
    found.update(signal=signal, eta=about.get("eta", ""))
    to = settles(signal, found["decision"].policy, found.get("intent", ""))
    if signal == "unclear":  # the clock is stopped once, however often one asks back
        found["awaits_clarification"] = found.get("awaits_clarification") or ms
    if to is None or not _may_become(found["disposition"], to):
        return
    if to == DEFERRED:
        found["until"] = about.get("until")
        if found["disposition"] != DEFERRED:
            found.update(deferrals=(*found.get("deferrals", ()), f"signal {signal}"), reminded_at=None)
    found.update(disposition=to, cause=f"signal {signal}")
    if to == IGNORED and found["decision"].policy == MUST:
        found["deviates"] = True


def settles(signal: str, policy: str, intent: str) -> str | None:
    """What a signal makes of a message. To have seen a request is not to have done something about it, and to agree is
    no answer to a question."""
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


def _end(found: dict[str, Any], what: str, about: Mapping[str, Any]) -> None:
    sources, to = ENDINGS[what]
    if found["disposition"] not in sources or not _is_possible(found, what):
        return
    if what == ANSWERED and found["decision"].policy == ACK_ONLY:
        to = ACKNOWLEDGED
    elif what == RESOLVED:
        to = OUTCOMES.get(str(about.get("outcome")), RESPONDED)
    if found["disposition"] == ACKNOWLEDGED and to != RESPONDED:  # that is an end, and only an answer goes beyond it
        return
    found.update(_beside(found, what, to, about))
    found.update(disposition=to, cause=what)


def _is_possible(found: dict[str, Any], what: str) -> bool:
    if what == RESTORED:
        return bool(found.get("cause") == MERGED)
    return what != TOOK or found["decision"].policy != MUST_NOT


def _beside(found: dict[str, Any], what: str, to: str | None, about: Mapping[str, Any]) -> dict[str, Any]:
    """What else an ending says."""
    reason = str(about.get("reason", ""))
    if what == PUT_OFF:
        before = found.get("deferrals", ())
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
    return {"deviates": True} if to == IGNORED and found["decision"].policy == MUST else {}


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
