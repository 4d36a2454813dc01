"""The audience of a private message: the agents that it can be for, whoever else its text names."""

from __future__ import annotations

from itertools import islice

from bb.attention.messages.message import Message
from bb.attention.state.attention_state import AttentionState
from bb.attention.words import DM

MOST_LOOKED_THROUGH = 50  # earlier messages that are searched for agents of the conversation


def audience(book: AttentionState, said: Message) -> frozenset[str] | None:
    """The agents that a direct message can be for; None if it is not direct, or if nothing is known about them.

    They are its recipient, the agents bound to the conversation, its members, and otherwise the agents that its earlier
    messages were for. A mention of another agent does not let that agent in. Only in a new conversation of unknown
    members a mention is all that is known, so it counts.
    """
    if said.kind != DM:
        return None
    where, directory = book.conversation(said.conversation), book.directory
    recipient = directory.agent(said.recipient, said.platform) if said.recipient else None
    known = [recipient] if recipient else [*where.members, *directory.by_conversation.get(said.conversation, ())]
    if not known and not where.is_listed:
        for head in islice(book.newest_messages(f"in {said.conversation}"), MOST_LOOKED_THROUGH):
            known += [*head.meant, *([head.agent] if head.agent else [])]
    if not known and not where.is_listed:
        return None
    return frozenset(agent for agent in known if agent not in where.absent)
