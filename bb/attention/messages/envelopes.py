"""Reads input: lines of a surface, and the envelope of `chat/deliver`.

All of it is untrusted. An invalid member is refused with its JSON pointer; unknown members are kept
(`unknown_members`). Each id is turned into a single word, because ids are written into headers and used as keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bb.attention.messages import intents, mentions, unknown_members
from bb.attention.messages.message import HERE, Message
from bb.attention.messages.redaction import redact
from bb.attention.words import (
    AUTHORS,
    CHANNEL,
    CONVERSATIONS,
    DIRECTEDNESS,
    HUMAN,
    INTENTS,
    MODES,
    NORMAL,
    NOTIFY,
    PLAIN,
    POLICIES,
    PRIORITIES,
    SYSTEM,
    TOOL,
)
from bb.kernel import clock
from bb.kernel.digest import digest
from bb.kernel.errors import BbError, Usage
from bb.kernel.escaping import harmless
from bb.kernel.members import Form, Members, json_pointer
from bb.kernel.record import Record

LONGEST_ID, LONGEST_NAME = 200, 120
MOST_PARTS, LONGEST_TEXT = 64, 64 * 1024
MOST_NAMES = 200  # in one message; from mentions.MOST on they count as a call to everybody
FAR_AHEAD = clock.DAY  # how far after now the time of a message may lie
MESSAGE, EDIT, DELETE, REACTION, TYPING = "message", "edit", "delete", "reaction", "typing"
MEMBERSHIP, CONVERSATION = "membership", "conversation"
UNKNOWN = "unknown"
TYPES = (MESSAGE, EDIT, DELETE, REACTION, TYPING, MEMBERSHIP, CONVERSATION)
ABOUT_EVENTS = (MESSAGE, EDIT, DELETE, REACTION)
MOST_MEMBERS = 10_000  # in one list

InvalidEnvelope = Usage.declare(
    "INVALID_ENVELOPE",
    "A member of the message is missing or invalid",
    hint="correct the member that the pointer names; docs/surfaces.md describes all members",
)


class Line(Record):
    """One line of a surface, parsed."""

    type: str
    event: str = ""
    native: str = ""  # the id as the platform gives it
    message: Message | None = None
    author: str = ""
    author_kind: str = HUMAN
    platform: str = ""
    workspace: str = ""
    conversation: str = ""
    thread: str = ""
    glyph: str = ""
    signal: str = ""
    added: bool = True
    is_typing: bool = False
    version: int | None = None
    at: int = 0
    marker: str = ""
    is_private: bool = False  # whether the platform marks the conversation as private
    is_public: bool = False  # whether it says that the conversation is not private
    kind: str = ""
    members: tuple[str, ...] | None = None  # the users that are in the conversation, or that the line is about
    is_in: bool = True  # whether they are in it now

    @property
    def counted(self) -> tuple[str, int | None]:
        """The conversation of a message, and its sequence number there, if the platform assigns one."""
        return self.conversation, self.message.sequence if self.message and self.type == MESSAGE else None


class EnvelopeMembers(Members):
    """The members of a line or an envelope."""

    def __init__(self, value: Any, form: Form | None = None, path: str = "") -> None:
        super().__init__(value, form or FORM, path)

    def id(self, name: str, *, is_needed: bool = False) -> str:
        """An id, as a single word."""
        value = self.value.get(name)
        if value is None:
            return self.text(name, is_needed=True) if is_needed else ""
        if type(value) is str and value.isascii() and value.isprintable() and " " not in value and value:
            return value if len(value) <= LONGEST_ID else as_single_word(value)  # almost every id
        return as_single_word(str(value) if type(value) is int else self.filled(name))

    def moment(self, name: str, now: int) -> int:
        """A time in milliseconds. One far in the future is limited, because deadlines are counted from it."""
        moment = self.time(name)
        return now if moment is None else min(moment, now + FAR_AHEAD)


def invalid(reason: str, pointer: str) -> BbError:
    """The refusal of the member at POINTER."""
    return InvalidEnvelope(f"{pointer or '/'}: {reason}", pointer=pointer or "/")


FORM = Form(invalid, step=json_pointer, most=(1 << 62) - 1)


def as_single_word(text: str) -> str:
    """TEXT as one word for a header or a key. A long one is cut, and a digest at its end keeps it unique."""
    if not (text.isascii() and text.isprintable() and " " not in text):
        text = "".join(
            character if character.isprintable() and character != " " else f"%{ord(character):02X}"
            for character in harmless(text)
        )
    return text if len(text) <= LONGEST_ID else f"{text[: LONGEST_ID - 17]}~{digest(text.encode())[:16]}"


def scoped(platform: str, event: str) -> str:
    """The id here of an event of a platform: it begins with the name of its platform.

    So equal ids of two platforms are two events, in every clone and without a look at other events. An id that already
    begins with its platform stays as it is. The ids of events without a platform are those of bb itself.
    """
    if platform == HERE or not event or event.startswith(f"{platform}:"):
        return event
    return as_single_word(f"{platform}:{event}")


def parse_line(given: Any, now: int) -> Line:
    """Parse one line of a surface."""
    members = EnvelopeMembers(given)
    kind = members.one_of("type", TYPES, MESSAGE)
    source, said_by = members.object("source"), members.object("author", is_needed=kind in (MESSAGE, REACTION, TYPING))
    is_elsewhere = kind in (MESSAGE, TYPING, MEMBERSHIP, CONVERSATION)
    where = members.object("conversation", is_needed=is_elsewhere)
    timing = members.object("timing")
    platform, native = source.id("platform") or HERE, members.id("eventId", is_needed=kind in ABOUT_EVENTS)
    common: dict[str, Any] = {
        "type": kind,
        "event": scoped(platform, native),
        "native": native,
        "platform": platform,
        "workspace": source.id("workspaceId"),
        "author": said_by.id("id", is_needed=kind in (MESSAGE, REACTION, TYPING)),
        "author_kind": said_by.one_of("kind", AUTHORS, HUMAN),
        "conversation": where.id("id", is_needed=is_elsewhere),
        "thread": where.id("threadId"),
        "version": members.number("version"),
        "at": timing.moment("createdAt", now),
        "marker": members.id("marker"),
        "is_private": where.flag("private"),
    }
    if kind == REACTION:
        glyph, signal = members.text("glyph", LONGEST_NAME), members.id("signal")
        if not glyph and not signal:
            raise invalid("is missing, and so is signal; one of the two is required", members.at("glyph"))
        return Line(**common, glyph=glyph, signal=signal, added=members.flag("added", otherwise=True))
    if kind == TYPING:
        return Line(**common, is_typing=members.flag("typing"))
    if kind == DELETE:
        return Line(**common)
    if kind == MEMBERSHIP:
        user = members.object("member", is_needed=True).id("id", is_needed=True)
        return Line(**common, members=(user,), is_in=members.flag("joined", otherwise=True))
    if kind == CONVERSATION:
        users = where.items("members", MOST_MEMBERS) if "members" in where else None
        names = None if users is None else tuple(as_single_word(users.filled(at).strip()) for at in users)
        is_public = where.maybe_flag("private") is False
        return Line(**common, is_public=is_public, kind=where.maybe_one_of("kind", CONVERSATIONS) or "", members=names)
    return Line(**common, message=_message(members, common, where, said_by))


def _message(
    members: EnvelopeMembers,
    common: Mapping[str, Any],
    where: EnvelopeMembers,
    said_by: EnvelopeMembers,
) -> Message:
    attention, target = members.object("attention"), members.object("target")
    parts = _parts(members)
    text = "\n".join(part["text"] for part in parts if part.get("type") == "text")
    named = names_in(target)
    kind = where.one_of("kind", CONVERSATIONS, CHANNEL if common["type"] == EDIT else "")
    is_report = {common["author_kind"], kind} & {SYSTEM, TOOL}
    if "mentions" not in target and not is_report:  # a report that spells a name mentions nobody
        named = [*mentions.mentioned_names(text)]
    intent = members.one_of("intent", INTENTS, PLAIN)
    priority = attention.one_of("priority", PRIORITIES, members.one_of("priority", PRIORITIES, NORMAL))
    return Message(
        event=common["event"],
        native=common["native"] if common["native"] != common["event"] else "",
        platform=common["platform"],
        conversation=common["conversation"],
        author=common["author"],
        text=text,
        at=common["at"],
        kind=kind,
        workspace=common["workspace"],
        thread=common["thread"],
        stream=where.id("streamId"),
        author_kind=common["author_kind"],
        author_name=redact(said_by.text("displayName", 1000))[:LONGEST_NAME],
        mentions=tuple(dict.fromkeys(named)),
        recipient=target.id("recipient"),
        parts=() if len(parts) == 1 and parts[0].keys() <= {"type", "text"} else tuple(parts),
        sequence=members.object("timing").number("sequence"),
        intent=intents.intent_of(text) if intent == PLAIN else intent,
        priority=priority,
        deadline=attention.number("deadlineMs"),
        in_reply_to=scoped(common["platform"], members.id("replyTo")),
        root=scoped(common["platform"], where.id("rootId")),
        version=common["version"] or 1,
        more=unknown_members.unknown_members(members.value),
    )


def names_in(members: EnvelopeMembers) -> list[str]:
    """The names in the member `mentions`, each as a single word."""
    listed = members.items("mentions", MOST_NAMES)
    return [as_single_word(listed.filled(at).strip()) for at in listed]


def _parts(members: EnvelopeMembers) -> list[dict[str, Any]]:
    """The content in parts. Each part has a type, and a text part has a text. Secrets are removed."""
    if "content" not in members:
        plain = members.text("text", LONGEST_TEXT, is_needed="text" not in members)
        return [{"type": "text", "text": redact(plain)}]
    listed = members.value["content"]
    if isinstance(listed, str):
        listed = [{"type": "text", "text": listed}]
    if not isinstance(listed, list) or not listed:
        raise invalid("must be a list with at least one part", members.at("content"))
    if len(listed) > MOST_PARTS:
        raise invalid(f"has more than {MOST_PARTS} parts", members.at("content"))
    parts = []
    for at, item in enumerate(listed):
        part = EnvelopeMembers(item, path=members.at(f"content/{at}"))
        kind = part.text("type", 40, is_needed=True)
        text = {"text": redact(part.text("text", LONGEST_TEXT, is_needed=True))} if kind == "text" else {}
        others = {name: value for name, value in part.value.items() if name not in ("type", "text")}
        more = unknown_members.without_secrets(others, unknown_members.MOST_OF_A_PART) if others else others
        parts.append({"type": kind, **more, **text})
    if sum(len(part.get("text", "")) for part in parts) > LONGEST_TEXT:
        raise invalid(f"is longer than {LONGEST_TEXT:,} characters in total", members.at("content"))
    return parts


class Delivered(Record):
    """A message that another host delivered, with that host's decision about it."""

    message: Message
    decision: tuple[str, str, str, str, str, int | None]
    key: str
    attempt: int
    knock: Mapping[str, Any] | None = None


def parse_delivery(given: Any, now: int) -> Delivered:
    """Parse the parameters of `chat/deliver` (C2A, event envelope)."""
    members = EnvelopeMembers(given)
    event = members.id("eventId", is_needed=True)
    kind = members.object("conversation", is_needed=True).one_of("kind", CONVERSATIONS)
    target, attention = members.object("target", is_needed=True), members.object("attention", is_needed=True)
    injection = members.object("injection", is_needed=True)
    reliability = members.object("reliability", is_needed=True)
    mode = injection.one_of("mode", MODES)
    is_knock = mode == NOTIFY and "content" not in members
    directedness = target.one_of("directedness", DIRECTEDNESS)
    policy = attention.one_of("policy", POLICIES)
    key = reliability.text("idempotencyKey", 2 * LONGEST_ID, is_needed=True)
    if not key.strip():
        raise invalid("must be a string that is not blank", reliability.at("idempotencyKey"))
    if "content" not in members and not is_knock:
        raise invalid("is missing", members.at("content"))
    message = parse_line(_as_line(members, kind, is_knock=is_knock), now).message
    if message is None:
        raise invalid("is missing", members.at("content"))
    priority = attention.one_of("priority", PRIORITIES, NORMAL)
    return Delivered(
        message.replace(event=scoped(message.platform, event)),
        (directedness, policy, mode, attention.id("reason") or "delivered", priority, attention.number("deadlineMs")),
        key,
        reliability.number("attempt") or 1,
        members.object("knock").value if is_knock else None,
    )


def _as_line(members: EnvelopeMembers, kind: str, *, is_knock: bool) -> dict[str, Any]:
    """An envelope as a line of a surface. An envelope may lack the author and conversation that a line needs."""
    present = {name: value for name, value in members.value.items() if value is not None}
    where = members.object("conversation")
    return {
        "author": {"id": UNKNOWN},
        **present,
        "conversation": {**where.value, "id": where.id("id") or UNKNOWN, "kind": kind},
        **({"text": ""} if is_knock else {}),
        "type": MESSAGE,
    }
