"""`bb cbcl batch`: reads requests from stdin, one JSON object per line, and writes one envelope per line to stdout.

Each answer is flushed before the next line is read, so a program can send a request and wait for its answer. An
invalid line is answered with a refusal, and the next line is read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

from bb.cli.calls import output
from bb.kernel import json_text
from bb.kernel.errors import BbError
from bb.ops.cbcl.batch import BatchClient, InvalidRequest
from bb.wire import envelope

COMMAND = "cbcl batch"
LONGEST = 40 << 20  # octets of a line: room for the longest text in hex


def run() -> int:
    """Answer requests until the end of stdin."""
    desk = BatchClient()
    for line in _lines(sys.stdin.buffer):
        output.octets(json_text.dumps_ascii(answer(desk, line)).encode("ascii") + b"\n")
        output.flush()
    return 0


def _lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """The lines of STREAM; None for one that is too long."""
    while line := stream.readline(LONGEST):
        if len(line) == LONGEST and not line.endswith(b"\n"):
            while (rest := stream.readline(LONGEST)) and not rest.endswith(b"\n"):
                pass
            yield None
        else:
            yield line


def answer(desk: BatchClient, line: bytes | None) -> dict[str, Any]:
    """The envelope that answers LINE, with the `id` of the request."""
    about: dict[str, Any] = {}
    try:
        if line is None:
            raise InvalidRequest(f"a line is longer than {LONGEST:,} octets", path="$")
        request = _request(line)
        if type(request) is dict and "id" in request and not isinstance(request["id"], dict | list):
            about = {"id": request["id"]}
        return envelope.success(COMMAND, desk.answer(request)) | about
    except BbError as error:
        return envelope.failure(COMMAND, error) | about


def _request(line: bytes) -> Any:
    try:
        return json_text.loads(line.decode())
    except (json_text.NotJson, UnicodeDecodeError):
        raise InvalidRequest("the line is not valid JSON", path="$") from None
