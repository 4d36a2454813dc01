"""A dialogue: a person goes on talking, in a thread, to the agent that has just answered there.

People do not repeat a name in each message. In a thread, what a person writes next is for the agent whose message is
the last one of another author there, if that message answered this person, or if the thread hangs under a question of
the agent. While nobody else has written in it, what the person writes below its own request is for the agent that the
request was for. A message that names somebody, answers another message, or is mere thanks is not. In an issue on GitHub
people also write remarks for later readers, so there the agent is only told.
"""

from __future__ import annotations

from itertools import islice

from bb.attention.judging.replies import explicitly_answered
from bb.attention.messages.messages import in_window
from bb.attention.words import FILLER, HUMAN, TO_ME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.attention.messages.message import Message
    from bb.attention.messages.messages import MessageHead
    from bb.attention.state.attention_state import AttentionState
    from bb.attention.state.threads import Thread

MOST_OWN = 20  # messages of the person itself since the agent wrote
OF_ISSUES = ("github",)  # platforms whose threads are topics, not talks


def agent_talked_with(book: AttentionState, said: Message, thread: Thread) -> str:
    """The agent with which the author of SAID is talking in its thread; empty if there is none."""
    if not said.thread or not thread.participants or said.author_kind != HUMAN or said.platform in OF_ISSUES:
        return ""
    if said.mentions or said.recipient or said.intent in FILLER or explicitly_answered(book, said):
        return ""
    last = _last_of_others(book, said)
    if last is None:
        return _agent_asked_at_the_root(book, said)
    if not last.agent:
        return ""
    answered = book.message(last.in_reply_to) if last.in_reply_to else None
    root = book.message(said.root) if said.root else None
    is_with_author = answered is not None and answered.author == said.author
    is_about_question = root is not None and root.agent == last.agent and root.asks is not None
    return last.agent if is_with_author or is_about_question else ""


def _agent_asked_at_the_root(book: AttentionState, said: Message) -> str:
    """The agent that the first message of the thread was for, if SAID's author wrote it and it was for one agent."""
    root = book.message(said.root) if said.root else None
    if root is None or root.author != said.author or root.is_deleted:
        return ""
    deliveries = [book.delivery(root.event, agent) for agent in root.meant]
    asked = [one.agent for one in deliveries if one and one.decision.directedness == TO_ME]
    return asked[0] if len(asked) == 1 else ""


def _last_of_others(book: AttentionState, said: Message) -> MessageHead | None:
    """The last message in the thread that another author wrote, before SAID."""
    is_edit = book.message(said.event) is not None
    for head in islice(book.newest_messages(in_window(said.window)), MOST_OWN):
        if is_edit:  # the messages after it are no part of what it followed
            is_edit = head.event != said.event
        elif not head.reason and head.thread == said.thread and head.author != said.author:
            return head
    return None
