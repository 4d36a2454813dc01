"""Claims: which agent may claim which event or thread, and what a claim means for the other agents."""

from __future__ import annotations

from itertools import islice

from bb.attention.decision import choose_agent
from bb.attention.facts import Claiming, Moved
from bb.attention.judging.cases import case_for_agent, may_see, require_registered
from bb.attention.refusals import ClaimedByOther, NoSuchEvent, PolicyForbids, Superseded
from bb.attention.state import claims, transitions
from bb.attention.words import ACKNOWLEDGED, FINAL, MUST, MUST_NOT, ROLE_MENTION, SYSTEM, TO_ME, TO_MY_ROLE
from bb.kernel import clock
from bb.kernel.errors import PermissionDenied

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.attention.facts import Answer, AttentionFact
    from bb.attention.judging.cases import Case
    from bb.attention.messages.messages import MessageHead
    from bb.attention.state.attention_state import AttentionState
    from bb.attention.state.claims import Claim


THREAD_HINT = "name it as CONVERSATION/THREAD; `bb chat show EVENT` shows both"
MOST_LOOKED_THROUGH = 200  # messages of a conversation that are searched for one that opened a thread
LEAST_TTL, MOST_TTL = clock.MINUTE, 4 * clock.HOUR


def claim(
    book: AttentionState,
    agent: str,
    now: int,
    *,
    event: str = "",
    thread: str = "",
    ttl_ms: int | None = None,
    takeover: bool = False,
) -> Answer:
    """Give AGENT the claim on an event or a thread. Refused while another agent holds it."""
    ttl = min(max(ttl_ms or book.tuning.claim_ms, LEAST_TTL), MOST_TTL)
    about = {"ttl_ms": ttl}
    if thread:
        require_registered(book, agent)
        if not _is_there(book, agent, thread):
            raise NoSuchEvent(f"there is no thread {'/'.join(thread.split(' ', 1))[:80]!r}", hint=THREAD_HINT)
        current = book.claim_on(claims.THREAD + thread)
        action = _action(book, current, agent, now, takeover=takeover)
        return [Claiming(agent, claims.THREAD + thread, action, about)], _granted(current, agent, now, ttl)
    found_case = case_for_agent(book, event, agent, now)
    _may_claim(book, found_case, now)
    standing = found_case.standing
    action = _action(book, standing.claim, agent, now, takeover=takeover)
    subject = claims.EVENT + found_case.event
    facts: list[AttentionFact] = [Claiming(agent, subject, action, about)]
    if not found_case.is_bystander and standing.delivery.disposition in (None, "deferred"):
        facts.append(Moved(agent, found_case.event, agent, transitions.TOOK))
    return facts, _granted(book.claim_on(subject), agent, now, ttl)


def _is_there(book: AttentionState, agent: str, thread: str) -> bool:
    """Whether there is a thread of that name with a message that AGENT may see."""
    conversation, _, name = thread.partition(" ")
    if not name:
        return False
    if any(may_see(book, agent, head) for head in book.newest_messages(f"in {thread}")):
        return True
    recent = islice(book.newest_messages(f"in {conversation}"), MOST_LOOKED_THROUGH)
    return any(head.thread_window == thread and may_see(book, agent, head) for head in recent)  # it has no reply yet


def _may_claim(book: AttentionState, target: Case, now: int) -> None:
    standing = target.standing
    if target.known.is_deleted or standing.delivery.disposition == "superseded":
        raise Superseded(event_id=target.event)
    is_settled = standing.delivery.disposition in FINAL and standing.delivery.disposition != ACKNOWLEDGED
    if is_settled and standing.delivery.decision.policy != MUST_NOT:
        raise Superseded(f"{target.event} is already {standing.delivery.disposition}", event_id=target.event)
    is_free = not standing.holder
    if is_free and standing.delivery.decision.policy == MUST_NOT and standing.decision.directedness != TO_MY_ROLE:
        policy = standing.decision.policy
        raise PolicyForbids(f"the policy of {target.event} for {target.agent} is {policy}", event_id=target.event)
    if (addressee := _asked_by_name(book, target)) and not standing.holder:
        raise PolicyForbids(
            f"{target.event} is addressed to {addressee} by name", event_id=target.event, agent=addressee
        )
    first, until = exclusive_slot(book, target, now)
    if first and first != target.agent:
        raise ClaimedByOther(
            f"only {first}, which is asked first, may claim {target.event} until {clock.text(until)}",
            owner=first,
            expires_at=clock.text(until),
        )


def _asked_by_name(book: AttentionState, target: Case) -> str:
    """Another agent that the message addresses by name and that has not answered; empty if there is none.

    An agent that is itself addressed by name may claim the message, so for it the result is empty.
    """
    if target.standing.delivery.decision.directedness == TO_ME:
        return ""
    for agent in target.known.meant:
        other = book.delivery(target.event, agent)
        is_theirs = other is not None and other.disposition is None and other.stale_at is None
        if other and is_theirs and (other.decision.directedness, other.decision.policy) == (TO_ME, MUST):
            return agent if agent in book.agents and book.agents[agent].is_live else ""
    return ""


def exclusive_slot(book: AttentionState, target: Case, now: int) -> tuple[str, int]:
    """The one agent that may claim an event at first, and until when: the agent that was asked first, if it is live."""
    delivery = target.standing.delivery
    until = delivery.arrived + book.tuning.slot_ms
    if delivery.decision.reason != ROLE_MENTION or now >= until:
        return "", 0
    first = default_responder(book, target.known)
    is_there = first in book.agents and book.agents[first].is_live
    return (first, until) if first and is_there else ("", 0)


def default_responder(book: AttentionState, known: MessageHead) -> str:
    """The agent that is asked first about a message."""
    for agent in known.meant:
        delivery = book.delivery(known.event, agent)
        if delivery and delivery.decision.is_default:
            return agent
    return ""


def _action(book: AttentionState, current: Claim, agent: str, now: int, *, takeover: bool) -> str:
    """The act by which AGENT gets the claim CURRENT. Refused if another agent holds it."""
    holder = current.held_by(now)
    owner = book.agents.get(holder)
    if not holder or holder == agent:
        return claims.CLAIM
    if owner is None or owner.is_evicted or (takeover and not owner.is_live):
        return claims.TAKE_OVER
    hint = "the holder is stale: add --takeover-stale" if not owner.is_live else None
    raise ClaimedByOther(
        f"{holder} holds the claim until {clock.text(current.until)}",
        hint=hint,
        owner=holder,
        expires_at=clock.text(current.until),
    )


def _granted(current: Claim, agent: str, now: int, ttl: int) -> dict[str, Any]:
    until = max(now + ttl, current.until) if current.held_by(now) == agent else now + ttl
    return {"granted": True, "owner": agent, "expiresAt": clock.text(until), "subject": current.subject}


def release(book: AttentionState, agent: str, now: int, *, event: str = "", thread: str = "") -> Answer:
    """Release a claim. The next agent that could answer is reminded."""
    subject, _ = _held(book, agent, now, event, thread)
    facts: list[AttentionFact] = [Claiming(agent, subject, claims.RELEASE)]
    if event:
        name = subject.removeprefix(claims.EVENT)
        delivery = book.delivery(name, agent)
        if delivery and delivery.disposition == "claimed":
            facts.append(Moved(agent, name, agent, transitions.GAVE_BACK))
        if head := book.message(name):
            facts += remind_another(book, head, agent, "given back")
    return facts, {"granted": False, "released": True, "owner": None, "subject": subject}


def renew(
    book: AttentionState, agent: str, now: int, *, event: str = "", thread: str = "", ttl_ms: int | None = None
) -> Answer:
    """Extend a claim. Only its owner may do so."""
    ttl = min(max(ttl_ms or book.tuning.claim_ms, LEAST_TTL), MOST_TTL)
    subject, current = _held(book, agent, now, event, thread)
    return [Claiming(agent, subject, claims.RENEW, {"ttl_ms": ttl})], _granted(current, agent, now, ttl)


def transfer(book: AttentionState, agent: str, to: str, now: int, *, event: str = "", thread: str = "") -> Answer:
    """Transfer a claim to the agent TO. Only its owner and the lead of the conversation may do so."""
    require_registered(book, to)
    subject, current = _claimed(book, agent, now, event, thread)
    holder = current.held_by(now)
    if not holder:
        raise PermissionDenied("no agent holds a claim, so none can be transferred", hint="claim it: `bb chat claim`")
    where = thread or case_for_agent(book, event, agent, now).known.window
    if agent != holder and book.conversation(where.partition(" ")[0]).lead != agent:
        raise ClaimedByOther(f"{holder} holds the claim, not you", owner=holder, expires_at=clock.text(current.until))
    about = {"ttl_ms": book.tuning.claim_ms, "to": to}
    facts: list[AttentionFact] = [Claiming(agent, subject, claims.TRANSFER, about)]
    name = subject.removeprefix(claims.EVENT)
    for who, step in ((holder, transitions.GAVE_BACK), (to, transitions.TOOK)):
        if not thread and book.delivery(name, who):
            facts.append(Moved(agent, name, who, step))
    return facts, {
        "granted": True,
        "owner": to,
        "expiresAt": clock.text(now + book.tuning.claim_ms),
        "subject": subject,
    }


def remind_another(book: AttentionState, known: MessageHead, but_not: str, why: str) -> list[AttentionFact]:
    """The reminder to another agent that could answer, after a message has lost its claim."""
    others = [agent for agent in known.meant if agent != but_not and _could_answer(book, known, agent)]
    if not others:
        return []
    return [Moved(SYSTEM, known.event, choose_agent(others, known.event), transitions.REMINDED, {"why": why})]


def _could_answer(book: AttentionState, known: MessageHead, agent: str) -> bool:
    delivery = book.delivery(known.event, agent)
    is_live = agent in book.agents and book.agents[agent].is_live
    return is_live and delivery is not None and delivery.disposition is None and delivery.decision.policy != MUST_NOT


def _claimed(book: AttentionState, agent: str, now: int, event: str, thread: str) -> tuple[str, Claim]:
    """The subject that a request names, and the claim on it."""
    subject = claims.THREAD + thread if thread else claims.EVENT + case_for_agent(book, event, agent, now).event
    return subject, book.claim_on(subject)


def _held(book: AttentionState, agent: str, now: int, event: str, thread: str) -> tuple[str, Claim]:
    """The claim that AGENT holds, with its subject. Refused if AGENT holds none."""
    subject, current = _claimed(book, agent, now, event, thread)
    holder = current.held_by(now)
    if holder != agent:
        if holder:
            raise ClaimedByOther(
                f"{holder} holds the claim, not you", owner=holder, expires_at=clock.text(current.until)
            )
        raise PermissionDenied("you hold no claim on it", hint="claim it first: `bb chat claim`")
    return subject, current
