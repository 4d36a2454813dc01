"""The outbox: messages of agents that a bridge has to post on a platform. The bridge reports the result of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bb.attention.acts import notices
from bb.attention.acts.confirmations import CONFIRM_ITEM, question_item
from bb.attention.acts.sending import answers
from bb.attention.facts import Answer, AttentionFact, Moved, Posting
from bb.attention.judging.cases import current_message
from bb.attention.messages.messages import NAME as MESSAGES
from bb.attention.messages.messages import OUTBOX, MessageHead
from bb.attention.messages.messages import message_of_state as message_kept
from bb.attention.messages.outbox_states import FAILED, PENDING, SENT, UNKNOWN
from bb.attention.messages.redaction import redact
from bb.attention.refusals import NoSuchEvent
from bb.attention.state import transitions
from bb.attention.state.attention_state import AttentionState
from bb.attention.surfaces.glyphs import name_of
from bb.attention.words import DM, SEND_FAILED, SYSTEM, THREAD
from bb.kernel import clock
from bb.kernel.errors import Conflict, PermissionDenied
from bb.kernel.total_order import State

CLOCKS_DIFFER = 5 * clock.MINUTE  # at most, between this machine and a platform

PostedAlready = Conflict.declare(
    "POSTED_ALREADY",
    "The message is already recorded as sent or failed",
    hint="`bb chat outbox` lists what is still to be posted",
)


def to_post(book: AttentionState, platform: str = "") -> Iterator[dict[str, Any]]:
    """What is to be posted, oldest first; with PLATFORM only there. An `unknown` one may have been posted already."""
    for event, state in book.states.entries_by_term(MESSAGES, OUTBOX):
        item = item_of_state(book, event, state)
        if item and platform in ("", item["platform"]):
            yield item


def item_of_state(book: AttentionState, event: str, state: Mapping[str, Any]) -> dict[str, Any] | None:
    """One item as a bridge gets it; None if nothing is to be posted."""
    head = message_kept(event, state)
    if head is None:
        posting_state, about = state["posting"][3]
        if about.get("type") == CONFIRM_ITEM:
            return {"id": event, **_question(book, event, about), "state": posting_state}
        return {"id": event, **_on_a_message(book, event, about), "state": posting_state}
    if not head.state:
        return None
    message = current_message(book, head)
    return {
        "id": event,
        "type": "message",
        "state": head.state,
        "idempotencyKey": f"{head.agent}:{message.key}",
        "marker": event,
        "agent": head.agent,
        "platform": head.platform,
        "target": {
            "workspace": head.workspace or None,
            "conversation": _place(head.conversation, head.platform),
            "kind": book.conversation(head.conversation).kind,
            "thread": head.thread or None,
            "replyTo": _platform_id(book, head.in_reply_to),
            "recipient": message.recipient or None,
        },
        "visibility": message.visibility,
        "inReplyTo": _native(book, head.in_reply_to) or None,
        "mentions": list(message.mentions),
        "content": message.content,
        "searchFrom": clock.text(head.at - CLOCKS_DIFFER),  # it is not on the platform before
    }


def _question(book: AttentionState, name: str, about: Mapping[str, Any]) -> dict[str, Any]:
    """A question to the person, with the members of a message."""
    item = question_item(name, about)
    kind = book.conversation(str(about.get("conversation", ""))).kind
    item["target"] = {**item["target"], "kind": kind, "replyTo": None}
    since = clock.text(book.request(name).asked_at - CLOCKS_DIFFER)
    return {**item, "visibility": DM if kind == DM else THREAD, "inReplyTo": None, "mentions": [], "searchFrom": since}


def _on_a_message(book: AttentionState, event: str, about: Mapping[str, Any]) -> dict[str, Any]:
    """A reaction or a deletion: where its message is, the ids on the platform, and the name of the glyph there."""
    on = book.message(str(about.get("onMessage", "")))
    where = book.conversation(str(about.get("conversation", "")))
    target = {
        "workspace": (on.workspace if on else where.workspace) or None,
        "conversation": _place(where.id, where.platform),
        "kind": where.kind,
        "thread": (on.thread if on else "") or None,
        "message": on.platform_id if on else None,
    }
    item = {**about, "platform": where.platform, "target": target}
    posted = on.posted.get("platform_id") if on else None
    item["onMessage"] = posted or _native(book, str(about.get("onMessage", "")))
    if "glyph" in about:
        item["glyphName"] = name_of(about["glyph"], where.platform)
    if about.get("remove"):
        added = (book.states.state(MESSAGES, event.removesuffix("!off")) or {}).get("posting")
        item["reactionId"] = added[3][1].get("platform_id") if added else None
    return item


def _place(conversation: str, platform: str) -> str:
    """The id by which the platform knows a conversation."""
    return conversation.removeprefix(f"{platform}:")


def _native(book: AttentionState, event: str) -> str:
    """The id by which the platform knows an event."""
    head = book.message(event) if event else None
    return (head.native if head else "") or event


def _platform_id(book: AttentionState, event: str) -> str | None:
    """The platform's own id of a message; None if there is no such message."""
    head = book.message(event) if event else None
    return head.platform_id if head else None


def record_result(book: AttentionState, by: str, event: str, about: dict[str, Any], now: int) -> Answer:
    """Record the result of posting: sent, with its id on the platform; unknown; or permanently refused."""
    state = book.states.state(MESSAGES, event)
    head = message_kept(event, state)
    before = head.state if head else (state or {}).get("posting", [0, 0, 0, [""]])[3][0]
    if not before:
        hint = "`bb chat outbox` lists the messages to post"
        raise NoSuchEvent(f"the outbox has no message {event[:80]!r}", hint=hint, event_id=event[:80])
    own = {} if head else (state or {})["posting"][3][1]
    if own.get("type") == CONFIRM_ITEM and by in book.agents:
        raise PermissionDenied("an agent may not say that a question to the person was posted", event_id=event)
    to = FAILED if about.get("reason") else UNKNOWN if about.get("unknown") else SENT
    kept = {name: redact(value) for name, value in about.items() if isinstance(value, str)}
    if head and "platform_id" in kept:
        kept["posted_as"] = head.posted_as(kept["platform_id"])
    now_named, named = kept.get("platform_id"), head.posted.get("platform_id") if head else None
    is_named_late = before == to == SENT and now_named and not named
    if before == to and before != PENDING and not is_named_late and now_named in (None, named):
        return [], {"id": event, "state": to, "already": True, **_marked(book, event, state, to)}
    if before in (SENT, FAILED) and not is_named_late:
        raise PostedAlready(f"{event[:80]} is already recorded as {before}", state=before)
    facts: list[AttentionFact] = [Posting(by, event, to, {**own, **kept})]
    if head and to == FAILED:
        facts += _unsent(book, head, kept["reason"], now)
    return facts, {"id": event, "state": to, **kept, **_marked(book, event, state, to)}


def _marked(book: AttentionState, event: str, state: State | None, to: str) -> dict[str, Any]:
    """For a bridge that marks an item before it posts it: the item as it is now."""
    return {"item": item_of_state(book, event, state or {})} if to == UNKNOWN else {}


def _unsent(book: AttentionState, known: MessageHead, why: str, now: int) -> list[AttentionFact]:
    """The facts after a permanent failure: a notice to the agent, and the event that it answered is open again."""
    text = f"The platform permanently refused your message {known.event}: {why}"
    facts: list[AttentionFact] = [
        *notices.notice_once(book, f"failed:{known.event}", known, known.agent, SEND_FAILED, text, now)
    ]
    if known.in_reply_to and not any(answer != known.event for answer in answers(book, known.in_reply_to, known.agent)):
        step = Moved(SYSTEM, known.in_reply_to, known.agent, transitions.UNSENT, {"reason": why})
        facts.append(step)
    return facts
