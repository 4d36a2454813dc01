"""Access to the daemon: over TCP a client needs its token, on a Unix socket it must run as the same user.

The token is in the descriptor, which only the daemon's user can read. A client sends it in a line before its request.
That line has no answer of its own; only the request is answered.

    {"v": 1, "auth": "5f0c…"}
    {"v": 1, "op": "ping", "args": {}}

So a client without the token is refused after a few bytes, and the request itself follows the specification, also for
operations that become a stream.
"""

from __future__ import annotations

import os
import socket
import struct
from typing import Any

from bb.kernel import json_text
from bb.kernel.errors import BbError, Forbidden

MOST_SHOWN = 4096  # bytes of a first line
CREDENTIALS = "3i"  # of the other end of a socket: process, user, group
ROOT = 0

Unauthorized = Forbidden.declare(
    "UNAUTHORIZED",
    "The daemon requires its token in the first line",
    hint=(
        'send {"v": 1, "auth": TOKEN} as the first line, with the token of ccccd.addr.json; '
        "for clients that cannot, start it with `bb daemon start --allow-anonymous-tcp`"
    ),
)


def another_user() -> BbError:
    """The refusal of a client that runs as another user."""
    hint = "start a daemon of your own: `bb daemon start`"
    return Unauthorized("The daemon serves its own user only", hint=hint)


def token_line(token: str) -> bytes:
    """The first line of a client."""
    return json_text.dumps_ascii({"v": 1, "auth": token}).encode() + b"\n"


def has_token(line: bytes, token: str) -> bool:
    """Whether LINE contains the TOKEN, compared in constant time."""
    import hmac  # noqa: PLC0415  (only the daemon needs it)

    if line.count(b"[") + line.count(b"{") > 1:  # a valid line is not nested
        return False
    try:
        message: Any = json_text.read(line)
    except ValueError:
        return False
    auth = (
        message.get("auth") if type(message) is dict and message.keys() == {"v", "auth"} and message["v"] == 1 else None
    )
    octets = auth.encode("utf-8", "surrogatepass") if type(auth) is str else b""
    return hmac.compare_digest(octets, token.encode())


def is_own(sock: socket.socket) -> bool:
    """Whether the other end of a Unix socket is this user or root; true if the system cannot tell. The socket's file
    mode already ensures this, but some file systems have no modes."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    try:
        credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(CREDENTIALS))
    except OSError:
        return True
    _, user, _ = struct.unpack(CREDENTIALS, credentials)
    return user in (os.geteuid(), ROOT)
