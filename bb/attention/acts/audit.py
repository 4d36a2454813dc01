"""The audit: decisions and acts, events left open, and what went wrong (`counters`).

Also progress reports, and cancelling one's own message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from bb.attention.acts import counters
from bb.attention.acts.answers import clean_remark
from bb.attention.acts.private_content import repeated_in_public
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
from bb.kernel.digest import digest
from bb.kernel.errors import PermissionDenied, Usage

MOST_COUNTED, MOST_RECORDS = 10_000, 100_000  # messages that are looked through, and records of them
LONGEST_REMARK = 240


START_AGAIN = "to start again, use another token"

InvalidCursor = Usage.declare(
    "INVALID_CURSOR", "The cursor is not one of this command", hint="pass the cursor of the previous answer, unchanged"
)

InvalidProgress = Usage.declare(
    "INVALID_PROGRESS", "The progress must be a number that never decreases and never exceeds the total"
)


def audit(book: AttentionState, now: int, limit: int, older: int | None, cursor: str = "") -> dict[str, Any]:
    """The last records, newest first. With OLDER, only the events that have been open since before that time.

    With CURSOR, the records after that place, without the counters. A page looks through MOST_COUNTED messages.
    """
    until = _cursor_time(cursor, now)
    records: list[dict[str, Any]] = []
    counts: dict[str, int] = {}
    leaks: list[dict[str, Any]] = []
    answers: dict[str, dict[str, str]] = {}
    # Nothing is recorded about a message before it arrives, so a later page needs no message that arrived after it.
    heads = (head for head in book.newest_messages(EVERY) if head.arrived <= until)
    for head in islice(heads, MOST_COUNTED):
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
        if ms > until:
            continue
        *_, writer, n = state["refused"][:3]
        row = {"at": clock.text(ms), "what": "refused", "by": by, "code": code, "about": about, "line": f"{writer}.{n}"}
        records.append(row)
        if len(records) > MOST_RECORDS:
            break
    page, following = _page(records, limit, cursor)
    wrong = {} if cursor else counters.counted(book, now, limit)
    return {
        "records": page if older is None else [],
        "cursor": following if older is None else None,
        "counters": {} if cursor else counts | {name: about["count"] for name, about in wrong.items()},
        **wrong,
        "open": leaks if not cursor else [],
        "at": clock.text(now),
    }


def _cursor_time(cursor: str, now: int) -> int:
    """The time of the last record of the page before."""
    if not cursor:
        return max(now, clock.LAST)
    written = cursor.partition("~")[0]
    try:
        return clock.parse(written)
    except clock.NotATime.error:
        raise InvalidCursor(f"{cursor[:80]!r} is not a cursor") from None


def _page(records: list[dict[str, Any]], limit: int, cursor: str) -> tuple[list[dict[str, Any]], str | None]:
    """LIMIT records after CURSOR, newest first, and the cursor of the next page; None if this is the last one."""
    placed = sorted(((record["at"], _name(record), place) for place, record in enumerate(records)), reverse=True)
    at, _, name = cursor.partition("~")
    after = [each for each in placed if not cursor or each[:2] < (at, name)]
    page = [records[place] for _, _, place in after[:limit]]
    last = after[limit - 1] if len(after) > limit else None
    return page, f"{last[0]}~{last[1]}" if last else None


def _name(record: Mapping[str, Any]) -> str:
    """A name of a record that is the same on each page."""
    members = ("line", "what", "eventId", "agent", "subject", "by", "code")
    return digest("\n".join(str(record.get(member, "")) for member in members).encode())[:12]


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
    book: AttentionState, agent: str, token: str, progress: float, total: float | None, message: str, now: int
) -> Answer:
    """Record the progress of a piece of work, with a short remark from which secrets are removed."""
    about: dict[str, Any] = {"progress": progress, "total": total}
    check_progress(book, agent, token, about)
    about["message"] = remark(book, agent, message, now)
    about = {name: value for name, value in about.items() if value not in (None, "")}
    return [Progressed(agent, token, about)], {"token": token, **about}


def remark(book: AttentionState, agent: str, message: str, now: int) -> str:
    """A remark about progress, without secrets. Digests show it to every agent, so it may not repeat private words."""
    if found := repeated_in_public(book, agent, message, now):
        raise PermissionDenied(
            f"every agent can read the message of a progress report: {found[1]}",
            hint="say it in other words, or leave the message out",
            event_id=found[0].event,
        )
    return redact(" ".join(message.split()))[:LONGEST_REMARK]


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
