"""Claims on events and threads. A fold: an entry is a log of acts, and the owner of the claim follows from it.

    free ──claim──> held ──renew, claim by its owner──> held for longer
    held ──release──> free
    held ──done──> free, and no other agent is asked any more
    held ──time is up──> free
    held ──transfer, takeover──> held by another agent

Acts count in ledger order. If two clones claim at the same time, the earlier claim counts in every clone that knows
both, and the other one is lost. Whether a claim has expired is judged by the time stamps of the claims themselves.
"""

from __future__ import annotations

from bb.attention.facts import Claiming
from bb.attention.words import SYSTEM
from bb.kernel import clock
from bb.kernel.record import Record
from bb.kernel.total_order import event as event_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.kernel.total_order import Place, State

NAME = "c2a.claim"
FACTS = (Claiming,)

CLAIM, RENEW, RELEASE, TRANSFER, TAKE_OVER, DONE = "claim", "renew", "release", "transfer", "take_over", "done"
ACTIONS = (CLAIM, RENEW, RELEASE, TRANSFER, TAKE_OVER, DONE)
EVENT, THREAD = "event ", "thread "  # prefixes of the subjects
HELD = "held"  # the term that finds all claims with an owner
USUAL = 15 * clock.MINUTE


class Claim(Record):
    """A claim. It has no owner if OWNER is empty."""

    subject: str
    owner: str = ""
    token: str = ""
    since: int = 0
    until: int = 0
    lost: tuple[str, ...] = ()  # the agents that claimed it while another agent held it
    former: str = ""  # the last owner
    settled_by: str = ""  # the owner that settled the event

    def held_by(self, now: int) -> str:
        """The owner at the time NOW; empty if there is none."""
        return self.owner if now < self.until else ""


def keys(fact: Claiming, at: Place) -> list[str]:  # noqa: ARG001
    """The subject."""
    return [fact.subject]


def step(state: State | None, fact: Claiming, at: Place, ts: str) -> State:
    """STATE after one more act."""
    log = [logged for logged in (state or {}).get("log", []) if logged[:3] != at]
    entry = [*at, clock.parse_or(ts, 0), fact.by, fact.action, fact.about or {}]
    return {"log": sorted([*log, entry], key=lambda each: each[:3])}


def terms(subject: str, state: State) -> list[tuple[str, str]]:
    """The index terms of a claim that has an owner."""
    owner = claim_of_state(subject, state).owner
    return [(HELD, subject), (f"held by {owner}", subject)] if owner else []


def claim_of_state(subject: str, state: Mapping[str, Any] | None) -> Claim:
    """The claim that follows from the acts in STATE."""
    claim = Claim(subject)
    for *at, ms, by, action, about in (state or {}).get("log", []):
        claim = _after(claim, by, action, about, ms, event_at(at))
    return claim


def _after(found: Claim, by: str, action: str, about: Mapping[str, Any], now: int, token: str) -> Claim:
    holder = found.held_by(now)
    until = now + _ttl(about)
    if action in (CLAIM, TAKE_OVER):
        if holder and holder != by and action == CLAIM:
            return found.replace(lost=(*found.lost, by))
        if holder == by:
            return found.replace(until=max(until, found.until))
        lost = tuple(agent for agent in found.lost if agent != by)
        return Claim(found.subject, by, token, now, until, lost, former=found.owner)
    if action == TRANSFER and holder:
        return Claim(found.subject, str(about.get("to", "")), token, now, until, found.lost, former=holder)
    if not holder or by not in (holder, SYSTEM):
        return found
    if action == RENEW:
        return found.replace(until=max(until, found.until))
    return found.replace(owner="", until=now, former=holder, settled_by=holder if action == DONE else "")


def _ttl(about: Mapping[str, Any]) -> int:
    ttl = about.get("ttl_ms")
    return ttl if type(ttl) is int and 0 < ttl < 1 << 40 else USUAL
