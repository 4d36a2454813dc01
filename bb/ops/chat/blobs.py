"""Attachments of a group: bytes too large for a line, kept beside the ledger of this clone, and found by their hash."""

from __future__ import annotations

import os

from bb.kernel.errors import NotFound, Usage
from bb.kernel.show import harmless
from bb.ledger.files import disk
from bb.ledger.local import blobs
from bb.messaging.chat import blobs as paths
from bb.ops.catalogue import op
from bb.ops.desk import group_desk, sources
from bb.ops.params import GroupId, Name, Number, Reason, Text, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ops.desk.desk import Desk

# Bytes in one answer: with a third more for base64, clients read no more of it (IPC §4.3).
PORTION = 2_900_000


class FileNotRead(NotFound):
    """That file cannot be read."""

    code = "FILE_NOT_READ"
    hint = "name a file that is there and that you may read"


class InvalidBlob(Usage):
    """Bytes are given as a file, or as base64 with a name."""

    code = "INVALID_BLOB"
    hint = "`bb blob put FILE`; in a request, `file`, or `data_base64` and `name`"


class File(Name):
    """The file."""

    metavar = "FILE"


class Base64(Text):
    """The bytes themselves, in base64, instead of a file."""

    metavar = "BASE64"
    longest = blobs.LARGEST * 4 // 3 + 4


class FileName(Name):
    """What the bytes are called; the file's own name unless given."""

    metavar = "NAME"


class BlobPath(Text):
    """The attachment, by the path that a message names: state/blobs/…."""

    metavar = "PATH"


class Output(Name):
    """Write to this file."""

    metavar = "FILE"


class Offset(Number):
    """Begin behind so many bytes: an answer holds 2,900,000, and says where the next ones begin."""

    least = 0
    most = blobs.LARGEST


@op("blob.put", screen="chat", examples=("bb blob put plan.pdf", "bb blob put build.log --name 'build 17.log' --json"))
def put(
    desk: Desk,
    file: File | None = None,
    *,
    data_base64: Base64 | None = None,
    name: FileName | None = None,
    allow_secret: Reason | None = None,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """Keep a file, so that messages can refer to it: what is answered is what `attachments` of a message lists.

    A file that holds what looks like a secret is refused (SECRET_FOUND), whatever else is in it.
    """
    if (file is None) == (data_base64 is None) or (file is None and name is None):
        raise InvalidBlob
    group = group_desk.of(desk, group_id)
    octets = read(desk, file) if file is not None else _decoded(str(data_base64))
    return {"group_id": group.id, **blobs.keep(group.store.path, octets, str(name or file), allow_secret)}


@op(
    "blob.get",
    reads=True,
    screen="chat",
    output="attachment",
    examples=("bb blob get state/blobs/SHA256_plan.pdf --output plan.pdf",),
)
def get(
    desk: Desk,
    path: BlobPath,
    *,
    output: Output | None = None,
    offset: Offset | None = None,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """The bytes of an attachment, which are what they were when it was sent.

    At a terminal they go to --output, or into a pipe or file; with --json, and for programs, they come as base64.
    """
    if output is not None and offset:
        raise invalid("--offset is for reading portion by portion; a file gets all of it", "offset")
    octets = content(desk, path, group_id)
    if output is not None:
        where = os.path.join(desk.cwd, output)
        with disk.Replacement(where) as file:
            file.write(octets)
        return {"path": path, "output": where, "bytes": len(octets)}
    import base64  # noqa: PLC0415

    start = offset or 0
    end = min(start + PORTION, len(octets))
    return {
        "path": path,
        "bytes": len(octets),
        "sha256": paths.hash_in(path),
        "offset": start,
        "next_offset": end if end < len(octets) else None,
        "data_base64": base64.b64encode(octets[start:end]).decode(),
    }


def content(desk: Desk, path: str, group_id: Any) -> bytes:
    """All the bytes of an attachment."""
    return blobs.read(group_desk.of(desk, group_id).store.path, path)


def read(desk: Desk, file: str) -> bytes:
    """The bytes of a file that is to be attached. Of one that is too large, so many that it will be refused."""
    try:
        with sources.opened(desk, file) as stream:
            return stream.read(blobs.LARGEST + 1)
    except (OSError, ValueError) as error:  # a NUL in its name, say
        reason = getattr(error, "strerror", None) or str(error)
        raise FileNotRead(f"{harmless(file[:200])} cannot be read: {reason}", path="$.file") from error


def _decoded(text: str) -> bytes:
    import binascii  # noqa: PLC0415

    try:
        return binascii.a2b_base64(text.encode(), strict_mode=True)
    except ValueError as error:
        raise InvalidBlob(f"that is no base64: {error}", path="$.data_base64") from error
