"""Attachments: bytes too large for a line, beside the journals, each file named by its hash.

A file is written once and never changed, so what a message refers to is what was attached. They stay in this clone.
"""

from __future__ import annotations

import os

from bb.kernel import secret_patterns
from bb.kernel.errors import NotFound, Refused
from bb.ledger.files import disk
from bb.messaging.chat import blobs
from bb.messaging.chat.references import InvalidAttachments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LARGEST = 64 << 20
PORTION = 1 << 20
HINT = "leave it out; if it is no secret, say why: `bb blob put FILE --allow-secret REASON`"


class BlobNotFound(NotFound):
    """That attachment is not here."""

    code = "BLOB_NOT_FOUND"
    hint = "attachments stay in the clone they were sent from"


class BlobTooLarge(Refused):
    """An attachment has at most 64 MiB."""

    code = "BLOB_TOO_LARGE"
    hint = "put the file where everybody finds it, and refer to it"


class BlobDamaged(Refused):
    """The attachment is not what it was when it was sent."""

    code = "BLOB_DAMAGED"
    hint = "ask its sender to attach it again"


def folder(store: str) -> str:
    return os.path.join(store, "blobs")


def keep(store: str, octets: bytes, name: str, allow_secret: str | None = None) -> dict[str, Any]:
    """Keep OCTETS, which their sender calls NAME; what a message says of them. A file with a secret in it is refused,
    unless it is allowed for a reason, which the message repeats."""
    if len(octets) > LARGEST:
        raise BlobTooLarge(f"{len(octets):,} bytes; {LARGEST:,} are allowed", bytes=len(octets))
    vouched = _refuse_secrets(octets, name, allow_secret)
    found = _hash(octets)
    path = blobs.blob_path(found, name)
    disk.make_folder(folder(store))
    if not _has(_file(store, path), octets):
        disk.replace(_file(store, path), octets, durable=True)
    return {"path": path, "title": blobs.safe_name(name), "bytes": len(octets), "sha256": found, **vouched}


def _refuse_secrets(octets: bytes, name: str, allow_secret: str | None) -> dict[str, str]:
    secret_patterns.refuse_secrets(allow_secret or "")
    kinds = sorted({*secret_patterns.found_in(octets), *secret_patterns.found(name)})
    if kinds and not allow_secret:
        message = f"the file holds what looks like a secret: {', '.join(kinds)}"
        raise secret_patterns.SecretFound(message, hint=HINT, kinds=kinds)
    return {"secret_allowed": allow_secret} if kinds and allow_secret else {}


def read(store: str, path: str) -> bytes:
    """The bytes of an attachment, which are what their name says."""
    if not blobs.is_blob_path(path):
        raise InvalidAttachments(f"{str(path)[:200]!r} is no path of an attachment", path="$.path")
    if not os.path.isfile(_file(store, path)):
        raise BlobNotFound(f"{path} is not here")
    try:
        with disk.reader(_file(store, path)) as file:
            octets = file.read(LARGEST + 1)
    except OSError as error:
        raise disk.refusal(error) from error
    if _hash(octets) != blobs.hash_in(path):
        raise BlobDamaged(f"{path} is not what it was")
    return octets


def must_be_there(store: str, attachment: Mapping[str, Any]) -> None:
    """Refuse an attachment whose bytes are not here, or are others; how many they are is noted."""
    try:
        octets = read(store, attachment["path"])
    except (BlobNotFound, BlobDamaged) as refusal:
        raise InvalidAttachments(refusal.message, path="$.attachments") from refusal
    attachment["bytes"] = len(octets)  # type: ignore[index]


def _has(path: str, octets: bytes) -> bool:
    """Whether the file at PATH is there and is what it is to be: one that was damaged is written anew."""
    if not os.path.isfile(path) or os.path.getsize(path) != len(octets):
        return False
    with disk.reader(path) as file:
        return file.read() == octets


def _file(store: str, path: str) -> str:
    return os.path.join(folder(store), path.removeprefix(blobs.FOLDER))


def _hash(octets: bytes) -> str:
    from hashlib import sha256  # noqa: PLC0415  (a third of a bare start, which most who chat do without)

    return sha256(octets).hexdigest()
