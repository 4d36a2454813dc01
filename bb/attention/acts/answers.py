"""The acts on an event that send no message: react, defer, resolve."""

from __future__ import annotations

from typing import Any

from bb.attention.acts.escalation import escalate
from bb.attention.acts.sending import settle_escalations
from bb.attention.facts import Answer, AttentionFact, Claiming, Deleted, Moved, Posting
from bb.attention.incoming import reactions
from bb.attention.incoming.receiving import deletion_facts, reaction_event
from bb.attention.judging import claiming
from bb.attention.judging.cases import Case, case_for_agent, may_see, require_registered
from bb.attention.judging.content_version import require_current_content
from bb.attention.judging.current_decision import due_at
from bb.attention.messages.envelopes import invalid
from bb.attention.messages.message import Message
from bb.attention.messages.outbox_states import PENDING
from bb.attention.messages.redaction import redact
from bb.attention.refusals import InvalidSignal, MissingMember, NotDeferrable, PolicyForbids, Superseded
from bb.attention.state import claims, deliveries, transitions, tuning
from bb.attention.state.attention_state import AttentionState
from bb.attention.state.deliveries import delivery_of_state
from bb.attention.state.tuning import Tuning
from bb.attention.words import (
    ACKNOWLEDGED,
    AGENT,
    BEFORE_BIND,
    CLAIMED,
    DEFERRED,
    FINAL,
    MUST,
    MUST_NOT,
    RESPONDED,
    SIGNALS,
    SUPERSEDED,
)
from bb.kernel import clock
from bb.kernel.errors import PermissionDenied
from bb.kernel.escaping import harmless, stripped
from bb.kernel.ids import PERSON

LONGEST_NOTE = 140
SETTLING = ("agree", "done", "declined")  # signals that answer the text, so the agent must have seen it as it is now
LONGEST_PUT_OFF = 365 * clock.DAY
OUTCOMES = tuple(transitions.OUTCOMES)


def react(
    book: AttentionState,
    agent: str,
    event: str,
    signal: str,
    now: int,
    *,
    eta: str = "",
    until: int | None = None,
    note: str = "",
    remove: bool = False,
    content_version: int | None = None,
) -> Answer:
    """Let AGENT react to an event with a signal. The event gets the disposition of that signal."""
    counts_as = standard_signal(signal, book.tuning)
    current = case_for_agent(book, event, agent, now)
    if current.message.author == agent or current.known.agent == agent:
        raise PermissionDenied("you cannot react to your own message", hint="send a message about what has changed")
    standing = current.standing
    if current.known.is_deleted:
        raise Superseded(event_id=current.event)
    if counts_as in SETTLING and not remove:
        require_current_content(book, current, content_version)
    before = standing.delivery
    about: dict[str, Any] = {
        "signal": signal,
        "counts_as": counts_as,
        "eta": clean_remark(eta),
        "note": clean_remark(note),
    }
    if SIGNALS[counts_as].disposition == DEFERRED and not remove:
        about["until"] = _checked_until(until, now) if until is not None else _default_until(book, current, now)
    about = {name: value for name, value in about.items() if value not in ("", None)}
    step = Moved(agent, current.event, agent, transitions.REACTED, about | ({"remove": True} if remove else {}))
    after = _after(book, current, step, now)
    takes_on = SIGNALS[counts_as].disposition == CLAIMED and not remove and before.decision.policy != MUST_NOT
    is_known = _has_reacted(book, current, about) if current.is_bystander else _changes_nothing(before, after, until)
    is_known = is_known and (not note or _last_reaction(book, current).get("note") == about.get("note"))
    if not remove and is_known and not (takes_on and standing.holder != agent):
        return [], _reaction_answer(current, signal, before.disposition, book.tuning)
    facts: list[AttentionFact] = []
    if takes_on:
        facts += [fact for fact in claiming.claim(book, agent, now, event=event)[0] if isinstance(fact, Claiming)]
    facts.append(step)
    facts += _end_claim(
        book, current, agent, after.disposition, now, given_back=remove and before.disposition == CLAIMED
    )
    if after.disposition in FINAL and before.disposition not in FINAL:
        facts += settle_escalations(book, current.known, agent, current.event)
    if after.deviates and not before.deviates:
        facts += escalate(book, after, current.message, now, "declined")
    if after.disposition == DEFERRED != before.disposition and before.deferrals:
        facts += escalate(book, before, current.message, now, "put off again")
    facts += _bridge_reaction(book, current, agent, signal, remove=remove)
    facts += _notice_to_author(book, current, agent, counts_as, now, remove=remove)
    answer = _reaction_answer(current, signal, after.disposition, book.tuning)
    return facts, answer | ({"removed": before.signal == signal} if remove else {})


def _changes_nothing(before: deliveries.Delivery, after: deliveries.Delivery, until: int | None) -> bool:
    """Whether a reaction changes nothing, because the same one was made before."""
    is_there = (before.signal, before.eta, before.disposition) == (after.signal, after.eta, after.disposition)
    return is_there and until in (None, before.until)


def _has_reacted(book: AttentionState, current: Case, about: dict[str, Any]) -> bool:
    """Whether the last reaction of a bystander to the event was the same."""
    last = _last_reaction(book, current)
    return not last.get("remove") and all(last.get(name) == about.get(name) for name in ("signal", "eta"))


def _last_reaction(book: AttentionState, current: Case) -> dict[str, Any]:
    """The details of the agent's last reaction to the event; empty if there is none."""
    state = book.states.state(deliveries.NAME, deliveries.delivery_key(current.event, current.agent)) or {"log": []}
    recorded = [about for *_, what, about in state["log"] if what == transitions.REACTED and isinstance(about, dict)]
    return recorded[-1] if recorded else {}


def standard_signal(signal: str, tuned: Tuning) -> str:
    """Which of the nine standard signals SIGNAL counts as."""
    standard = signal if signal in SIGNALS else tuned.signals.get(signal)
    if standard is None:
        names = ", ".join([*SIGNALS, *tuned.signals])
        unknown = f"{harmless(signal[:40])!r} is not a reaction signal"
        raise InvalidSignal(unknown, hint=f"use one of {names}", signals=list(SIGNALS))
    return standard


def _after(book: AttentionState, current: Case, step: Moved, now: int) -> deliveries.Delivery:
    """The delivery as it will be once STEP is recorded."""
    key = deliveries.delivery_key(current.event, current.agent)
    state = book.states.state(deliveries.NAME, key)
    if current.standing.delivery.decision.reason == BEFORE_BIND and current.is_bystander:
        after = deliveries.step(None, (step.to, step.about or {}, None), [1 << 60, "~", 0], clock.text(now))
        return deliveries.with_steps(current.standing.delivery, after)
    if not state:
        return current.standing.delivery
    part = (step.to, step.about or {}, None)
    return delivery_of_state(key, deliveries.step(state, part, [1 << 60, "~", 0], clock.text(now)))


def _end_claim(
    book: AttentionState, current: Case, agent: str, disposition: str | None, now: int, *, given_back: bool = False
) -> list[AttentionFact]:
    """The facts that end the agent's claim on an event that is settled or given back."""
    claim = current.standing.claim
    is_mine = claim.subject.startswith(claims.EVENT) and claim.held_by(now) == agent
    if not is_mine or not (disposition in FINAL or given_back):
        return []
    if disposition in (RESPONDED, ACKNOWLEDGED):
        return [Claiming(agent, claim.subject, claims.DONE)]
    again = claiming.remind_another(book, current.known, agent, "given back")
    return [Claiming(agent, claim.subject, claims.RELEASE), *again]


def _bridge_reaction(
    book: AttentionState, current: Case, agent: str, signal: str, *, remove: bool
) -> list[AttentionFact]:
    """For a conversation on an external platform: the order to a bridge to show the reaction there."""
    if not book.conversation(current.known.conversation).is_external:
        return []
    about = {"type": "reaction", "onMessage": current.event, "signal": signal, "agent": agent, "remove": remove}
    about |= {"glyph": tuning.glyph_of(signal, book.tuning), "conversation": current.known.conversation}
    return [Posting(agent, f"{current.event}!{agent}!{signal}{'!off' if remove else ''}", PENDING, about)]


def _notice_to_author(
    book: AttentionState, current: Case, agent: str, signal: str, now: int, *, remove: bool
) -> list[AttentionFact]:
    """The notice to the agent that wrote the message. On an external platform, the platform itself reports it."""
    if not (current.known.agent and current.known.key) or book.conversation(current.known.conversation).is_external:
        return []
    name, before, following = reactions.latest_reaction(book, current.event, agent, signal)
    is_there = before is not None and not before.is_deleted
    if remove:
        return [Deleted(agent, name), *deletion_facts(book, before)] if before and is_there else []
    if is_there or not following or signal not in reactions.TELLING:
        return []
    reaction = Message(following, current.known.platform, current.known.conversation, agent, "", now, author_kind=AGENT)
    return [reaction_event(book, current.known, reaction, signal, tuning.glyph_of(signal, book.tuning), agent)[0]]


def _reaction_answer(current: Case, signal: str, disposition: str | None, tuned: Tuning) -> dict[str, Any]:
    before = current.standing.delivery.signal
    return {
        "eventId": current.event,
        "signal": signal,
        "glyph": tuning.glyph_of(signal, tuned),
        "disposition": disposition,
        **({"superseded": before} if before and before != signal else {}),
    }


def defer(
    book: AttentionState, agent: str, event: str, reason: str, now: int, *, until: int | None = None, eta: str = ""
) -> Answer:
    """Defer an answer that is owed. The event comes back by itself. A second deferral escalates it."""
    current = case_for_agent(book, event, agent, now)
    standing, before = current.standing, current.standing.delivery
    if before.disposition == SUPERSEDED or current.known.is_deleted:
        raise Superseded(event_id=current.event, superseded_by=before.superseded_by)
    is_mine = standing.holder == agent or before.disposition == CLAIMED
    if current.is_bystander or not (before.is_open and (before.decision.policy == MUST or is_mine)):
        state = f"{current.event} is {standing.decision.policy} for you, and {before.disposition or 'open'}"
        hint = "you can defer only an open event that you owe an answer or have claimed"
        raise NotDeferrable(state, hint=hint, event_id=event)
    reason = clean_remark(reason)
    if not reason:
        raise MissingMember("reason is missing: state why the answer has to wait", pointer="/reason", member="reason")
    is_same = before.disposition == DEFERRED and before.reason == reason
    at = (
        _checked_until(until, now)
        if until is not None
        else (is_same and before.until) or _default_until(book, current, now)
    )
    if is_same and at == before.until and (not eta or clean_remark(eta) == before.eta):
        return [], _deferral_answer(current, at)
    is_again = _is_put_off_again(before, reason, at)
    about = {"reason": reason, "until": at, **({"eta": clean_remark(eta)} if eta else {})}
    facts: list[AttentionFact] = [Moved(agent, current.event, agent, transitions.PUT_OFF, about)]
    if is_again:
        facts += escalate(book, before, current.message, now, "put off again")
    return facts, _deferral_answer(current, at)


def _checked_until(until: int, now: int) -> int:
    """UNTIL, if it is in the future and within a year."""
    if not now < until <= now + LONGEST_PUT_OFF:
        raise invalid("must be a time in the future, at most one year ahead", "/until")
    return until


def _is_put_off_again(before: deliveries.Delivery, reason: str, until: int) -> bool:
    """Whether this is a second deferral: after the event came back, for another reason, or for longer.

    Adding a reason to a deferral by reaction is not a second one.
    """
    if before.disposition != DEFERRED or not before.reason:
        return bool(before.deferrals) and before.disposition != DEFERRED
    return before.reason != reason or until > (before.until or 0)


def _deferral_answer(current: Case, until: int) -> dict[str, Any]:
    return {"eventId": current.event, "disposition": DEFERRED, "resurfaceAt": clock.text(until)}


def _default_until(book: AttentionState, current: Case, now: int) -> int:
    """When a deferred event comes back by default."""
    return max(due_at(current.standing.delivery, book.tuning) or 0, now + book.tuning.defer_ms)


def resolve(
    book: AttentionState,
    agent: str,
    now: int,
    *,
    event: str = "",
    thread: str = "",
    outcome: str = "done",
    note: str = "",
) -> Answer:
    """Mark an event as resolved; or a thread, with all its events that are open for the agent."""
    require_registered(book, agent)
    if thread:
        opened = [head for delivery in book.open_for(agent) if (head := book.message(delivery.event))]
        there = [head for head in opened if thread in (head.window, head.thread_window)]
        meant = [head.event for head in there if may_see(book, agent, head)]
    else:
        meant = [case_for_agent(book, event, agent, now).event]
    facts: list[AttentionFact] = []
    dispositions: dict[str, str | None] = {}
    for name in meant:
        current = case_for_agent(book, name, agent, now)
        if current.known.is_deleted or current.standing.delivery.disposition == SUPERSEDED:
            raise Superseded(event_id=current.event)
        _require_part(current)
        about = {"outcome": outcome, **({"note": clean_remark(note)} if note else {})}
        step = Moved(agent, current.event, agent, transitions.RESOLVED, about)
        after = _after(book, current, step, now)
        dispositions[current.event] = after.disposition
        if after.disposition != current.standing.delivery.disposition:
            facts += [step, *_end_claim(book, current, agent, after.disposition, now)]
            facts += settle_escalations(book, current.known, agent, current.event)
        if after.deviates and not current.standing.delivery.deviates:
            facts += escalate(book, after, current.message, now, outcome)
    if thread and (held := book.claim_on(claims.THREAD + thread)):
        facts += [Claiming(agent, held.subject, claims.DONE)] if held.held_by(now) == agent else []
    first = next(iter(dispositions.items()), (event or thread, None))
    return facts, {"eventId": first[0], "disposition": first[1], "alsoClosed": list(dispositions)[1:]}


def _require_part(current: Case) -> None:
    """Refuse an agent that the event is not for, and that has not claimed it: what it says would settle nothing."""
    standing = current.standing
    if current.agent == PERSON or standing.holder == current.agent or standing.decision.policy != MUST_NOT:
        return
    if current.is_bystander:
        is_own = current.agent in (current.known.agent, current.known.author)
        raise PolicyForbids(
            f"{current.event} is {'your own message' if is_own else f'not for {current.agent}'}: you cannot settle it",
            hint="withdraw it with `bb chat cancel EVENT`" if is_own else "let the agent that it is for settle it",
            event_id=current.event,
            reason=standing.decision.reason,
        )


def clean_remark(text: str) -> str:
    """A remark of an agent on one line, without secrets and control characters."""
    return redact(" ".join(stripped(line) for line in text.split()))[:LONGEST_NOTE]
