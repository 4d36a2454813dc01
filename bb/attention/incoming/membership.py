"""Membership and visibility: who is in a conversation, and whether it is private, as its platform says.

The platform's word counts from the moment at which it is recorded: an agent that has left sees nothing of the
conversation any more, not even what it was offered before. A user is recorded by its name on the platform, so an agent
that gets that name later is found too.
"""

from __future__ import annotations

from typing import Any

from bb.attention.facts import Answer, Arranged
from bb.attention.messages.envelopes import CONVERSATION, Line
from bb.attention.messages.message import HERE
from bb.attention.refusals import NotItsSource
from bb.attention.state import conversations
from bb.attention.state.attention_state import AttentionState


def record(book: AttentionState, line: Line, by: str) -> Answer:
    """The settings of the conversation that a line changes."""
    where = book.conversation(line.conversation)
    if where.platform not in ("", line.platform):
        raise NotItsSource(f"{line.conversation[:80]} is a conversation of {where.platform}, not of {line.platform}")
    about = _about_conversation(line) if line.type == CONVERSATION else _about_member(line)
    if not where.platform and line.platform != HERE:
        about |= {"platform": line.platform, **({"workspace": line.workspace} if line.workspace else {})}
    state = book.states.state(conversations.NAME, conversations.CONVERSATION + line.conversation)
    known = conversations.values(state)
    listed = [name for name in about if name == conversations.LISTED]
    new = {name: value for name, value in about.items() if listed or known.get(name) != value}
    status = "noted" if new else "duplicate"
    answer: dict[str, Any] = {"eventId": None, "type": line.type, "status": status, "conversation": line.conversation}
    return ([Arranged(by, line.conversation, new)] if new else []), answer


def _about_member(line: Line) -> dict[str, Any]:
    return {f"{conversations.MEMBER}{_user(line, user)}": line.is_in for user in line.members or ()}


def _about_conversation(line: Line) -> dict[str, Any]:
    about: dict[str, Any] = {"kind": line.kind} if line.kind else {}
    if line.is_private or line.is_public:
        about["is_private"] = line.is_private
    if line.members is not None:
        about[conversations.LISTED] = [_user(line, user) for user in line.members]
    return about


def _user(line: Line, user: str) -> str:
    """A user as an agent's handle names it."""
    return user if user.startswith(f"{line.platform}:") else f"{line.platform}:{user}"
