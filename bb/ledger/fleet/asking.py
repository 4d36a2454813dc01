"""Asks the relay of this clone a question: one line to its socket, one line back.

The relay runs in the daemon, because a connection to an engine costs more than a whole command of bb. `relay.json` has
its address: a Unix socket, or on Windows a port of the loopback interface and a token. It is copied along with a
clone, so it also has the identity of the relay's lock, which is not. The answer is read with bounds on its time and its
length. If an answer is lost, the outcome is unknown. Every question can be asked again.

Hot verbs ask, so this module uses the C module `_socket`. Python's `socket` takes a tenth of the time of a bare start.
"""

from __future__ import annotations

import _socket
import os
import time

from bb.kernel import json_text
from bb.kernel.errors import BbError, Busy
from bb.kernel.received_refusals import refusal_from
from bb.ledger.files import disk
from bb.ledger.local import fleet_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

TO_CONNECT = 1.0  # seconds
SLACK = 1.0  # seconds for the relay to answer after the patience that the question names
PIECE = 1 << 16
MOST = 8 << 20  # bytes of an answer
LONGEST_ADDRESS = 4096  # bytes of relay.json
LOOPBACK = ("127.0.0.1", "::1")

RelayGone = Busy.declare(
    "RELAY_GONE",
    "No relay of this clone is running, so the engine of the fleet cannot be asked",
    hint="start the daemon, which runs the relay: `bb daemon start`",
)
RelaySilent = Busy.declare(
    "RELAY_SILENT",
    "The relay of this clone has not answered, so the outcome is not known",
    hint="`bb daemon status` shows whether the daemon still answers; `bb daemon logs` may show why it does not",
)
RelayLost = Busy.declare(
    "RELAY_LOST",
    "The relay of this clone ended before it answered, so the outcome is not known",
    hint="run the command again, which starts the daemon if that has ended; `bb daemon logs` may show why it ended",
)
RelayStopped = Busy.declare(
    "RELAY_STOPPED", "The relay of this clone is ending", hint="ask again; `bb daemon start` starts it"
)
OVER = frozenset([RelayGone.code, RelayLost.code, RelayStopped.code])


def is_over(refusal: BbError) -> bool:
    """Whether REFUSAL says only that the relay has ended, so that the next one can answer."""
    return refusal.code in OVER or refusal.details.get("ended") is True


class Address:
    """The address of a relay, as `relay.json` has it."""

    def __init__(self, members: Mapping[str, Any]) -> None:
        self.path = path if type(path := members.get("path")) is str else ""
        self.host = host if (host := members.get("host")) in LOOPBACK else ""
        self.port = port if type(port := members.get("port")) is int and 0 < port < 1 << 16 else 0
        self.token = token if type(token := members.get("token")) is str and len(token) < LONGEST_ADDRESS else ""
        self.lock = lock if type(lock := members.get("lock")) is str else ""  # older daemons do not write it


def address(store: str) -> Address | None:
    """The address of this clone's relay; None if none is written, or the file is not valid."""
    octets = disk.read_small(fleet_files.path(store, fleet_files.ADDRESS), LONGEST_ADDRESS)
    try:
        members = json_text.read(octets or b"")
    except ValueError:
        return None
    return Address(members) if type(members) is dict else None


def lock_identity(store: str) -> str:
    """The identity of the relay's lock; empty if there is none. A clone that is moved keeps it. No copy has the same:
    the relay has the file open, so that no other file on its disk gets this number."""
    try:
        status = os.stat(fleet_files.path(store, fleet_files.LOCK))
    except OSError:
        return ""
    return f"{status.st_dev}:{status.st_ino}"


def connect(store: str) -> Connected:
    """A connection to the relay of this clone, for one question. RELAY_GONE if there is none."""
    where = address(store)
    if where is None or not (where.path or (where.port and where.host)):
        raise RelayGone()
    if where.lock and where.lock != lock_identity(store):
        raise RelayGone()  # the address is that of another clone, of which this one is a copy
    try:
        if where.path:
            connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
            to: Any = where.path
        else:
            _must_run(store)
            family = _socket.AF_INET6 if ":" in where.host else _socket.AF_INET
            connection, to = _socket.socket(family, _socket.SOCK_STREAM), (where.host, where.port)
    except (OSError, AttributeError) as error:
        raise RelayGone(f"a connection to the relay cannot be made: {error}") from error
    try:
        connection.settimeout(TO_CONNECT)
        connection.connect(to)
    except (FileNotFoundError, ConnectionRefusedError) as error:
        connection.close()
        raise RelayGone() from error
    except OSError as error:  # for example a socket of another user, or a path that is too long
        connection.close()
        raise RelayGone(f"the relay cannot be reached: {error.strerror or error}") from error
    return Connected(connection, where.token)


def ask(store: str, question: Mapping[str, Any], patience: float) -> dict[str, Any]:
    """The relay's answer to QUESTION. Its refusals are raised here. RELAY_SILENT if it does not answer in time, and
    RELAY_LOST if it ends first."""
    with connect(store) as connection:
        return connection.ask(question, patience)


class Connected:
    """An open connection to a relay."""

    def __init__(self, connection: _socket.socket, token: str) -> None:
        self._connection = connection
        self._token = token

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def fileno(self) -> int:
        """Becomes readable when the relay answers, or has closed the connection."""
        return self._connection.fileno()

    def ask(self, question: Mapping[str, Any], patience: float) -> dict[str, Any]:
        """The answer to QUESTION, which names its PATIENCE too."""
        self.send({**question, "patience": patience})
        return self.answer(patience)

    def answer(self, patience: float) -> dict[str, Any]:
        """The answer to the question that was sent. Its refusals are raised here. RELAY_SILENT if it does not come
        within PATIENCE, and RELAY_LOST if the connection ends first."""
        deadline = time.monotonic() + patience + SLACK
        gathered, looked_at = bytearray(), 0
        try:
            while (end := gathered.find(b"\n", looked_at)) < 0:
                looked_at = len(gathered)
                if looked_at > MOST:
                    raise RelaySilent(f"the relay's answer is longer than {MOST:,} bytes")
                self._connection.settimeout(max(deadline - time.monotonic(), 0.001))
                piece = self._connection.recv(PIECE)
                if not piece:
                    raise RelayLost()
                gathered += piece
        except TimeoutError as error:
            raise RelaySilent(f"the relay has not answered within {patience + SLACK:.0f} seconds") from error
        except OSError as error:
            raise RelayLost(f"the connection to the relay was lost: {error.strerror or error}") from error
        return _result(bytes(gathered[:end]))

    def send(self, question: Mapping[str, Any]) -> None:
        """Send QUESTION. RELAY_GONE if that fails, since a relay answers only whole lines."""
        line = json_text.dumps_ascii(question).encode() + b"\n"
        if self._token:
            line = json_text.dumps_ascii({"v": 1, "auth": self._token}).encode() + b"\n" + line
        try:
            self._connection.sendall(line)
        except OSError as error:
            raise RelayGone(f"the relay has closed the connection: {error.strerror or error}") from error


def _must_run(store: str) -> None:
    """Refuse if no process holds the relay's lock: its former port may belong to another program by now, which must
    not be sent the token."""
    from bb.ledger.files.lock import is_held  # noqa: PLC0415  (only where there are no Unix sockets)

    if not is_held(fleet_files.path(store, fleet_files.LOCK)):
        raise RelayGone()


def _result(line: bytes) -> dict[str, Any]:
    try:
        answer = json_text.read(line)
    except ValueError as error:
        raise RelaySilent("the relay's answer is not valid JSON") from error
    if type(answer) is not dict or type(answer.get("ok")) is not bool:
        raise RelaySilent("the relay's answer has not the form of an answer")
    if not answer["ok"]:
        raise refusal_from(answer.get("error"))
    result = answer.get("result")
    return result if type(result) is dict else {}
