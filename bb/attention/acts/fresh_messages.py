"""Messages without `inReplyTo` that are answers all the same. Leaving the field out avoids no rule.

A claim binds the thread. Into a thread in which another agent holds a claim, on the thread or on one of its events, no
other agent sends anything but thanks. Outside of threads, the same holds while the claimed event is the last message of
the conversation. An agent may still write to the holder, and answer what it was asked itself.

A question to somebody else is not answered either: into a thread whose last message asks another agent or a person, an
agent that was asked nothing there sends nothing. If the message declares the intent `answer`, this holds for any last
message that the agent must not answer. All other fresh messages are free.
"""

from __future__ import annotations

from itertools import islice

from bb.attention.acts.drafts import Draft
from bb.attention.judging.cases import case_for_agent, may_see
from bb.attention.messages import intents, mentions
from bb.attention.messages.messages import MessageHead, in_window
from bb.attention.refusals import ClaimedByOther, PolicyForbids
from bb.attention.state import claims
from bb.attention.state.attention_state import AttentionState
from bb.attention.words import ANSWER, DM, MUST, MUST_NOT, OBLIGING, PLAIN, QUESTION, TO_ME, TO_OTHER
from bb.kernel import clock

MOST_LOOKED_THROUGH, MOST_OPEN = 30, 100  # messages of a thread, and open deliveries of the agent; the newest


def check_fresh(book: AttentionState, agent: str, draft: Draft, now: int) -> None:
    """Refuse DRAFT if it would plainly answer what another agent has claimed, or what AGENT must not answer."""
    if draft.visibility == DM or book.conversation(draft.conversation).kind == DM or _is_thanks(draft):
        return
    heads = _messages(book, agent, draft)
    last = next((head for head in heads if agent not in (head.agent, head.author)), None)
    if last is None:
        return
    asked = _asked_here(book, agent, draft)
    if book.states.count(claims.NAME, claims.HELD):
        _check_claims(book, agent, draft, heads if draft.thread else [last], asked, now)
    is_answer = draft.intent == ANSWER
    if not (draft.thread or is_answer) or asked:
        return
    standing = case_for_agent(book, last.event, agent, now).standing
    asks_another = standing.decision.directedness == TO_OTHER and last.intent in (QUESTION, *OBLIGING)
    if standing.decision.policy == MUST_NOT and (is_answer or asks_another) and not _addresses(book, draft, last.meant):
        raise PolicyForbids(
            f"the message would answer {last.event}, and the policy of that is {MUST_NOT}: {standing.decision.reason}",
            hint=f"`bb chat explain {last.event}` shows why; what is not about it belongs outside of this thread",
            event_id=last.event,
            reason=standing.decision.reason,
        )


def _is_thanks(draft: Draft) -> bool:
    return not draft.parts and intents.filler(draft.text) != PLAIN


def _messages(book: AttentionState, agent: str, draft: Draft) -> list[MessageHead]:
    """The newest messages where DRAFT goes, newest first; in a thread also the one that opened it."""
    window = f"{draft.conversation} {draft.thread}"
    found = islice(book.newest_messages(in_window(window)), MOST_LOOKED_THROUGH)
    heads = [
        head
        for head in found
        if head.thread == draft.thread and not head.reason and not head.is_deleted and may_see(book, agent, head)
    ]
    root = book.message(book.thread(window).opened_by) if draft.thread and book.thread(window).opened_by else None
    if draft.thread and root is None:
        root = _opener(book, draft)
    known = {head.event for head in heads}
    return heads if root is None or root.event in known or not may_see(book, agent, root) else [*heads, root]


def _opener(book: AttentionState, draft: Draft) -> MessageHead | None:
    """The top-level message with the id of a thread that has no other messages yet."""
    newest = islice(book.newest_messages(in_window(f"{draft.conversation} ")), MOST_LOOKED_THROUGH)
    return next((head for head in newest if draft.thread in (head.platform_id, head.event)), None)


def _asked_here(book: AttentionState, agent: str, draft: Draft) -> set[str]:
    """The events in the thread, or the conversation, that AGENT itself still has to answer."""
    window = f"{draft.conversation} {draft.thread}"
    opened = book.newest_open(agent, MOST_OPEN, lambda place: place == window)
    asked = [each for each in opened if (each.decision.directedness, each.decision.policy) == (TO_ME, MUST)]
    return {delivery.event for delivery in asked}


def _check_claims(
    book: AttentionState, agent: str, draft: Draft, heads: list[MessageHead], asked: set[str], now: int
) -> None:
    windows = {head.event: head.window for head in heads}
    if draft.thread:
        windows[""] = f"{draft.conversation} {draft.thread}"  # the claim on the thread itself
    for event, window in windows.items():
        claim = book.claim(event, window, now)
        holder = claim.held_by(now)
        if not holder or holder == agent or asked - {event} or _addresses(book, draft, (holder,)):
            continue
        raise ClaimedByOther(
            f"{holder} has claimed {event or 'this thread'} until {clock.text(claim.until)}, and this message would"
            " answer it",
            owner=holder,
            expires_at=clock.text(claim.until),
            **({"event_id": event} if event else {}),
        )


def _addresses(book: AttentionState, draft: Draft, agents: tuple[str, ...]) -> bool:
    """Whether DRAFT mentions one of AGENTS, or is for it."""
    platform = book.conversation(draft.conversation).platform or "bb"
    names = draft.mentions if draft.mentions is not None else mentions.mentioned_names(draft.text)
    named = {book.directory.agent(name, platform) or name for name in (*names, draft.recipient) if name}
    return not named.isdisjoint(agents)
