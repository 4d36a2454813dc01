"""A port of this machine to listen on, which no other machine can reach."""

from __future__ import annotations

import socket
import sys

from bb.kernel.errors import Busy

LOOPBACK = "127.0.0.1"
ANY = 0  # whichever port is free
BACKLOG = 128


class PortTaken(Busy):
    """That port of this machine cannot be had."""

    code = "PORT_TAKEN"
    hint = "name another one with --port, or 0 for any that is free"


def listening(port: int | None, usual: int = ANY) -> socket.socket:
    """A socket that listens on loopback: on that PORT; if none is named, on the USUAL one, or else on any."""
    if port is not None:
        return _bound(port)
    try:
        return _bound(usual)
    except PortTaken:
        return _bound(ANY)


def _bound(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # there it would let two programs have one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise PortTaken(f"port {port} of this machine cannot be had: {error.strerror}", port=port) from error
    return listener
