"""The audit: decisions and acts, events left open, and what went wrong (`counters`).

Also progress reports, and cancelling one's own message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from bb.attention.acts import counters
from bb.attention.acts.answers import clean_remark
from bb.attention.facts import Answer, AttentionFact, Deleted, Posting, Progressed
from bb.attention.incoming.receiving import deletion_facts
from bb.attention.judging.cases import find_message, may_see
from bb.attention.messages.messages import EVERY
from bb.attention.messages.outbox_states import FAILED, PENDING
from bb.attention.messages.redaction import redact
from bb.attention.refusals import no_event
from bb.attention.state import activity, claims, deliveries
from bb.attention.state.attention_state import AttentionState
from bb.attention.words import MUST, signal_in
from bb.kernel import clock
from bb.kernel.errors import PermissionDenied, Usage

MOST_COUNTED = 10_000
LONGEST_REMARK = 240


START_AGAIN = "to start again, use another token"

InvalidProgress = Usage.declare(
    "INVALID_PROGRESS", "The progress must be a number that never decreases and never exceeds the total"
)


def audit(book: AttentionState, now: int, limit: int, older: int | None) -> dict[str, Any]:
    """The last records, newest first. With OLDER, only the events that have been open since before that time."""
    records: list[dict[str, Any]] = []
    counts: dict[str, int] = {}
    leaks: list[dict[str, Any]] = []
    answers: dict[str, dict[str, str]] = {}
    for head in islice(book.newest_messages(EVERY), MOST_COUNTED):
        event = head.event
        for agent in head.meant:
            key = deliveries.delivery_key(event, agent)
            log = (book.states.state(deliveries.NAME, key) or {"log": []})["log"]
            delivery = book.delivery(event, agent)
            if delivery is None:
                continue
            _count(counts, delivery)
            is_old = older is not None and delivery.arrived <= older
            if is_old and delivery.is_open and delivery.decision.policy == MUST:
                leaks.append({"eventId": event, "agent": agent, "openSince": clock.text(delivery.arrived)})
            records += [_record(event, agent, entry) for entry in log]
        if head.agent and head.in_reply_to:
            answers.setdefault(head.in_reply_to, {})[head.agent] = clock.text(head.arrived)
        records.append(
            {
                "at": clock.text(head.arrived),
                "what": "reaction" if signal_in(head.reason) else "sent" if head.agent else "received",
                "eventId": event,
                "by": head.agent or head.author,
                "decision": head.others.details(),
                "line": head.first_line,
            }
        )
    records += _of_claims(book)
    records += _answered_twice(book, answers)
    for _, _, state in book.states.newest_first(activity.NAME, activity.REFUSED.strip()):
        by, code, about, ms = state["refused"][3]
        records.append({"at": clock.text(ms), "what": "refused", "by": by, "code": code, "about": about})
        if len(records) > MOST_COUNTED:
            break
    records.sort(key=lambda each: each["at"], reverse=True)
    wrong = counters.counted(book, now, limit)
    return {
        "records": records[:limit] if older is None else [],
        "counters": counts | {name: about["count"] for name, about in wrong.items()},
        **wrong,
        "open": leaks,
        "at": clock.text(now),
    }


def _of_claims(book: AttentionState) -> Iterator[dict[str, Any]]:
    """The records of all acts on claims."""
    for subject, state in book.states.states(claims.NAME):
        for _, writer, n, ms, by, action, about in state["log"]:
            row = {"at": clock.text(ms), "what": "claim", "action": action, "subject": subject, "by": by}
            yield row | {"line": f"{writer}.{n}", "about": about}


def _answered_twice(book: AttentionState, answers: Mapping[str, Mapping[str, str]]) -> Iterator[dict[str, Any]]:
    """The events that two agents answered because each had claimed them in a clone without the other's claim."""
    for event, by in answers.items():
        if len(by) < 2:
            continue
        subject = claims.EVENT + event
        lost = book.claim_on(subject).lost
        for agent in by.keys() & set(lost):
            yield {"at": by[agent], "what": "duplicate_reply", "eventId": event, "agent": agent}


def _record(event: str, agent: str, step: list[Any]) -> dict[str, Any]:
    _, writer, n, ms, what, about = step
    line = f"{writer}.{n}"
    return {"at": clock.text(ms), "what": what, "eventId": event, "agent": agent, "line": line, "about": about}


def _count(counts: dict[str, int], delivery: deliveries.Delivery) -> None:
    counts["deliveries"] = counts.get("deliveries", 0) + 1
    name = delivery.disposition or "open"
    counts[name] = counts.get(name, 0) + 1


def report_progress(
    book: AttentionState, agent: str, token: str, progress: float, total: float | None = None, message: str = ""
) -> Answer:
    """Record the progress of a piece of work, with a short remark from which secrets are removed."""
    about: dict[str, Any] = {"progress": progress, "total": total}
    check_progress(book, agent, token, about)
    about["message"] = redact(" ".join(message.split()))[:LONGEST_REMARK]
    about = {name: value for name, value in about.items() if value not in (None, "")}
    return [Progressed(agent, token, about)], {"token": token, **about}


def check_progress(book: AttentionState, agent: str, token: str, about: dict[str, Any]) -> None:
    """Refuse progress that goes back or beyond its total."""
    state = book.states.state(activity.NAME, f"{activity.PROGRESS}{agent} {token}")
    before = state["progress"][3][1].get("progress", 0) if state else 0
    total = about.get("total")
    if total is not None and about["progress"] > total:
        raise InvalidProgress(f"the progress {about['progress']} is greater than the total {total}", hint=START_AGAIN)
    if about["progress"] < before:
        raise InvalidProgress(
            f"the progress {about['progress']} is less than before: {token[:60]!r} is at {before}", hint=START_AGAIN
        )


def cancel(book: AttentionState, agent: str, event: str, reason: str) -> Answer:
    """Cancel the agent's own message. Secrets are removed from the reason."""
    head = find_message(book, event)
    if not may_see(book, agent, head):
        raise no_event(event)
    if head.agent != agent:
        raise PermissionDenied("only the sender of a message can cancel it", event_id=head.event)
    if head.is_deleted:
        return [], {"eventId": head.event, "cancelled": True, "already": True}
    why = clean_remark(reason) or None
    facts: list[AttentionFact] = [Deleted(agent, head.event, why), *deletion_facts(book, head)]
    if head.state == PENDING:
        facts.append(Posting(agent, head.event, FAILED, {"reason": "called back"}))
    elif head.state:  # it may already be posted, so the bridge has to delete it
        about = {"type": "delete", "onMessage": head.event, "agent": agent, "conversation": head.conversation}
        facts.append(Posting(agent, f"{head.event}!delete", PENDING, about))
    return facts, {"eventId": head.event, "cancelled": True, **({"reason": why} if why else {})}
