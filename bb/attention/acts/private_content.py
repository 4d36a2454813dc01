"""Private content in a message to more people: what bb can see of it.

The check rests on what the agent was shown and on where it sends, not on what it says it answers:

    it answers a private message                                            as `inReplyTo` says
    it repeats a run of words of a private message that it could read       RUN words in a row
    it owes the answer to a private message that it was shown, and sends    the message counts as that answer
    something public to a conversation where it was not asked anything

It cannot see a paraphrase, a translation, or what an agent tells others after it has answered or acknowledged the
private message, nor texts of private conversations in which no message was ever for that agent. Mail of bb itself is
no private content: every agent of the ledger can read it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

from bb.attention.acts.drafts import Draft
from bb.attention.judging.cases import Case, current_message, may_see
from bb.attention.judging.current_decision import due_at, is_over
from bb.attention.messages.message import HERE
from bb.attention.messages.messages import MessageHead
from bb.attention.state import deliveries
from bb.attention.state.attention_state import AttentionState
from bb.attention.state.conversations import Conversation, private
from bb.attention.words import AGENT, CHANNEL, DM, MUST
from bb.kernel.clock import DAY

RUN = 6  # words in a row; in scripts without spaces each character is a word
RUN_OF_CHARACTERS = 10
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
LATELY = 7 * DAY
MOST_DELIVERIES, MOST_CONVERSATIONS, MOST_MESSAGES = 100, 8, 20  # that are looked through


def private_source(
    book: AttentionState, agent: str, draft: Draft, answered: Case | None, now: int
) -> tuple[MessageHead, str] | None:
    """The private message whose content DRAFT would show to more people, and how that is known; else None."""
    where = book.conversation(draft.conversation)
    if answered:
        if _is_private(book, answered.known) and _shows_more(draft, where, answered.known.conversation):
            return answered.known, f"it answers {answered.event}, which is private"
    elif _is_public(draft, where) and (owed := _owed(book, agent, draft, now)):
        return owed, f"{agent} owes an answer to {owed.event}, which is private, and was asked nothing there"
    if draft.visibility == DM:
        return None
    return _repeated(book, agent, draft.text, now, lambda source: _shows_more(draft, where, source))


def repeated_in_public(book: AttentionState, agent: str, text: str, now: int) -> tuple[MessageHead, str] | None:
    """The private message that a TEXT for everybody repeats, and how that is known; else None."""
    return _repeated(book, agent, text, now, lambda _: True)


def _is_private(book: AttentionState, known: MessageHead) -> bool:
    return known.kind == DM or private(book.conversation(known.conversation))


def _is_public(draft: Draft, where: Conversation) -> bool:
    return draft.visibility != DM and not private(where)


def _shows_more(draft: Draft, where: Conversation, source: str) -> bool:
    """Whether more people read DRAFT than a private message in the conversation SOURCE."""
    if draft.visibility == DM or (where.is_private and where.id == source):
        return False
    return draft.visibility == CHANNEL if where.id == source else not private(where)


def _owed(book: AttentionState, agent: str, draft: Draft, now: int) -> MessageHead | None:
    """The private message that AGENT was shown and has neither answered, acknowledged, claimed nor deferred."""
    found = None
    for delivery in book.newest_open(agent, MOST_DELIVERIES, lambda place: _matters(book, draft, place)):
        if delivery.decision.policy != MUST or delivery.disposition is not None:
            continue
        if _place(delivery.window) == draft.conversation:
            return None  # it was asked there too
        was_shown = delivery.is_shown or delivery.pulled_at is not None
        head = book.message(delivery.event) if was_shown and delivery.author_kind != AGENT else None
        is_due = not is_over(delivery, due_at(delivery, book.tuning), now)
        if head and is_due and not head.is_deleted and _is_private(book, head) and may_see(book, agent, head):
            found = head
    return found


def _matters(book: AttentionState, draft: Draft, window: str) -> bool:
    """Whether a delivery in this window can matter: it is private, or where DRAFT goes."""
    place = _place(window)
    return place == draft.conversation or private(book.conversation(place))


def _place(window: str) -> str:
    return window.partition(" ")[0]


# -- repeated words


def _repeated(
    book: AttentionState, agent: str, text: str, now: int, shows_more: Callable[[str], bool]
) -> tuple[MessageHead, str] | None:
    """The private message that TEXT repeats, of the conversations whose content TEXT SHOWS to MORE people."""
    runs = _runs(text)
    for conversation in _private_conversations(book, agent) if runs else ():
        if not shows_more(conversation):
            continue
        for head in islice(book.newest_messages(f"in {conversation}"), MOST_MESSAGES):
            is_theirs = head.agent == agent or (head.platform == HERE and head.author_kind == AGENT)
            if head.arrived < now - LATELY or head.is_deleted or head.reason or is_theirs:
                continue
            if may_see(book, agent, head) and (run := _common(runs, current_message(book, head).text)):
                return head, f"it repeats “{run}” of {head.event}, which is private"
    return None


def _private_conversations(book: AttentionState, agent: str) -> Iterator[str]:
    """The private conversations with messages for AGENT, those with the newest messages first."""
    seen: set[str] = set()
    rows = book.states.newest_first(deliveries.NAME, f"to {agent}")
    windows = (state["head"][4]["window"] for _, _, state in islice(rows, MOST_DELIVERIES) if "head" in state)
    for conversation in (*book.binding(agent).conversations, *(_place(window) for window in windows)):
        if conversation in seen or len(seen) == MOST_CONVERSATIONS:
            continue
        seen.add(conversation)
        if private(book.conversation(conversation)) or conversation in book.binding(agent).conversations:
            yield conversation


def _words(text: str) -> list[str]:
    return WORD.findall(_plain(text).casefold())


def _plain(text: str) -> str:
    """TEXT without invisible characters, and with the usual forms of letters: a copy may have other ones."""
    if text.isascii():
        return text
    import unicodedata  # noqa: PLC0415  (most text is ASCII)

    usual = unicodedata.normalize("NFKC", text)
    return "".join(character for character in usual if unicodedata.category(character) != "Cf")


def _length(words: list[str]) -> int:
    """The length of a run in a text with these words."""
    return RUN_OF_CHARACTERS if any(len(word) == 1 and word >= "\u3040" for word in words) else RUN


def _runs(text: str) -> set[tuple[str, ...]]:
    words = _words(text)
    length = _length(words)
    return {tuple(words[at : at + length]) for at in range(len(words) - length + 1)}


def _common(runs: set[tuple[str, ...]], text: str) -> str:
    """The first run of words that TEXT shares with RUNS; empty if there is none."""
    words = _words(text)
    length = _length(words)
    found = (run for at in range(len(words) - length + 1) if (run := tuple(words[at : at + length])) in runs)
    return " ".join(next(found, ()))
