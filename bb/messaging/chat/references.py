"""Attachments in the group's own store, and references to anything else (CCCS §8).

The form of known members is checked. Other members are kept, so that additions of newer clients survive. This module
does not check whether a blob exists or a hash is correct, because it has no access to the bytes. Readers accept unknown
kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bb.kernel.errors import Usage
from bb.messaging.chat import blobs, fields
from bb.messaging.chat.fields import Fields

Check = Callable[[Fields, str], Any]

ATTACHMENT_KINDS = ("text", "image", "file")
LINK, PRESENTATION, TASK = "url", "presentation_ref", "task_ref"
LINK_KINDS = ("file", "url", "commit", "text")
REFERENCE_KINDS = (*LINK_KINDS, PRESENTATION, TASK)
STATUSES = ("open", "needs_user", "resolved")
IN_SHA256 = "0123456789abcdefABCDEF"
IN_MIME_TYPE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&^_.+-"

InvalidAttachments = Usage.declare(
    "INVALID_ATTACHMENTS",
    "An attachment must be a blob of the group: state/blobs/<sha256>_<name>",
    hint="first store the file in the group's blobs, under its hash and a plain name",
)

InvalidRefs = Usage.declare(
    "INVALID_REFS",
    "A reference must have one of the forms of CCCS",
    hint=f"pass one of these kinds: {', '.join(REFERENCE_KINDS)}",
)


def attachments(value: Any) -> list[dict[str, Any]]:
    """The checked attachments."""
    request = Fields({"attachments": value}).refusing(InvalidAttachments)
    return [_stored(item, ATTACHMENT) for item in request.objects("attachments")]


def references(value: Any) -> list[dict[str, Any]]:
    """The checked references."""
    listed = Fields({"refs": value}).refusing(InvalidRefs).items("refs")
    return [_reference(listed, at) for at in listed]


def readable(value: Any) -> list[dict[str, Any]]:
    """Recorded attachments or references: all items that are objects, whatever their kind."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _reference(listed: Fields, at: int) -> dict[str, Any]:
    item = listed.value[at]
    kind = item.get("kind") or LINK if isinstance(item, dict) else LINK
    if not isinstance(kind, str) or kind not in REFERENCE_KINDS:
        raise InvalidRefs(f"{str(kind)[:60]!r} is not a kind of reference", path=f"{listed.at(at)}.kind")
    return _checked(listed.element(at), {PRESENTATION: PRESENTATION_REF, TASK: TASK_REF}.get(kind, LINK_REF))


def _checked(item: Fields, checks: dict[str, Check]) -> dict[str, Any]:
    """ITEM with its known members first, in the order of CHECKS and without nulls, then all others unchanged."""
    checked = {name: check(item, name) for name, check in checks.items()}
    others = {name: value for name, value in item.value.items() if name not in checks}
    if not fields.is_json(others):
        raise item.form.refuse("must be a JSON object", item.path)
    return fields.present(checked) | others


def _stored(item: Fields, checks: dict[str, Check]) -> dict[str, Any]:
    """ITEM, a file in the group's blobs. A `sha256` that differs from the hash in the blob's path is refused."""
    checked = _checked(item, checks)
    if checked.get("sha256", blobs.hash_in(checked["path"])) != blobs.hash_in(checked["path"]):
        raise item.wrong("sha256", "is not the hash in its path")
    return checked


def _blob(item: Fields, name: str) -> str:
    if not blobs.is_blob_path(item.value.get(name)):
        raise item.wrong(name, f"must have the form {blobs.FOLDER}<sha256>_<name>")
    return str(item.value[name])


def _text(item: Fields, name: str) -> str | None:
    return item.text(name) or None


def _required(item: Fields, name: str) -> str:
    return item.line(name, fields.NAME_LENGTH, is_needed=True)


def _one_of(*among: str) -> Check:
    return lambda item, name: item.maybe_one_of(name, among)


def _sha256(item: Fields, name: str) -> str | None:
    text = item.text(name)
    if text and (len(text) != blobs.HASH_LENGTH or text.strip(IN_SHA256)):
        raise item.wrong(name, "must be a SHA-256: 64 hexadecimal digits")
    return text.lower() or None


def _mime_type(item: Fields, name: str) -> str | None:
    """A text `type/subtype`, optionally with parameters after a semicolon."""
    mime_type = item.name(name)
    kind, slash, rest = (mime_type or "").partition("/")
    subtype = rest.partition(";")[0].rstrip()
    if mime_type is not None and not (kind and slash and subtype and not (kind + subtype).strip(IN_MIME_TYPE)):
        raise item.wrong(name, "must be a MIME type such as text/plain")
    return mime_type


def _version(item: Fields, name: str) -> int | None:
    value = item.value.get(name)
    if value is not None and (type(value) is not int or value != 1):
        raise item.wrong(name, "must be 1")
    return value


def _snapshot(item: Fields, name: str) -> dict[str, Any] | None:
    return _stored(item.object(name), SNAPSHOT) if name in item else None


_count: Check = Fields.number
_record: Check = Fields.record

_BLOB: dict[str, Check] = {"path": _blob, "mime_type": _mime_type, "bytes": _count, "sha256": _sha256}
ATTACHMENT: dict[str, Check] = {
    "kind": _one_of(*ATTACHMENT_KINDS),
    "path": _blob,
    "title": _text,
    "mime_type": _mime_type,
    "bytes": _count,
    "sha256": _sha256,
}
LINK_REF: dict[str, Check] = {
    "kind": _one_of(*LINK_KINDS),
    "url": _text,
    "path": _text,
    "title": _text,
    "sha": _text,
    "bytes": _count,
}
SNAPSHOT: dict[str, Check] = _BLOB | {"width": _count, "height": _count, "captured_at": _text, "source": _text}
PRESENTATION_REF: dict[str, Check] = {
    "kind": _one_of(PRESENTATION),
    "v": _version,
    "slot_id": _required,
    "label": _text,
    "locator_label": _text,
    "title": _text,
    "card_type": _text,
    "status": _one_of(*STATUSES),
    "href": _text,
    "excerpt": _text,
    "locator": _record,
    "snapshot": _snapshot,
}
TASK_REF: dict[str, Check] = {"kind": _one_of(TASK), "task_id": _required, "title": _text, "status": _text}
