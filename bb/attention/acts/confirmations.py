"""Confirmations: an agent's request to show private content to more people, and the person's answer.

The agent that asks never gets anything with which it could answer: a request is only an id. The person answers at a
terminal, on a page, in a host's dialog, or in the private conversation on its platform. Then the agent sends the same
message again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bb.attention.acts import notices
from bb.attention.acts.drafts import Draft
from bb.attention.facts import Answer, AttentionFact, Confirming, Posting
from bb.attention.judging.cases import find_message_or_none
from bb.attention.messages.messages import NAME as MESSAGES
from bb.attention.messages.messages import MessageHead
from bb.attention.messages.outbox_states import FAILED, PENDING
from bb.attention.refusals import ConfirmRefused, ConfirmRequired, NoSuchRequest, RequestExpired
from bb.attention.state import confirmations
from bb.attention.state.attention_state import AttentionState
from bb.attention.state.confirmations import ALLOW, ALLOWED, ASK, EXPIRED, OPEN, REFUSE, REFUSED, TOOL, Request
from bb.attention.words import CONFIRMATION
from bb.kernel import clock
from bb.kernel.digest import digest
from bb.kernel.ids import SYSTEM

CONFIRM_ITEM = "confirmation"  # the type of an item in the outbox


def request_id(agent: str, draft: Draft) -> str:
    """The id of the request to send this message, and no other. It is the same in every clone and at every attempt."""
    said = f"{agent}\n{draft.key}\n{draft.body}"
    return f"confirm-{digest(said.encode())[:12]}"


def require(book: AttentionState, agent: str, draft: Draft, private: MessageHead, why: str, now: int) -> None:
    """Refuse DRAFT until the person has allowed it. The first refusal records the request.

    PRIVATE is the message whose content it would show, and WHY says how that is known.
    """
    request = book.request(request_id(agent, draft))
    state = request.state_at(now)
    if state == ALLOWED and request.about.get("body") == draft.body:  # ids are short, so two of them may be equal
        return
    if state == REFUSED:
        raise ConfirmRefused(confirmation=request.id, event_id=private.event)
    raise ConfirmRequired(
        f"{ConfirmRequired.message}: {why}",
        leaving=() if state == OPEN else _asking(book, agent, draft, private, request.id, why),
        confirmation=request.id,
        event_id=private.event,
    )


def _asking(
    book: AttentionState, agent: str, draft: Draft, private: MessageHead, name: str, why: str
) -> list[AttentionFact]:
    """The request and, if the private message came from another platform, the question to the person there."""
    about = {
        "event": private.event,
        "conversation": private.conversation,
        "to": draft.conversation,
        "visibility": draft.visibility,
        "body": draft.body,
        "message": draft.text,
        "why": why,
    }
    facts: list[AttentionFact] = [Confirming(agent, name, ASK, about)]
    if book.conversation(private.conversation).is_external:
        shown = {"type": CONFIRM_ITEM, "agent": agent, "platform": private.platform, "thread": private.thread}
        facts.append(Posting(SYSTEM, name, PENDING, {**about, **shown, "message": question(agent, about)}))
    return facts


def question(agent: str, about: dict[str, Any]) -> str:
    """The question to the person, as a bridge posts it."""
    where = about["to"] or "another conversation"
    return (
        f"{agent} wants to send this to {where}, where more people can read it ({about['why']}):\n\n"
        f"{about['message']}\n\nAnswer this message with yes or no, or react to it."
    )


def question_item(name: str, about: Mapping[str, Any]) -> dict[str, Any]:
    """The question as an item of the outbox."""
    return {
        "type": CONFIRM_ITEM,
        "idempotencyKey": name,
        "marker": name,
        "agent": about.get("agent"),
        "platform": about.get("platform"),
        "target": {"conversation": about.get("conversation"), "thread": about.get("thread") or None, "recipient": None},
        "content": [{"type": "text", "text": about.get("message", "")}],
    }


def answer(book: AttentionState, name: str, by: str, now: int, *, allows: bool, who: str = "") -> Answer:
    """Answer a request. BY is the author of the record: the person, or the service that brought the answer of WHO."""
    request = book.request(name)
    state = request.state_at(now)
    if not state:
        raise NoSuchRequest(f"there is no request {name[:120]!r}", confirmation=name[:120])
    if state == EXPIRED:
        raise RequestExpired(
            f"the request {request.id} has expired at {clock.text(request.until)}", confirmation=request.id
        )
    answered = shown(request, now) | {"state": ALLOWED if allows else REFUSED}
    if state == answered["state"]:
        return [], answered | {"already": True}
    about = {"by": who} if who else None
    facts: list[AttentionFact] = [Confirming(by, name, ALLOW if allows else REFUSE, about)]
    posting = (book.states.state(MESSAGES, name) or {}).get("posting")
    if posting and posting[3][0] == PENDING:  # the question was not posted yet, and now it need not be
        facts.append(Posting(SYSTEM, name, FAILED, {**posting[3][1], "reason": "already answered"}))
    return [*facts, *_notice(book, request, now, allows=allows)], answered


def _notice(book: AttentionState, request: Request, now: int, *, allows: bool) -> list[AttentionFact]:
    """The notice to the agent that asked."""
    about = find_message_or_none(book, str(request.about.get("event", "")))
    if about is None or is_tool_request(request):
        return []
    text = f"The person has allowed it ({request.id}): send the same message again, with the same idempotency key."
    if not allows:
        text = f"The person has refused it ({request.id}): do not send that message."
    name = f"{request.id}~{ALLOWED if allows else REFUSED}~{request.asked_at}"
    return [*notices.notice_once(book, name, about, request.agent, CONFIRMATION, text, now)]


def is_tool_request(request: Request) -> bool:
    """Whether the agent's program asks to run a tool. It waits for the answer itself."""
    return request.about.get("kind") == TOOL


def open_requests(book: AttentionState, now: int) -> Iterator[Request]:
    """The requests that wait for the person, oldest first."""
    for name, state in book.states.entries_by_term(confirmations.NAME, confirmations.UNANSWERED):
        request = confirmations.request_of_state(name, state)
        if request.state_at(now) == OPEN:
            yield request


def shown(request: Request, now: int) -> dict[str, Any]:
    """A request as people and programs see it."""
    about = request.about
    return {
        "id": request.id,
        "kind": request.about.get("kind", "message"),
        "agent": request.agent,
        "state": request.state_at(now),
        "eventId": about.get("event"),
        "from": about.get("conversation"),
        "to": about.get("to"),
        "visibility": about.get("visibility"),
        "why": about.get("why"),
        "text": about.get("message"),
        "askedAt": clock.text(request.asked_at),
        "expiresAt": clock.text(request.until),
        **({"answeredBy": request.answered_by} if request.answer else {}),
    }
