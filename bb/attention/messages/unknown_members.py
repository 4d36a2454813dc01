"""Unknown members of an envelope: they are kept with the message and passed on with it.

So a later version of C2A, or an extension, loses nothing on its way through `bb`. Unknown members are as untrusted as
the text: secrets are removed, their size is limited, and only agents that see the text see them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bb.attention.messages.redaction import NAMES, redact
from bb.kernel import json_text

MOST, MOST_OF_A_PART = 8 << 10, 2 << 10  # bytes as JSON; a member that exceeds the rest is left out
DEEPEST = 8
LARGEST = 1 << 53
KNOWN = {
    "source": frozenset(("platform", "workspaceId")),
    "conversation": frozenset(("id", "kind", "threadId", "streamId", "rootId", "private")),
    "author": frozenset(("id", "kind", "displayName")),
    "target": frozenset(("mentions", "recipient", "directedness")),
    "timing": frozenset(("createdAt", "sequence")),
    "attention": frozenset(("policy", "reason", "priority", "deadlineMs", "stale", "defaultResponder")),
    "injection": frozenset(("mode", "context", "role", "interrupt")),
    "reliability": frozenset(("attempt", "idempotencyKey")),
}
ABOUT_MESSAGE = ("eventId", "type", "content", "text", "version", "contentVersion", "replyTo", "intent", "priority")
ABOUT_DELIVERY = ("knock", "rendered", "mergedFrom", "marker", "signal", "onMessage", "meaning", "answers")
AT_TOP = frozenset((*KNOWN, *ABOUT_MESSAGE, *ABOUT_DELIVERY))


def unknown_members(given: Mapping[str, Any]) -> dict[str, Any]:
    """The unknown members of GIVEN and of the known objects in it."""
    unknown = {name: value for name, value in given.items() if name not in AT_TOP}
    for name, members in KNOWN.items():
        inner = given.get(name)
        if isinstance(inner, dict) and not inner.keys() <= members:
            unknown[name] = {member: value for member, value in inner.items() if member not in members}
    return without_secrets(unknown, MOST) if unknown else unknown


def without_secrets(found: Mapping[str, Any], most: int) -> dict[str, Any]:
    """The unknown members that are kept: without secrets, and at most MOST bytes."""
    whole: dict[str, Any] = {}
    for name, value in _harmless(found, 0).items():
        size = len(json_text.dumps({name: value}).encode())
        if size <= most:
            whole[name] = value
            most -= size
    return whole


def with_unknown_members(envelope: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """ENVELOPE with the members that were kept. They never replace known members: old lines may hold anything."""
    for name, value in more.items():
        if name in KNOWN and isinstance(value, dict):
            others = {member: inner for member, inner in value.items() if member not in KNOWN[name]}
            envelope[name] = {**others, **envelope.get(name, {})}
        elif name not in AT_TOP:
            envelope.setdefault(name, value)
    return envelope


def _harmless(value: Any, depth: int) -> Any:
    """VALUE without secrets, and without values that some JSON readers cannot represent."""
    if isinstance(value, str):
        return redact(_valid(value))
    if isinstance(value, dict) and depth < DEEPEST:
        return {redact(_valid(name)): _unless_secret(name, inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, list) and depth < DEEPEST:
        return [_harmless(item, depth + 1) for item in value]
    is_readable = value is None or (isinstance(value, int | float) and abs(value) < LARGEST)
    return value if is_readable else None


def _unless_secret(name: str, value: Any, depth: int) -> Any:
    """The value of a member, masked if its name is that of a secret."""
    lowered = name.casefold()
    if isinstance(value, str) and any(secret_name in lowered for secret_name in NAMES):
        return "[secret]"
    return _harmless(value, depth)


def _valid(text: str) -> str:
    """TEXT without lone surrogates, which a line cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
