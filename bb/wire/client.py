"""The client of the daemon: sends one line, receives one line (CCCC daemon IPC §4). Uses only the standard library.

A request is never sent twice, because after a lost answer its outcome is unknown.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Mapping
from typing import Any

from bb.kernel import json_text
from bb.kernel.errors import Busy
from bb.kernel.received_refusals import refusal_from
from bb.ledger.local import descriptor
from bb.ops.desk.live_daemon import DaemonUnavailable
from bb.wire import access, cccc
from bb.wire.ndjson import MOST_ANSWER, MOST_REQUEST

TO_CONNECT, TO_ANSWER = 2.0, 60.0  # seconds
PIECE = 1 << 16

OutcomeUnknown = Busy.declare(
    "OUTCOME_UNKNOWN",
    "The daemon did not answer, so the outcome of the request is unknown",
    hint="check the result before you repeat the request; `bb daemon status` shows whether the daemon still answers",
)


def ask(home: str, op: str, args: Mapping[str, Any], *, patience: float = TO_ANSWER) -> dict[str, Any]:
    """The result of OP from the daemon of a home directory. A refusal of the daemon is raised here."""
    connection, result, _ = upgrade(home, op, args, patience=patience)
    connection.close()
    return result


def upgrade(
    home: str, op: str, args: Mapping[str, Any], *, patience: float = TO_ANSWER
) -> tuple[socket.socket, dict[str, Any], bytes]:
    """Call OP and keep the connection open: the connection, the result, and the bytes received after it."""
    line = cccc.request_line(op, args)
    if len(line) > MOST_REQUEST:
        raise cccc.BadRequest(f"a request has at most {MOST_REQUEST:,} bytes, this one {len(line):,}")
    with contextlib.ExitStack() as stack:
        where = _address(home)
        connection = stack.enter_context(_connected(home, where))
        if where.token:
            line = access.token_line(where.token) + line
        answer, rest = _asked(connection, line, time.monotonic() + patience)
        result = _result(answer)
        stack.pop_all()
    connection.settimeout(None)
    return connection, result, rest


def _address(home: str) -> descriptor.Address:
    """The daemon's address. If no daemon runs, another program may use its former port, so no token is sent to it."""
    where = descriptor.address(home)
    if where.token and not descriptor.is_running(home):
        raise DaemonUnavailable(home=home)
    return where


def _connected(home: str, where: descriptor.Address) -> socket.socket:
    try:
        if where.transport == "tcp":
            return socket.create_connection((where.host, where.port), TO_CONNECT)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(TO_CONNECT)
        try:
            connection.connect(where.path)
        except BaseException:
            connection.close()
            raise
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise DaemonUnavailable(home=home) from error
    except (OSError, AttributeError) as error:  # for example a path that is too long, or a system without Unix sockets
        reason = getattr(error, "strerror", None) or str(error)
        raise DaemonUnavailable(f"the daemon cannot be reached at {where}: {reason}", home=home) from error
    return connection


def _asked(connection: socket.socket, line: bytes, deadline: float) -> tuple[bytes, bytes]:
    """Send LINE; the answered line, and the bytes received after it."""
    gathered, looked_at = bytearray(), 0
    try:
        connection.sendall(line)
        while (end := gathered.find(b"\n", looked_at)) < 0:
            looked_at = len(gathered)
            if looked_at > MOST_ANSWER:
                raise OutcomeUnknown(f"the daemon's answer is longer than {MOST_ANSWER:,} bytes")
            connection.settimeout(max(deadline - time.monotonic(), 0.001))
            piece = connection.recv(PIECE)
            if not piece:
                raise OutcomeUnknown("the daemon closed the connection without an answer")
            gathered += piece
    except TimeoutError as error:
        raise OutcomeUnknown("the daemon takes too long to answer") from error
    except OSError as error:
        raise OutcomeUnknown(f"the connection was lost before the answer: {error.strerror or error}") from error
    return bytes(gathered[:end]), bytes(gathered[end + 1 :])


def _result(line: bytes) -> dict[str, Any]:
    try:
        answer = json_text.read(line)
    except json_text.NotJson as error:
        raise OutcomeUnknown("the daemon's answer is not valid JSON") from error
    if type(answer) is not dict:
        raise OutcomeUnknown("the daemon's answer is not a JSON object")
    result, described = answer.get("result"), answer.get("error")
    if answer.get("ok") is True:
        return result if type(result) is dict else {}
    raise refusal_from(described)
