"""Attachments in the group's own store, and references to anything else (CCCS §8).

The form of known members is checked. Other members are kept, so that additions of newer clients survive. This module
does not check whether a blob exists or a hash is correct, because it has no access to the bytes. Readers accept unknown
kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bb.kernel.errors import BbError, Usage
from bb.messaging.chat import blobs, fields

Check = Callable[[Any, str, type[BbError]], Any]

ATTACHMENT_KINDS = ("text", "image", "file")
LINK, PRESENTATION, TASK = "url", "presentation_ref", "task_ref"
LINK_KINDS = ("file", "url", "commit", "text")
REFERENCE_KINDS = (*LINK_KINDS, PRESENTATION, TASK)
STATUSES = ("open", "needs_user", "resolved")
IN_SHA256 = "0123456789abcdefABCDEF"
IN_MIME_TYPE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&^_.+-"


class InvalidAttachments(Usage):
    """An attachment must be a blob of the group: state/blobs/<sha256>_<name>."""

    code = "INVALID_ATTACHMENTS"
    hint = "first store the file in the group's blobs, under its hash and a plain name"


class InvalidRefs(Usage):
    """A reference must have one of the forms of CCCS."""

    code = "INVALID_REFS"
    hint = f"pass one of these kinds: {', '.join(REFERENCE_KINDS)}"


def attachments(value: Any, path: str = "$.attachments") -> list[dict[str, Any]]:
    """The checked attachments."""
    return [_attachment(item, f"{path}[{at}]") for at, item in enumerate(fields.items(value, path, InvalidAttachments))]


def references(value: Any, path: str = "$.refs") -> list[dict[str, Any]]:
    """The checked references."""
    return [_reference(item, f"{path}[{at}]") for at, item in enumerate(fields.items(value, path, InvalidRefs))]


def readable(value: Any) -> list[dict[str, Any]]:
    """Recorded attachments or references: all items that are objects, whatever their kind."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _attachment(item: Any, path: str) -> dict[str, Any]:
    checked = _checked(item, ATTACHMENT, path, InvalidAttachments)
    _refuse_another_hash(checked, path, InvalidAttachments)
    return checked


def _reference(item: Any, path: str) -> dict[str, Any]:
    kind = item.get("kind") or LINK if isinstance(item, dict) else LINK
    if not isinstance(kind, str) or kind not in REFERENCE_KINDS:
        raise InvalidRefs(f"{str(kind)[:60]!r} is not a kind of reference", path=f"{path}.kind")
    return _checked(item, {PRESENTATION: PRESENTATION_REF, TASK: TASK_REF}.get(kind, LINK_REF), path, InvalidRefs)


def _checked(item: Any, members: dict[str, Check], path: str, refusal: type[BbError]) -> dict[str, Any]:
    """ITEM with its known MEMBERS first, in order and without nulls, then all other members unchanged."""
    if not isinstance(item, dict):
        raise refusal(f"{path} must be an object", path=path)
    known = {member: check(item.get(member), f"{path}.{member}", refusal) for member, check in members.items()}
    others = {member: value for member, value in item.items() if member not in members}
    return fields.present(known) | (fields.record(others, path, refusal) or {})


def _blob(value: Any, path: str, refusal: type[BbError]) -> str:
    if not blobs.is_blob_path(value):
        raise refusal(f"{path} must have the form {blobs.FOLDER}<sha256>_<name>", path=path)
    return str(value)


def _required(value: Any, path: str, refusal: type[BbError]) -> str:
    found = fields.name(value, path, refusal)
    if found is None:
        raise refusal(f"{path} is missing", path=path)
    return found


def _one_of(*among: str) -> Check:
    return lambda value, path, refusal: fields.one_of(value, path, refusal, among)


def _sha256(value: Any, path: str, refusal: type[BbError]) -> str | None:
    found = fields.text(value, path, refusal)
    if found is not None and (len(found) != blobs.HASH_LENGTH or found.strip(IN_SHA256)):
        raise refusal(f"{path} must be a SHA-256: 64 hexadecimal digits", path=path)
    return found and found.lower()


def _mime_type(value: Any, path: str, refusal: type[BbError]) -> str | None:
    """VALUE as `type/subtype`, optionally with parameters after a semicolon."""
    found = fields.name(value, path, refusal)
    kind, slash, rest = (found or "").partition("/")
    subtype = rest.partition(";")[0].rstrip()
    if found is not None and not (kind and slash and subtype and not (kind + subtype).strip(IN_MIME_TYPE)):
        raise refusal(f"{path} must be a MIME type such as text/plain", path=path)
    return found


def _version(value: Any, path: str, refusal: type[BbError]) -> int | None:
    if value is not None and (type(value) is not int or value != 1):
        raise refusal(f"{path} must be 1", path=path)
    return value


def _snapshot(value: Any, path: str, refusal: type[BbError]) -> dict[str, Any] | None:
    if value is None:
        return None
    checked = _checked(value, SNAPSHOT, path, refusal)
    _refuse_another_hash(checked, path, refusal)
    return checked


def _refuse_another_hash(checked: dict[str, Any], path: str, refusal: type[BbError]) -> None:
    """Refuse a `sha256` that differs from the hash in the blob's path."""
    if checked.get("sha256", blobs.hash_in(checked["path"])) != blobs.hash_in(checked["path"]):
        raise refusal(f"{path}.sha256 is not the hash in its path", path=f"{path}.sha256")


_text: Check = fields.text
_count: Check = fields.count
_record: Check = fields.record

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
