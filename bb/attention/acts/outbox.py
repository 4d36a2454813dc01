"""What agents have said where somebody else has to post it: a bridge takes it from here, and says what became of it."""

from __future__ import annotations

from bb.attention.acts import notices
from bb.attention.acts.sending import answers
from bb.attention.facts import Moved, Posting
from bb.attention.judging.cases import said_in
from bb.attention.messages.messages import NAME as MESSAGES
from bb.attention.messages.messages import OUTBOX
from bb.attention.messages.messages import kept as message_kept
from bb.attention.messages.outbox_states import FAILED, PENDING, SENT, UNKNOWN
from bb.attention.messages.redaction import redacted
from bb.attention.refusals import NoSuchEvent
from bb.attention.state import deliveries
from bb.attention.words import SEND_FAILED, SYSTEM
from bb.kernel.errors import Conflict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.attention.facts import AttentionFact
    from bb.attention.messages.messages import Kept
    from bb.attention.state.book import Book

    Answer = tuple[list[AttentionFact], dict[str, Any]]


class PostedAlready(Conflict):
    """It is known to be posted, or to have failed."""

    code = "POSTED_ALREADY"
    hint = "`bb chat outbox` lists what is still to be posted"


def due(book: Book) -> Iterator[dict[str, Any]]:
    """What is to be posted, oldest first; what is `unknown` has to be looked for before it is tried again."""
    for event, state in book.states.found(MESSAGES, OUTBOX):
        known = message_kept(event, state)
        if known is None:
            now, about = state["posting"][3]
            yield {"id": event, **about, "state": now}
            continue
        said = said_in(known, book.data(known.line))
        yield {
            "id": event,
            "type": "message",
            "state": known.state,
            "idempotencyKey": f"{known.agent}:{said.key}",
            "marker": event,
            "agent": known.agent,
            "platform": known.platform,
            "target": {
                "conversation": known.conversation,
                "thread": known.thread or None,
                "recipient": said.recipient or None,
            },
            "visibility": said.visibility,
            "inReplyTo": known.in_reply_to or None,
            "mentions": list(said.mentions),
            "content": said.content,
        }


def confirm(book: Book, by: str, event: str, about: dict[str, Any], now: int) -> Answer:
    """What became of something: posted, under which name; not known; or refused for good."""
    state = book.states.state(MESSAGES, event)
    known = message_kept(event, state)
    before = known.state if known else (state or {}).get("posting", [0, 0, 0, [""]])[3][0]
    if not before:
        raise NoSuchEvent(f"nothing called {event[:80]!r} is to be posted", event_id=event[:80])
    to = FAILED if about.get("reason") else UNKNOWN if about.get("unknown") else SENT
    kept = {name: redacted(value) for name, value in about.items() if isinstance(value, str)}
    now_named, named = kept.get("platform_id"), known.posted.get("platform_id") if known else None
    is_named_late = before == to == SENT and now_named and not named
    if before == to and before != PENDING and not is_named_late and now_named in (None, named):
        return [], {"id": event, "state": to, "already": True}
    if before in (SENT, FAILED) and not is_named_late:
        raise PostedAlready(f"{event[:80]} is {before}", state=before)
    own = {} if known else (state or {})["posting"][3][1]
    facts: list[AttentionFact] = [Posting(by, event, to, {**own, **kept})]
    if known and to == FAILED:
        facts += _unsent(book, known, kept["reason"], now)
    return facts, {"id": event, "state": to, **kept}


def _unsent(book: Book, known: Kept, why: str, now: int) -> list[AttentionFact]:
    """What an agent said will never be there: it is told, and what it answered by that is not answered."""
    text = f"What you said as {known.event} was refused there for good: {why}"
    facts: list[AttentionFact] = [
        *notices.once(book, f"failed:{known.event}", known, known.agent, SEND_FAILED, text, now)
    ]
    if known.in_reply_to and not any(each != known.event for each in answers(book, known.in_reply_to, known.agent)):
        step = Moved(SYSTEM, known.in_reply_to, known.agent, deliveries.UNSENT, {"reason": why})
        facts.append(step)
    return facts
