"""Who may ask the daemon: over TCP whoever shows its token, at a Unix socket whoever is the same user.

The token stands in the descriptor, which only the daemon's user can read. A client shows it in a first line of its
own, in front of its request, and is answered nothing to that: the one answer is still that of the request.

    {"v": 1, "auth": "5f0c…"}
    {"v": 1, "op": "ping", "args": {}}

So a stranger is refused after a few bytes, whatever it has to say behind them, and the request itself is as the
specification wants it, for operations that are upgraded to a stream, too.
"""

from __future__ import annotations

import os
import socket
import struct

from bb.kernel import json_text
from bb.kernel.errors import Forbidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_SHOWN = 4096  # bytes of a first line
CREDENTIALS = "3i"  # of the other end of a socket: process, user, group
ROOT = 0


class Unauthorized(Forbidden):
    """The daemon wants to see its token before anything else."""

    code = "UNAUTHORIZED"
    hint = (
        'send {"v": 1, "auth": TOKEN} as the first line, with the token of ccccd.addr.json; '
        "for clients that cannot, start it with `bb daemon start --allow-anonymous-tcp`"
    )


class AnotherUser(Forbidden):
    """The daemon serves its own user only."""

    code = "UNAUTHORIZED"
    hint = "start a daemon of your own: `bb daemon start`"


def shown(token: str) -> bytes:
    """What a client says first."""
    return json_text.dumps_ascii({"v": 1, "auth": token}).encode() + b"\n"


def shows(line: bytes, token: str) -> bool:
    """Whether LINE shows the TOKEN. How long that takes says nothing about it."""
    import hmac  # noqa: PLC0415  (a client shows, and does not compare)

    if line.count(b"[") + line.count(b"{") > 1:  # nothing that nests needs to be read
        return False
    try:
        found: Any = json_text.read(line)
    except ValueError:
        return False
    given = found.get("auth") if type(found) is dict and found.keys() == {"v", "auth"} and found["v"] == 1 else None
    octets = given.encode("utf-8", "surrogatepass") if type(given) is str else b""
    return hmac.compare_digest(octets, token.encode())


def is_own(sock: socket.socket) -> bool:
    """Whether the other end of a Unix socket is this user or root, where the system tells. Its mode says so already;
    but there are file systems that know no modes."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    try:
        told = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(CREDENTIALS))
    except OSError:
        return True
    _, user, _ = struct.unpack(CREDENTIALS, told)
    return user in (os.geteuid(), ROOT)
