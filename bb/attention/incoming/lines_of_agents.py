"""Lines that an agent brings, with `chat/ingest` of its harness or in its shell: what they may not say.

Who may read a conversation, and what a private message says, decide what an agent must ask the person about before it
shows it to others. The person and the agents here are known by their names alone. None of this is taken from an agent.

A bridge may be connected as the harness of an agent. An agent with a name on a platform is no bridge of it.
"""

from __future__ import annotations

from bb.attention.incoming.sources import conversation_here
from bb.attention.judging.cases import find_message_or_none
from bb.attention.messages.envelopes import CONVERSATION, DELETE, EDIT, MEMBERSHIP, Line
from bb.attention.messages.message import HERE
from bb.attention.messages.messages import MessageHead
from bb.attention.state.attention_state import AttentionState
from bb.kernel.errors import PermissionDenied
from bb.kernel.ids import PERSON

HINT = "import the lines of the platform without BB_AGENT"


def must_have_no_authority(book: AttentionState, line: Line, agent: str = "") -> None:
    """Refuse a line that speaks for the person or another agent, or says who may read a conversation.

    AGENT is the one whose harness brings the line; without it, no bridge can have brought the line.
    """
    if line.platform == HERE and line.message is not None and (line.author == PERSON or line.author in book.agents):
        raise PermissionDenied(f"an agent may not bring a message of {line.author[:80]}", hint=HINT)
    known = find_message_or_none(book, line.event)
    if _changes(known, line) and not (agent and _is_no_name_of(book, agent, known.platform if known else HERE)):
        raise PermissionDenied(f"an agent may not change {line.event[:80]} in the name of its author", hint=HINT)
    if _says_who_reads(book, line) and not (agent and not book.binding(agent).leads_from(line.platform)):
        raise PermissionDenied(
            f"an agent may not say who can read {line.conversation[:80]}",
            hint=f"{HINT}, or ask the person: `bb chat arrange CONVERSATION`",
        )


def _says_who_reads(book: AttentionState, line: Line) -> bool:
    """Whether LINE is about members or visibility. A private message in a public conversation is, too: the conversation
    is private from then on, so private content may be repeated there. The first message of a conversation is not."""
    where = book.conversation(conversation_here(book, line.platform, line.conversation))
    becomes_private = line.is_private and line.message is not None and bool(where.platform) and not where.is_private
    return line.type in (CONVERSATION, MEMBERSHIP) or becomes_private


def _changes(known: MessageHead | None, line: Line) -> bool:
    """Whether LINE edits or deletes the message KNOWN. Its words would then not be found where they are repeated."""
    is_newer = line.message is not None and known is not None and line.message.version > known.version
    return line.type in (DELETE, EDIT) or is_newer


def _is_no_name_of(book: AttentionState, agent: str, platform: str) -> bool:
    """Whether AGENT has no name on PLATFORM, so that its harness may be a bridge."""
    return platform == HERE or not book.binding(agent).leads_from(platform)
