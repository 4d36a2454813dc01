"""A reaction to what an agent said: a signal to it. It is no message, and costs no turn unless something waits for it.

It is one event for each message, actor and signal. Taken back, the event is gone; made once more, it is a new one. For
a moment after it came it is not shown to anybody, so that what is toggled comes to one event, or to none.
"""

from __future__ import annotations

from bb.attention.decision import Decision
from bb.attention.judging.decide import Decided
from bb.attention.words import (
    APPROVAL,
    ASSIGNMENT,
    BUFFERED,
    MAILBOX,
    MAY,
    MUST,
    MUST_NOT,
    NORMAL,
    NOTIFY,
    QUESTION,
    REACTED,
    REACTION,
    SILENT,
    TO_ME,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.attention.messages.message import Message
    from bb.attention.messages.messages import Kept
    from bb.attention.state.book import Book

# What tells the author of a message more than that somebody has looked.
TELLING = ("agree", "declined", "done", "unclear", "blocked")
MOST_TOGGLES = 20  # of one signal by one actor on one message; later ones change nothing


def latest(book: Book, event: str, who: str, signal: str) -> tuple[str, Kept | None, str]:
    """What WHO's reaction with a signal is called, if there is one, or was; and what the next one would be."""
    name = first = f"{event}~{who}~{signal}"
    found = book.message(name)
    for count in range(2, MOST_TOGGLES + 1):
        following = f"{first}~{count}"
        later = book.message(following) if found is not None else None
        if later is None:
            return name, found, following if found is not None else first
        name, found = following, later
    return name, found, ""


def about(known: Kept, signal: str, said: Message) -> Message:
    """The event that a reaction to KNOWN is; SAID has who reacts, and when."""
    return said.but(
        conversation=known.conversation,
        kind=known.kind,
        thread=known.thread,
        stream=known.stream,
        reason=f"{REACTED}{signal}",
        linked=known.event,
    )


def decided(book: Book, known: Kept, signal: str, who: str) -> Decided:
    """For whom it is: for the agent that wrote the message, unless that is who reacts."""
    author = known.agent
    each = {author: _to_author(book, known, signal)} if author and author != who else {}
    return Decided(each, Decision(mode=SILENT, reason=REACTION))


def _to_author(book: Book, known: Kept, signal: str) -> Decision:
    """What a reaction to an agent's own message is to it: to be known, unless it changes what is owed."""
    if signal not in TELLING:
        return Decision(TO_ME, MUST_NOT, MAILBOX, REACTION, NORMAL)
    answered = book.delivery(known.in_reply_to, known.agent) if known.in_reply_to else None
    if signal == "declined" and answered and answered.decision.policy == MUST:
        return Decision(TO_ME, MUST, BUFFERED, REACTION, NORMAL, book.tuning.time_for(MUST))
    is_asked = known.intent in (APPROVAL, QUESTION, ASSIGNMENT)
    return Decision(TO_ME, MAY, BUFFERED if is_asked else NOTIFY, REACTION, NORMAL, book.tuning.time_for(MAY))
