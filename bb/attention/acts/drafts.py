"""A message that an agent wants to send, read from the arguments of `chat.send_message`.

Required members have no defaults; a missing one is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bb.attention.messages.envelopes import LONGEST_TEXT, MOST_PARTS, EnvelopeMembers, invalid, names_in
from bb.attention.messages.redaction import redact
from bb.attention.refusals import MissingMember
from bb.attention.words import DIRECTEDNESS, INTENTS, NORMAL, PLAIN, PRIORITIES, VISIBILITIES
from bb.kernel.digest import digest
from bb.kernel.errors import BbError
from bb.kernel.record import Record

NEEDED = ("content", "idempotencyKey", "visibility", "directedness")
OPTIONS = {
    "content": "TEXT",
    "idempotencyKey": "--idempotency-key",
    "visibility": "--visibility",
    "directedness": "--directedness",
    "target": "--conversation, --recipient or --in-reply-to",
}


class Draft(Record):
    """A message that an agent wants to send."""

    text: str
    key: str
    visibility: str
    directedness: str
    conversation: str = ""
    thread: str = ""
    recipient: str = ""
    parts: tuple[dict[str, Any], ...] = ()
    in_reply_to: str = ""
    mentions: tuple[str, ...] | None = None
    intent: str = PLAIN
    priority: str = "normal"
    deadline: int | None = None
    is_followup: bool = False
    confirm: str = ""
    content_version: int | None = None  # of the answered event, as the agent saw it

    @property
    def body(self) -> str:
        """A digest of everything that must be the same when a message is sent again under its key."""
        where = (self.conversation, self.thread, self.recipient, self.visibility, self.in_reply_to, self.directedness)
        return digest("\n".join([*where, self.text, repr(self.parts), repr(self.mentions)]).encode())


def parse_draft(given: Mapping[str, Any]) -> Draft:
    """The arguments of `chat.send_message` as a draft."""
    members = EnvelopeMembers(given)
    for name in NEEDED:
        if name not in members or members.value[name] == "":
            raise missing_member(name)
    target = members.object("target")
    in_reply_to = members.id("inReplyTo")
    conversation, recipient = target.id("conversation"), target.id("recipient")
    if not (conversation or recipient or in_reply_to):
        raise missing_member("target")
    parts = _parts(members)
    named = names_in(members)
    return Draft(
        text="\n".join(part["text"] for part in parts if part["type"] == "text"),
        key=members.text("idempotencyKey", 300, is_needed=True),
        visibility=members.one_of("visibility", VISIBILITIES),
        directedness=members.one_of("directedness", DIRECTEDNESS),
        conversation=conversation,
        thread=target.id("thread"),
        recipient=recipient,
        parts=() if len(parts) == 1 and parts[0].keys() <= {"type", "text"} else tuple(parts),
        in_reply_to=in_reply_to,
        mentions=tuple(named) if "mentions" in members else None,
        intent=members.one_of("intent", INTENTS, PLAIN),
        priority=members.one_of("priority", PRIORITIES, NORMAL),
        deadline=members.number("deadlineMs"),
        is_followup=members.flag("followup"),
        confirm=members.text("confirm", 100),
        content_version=members.number("contentVersion"),
    )


def missing_member(name: str) -> BbError:
    """The refusal of a request without the required member NAME."""
    return MissingMember(
        f"{name} is missing, and it has no default",
        hint=f"pass {OPTIONS.get(name, name)}",
        pointer=f"/{name}",
        member=name,
    )


def _parts(members: EnvelopeMembers) -> list[dict[str, Any]]:
    listed = members.value["content"]
    if isinstance(listed, str):
        listed = [{"type": "text", "text": listed}]
    if not isinstance(listed, list) or not 0 < len(listed) <= MOST_PARTS:
        raise invalid(f"must be a list of 1 to {MOST_PARTS} parts", "/content")
    parts = []
    for at, item in enumerate(listed):
        part = EnvelopeMembers(item, path=f"/content/{at}")
        kind = part.text("type", 40, is_needed=True)
        plain = {name: _plain(value) for name, value in part.value.items() if isinstance(value, str | int)}
        if kind == "text":
            part.text("text", LONGEST_TEXT, is_needed=True)
            part.filled("text")
        parts.append(plain)
    return parts


def _plain(value: Any) -> Any:
    return redact(value) if isinstance(value, str) else value
