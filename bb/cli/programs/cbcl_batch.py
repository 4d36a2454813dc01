"""`bb cbcl batch`: questions on stdin, one JSON object a line; answers on stdout, one envelope a line, in order.

Each answer is out before the next line is read, so a program may ask, wait and ask again. A line that is no request is
answered like any other mistake, and stops nothing.
"""

from __future__ import annotations

import sys

from bb.cli.calls import say
from bb.kernel import json_text
from bb.kernel.errors import BbError
from bb.ops.cbcl.batch import Desk, InvalidRequest
from bb.wire import envelope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

COMMAND = "cbcl batch"
LONGEST = 40 << 20  # octets of a line: the longest text there is, as hex, and some more


def run() -> int:
    """Answer until nobody asks any more."""
    desk = Desk()
    for line in _lines(sys.stdin.buffer):
        say.octets(json_text.dumps_ascii(answer(desk, line)).encode("ascii") + b"\n")
        say.flush()
    return 0


def _lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """The lines of STREAM; None for one that is too long to be kept."""
    while line := stream.readline(LONGEST):
        if len(line) == LONGEST and not line.endswith(b"\n"):
            while (rest := stream.readline(LONGEST)) and not rest.endswith(b"\n"):
                pass
            yield None
        else:
            yield line


def answer(desk: Desk, line: bytes | None) -> dict[str, Any]:
    """The envelope that answers a LINE; whatever the request calls its `id` is repeated."""
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
        raise InvalidRequest("the line is no JSON", path="$") from None
