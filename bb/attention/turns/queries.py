"""Queries of an agent: the list of its events, the answers that it owes, and its open knocks.

A query never changes what an agent is to do. It is recorded that the agent has seen a message, because an agent may
answer a stale event only after it has seen the later messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from bb.attention.facts import Answer, AttentionFact, Moved
from bb.attention.judging.before_bind import open_before_bind, summary
from bb.attention.judging.cases import bystander_delivery, current_message, may_see, open_cases, require_registered
from bb.attention.judging.content_version import content_version
from bb.attention.judging.current_decision import Standing, standing
from bb.attention.messages.messages import EVERY, MessageHead
from bb.attention.messages.messages import NAME as MESSAGES
from bb.attention.messages.messages import message_of_state as message_kept
from bb.attention.state import transitions
from bb.attention.state.attention_state import AttentionState
from bb.attention.turns import knocks
from bb.attention.words import MUST_NOT, NOTIFY, SILENT, signal_shown
from bb.kernel import clock
from bb.kernel.record import Record

USUAL, MOST_ROWS = 50, 200
AT_ONCE = 100  # messages whose deliveries are read together
MOST_LOOKED_THROUGH = 20_000  # messages that are searched for one list
STATES = ("open", "buffering", "closed", "all")


class Filter(Record):
    """The filter of a list."""

    stream: str = ""
    conversation: str = ""
    policies: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    state: str = "all"
    since: int | None = None
    until: int | None = None
    cursor: str = ""
    limit: int = USUAL
    with_body: bool = False
    with_silent: bool = False


def list_events(book: AttentionState, agent: str, wanted: Filter, now: int) -> Answer:
    """The events that AGENT may see, newest first."""
    require_registered(book, agent)
    rows: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    counts = {"open": 0, "knocks": 0}
    cursor = last = None
    looked_at = 0
    for place, head, stands in _each(book, agent, wanted, now):
        looked_at += 1
        if len(rows) == min(max(wanted.limit, 1), MOST_ROWS) or looked_at > MOST_LOOKED_THROUGH:
            cursor = last
            break
        last = place
        if not _is_wanted(head, stands, wanted):
            continue
        row = event_row(book, agent, head, stands, now, with_body=wanted.with_body)
        rows.append(row)
        counts["open"] += stands.is_open
        counts["knocks"] += stands.is_open and stands.decision.mode == NOTIFY
        if wanted.with_body and not head.is_deleted and stands.delivery.place:
            seen[head.event] = row["contentVersion"]
    facts = pulled_facts(book, agent, seen)
    earlier = [] if wanted.cursor else [head for head, _ in open_before_bind(book, agent)]
    more = {"beforeBind": summary(earlier, now)} if earlier else {}
    return facts, {"events": rows, "cursor": cursor, "counts": counts, **more}


def _each(book: AttentionState, agent: str, wanted: Filter, now: int) -> Iterator[tuple[str, MessageHead, Standing]]:
    """The messages that AGENT may see, newest first, within the cursor and the times; each with its place."""
    pairs = _from_the_last(book, agent, wanted)
    many = min(max(wanted.limit, 1), MOST_ROWS) + 1  # one more than the limit shows that there is another page
    while some := list(islice(pairs, many)):
        many = AT_ONCE
        at_hand = book.with_deliveries_of([head for _, head in some], agent)
        for place, head in some:
            if head.agent != agent and may_see(at_hand, agent, head):
                delivery = at_hand.delivery(head.event, agent) or bystander_delivery(at_hand, head, agent)
                claim = at_hand.claim(head.event, head.thread_window, now)
                yield place, head, standing(delivery, claim, now, book.tuning)


def _from_the_last(book: AttentionState, agent: str, wanted: Filter) -> Iterator[tuple[str, MessageHead]]:
    """The messages after the cursor, newest first, with their places."""
    pairs: Iterator[tuple[str, MessageHead]]
    is_by_arrival = True
    if wanted.state in ("open", "buffering"):
        opened = sorted(book.open_for(agent), key=lambda each: each.place, reverse=True)
        at_hand = book.with_messages_of(opened)
        pairs = ((delivery.place, head) for delivery in opened if (head := at_hand.message(delivery.event)))
    else:
        is_by_arrival = not wanted.conversation  # within a conversation they are in the platform's order
        term = f"in {wanted.conversation}" if wanted.conversation else EVERY
        rows = book.states.newest_first(MESSAGES, term)
        pairs = ((place, head) for place, event, state in rows if (head := message_kept(event, state)))
    for place, head in pairs:
        if wanted.cursor and place >= wanted.cursor:
            continue
        if wanted.since is None or head.arrived >= wanted.since:
            yield place, head
        elif is_by_arrival:
            return


def _is_wanted(known: MessageHead, stands: Standing, wanted: Filter) -> bool:
    if stands.decision.mode == SILENT and not wanted.with_silent:
        return False
    if wanted.until is not None and known.arrived > wanted.until:
        return False
    if (wanted.stream and known.stream != wanted.stream) or wanted.conversation not in ("", known.conversation):
        return False
    if wanted.policies and stands.decision.policy not in wanted.policies:
        return False
    if wanted.modes and stands.decision.mode not in wanted.modes:
        return False
    is_in = {
        "open": stands.is_open,
        "buffering": stands.is_open and stands.delivery.phase in ("buffering", "held_for_boundary"),
        "closed": not stands.is_open,
    }
    return is_in.get(wanted.state, True)


def pulled_facts(book: AttentionState, agent: str, seen: Mapping[str, int]) -> list[AttentionFact]:
    """The facts that AGENT has read these events in these content versions, as far as that is new."""
    return [
        Moved(agent, event, agent, transitions.PULLED, {"version": version})
        for event, version in seen.items()
        if (delivery := book.delivery(event, agent)) and (not delivery.pulled_at or delivery.seen_version < version)
    ]


def event_row(
    book: AttentionState, agent: str, known: MessageHead, stands: Standing, now: int, *, with_body: bool = False
) -> dict[str, Any]:
    """One event as a row of a list. The body is left out unless the caller asks for it."""
    result = {
        "eventId": known.event,
        "place": known.place,
        "conversation": {"id": known.conversation, "kind": known.kind, **_optional(known)},
        "author": knocks.author_of(known),
        **({"unverified": True} if book.is_doubted(known) else {}),
        "at": clock.text(known.at),
        "ageMs": max(now - known.at, 0),
        "contentVersion": content_version(book, agent, known),
        **stands.decision.details(),
        **stands.shown(),
        **signal_shown(known.reason, known.linked),
        **({"linked": known.linked} if known.linked else {}),
        **({"answers": known.answers} if known.answers else {}),
        **({"deleted": True} if known.is_deleted else {}),
        **({"deletionReason": known.deletion_reason} if known.deletion_reason else {}),
    }
    if stands.decision.mode == NOTIFY and not with_body:
        message = current_message(book, known)
        result["knock"] = knocks.knock(book, [message], stands.decision)
    if with_body:
        result["content"] = current_message(book, known).content
        result["untrusted"] = True
    return result


def _optional(known: MessageHead) -> dict[str, str]:
    members = {"threadId": known.thread, "streamId": known.stream, "platform": known.platform}
    return {name: value for name, value in members.items() if value}


def owed_answers(book: AttentionState, agent: str, now: int) -> dict[str, Any]:
    """The events that AGENT owes an answer, the most urgent first."""
    require_registered(book, agent)
    rows = []
    for head, stands in open_cases(book, agent, now):
        if stands.is_owed or (stands.is_open and stands.delivery.disposition is not None):
            due = clock.text(stands.due) if stands.due is not None else None
            rows.append((stands.due or 1 << 60, event_row(book, agent, head, stands, now) | {"dueAt": due}))
    return {"agent": agent, "events": [row for _, row in sorted(rows, key=lambda each: each[0])]}


def open_knocks(book: AttentionState, agent: str, now: int) -> dict[str, Any]:
    """The knocks whose messages AGENT has not read yet, one for each thread."""
    require_registered(book, agent)
    by_thread: dict[str, list[tuple[MessageHead, Standing]]] = {}
    for head, stands in open_cases(book, agent, now):
        delivery = stands.delivery
        if stands.decision.mode == NOTIFY and delivery.pulled_at is None and stands.decision.policy != MUST_NOT:
            by_thread.setdefault(delivery.window, []).append((head, stands))
    rows: list[dict[str, Any]] = []
    for group in by_thread.values():
        messages = [current_message(book, head) for head, _ in group]
        knock = knocks.knock(book, messages, group[-1][1].decision)
        rows.append({"eventId": group[-1][0].event, "events": [head.event for head, _ in group], "knock": knock})
    earlier = open_before_bind(book, agent)
    for head, delivery in earlier:
        knock = knocks.knock(book, [current_message(book, head)], delivery.decision)
        rows.append({"eventId": head.event, "events": [head.event], "knock": knock, "beforeBind": True})
    more = {"beforeBind": summary([head for head, _ in earlier], now)} if earlier else {}
    return {"agent": agent, "knocks": rows, **more}
