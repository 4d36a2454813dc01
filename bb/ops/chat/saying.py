"""C2A messages and reactions: the sender states the intent explicitly, and nothing has a default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bb.attention.acts import answers, sending
from bb.attention.acts.drafts import parse_draft
from bb.kernel import clock
from bb.ops.attention.attention_desk import C2aDesk
from bb.ops.desk.desk import Desk


def send(desk: Desk, agent: str | None, given: Mapping[str, Any], group_id: Any = None) -> dict[str, Any]:
    """Send the message that GIVEN describes, in the form of the arguments of `chat.send_message`."""
    draft = parse_draft(given)
    at = C2aDesk(desk, agent, group_id)
    return at.act(lambda book, now: sending.send(book, at.agent, draft, now))


def react(desk: Desk, agent: str | None, event: str, signal: str, how: Mapping[str, Any], group_id: Any = None) -> Any:
    """React to an event with a signal."""
    at = C2aDesk(desk, agent, group_id)
    until = clock.parse(how["until"]) if how.get("until") else None
    words = {name: how.get(name) or "" for name in ("eta", "note")}
    more: dict[str, Any] = {"remove": bool(how.get("remove")), "content_version": how.get("content_version"), **words}
    return at.act(lambda book, now: answers.react(book, at.agent, event, signal, now, until=until, **more))
