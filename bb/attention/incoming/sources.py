"""Sources: which message a line means, and whether the source of the line may change that message.

An event id begins with its platform (`envelopes.scoped`), so two platforms never mean the same message. Two kinds of
lines need a look at what is known: lines about messages that bb posted, which have an id of the platform and one of bb,
and lines that name no platform. Ledgers written before ids were scoped hold ids without a platform; they keep them.
"""

from __future__ import annotations

from bb.attention.messages.envelopes import Line, scoped
from bb.attention.messages.message import HERE
from bb.attention.messages.messages import MessageHead
from bb.attention.refusals import NotItsSource
from bb.attention.state.attention_state import AttentionState


def with_ids_here(book: AttentionState, line: Line) -> Line:
    """LINE with the ids that the messages it names have here."""
    # Only external conversations can refer to messages that bb posted.
    is_posted = not line.conversation or book.conversation(line.conversation).is_external
    line = _in_its_conversation(book, line)
    received = line.message
    if received and (received.in_reply_to or received.root):
        named = (received.in_reply_to, received.root)
        answered, root = (name and _id_here(book, line.platform, name, is_posted=is_posted) for name in named)
        received = received.replace(in_reply_to=answered, root=root)
    return line.replace(event=_id_here(book, line.platform, line.event, is_posted=is_posted), message=received)


def _in_its_conversation(book: AttentionState, line: Line) -> Line:
    """LINE in its conversation. If another platform has one with that id, ours has its platform in front."""
    place = conversation_here(book, line.platform, line.conversation)
    if place == line.conversation:
        return line
    received = line.message.replace(conversation=place) if line.message else None
    return line.replace(conversation=place, message=received)


def conversation_here(book: AttentionState, platform: str, conversation: str) -> str:
    """The id here of a conversation of PLATFORM."""
    if not conversation or platform == HERE or conversation.startswith(f"{platform}:"):
        return conversation
    is_ours = book.conversation(conversation).platform in ("", platform)
    return conversation if is_ours else scoped(platform, conversation)


def _id_here(book: AttentionState, platform: str, event: str, *, is_posted: bool) -> str:
    """The id here of the message that a source calls EVENT."""
    native = event.removeprefix(f"{platform}:")
    if is_posted:
        for name in dict.fromkeys((event, native)):
            own = book.own_event_id(name)
            if own != name and _is_of(book, own, platform):
                return own
    if platform == HERE:
        named = None if book.message(event) else book.message_by_native_id(event)
        return named.event if named else event
    if native != event and (before := book.message(native)) and _is_before(before, platform):
        return native
    return event


def _is_before(known: MessageHead, platform: str) -> bool:
    """Whether an id without a platform is that of PLATFORM, recorded before ids were scoped; or that of an agent."""
    return known.platform == platform or bool(known.platform == HERE and known.key)


def _is_of(book: AttentionState, event: str, platform: str) -> bool:
    """Whether bb posted EVENT on PLATFORM. A question to the person is no message, so it has no platform here."""
    posted = book.message(event)
    return posted is None or platform in (posted.platform, HERE)


def must_be_source(known: MessageHead, line: Line) -> None:
    """Refuse an edit or a deletion from another source than that of the message.

    A line that names no platform means the only message with that id, as long as a platform brought that message.
    """
    is_same_place = not (line.workspace and known.workspace) or line.workspace == known.workspace
    is_theirs = line.platform in (known.platform, HERE) and is_same_place
    if not is_theirs or (line.platform == HERE and known.key):
        source = f"{line.platform} {line.workspace}".rstrip()
        raise NotItsSource(f"{known.event} was not brought by {source}, so {source} cannot change it")
