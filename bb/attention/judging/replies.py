"""What a message refers to without naming it: the message that opened its thread, and the message that it answers.

A top-level message opens the thread that has its own native id, so it and the replies are one thread. In a thread, a
platform may report every reply as an answer to the first message. That is no answer to its author in particular; only
an answer to another message is.
"""

from __future__ import annotations

from itertools import dropwhile, islice

from bb.attention.messages.messages import in_window
from bb.attention.state import threads
from bb.attention.words import DIRECT_MENTION, HUMAN, STATUS, TO_ME
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.attention.messages.message import Message
    from bb.attention.messages.messages import MessageHead
    from bb.attention.state.attention_state import AttentionState
    from bb.attention.state.threads import Thread

MOST_LOOKED_THROUGH = 200  # later messages of a thread, to find the one before a message


class Refers(Record):
    """The agents that a message concerns because of the messages that it refers to. Empty: no agent."""

    asked: str = ""  # it wrote the message that this one answers or follows, or it opened the thread
    replied: str = ""  # the platform says that this is an answer to a message of this agent
    question: str = ""  # this answers the pending question of this agent
    addressed: tuple[str, ...] = ()  # its author is talking with these agents in the thread


def with_root(book: AttentionState, said: Message) -> Message:
    """SAID with the event that opened its thread, if that is known."""
    if not said.thread or said.root:
        return said
    root = book.thread(said.window).opened_by or _answered_root(book, said)
    return said.replace(root=root) if root and root != said.event else said


def _answered_root(book: AttentionState, said: Message) -> str:
    """The message that SAID answers, if that one opened the thread: it is outside, or the thread has its id."""
    answered = book.message(said.in_reply_to) if said.in_reply_to else None
    is_root = answered and (answered.thread != said.thread or said.thread in (answered.platform_id, answered.event))
    return answered.event if answered and is_root else ""


def thread_with_root(book: AttentionState, said: Message, thread: Thread) -> Thread:
    """THREAD with the agents that its first message concerns: its author, and the agents that it mentions."""
    root = book.message(said.root) if said.root and said.thread else None
    if root is None or root.is_deleted:
        return thread
    mentioned = [agent for agent in root.meant if _is_mentioned(book, root, agent)]
    concerned = dict.fromkeys([*thread.participants, *([root.agent] if root.agent else []), *mentioned])
    return thread.replace(participants=tuple(concerned), opener=thread.opener or root.agent)


def _is_mentioned(book: AttentionState, known: MessageHead, agent: str) -> bool:
    delivery = book.delivery(known.event, agent)
    decision = delivery.decision if delivery else None
    return decision is not None and (decision.directedness, decision.reason) == (TO_ME, DIRECT_MENTION)


def explicitly_answered(book: AttentionState, said: Message) -> MessageHead | None:
    """The message that SAID answers, unless it only hangs under the first message of its thread."""
    return book.message(said.in_reply_to) if said.in_reply_to and said.in_reply_to != said.root else None


def refers(book: AttentionState, said: Message, thread: Thread) -> Refers:
    """The agents that SAID refers to. THREAD is its thread as it was before."""
    explicit = explicitly_answered(book, said)
    answered = explicit or (book.message(said.in_reply_to) if said.in_reply_to else None)
    asked = answered.agent if answered else thread.opener
    question = book.message(said.answers) if said.answers else None
    speaker = thread.speaker[0] if said.thread and not explicit else ""
    return Refers(
        asked=speaker or asked,
        addressed=() if explicit else _addressed(book, said, thread),
        replied=explicit.agent if explicit else "",
        question=question.agent if question else "",
    )


def _addressed(book: AttentionState, said: Message, thread: Thread) -> tuple[str, ...]:
    """The agents that a person is talking with in a thread, so that its words need no name.

    An agent that wrote last, and answered this person or opened the thread; or the agents at which the person's own
    last message was aimed, if nobody has written since.
    """
    if not said.thread or said.author_kind != HUMAN:
        return ()
    agent, event = thread.speaker
    spoken = book.message(event) if event else None
    if not spoken and thread.last[0] and thread.last[1] != said.author:
        return ()
    root = book.message(said.root) if said.root else None
    if spoken:
        answered = book.message(spoken.in_reply_to) if spoken.in_reply_to else None
        is_answer = answered is not None and answered.author == said.author and not answered.is_deleted
        return (agent,) if is_answer or (root and root.agent == agent) else ()
    before = book.message(thread.last[0]) if thread.last[0] else root
    if before is None or before.author != said.author or before.is_deleted:
        return ()
    return tuple(agent for agent in before.meant if _is_aimed(book, before, agent))


def _is_aimed(book: AttentionState, known: MessageHead, agent: str) -> bool:
    delivery = book.delivery(known.event, agent)
    return delivery is not None and delivery.decision.directedness == TO_ME


def before_message(book: AttentionState, thread: Thread, known: MessageHead) -> Thread:
    """THREAD with the last words before KNOWN. A state holds only the last words of all."""
    messages = book.newest_messages(in_window(known.window))
    seen = dropwhile(lambda head: head.event != known.event, islice(messages, MOST_LOOKED_THROUGH))
    earlier = (head for head in islice(seen, 1, None) if not head.reason and head.thread == known.thread)
    speaker = threads.NOBODY
    for head in earlier:
        if head.agent and head.intent != STATUS and speaker == threads.NOBODY:
            speaker = (head.agent, head.event)
        if not head.agent and head.author_kind == HUMAN:
            return thread.replace(speaker=speaker, last=(head.event, head.author, head.at))
    return thread.replace(speaker=speaker, last=threads.NONE.last)


def thread_before(book: AttentionState, known: MessageHead) -> Thread:
    """The thread of KNOWN as it was before it."""
    return threads.thread_before(book.states.state(threads.NAME, known.window), known.order)
