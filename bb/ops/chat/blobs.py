"""Attachments of a group: files too large for a line. They are stored beside this clone's ledger, under their hash."""

from __future__ import annotations

import os
from typing import Any

from bb.kernel.errors import Usage
from bb.kernel.escaping import harmless
from bb.ledger.files import output_files
from bb.ledger.local import blobs
from bb.messaging.chat import blobs as paths
from bb.ops.agent_params import Name
from bb.ops.catalogue import op
from bb.ops.desk import group_desk, input_text
from bb.ops.desk.desk import Desk
from bb.ops.json_params import GroupId
from bb.ops.params import AllowSecretReason, Number, Text, invalid

# Bytes in one answer. Base64 adds a third; clients refuse larger answers (IPC §4.3).
PORTION = 2_900_000

InvalidBlob = Usage.declare(
    "INVALID_BLOB",
    "An attachment must be either a file, or base64 data with a name",
    hint="run `bb blob put FILE`; in a request, pass `file`, or `data_base64` with `name`",
)


class Base64(Text):
    """The content in base64, instead of a file."""

    metavar = "BASE64"
    longest = blobs.LARGEST * 4 // 3 + 4


class Offset(Number):
    """Skip this many bytes. An answer contains at most 2,900,000 bytes; next_offset is the offset of the rest."""

    least = 0
    most = blobs.LARGEST


@op("blob.put", screen="chat", examples=("bb blob put plan.pdf", "bb blob put build.log --name 'build 17.log' --json"))
def put(
    desk: Desk,
    file: Name | None = None,
    *,
    data_base64: Base64 | None = None,
    name: Name | None = None,
    allow_secret: AllowSecretReason | None = None,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """Store a file, so that messages can refer to it. Pass the answer as an entry of a message's `attachments`.

    A file that contains a suspected secret is refused (SECRET_FOUND).

    Parameters:
        file (FILE): The file to attach.
        name (NAME): The attachment's name; the file's own name unless given.
    """
    if (file is None) == (data_base64 is None) or (file is None and name is None):
        raise InvalidBlob()
    group = group_desk.open_group(desk, group_id)
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
    desk: Desk, path: Text, *, output: Name | None = None, offset: Offset | None = None, group_id: GroupId | None = None
) -> dict[str, Any]:
    """Show the content of an attachment, unchanged since it was sent.

    At a terminal, write it to --output, or redirect it to a pipe or file. With --json, the content is in base64.

    Parameters:
        path (PATH): The attachment's path, as messages list it: state/blobs/….
        output (FILE): Write to this file.
    """
    if output is not None and offset:
        raise invalid("--offset cannot be used with --output: a file always gets the whole attachment", "offset")
    octets = content(desk, path, group_id)
    if output is not None:
        where = os.path.join(desk.cwd, output)
        with output_files.Replacement(where) as file:
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
    return blobs.read(group_desk.open_group(desk, group_id).store.path, path)


def read(desk: Desk, file: str) -> bytes:
    """Read the file to attach, at most one byte more than the limit, so that the caller can refuse it."""
    try:
        with input_text.opened(desk, file) as stream:
            return stream.read(blobs.LARGEST + 1)
    except (OSError, ValueError) as error:  # a NUL in its name, say
        reason = getattr(error, "strerror", None) or str(error)
        raise input_text.FileNotRead(f"{harmless(file[:200])} cannot be read: {reason}", path="$.file") from error


def _decoded(text: str) -> bytes:
    import binascii  # noqa: PLC0415

    try:
        return binascii.a2b_base64(text.encode(), strict_mode=True)
    except ValueError as error:
        raise InvalidBlob(f"the data is not valid base64: {error}", path="$.data_base64") from error
