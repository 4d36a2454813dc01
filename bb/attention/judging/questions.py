"""Pending questions: what an agent has asked in a thread or private conversation, and whose next words answer it.

A message of an agent asks if its intent is a question, an assignment, a request for approval or a blocker, or if its
text has a question or a proposal. It asks the people that it names. If it names nobody, it asks everybody in its thread
or private conversation, and in a channel only the author of the message that it answers.

    pending    the agent's last message in the thread, without an answer
    answered   a person who was asked has written there, or answered or reacted to the message

A question that answers the message of a person, or names people, stays open for them until they answer it themselves,
even if the agent meanwhile answers somebody else. A message for somebody else is no answer, and neither are mere
thanks.
"""

from __future__ import annotations

from itertools import islice

from bb.attention.judging.replies import explicitly_answered
from bb.attention.messages import intents
from bb.attention.messages.messages import answers_term, linked_event_term
from bb.attention.messages.outbox_states import FAILED
from bb.attention.state.directory import EVERYBODY, is_role
from bb.attention.words import DM, HUMAN, OBLIGING, QUESTION, signal_in
from bb.kernel import clock
from bb.kernel.ids import PERSON

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bb.attention.messages.message import Message
    from bb.attention.messages.messages import MessageHead
    from bb.attention.state.attention_state import AttentionState
    from bb.attention.state.directory import Directory

ASKING = (QUESTION, *OBLIGING)
ANSWERING = ("agree", "declined", "done")  # reactions that answer a question
CLOCKS_DIFFER = (
    clock.MINUTE
)  # the clocks of a platform and of this machine; a message before the question answers nothing
MOST_REACTIONS = 20


def people_asked(directory: Directory, said: Message, intent: str) -> tuple[str, ...] | None:
    """The people that an agent's message asks; empty: everybody there; None: it asks nobody, or only agents.

    INTENT is the intent that the agent declared.
    """
    if intent not in ASKING and not intents.asks(said.text):
        return None
    names = dict.fromkeys([*said.mentions, *([said.recipient] if said.recipient else [])])
    others = [name for name in names if not directory.agent(name, said.platform)]
    groups = [name for name in others if is_role(name)]
    if not names or any(name in EVERYBODY or not directory.role(name, said.platform) for name in groups):
        return ()  # a group may have people in it
    return tuple(name for name in others if name not in groups) or None


def answered_question(book: AttentionState, said: Message) -> str:
    """The pending question that SAID answers; empty if there is none."""
    is_person = said.author_kind == HUMAN or said.author == PERSON
    if not is_person or not (said.text or said.parts):
        return ""
    pending = list(_questions(book, said))
    if not pending or intents.is_mere_thanks(said.text):
        return ""
    named = _named_agents(book, said)
    for asked in pending:
        is_for_asker = named is None or asked.agent in named
        if is_for_asker and _may_answer(book, asked, said) and _is_open(book, asked, said):
            return asked.event
    return ""


def _named_agents(book: AttentionState, said: Message) -> set[str] | None:
    """The agents that SAID names; None if it names nobody."""
    to = book.directory.agent(said.recipient, said.platform) if said.recipient else None
    names = [*said.mentions, *([said.recipient] if said.recipient and (to or said.kind != DM) else [])]
    if not names:
        return None
    named = {book.directory.agent(name, said.platform) or "" for name in names}
    return named.union(*(book.directory.role(name, said.platform) for name in names))


def _questions(book: AttentionState, said: Message) -> Iterator[MessageHead]:
    """The messages of agents that SAID may be an answer to, the newest first."""
    explicit = explicitly_answered(book, said)
    if explicit is not None:  # an answer to another message answers no question
        if explicit.asks is not None and explicit.agent:
            yield explicit
        return
    thread = book.thread(said.window)
    for question in thread.questions:
        head = book.message(question.event)
        if head and (question.latest == question.event or _has_answered_another(book, head, question.latest, said)):
            yield head
    root = book.message(said.root) if said.root and said.thread else None
    if root and root.agent and root.asks is not None and root.agent not in thread.participants:
        yield root


def _may_answer(book: AttentionState, asked: MessageHead, said: Message) -> bool:
    """Whether the author of SAID was asked, and can mean the question with these words at this place."""
    if said.at + CLOCKS_DIFFER < asked.at:
        return False
    if asked.asks:
        is_asked = said.author in asked.asks
    else:
        is_asked = bool(said.thread) or said.kind == DM or _is_put_to(book, asked, said)
    if not is_asked or said.thread or said.kind == DM or said.in_reply_to == asked.event:
        return is_asked
    # In a channel without threads, only the first words of people after the question can be meant for it.
    is_last = any(question.event == asked.event and question.is_last for question in book.thread(said.window).questions)
    return is_last and said.at - asked.at < book.tuning.deadline_ms


def _has_answered_another(book: AttentionState, asked: MessageHead, latest: str, said: Message) -> bool:
    """Whether the agent, after its question to SAID's author, has only answered somebody else."""
    head = book.message(latest)
    to = book.message(head.in_reply_to) if head and head.in_reply_to else None
    return to is not None and to.author != said.author and _is_put_to(book, asked, said)


def _is_put_to(book: AttentionState, asked: MessageHead, said: Message) -> bool:
    """Whether a question was put to SAID's author in particular."""
    answered = book.message(asked.in_reply_to) if asked.in_reply_to else None
    return said.author in (asked.asks or ()) or (answered is not None and answered.author == said.author)


def _is_open(book: AttentionState, asked: MessageHead, said: Message) -> bool:
    """Whether a question still waits for an answer of SAID's author."""
    if asked.is_deleted or asked.state == FAILED or asked.event == said.event:
        return False
    answers = [head for head in book.newest_messages(answers_term(asked.event)) if head.event != said.event]
    if _is_put_to(book, asked, said):
        answers = [head for head in answers if head.author == said.author]
    if any(not head.is_deleted for head in answers):
        return False
    reactions = islice(book.newest_messages(linked_event_term(asked.event)), MOST_REACTIONS)
    return not any(signal_in(head.reason) in ANSWERING and not head.is_deleted for head in reactions)
