"""A strict reader of what CCCS v1 lets stand in `data`, written from its type definitions (§6-§8) and nothing else.

It names every member that is not as the specification types it. Members it does not know are ignored, as a client must.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bb.kernel.errors import BbError

Reader = Callable[[Any], bool]


def text(value: Any) -> bool:
    return isinstance(value, str)


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def flag(value: Any) -> bool:
    return isinstance(value, bool)


def record(value: Any) -> bool:
    return isinstance(value, dict)


def texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(text, value))


def word(*words: str) -> Reader:
    return lambda value: isinstance(value, str) and value in words


def nullable(reader: Reader) -> Reader:
    return lambda value: value is None or reader(value)


def object_of(required: dict[str, Reader], optional: dict[str, Reader]) -> Reader:
    def read(value: Any) -> bool:
        return (
            isinstance(value, dict)
            and all(name in value and reader(value[name]) for name, reader in required.items())
            and all(reader(value[name]) for name, reader in optional.items() if name in value)
        )

    return read


def list_of(reader: Reader) -> Reader:
    return lambda value: isinstance(value, list) and all(map(reader, value))


attachment = object_of(
    {"path": text},
    {"kind": word("text", "image", "file"), "title": text, "mime_type": text, "bytes": number, "sha256": text},
)
link = object_of(
    {},
    {
        "kind": word("file", "url", "commit", "text"),
        "url": text,
        "path": text,
        "title": text,
        "sha": text,
        "bytes": number,
    },
)
snapshot = object_of(
    {"path": text},
    {
        "mime_type": text,
        "bytes": number,
        "sha256": text,
        "width": number,
        "height": number,
        "captured_at": text,
        "source": text,
    },
)
presentation_ref = object_of(
    {"kind": word("presentation_ref"), "slot_id": text},
    {
        "v": lambda value: value == 1,
        "label": text,
        "locator_label": text,
        "title": text,
        "card_type": text,
        "status": word("open", "needs_user", "resolved"),
        "href": text,
        "excerpt": text,
        "locator": record,
        "snapshot": snapshot,
    },
)
task_ref = object_of({"kind": word("task_ref"), "task_id": text}, {"title": text, "status": text})


def reference(value: Any) -> bool:
    return link(value) or presentation_ref(value) or task_ref(value)


MESSAGE: dict[str, Reader] = {
    "text": text,
    "format": word("plain", "markdown"),
    "priority": word("normal", "attention"),
    "to": texts,
    "reply_to": nullable(text),
    "quote_text": nullable(text),
    "src_group_id": nullable(text),
    "src_event_id": nullable(text),
    "dst_group_id": nullable(text),
    "dst_to": nullable(texts),
    "attachments": list_of(attachment),
    "refs": list_of(reference),
    "thread": text,
    "client_id": nullable(text),
}
NOTIFY: dict[str, Reader] = {
    "kind": text,
    "priority": word("low", "normal", "high", "urgent"),
    "title": text,
    "message": text,
    "target_actor_id": nullable(text),
    "context": record,
    "requires_ack": flag,
    "related_event_id": nullable(text),
}


def faults_of_message(data: Any) -> list[str]:
    """What a chat.message says that the specification does not allow (§6.1)."""
    if not isinstance(data, dict):
        return ["data is no object"]
    found = [name for name, reader in MESSAGE.items() if name in data and not reader(data[name])]
    if "text" not in data:
        found.append("text is missing")
    if not data.get("text") and not data.get("attachments"):
        found.append("neither text nor attachments convey the message")
    if bool(data.get("src_group_id")) != bool(data.get("src_event_id")):
        found.append("half a source")
    return found


def faults_of_notify(data: Any) -> list[str]:
    """What a system.notify says that the specification does not allow (§7)."""
    if not isinstance(data, dict) or "kind" not in data:
        return ["data is no object with a kind"]
    return [name for name, reader in NOTIFY.items() if name in data and not reader(data[name])]


def answer(ask: Callable[[], Any]) -> Any:
    """What is answered when it is granted, and the refusal when it is not; anything else is a bug and raises."""
    try:
        return ask()
    except BbError as refusal:
        return refusal
