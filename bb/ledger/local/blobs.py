"""Attachments: files beside the journals, for bytes too large for a line. Each file is named by its hash.

A file is written once and never changed, so a message always refers to the bytes that were attached. Attachments are
not published.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from bb.kernel import secret_patterns
from bb.kernel.errors import NotFound, Refused
from bb.ledger.files import disk
from bb.messaging.chat import blobs
from bb.messaging.chat.references import InvalidAttachments

LARGEST = 64 << 20
PORTION = 1 << 20
HINT = "remove the secret; if the text is not a secret, give a reason: `bb blob put FILE --allow-secret REASON`"

BlobNotFound = NotFound.declare(
    "BLOB_NOT_FOUND",
    "This clone does not have that attachment",
    hint="attachments stay in the clone they were sent from",
)

BlobTooLarge = Refused.declare(
    "BLOB_TOO_LARGE",
    "The attachment is larger than 64 MiB",
    hint="store the file where all readers have access, and send a reference to it",
)

BlobDamaged = Refused.declare(
    "BLOB_DAMAGED", "The attachment has changed since it was sent", hint="ask its sender to attach it again"
)


def folder(store: str) -> str:
    return os.path.join(store, "blobs")


def keep(store: str, octets: bytes, name: str, allow_secret: str | None = None) -> dict[str, Any]:
    """Store OCTETS under the sender's file NAME. Returns the description for a message. A file that contains a secret
    is refused, unless the sender gives a reason, which goes into the message."""
    if len(octets) > LARGEST:
        raise BlobTooLarge(f"the file has {len(octets):,} bytes; {LARGEST:,} are allowed", bytes=len(octets))
    vouched = _refuse_secrets(octets, name, allow_secret)
    sha256 = _hash(octets)
    path = blobs.blob_path(sha256, name)
    disk.make_folder(folder(store))
    if not _has(_file(store, path), octets):
        disk.replace(_file(store, path), octets, durable=True)
    return {"path": path, "title": blobs.safe_name(name), "bytes": len(octets), "sha256": sha256, **vouched}


def _refuse_secrets(octets: bytes, name: str, allow_secret: str | None) -> dict[str, str]:
    secret_patterns.refuse_secrets(allow_secret or "")
    kinds = sorted({*secret_patterns.found_in(octets), *secret_patterns.found(name)})
    if kinds and not allow_secret:
        message = f"the file contains what looks like a secret: {', '.join(kinds)}"
        raise secret_patterns.SecretFound(message, hint=HINT, kinds=kinds)
    return {"secret_allowed": allow_secret} if kinds and allow_secret else {}


def read(store: str, path: str) -> bytes:
    """The bytes of an attachment, checked against the hash in its name."""
    if not blobs.is_blob_path(path):
        raise InvalidAttachments(f"{str(path)[:200]!r} is not the path of an attachment", path="$.path")
    if not os.path.isfile(_file(store, path)):
        raise BlobNotFound(f"this clone does not have {path}")
    try:
        with disk.reader(_file(store, path)) as file:
            octets = file.read(LARGEST + 1)
    except OSError as error:
        raise disk.refusal(error) from error
    if _hash(octets) != blobs.hash_in(path):
        raise BlobDamaged(f"{path} has changed since it was sent")
    return octets


def must_be_there(store: str, attachment: Mapping[str, Any]) -> None:
    """Refuse an attachment whose file is missing or damaged. Adds its size to ATTACHMENT."""
    try:
        octets = read(store, attachment["path"])
    except (BlobNotFound.error, BlobDamaged.error) as refusal:
        raise InvalidAttachments(refusal.message, path="$.attachments") from refusal
    attachment["bytes"] = len(octets)  # type: ignore[index]


def _has(path: str, octets: bytes) -> bool:
    """Whether the file at PATH exists and contains OCTETS. If not, the caller writes it again."""
    if not os.path.isfile(path) or os.path.getsize(path) != len(octets):
        return False
    with disk.reader(path) as file:
        return file.read() == octets


def _file(store: str, path: str) -> str:
    return os.path.join(folder(store), path.removeprefix(blobs.FOLDER))


def _hash(octets: bytes) -> str:
    from hashlib import sha256  # noqa: PLC0415  (its import takes a third of bb's start time; most chat needs no hash)

    return sha256(octets).hexdigest()
