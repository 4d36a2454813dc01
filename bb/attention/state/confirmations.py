"""Confirmations: what an agent has asked the person to allow, and the person's answers. A fold.

    (nothing) ──ask──> open ──allow──> allowed
                        │  └──refuse, withdraw──> refused
                        └──time is up──> expired ──ask──> open

An entry is a log of acts, in ledger order. Only the person answers: at a terminal or on a page in the person's own
name, on a platform through the service that brought the answer. An answer in the name of an agent does not count. While
the request is not expired, the last answer counts. Times are the time stamps of the acts themselves.
"""

from __future__ import annotations

from bb.attention.facts import Confirming
from bb.kernel import clock
from bb.kernel.ids import PERSON, SERVICE
from bb.kernel.record import Record
from bb.kernel.total_order import sortable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.kernel.total_order import Place, State

NAME = "c2a.confirmation"
FACTS = (Confirming,)

ASK, ALLOW, REFUSE, WITHDRAW = "ask", "allow", "refuse", "withdraw"
TOOL = "tool"  # the kind of a request to run a tool; the others are requests to show private content
OPEN, ALLOWED, REFUSED, EXPIRED = "open", "allowed", "refused", "expired"
UNANSWERED = "unanswered"  # the term that finds the requests without an answer
LASTS = clock.DAY  # a request, and the permission for it


class Request(Record):
    """A request of an agent to the person. ABOUT holds what is to be shown where."""

    id: str
    agent: str = ""
    about: Mapping[str, Any] = {}
    asked_at: int = 0
    answer: str = ""
    answered_by: str = ""
    answered_at: int = 0
    place: str = ""

    @property
    def until(self) -> int:
        return self.asked_at + LASTS

    def state_at(self, now: int) -> str:
        """The state at the time NOW; empty if nothing was asked."""
        if not self.agent:
            return ""
        if self.answer == REFUSE:
            return REFUSED
        return EXPIRED if now >= self.until else ALLOWED if self.answer == ALLOW else OPEN


def keys(fact: Confirming, at: Place) -> list[str]:  # noqa: ARG001
    """The request."""
    return [fact.request]


def step(state: State | None, fact: Confirming, at: Place, ts: str) -> State:
    """STATE after one more act."""
    log = [logged for logged in (state or {}).get("log", []) if logged[:3] != at]
    entry = [*at, clock.parse_or(ts, 0), fact.by, fact.action, fact.about or {}]
    return {"log": sorted([*log, entry], key=lambda each: each[:3])}


def terms(name: str, state: State) -> list[tuple[str, str]]:
    """The index term of a request that has no answer. An expired one keeps it, because a fold has no clock."""
    request = request_of_state(name, state)
    return [(UNANSWERED, request.place)] if request.agent and not request.answer else []


def request_of_state(name: str, state: Mapping[str, Any] | None) -> Request:
    """The request that follows from the acts in STATE."""
    request = Request(name)
    for *at, ms, by, action, about in (state or {}).get("log", []):
        before = request.state_at(ms)
        if action == ASK and before in ("", EXPIRED):
            request = Request(name, by, about, ms, place=sortable(at))
        elif action in (ALLOW, REFUSE) and before not in ("", EXPIRED) and _may_answer(by):
            request = request.replace(answer=action, answered_by=str(about.get("by") or by), answered_at=ms)
        elif action == WITHDRAW and before == OPEN and by == request.agent:  # an agent may refuse itself
            request = request.replace(answer=REFUSE, answered_by=by, answered_at=ms)
    return request


def _may_answer(by: str) -> bool:
    return by == PERSON or by.startswith(SERVICE)
