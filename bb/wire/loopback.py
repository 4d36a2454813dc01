"""Listening sockets on 127.0.0.1, which other machines cannot reach."""

from __future__ import annotations

import socket
import sys

from bb.kernel.errors import Busy

LOOPBACK = "127.0.0.1"
ANY = 0  # any free port
BACKLOG = 128

PortTaken = Busy.declare(
    "PORT_TAKEN", "That port is not available", hint="choose another port with --port, or --port 0 for any free port"
)


def listening(port: int | None, usual: int = ANY) -> socket.socket:
    """A socket that listens on loopback: on PORT; if that is None, on the USUAL port, or else on any free port."""
    if port is not None:
        return _bound(port)
    try:
        return _bound(usual)
    except PortTaken.error:
        return _bound(ANY)


def _bound(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # on Windows the option would let two programs share one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise PortTaken(f"port {port} is not available: {error.strerror}", port=port) from error
    return listener
