"""Saying something, or reacting, as C2A has it: with an intention, of which nothing is assumed."""

from __future__ import annotations

from bb.attention import answering, sending
from bb.attention.envelopes import LONGEST_TEXT, MOST_NAMES, MOST_PARTS, Members, invalid, word
from bb.attention.refusals import MissingMember
from bb.attention.sending import Draft
from bb.attention.words import DIRECTEDNESS, INTENTS, NORMAL, PLAIN, PRIORITIES, VISIBILITIES
from bb.kernel import clock
from bb.ops.attending import Attending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.ops.desk import Desk

NEEDED = ("content", "idempotencyKey", "visibility", "directedness")
OPTIONS = {
    "content": "TEXT",
    "idempotencyKey": "--idempotency-key",
    "visibility": "--visibility",
    "directedness": "--directedness",
    "target": "--conversation, --recipient or --in-reply-to",
}


def send(desk: Desk, agent: str | None, given: Mapping[str, Any], group_id: Any = None) -> dict[str, Any]:
    """Send what GIVEN, the arguments of `chat.send_message`, says."""
    draft = draft_of(given)
    at = Attending(desk, agent, group_id)
    return at.act(lambda book, now: sending.send(book, at.agent, draft, now))


def draft_of(given: Mapping[str, Any]) -> Draft:
    """The draft that the arguments of `chat.send_message` are."""
    members = Members(given)
    for name in NEEDED:
        if name not in members:
            raise missing(name)
    target = members.object("target")
    in_reply_to = members.id("inReplyTo")
    conversation, recipient = target.id("conversation"), target.id("recipient")
    if not (conversation or recipient or in_reply_to):
        raise missing("target")
    parts = _parts(members)
    named = [_named(each, at) for at, each in enumerate(members.list("mentions", MOST_NAMES))]
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
    )


def missing(name: str) -> MissingMember:
    """The refusal of what lacks something that everybody else would have to guess."""
    return MissingMember(
        f"{name} is missing: whoever sends says it", hint=f"pass {OPTIONS[name]}", pointer=f"/{name}", member=name
    )


def _named(each: Any, at: int) -> str:
    if not isinstance(each, str) or not each.strip():
        raise invalid("a text that is not blank is wanted", f"/mentions/{at}")
    return word(each.strip())


def _parts(members: Members) -> list[dict[str, Any]]:
    listed = members.value["content"]
    if isinstance(listed, str):
        listed = [{"type": "text", "text": listed}]
    if not isinstance(listed, list) or not 0 < len(listed) <= MOST_PARTS:
        raise invalid(f"a list of 1 to {MOST_PARTS} parts is wanted", "/content")
    found = []
    for at, each in enumerate(listed):
        part = Members(each, f"/content/{at}")
        kind = part.text("type", 40, is_needed=True)
        plain = {name: value for name, value in part.value.items() if isinstance(value, str | int)}
        if kind == "text" and not part.text("text", LONGEST_TEXT, is_needed=True).strip():
            raise invalid("a text that is not blank is wanted", part.at("text"))
        found.append(plain)
    return found


def react(desk: Desk, agent: str | None, event: str, signal: str, how: Mapping[str, Any], group_id: Any = None) -> Any:
    """React to an event with a signal."""
    at = Attending(desk, agent, group_id)
    until = clock.parse(how["until"]) if how.get("until") else None
    said = {name: how.get(name) or "" for name in ("eta", "note")}
    remove = bool(how.get("remove"))
    return at.act(
        lambda book, now: answering.react(book, at.agent, event, signal, now, until=until, remove=remove, **said)
    )
