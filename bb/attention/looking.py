"""Looking: what there is for an agent, a thread of it, what is owed, and why something is as it is.

To look is not to be asked: nothing here changes what an agent is to do. That it has looked is noted down, since an old
event may be answered only by who has seen what came after it.
"""

from __future__ import annotations

from bb.attention import deliveries, knocks, threads
from bb.attention.cases import case, may_see, must_be_here, of_bystander, said_in
from bb.attention.deciding import Scene, decide
from bb.attention.directedness import aim, call
from bb.attention.facts import Moved
from bb.attention.messages import EVERY, place_of
from bb.attention.messages import NAME as MESSAGES
from bb.attention.messages import kept as message_kept
from bb.attention.refusals import NoSuchEvent
from bb.attention.standing import standing
from bb.attention.words import MUST_NOT, NOTIFY, SILENT
from bb.kernel import clock
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.attention.book import Book
    from bb.attention.facts import AttentionFact
    from bb.attention.messages import Kept
    from bb.attention.standing import Standing

    Answer = tuple[list[AttentionFact], dict[str, Any]]

USUAL, MOST_ROWS, MOST_READ = 50, 200, 100
MOST_LOOKED_THROUGH = 20_000  # messages, for one list that hardly any of them fits
STATES = ("open", "buffering", "closed", "all")


class Wanted(Record):
    """What a list is to hold."""

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


def listed(book: Book, agent: str, wanted: Wanted, now: int) -> Answer:
    """What there is for AGENT, newest first."""
    must_be_here(book, agent)
    rows: list[dict[str, Any]] = []
    seen: list[str] = []
    counts = {"open": 0, "knocks": 0}
    cursor = None
    looked_at = 0
    for known, stands in _each(book, agent, wanted, now):
        looked_at += 1
        if len(rows) == min(max(wanted.limit, 1), MOST_ROWS) or looked_at > MOST_LOOKED_THROUGH:
            cursor = rows[-1]["place"] if rows else None
            break
        if not _is_wanted(known, stands, wanted):
            continue
        rows.append(row(book, known, stands, now, with_body=wanted.with_body))
        counts["open"] += stands.is_open
        counts["knocks"] += stands.is_open and stands.decision.mode == NOTIFY
        if wanted.with_body and not known.is_deleted and stands.delivery.place and stands.delivery.pulled_at is None:
            seen.append(known.event)
    facts: list[AttentionFact] = [
        Moved(agent, event, agent, deliveries.PULLED) for event in seen if book.delivery(event, agent)
    ]
    return facts, {"events": rows, "cursor": cursor, "counts": counts}


def _each(book: Book, agent: str, wanted: Wanted, now: int) -> Iterator[tuple[Kept, Standing]]:
    """What AGENT may see, last first, as far as the cursor and the times allow."""
    found: Iterator[Kept]
    if wanted.state in ("open", "buffering"):
        keys = [(each.place, each.event) for each in book.open_for(agent)]
        found = (known for _, event in sorted(keys, reverse=True) if (known := book.message(event)))
    else:
        term = f"in {wanted.conversation}" if wanted.conversation else EVERY
        rows = book.states.newest_first(MESSAGES, term)
        found = (known for _, event, state in rows if (known := message_kept(event, state)))
    for known in found:
        if wanted.cursor and known.place >= wanted.cursor:
            continue
        if wanted.since is not None and known.arrived < wanted.since:
            return
        if known.agent != agent and may_see(book, agent, known):
            delivery = book.delivery(known.event, agent) or of_bystander(book, known, agent)
            yield known, standing(delivery, book.claim(known.event, known.window, now), now, book.tuning)


def _is_wanted(known: Kept, stands: Standing, wanted: Wanted) -> bool:
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


def row(book: Book, known: Kept, stands: Standing, now: int, *, with_body: bool = False) -> dict[str, Any]:
    """One event, as a list has it. Without its body, of which nobody has asked anything."""
    found = {
        "eventId": known.event,
        "place": known.place,
        "conversation": {"id": known.conversation, "kind": known.kind, **_optional(known)},
        "author": knocks.author_of(book, known),
        "at": clock.text(known.at),
        "ageMs": max(now - known.at, 0),
        **stands.decision.shown(),
        **stands.shown(),
        **({"reason": known.reason} if known.reason.startswith("signal") else {}),
        **({"linked": known.linked} if known.linked else {}),
        **({"deleted": True} if known.is_deleted else {}),
    }
    if stands.decision.mode == NOTIFY and not with_body:
        said = said_in(known, book.data(known.line))
        found["knock"] = knocks.knock(book, [said], stands.decision)
    if with_body:
        found["content"] = said_in(known, book.data(known.line)).content
        found["untrusted"] = True
    return found


def _optional(known: Kept) -> dict[str, str]:
    found = {"threadId": known.thread, "streamId": known.stream, "platform": known.platform}
    return {name: value for name, value in found.items() if value}


class Window(Record):
    """Which part of a conversation is to be read."""

    event: str = ""
    conversation: str = ""
    thread: str = ""
    before: str = ""
    after: str = ""
    limit: int = USUAL
    most_bytes: int = 64 * 1024


def read(book: Book, agent: str, window: Window, now: int) -> Answer:
    """A thread, or the window of a conversation, oldest first."""
    must_be_here(book, agent)
    conversation, thread = window.conversation, window.thread
    if window.event:
        around = case(book, window.event, agent, now).known
        conversation, thread = around.conversation, thread or around.thread
    if not book.conversation(conversation).admits(agent):
        raise NoSuchEvent(f"there is no conversation {conversation[:80]!r}")
    newest, is_cut = _newest(book, agent, f"in {conversation} {thread}".rstrip(), window)
    if not newest and not window.event:
        raise NoSuchEvent(f"there is nothing in {conversation[:80]!r}")
    items, is_cut = _within(book, newest, window.most_bytes, is_cut)
    sequences = [each.sequence for each in newest if each.sequence is not None]
    return _noted(book, agent, newest, is_latest=not window.before), {
        "conversation": conversation,
        "thread": thread or None,
        "items": items,
        "latestSequence": max(sequences, default=None),
        "truncated": is_cut,
    }


def _newest(book: Book, agent: str, term: str, window: Window) -> tuple[list[Kept], bool]:
    """The newest messages that are wanted, and whether there are more before them."""
    found: list[Kept] = []
    before, after = (_place(book, name) for name in (window.before, window.after))
    for place, name, state in book.states.newest_first(MESSAGES, term):
        known = message_kept(name, state)
        if known is None or known.reason.startswith("signal") or not may_see(book, agent, known):
            continue
        if before and place >= before:
            continue
        if after and place <= after:
            break
        if len(found) == min(max(window.limit, 1), MOST_READ):
            return found, True
        found.append(known)
    return found, False


def _place(book: Book, event: str) -> str:
    """Where an event stands among those of its conversation."""
    state = book.states.state(MESSAGES, event) if event else None
    return place_of(state["said"][:3], state["said"][3]) if state and "said" in state else ""


def _noted(book: Book, agent: str, seen: list[Kept], *, is_latest: bool) -> list[AttentionFact]:
    """That AGENT has seen these. Whoever has seen the end of a thread may answer what is old in it."""
    facts: list[AttentionFact] = []
    for each in seen:
        delivery = book.delivery(each.event, agent)
        if delivery and delivery.pulled_at is None:
            facts.append(Moved(agent, each.event, agent, deliveries.PULLED))
        if delivery and delivery.is_open and is_latest:
            facts.append(Moved(agent, each.event, agent, deliveries.CHECKED))
    return facts


def _within(book: Book, newest: list[Kept], most_bytes: int, is_cut: bool) -> tuple[list[dict[str, Any]], bool]:
    """The newest messages that fit, oldest first."""
    items: list[dict[str, Any]] = []
    size = 0
    for known in newest:
        said = said_in(known, book.data(known.line))
        size += sum(len(str(part.get("text", ""))) for part in said.content) + 100
        if items and size > most_bytes:
            return items[::-1], True
        items.append(
            {
                "eventId": known.event,
                "author": knocks.author_of(book, known),
                "at": clock.text(known.at),
                "parts": [] if known.is_deleted else said.content,
                "untrusted": True,
                **({"tombstone": True} if known.is_deleted else {}),
                **({"version": known.version} if known.version > 1 else {}),
            }
        )
    return items[::-1], is_cut


def show(book: Book, agent: str, event: str, now: int) -> dict[str, Any]:
    """One event and what has become of it, step by step."""
    found = case(book, event, agent, now)
    state = book.states.state(deliveries.NAME, deliveries.name(found.event, agent)) or {"log": []}
    steps = [
        {"step": what, "at": clock.text(ms), "by": f"{writer}.{n}", **({"about": about} if about else {})}
        for _, writer, n, ms, what, about in state["log"]
    ]
    return row(book, found.known, found.standing, now) | {
        "agent": agent,
        "version": found.known.version,
        "state": found.known.state or None,
        "steps": steps,
    }


def explain(book: Book, agent: str, event: str, now: int) -> dict[str, Any]:
    """Why an event is to an agent what it is: what went in, which rule it was, and what came out; by the rules of now,
    beside what was recorded when it came."""
    found = case(book, event, agent, now)
    said = found.message
    before = Scene(
        directory=book.directory,
        tuning=book.tuning,
        conversation=book.conversation(said.conversation),
        thread=threads.before(book.states.state(threads.NAME, found.known.window), found.known.order),
        is_live=lambda name: name in book.agents and book.agents[name].is_live,
    )
    called = call(said, book.directory)
    aimed = aim(said, book.directory, before.thread)
    is_decided = not said.reason
    decided = decide(said, before) if is_decided else None
    again = (decided.each.get(agent) or of_bystander(book, found.known, agent).decision) if decided else None
    recorded = found.standing.delivery.decision
    if again is None or (found.is_bystander and agent not in (decided.each if decided else {})):
        again = recorded
    is_bound = book.directory.is_bound(agent, said.platform)
    warnings = (
        [] if is_bound else [f"{agent} is bound to nothing on {said.platform}: `bb chat bind {agent} --handle …`"]
    )
    return {
        "eventId": found.event,
        "agent": agent,
        **again.shown(),
        "recorded": recorded.shown() if again != recorded else None,
        "now": found.standing.decision.shown(),
        **found.standing.shown(),
        "inputs": {
            "author": knocks.author_of(book, found.known),
            "authorKind": said.author_kind,
            "kind": said.kind,
            "intent": said.intent,
            "mentions": list(said.mentions),
            "recipient": said.recipient or None,
            "thread": said.thread or None,
            "stream": said.stream or None,
            "declared": said.declared or None,
            "calls": {"agents": list(called.agents), "groups": list(called.groups)},
            "participants": list(before.thread.participants),
            "turnsOfAgents": before.thread.run,
        },
        "rule": {
            "aimed": dict(zip(("directedness", "why"), aimed.at.get(agent, aimed.others), strict=True)),
            "row": f"{again.directedness} / {again.policy} / {again.mode}",
        },
        "dueAt": clock.text(found.standing.due) if found.standing.due is not None else None,
        "warnings": warnings,
    }


def pending(book: Book, agent: str, now: int) -> dict[str, Any]:
    """What AGENT owes an answer, the most urgent first."""
    must_be_here(book, agent)
    rows = []
    for found in book.open_for(agent):
        known = book.message(found.event)
        if known is None or known.is_deleted or not may_see(book, agent, known):
            continue
        stands = standing(found, book.claim(found.event, found.window, now), now, book.tuning)
        if stands.is_owed or (stands.is_open and found.disposition is not None):
            due = clock.text(stands.due) if stands.due is not None else None
            rows.append((stands.due or 1 << 60, row(book, known, stands, now) | {"dueAt": due}))
    return {"agent": agent, "events": [each for _, each in sorted(rows, key=lambda each: each[0])]}


def knocking(book: Book, agent: str, now: int) -> dict[str, Any]:
    """The knocks that AGENT has not followed, one for each thread."""
    must_be_here(book, agent)
    by_thread: dict[str, list[tuple[Kept, Standing]]] = {}
    for found in book.open_for(agent):
        known = book.message(found.event)
        if known is None or known.is_deleted or not may_see(book, agent, known):
            continue
        stands = standing(found, book.claim(found.event, found.window, now), now, book.tuning)
        if stands.decision.mode == NOTIFY and found.pulled_at is None and stands.decision.policy != MUST_NOT:
            by_thread.setdefault(found.window, []).append((known, stands))
    found_knocks = []
    for group in by_thread.values():
        said = [said_in(known, book.data(known.line)) for known, _ in group]
        knock = knocks.knock(book, said, group[-1][1].decision)
        found_knocks.append(
            {"eventId": group[-1][0].event, "events": [known.event for known, _ in group], "knock": knock}
        )
    return {"agent": agent, "knocks": found_knocks}
