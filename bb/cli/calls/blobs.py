"""Bytes on the command line: files attached to a message, and binary output."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from bb.cli.calls import output
from bb.kernel.errors import BbError, Usage
from bb.ledger.local import blobs
from bb.ops.chat import blobs as chat_blobs
from bb.ops.desk import group_desk
from bb.ops.desk.desk import Desk

NeedsOutput = Usage.declare(
    "NEEDS_OUTPUT",
    "Binary content is not printed on a terminal",
    hint="name a file with --output, or redirect the output into a pipe",
)


def write_attachment(desk: Desk, arguments: Mapping[str, Any]) -> None:
    """Write the bytes of an attachment unchanged to standard output."""
    _refuse_terminal(NeedsOutput())
    octets = chat_blobs.content(desk, arguments["path"], arguments.get("group_id"))
    output.octets(octets[arguments.get("offset", 0) :])


def write_octets(octets: bytes) -> None:
    """Write binary OCTETS unchanged to standard output."""
    _refuse_terminal(NeedsOutput(hint="redirect the output into a pipe or a file"))
    output.octets(octets)


def _refuse_terminal(refusal: BbError) -> None:
    if sys.stdout is not None and sys.stdout.isatty():
        raise refusal


def attachments_with_files(desk: Desk, arguments: Mapping[str, Any], files: Sequence[str]) -> list[Any]:
    """The attachments of a message, including FILES, which are stored first."""
    store = group_desk.open_group(desk, arguments.get("group_id")).store.path
    attachments = arguments.get("attachments") or []
    kept = [blobs.keep(store, chat_blobs.read(desk, file), os.path.basename(file)) for file in files]
    return [*(attachments if isinstance(attachments, list) else [attachments]), *kept]
