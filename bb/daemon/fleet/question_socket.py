"""The socket at which the commands of one clone ask its relay: one line each way (`ledger/fleet/asking.py`).

The questions are read in the daemon's loop and answered from the thread of the relay. A client that has left is
forgotten. Over TCP, where other users of the machine can connect, a client must show the token of `relay.json` first.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from bb.daemon.clients import endpoint
from bb.daemon.clients.connection import LOCAL, Connection
from bb.daemon.loop.loop import READ, Loop
from bb.kernel import json_text
from bb.kernel.errors import BbError, Busy, Usage
from bb.ledger.files import disk
from bb.ledger.fleet import asking, relay
from bb.ledger.local import fleet_files
from bb.wire import access, loopback

Answer = Callable[[dict[str, Any]], None]
Asked = Callable[[dict[str, Any], Answer], None]

BACKLOG = 256
AT_ONCE = 64  # clients that are accepted in one turn of the loop
MOST_CLIENTS = 1000
SWEEP = 2.0  # seconds between checks for clients that are too slow
TOKEN_BYTES = 32

BadQuestion = Usage.declare(
    "BAD_QUESTION",
    "The question to the relay is not a JSON object with the member `ask`",
    hint="run the same version of bb in the daemon and in your shell: `bb daemon stop`, then `bb daemon start`",
)
TooManyQuestions = Busy.declare(
    "TOO_MANY_QUESTIONS", "Too many commands are asking the relay of this clone", hint="try again in a moment"
)


class QuestionSocket:
    """Listens for the questions of one clone, until it is closed."""

    def __init__(self, loop: Loop, store: str, env: Mapping[str, str], asked: Asked) -> None:
        self._loop = loop
        self._store = store
        self._asked = asked
        self._clients: set[Connection] = set()
        self._env = env
        self._path = self._token = ""
        self._listen()
        self._sweeping = loop.later(SWEEP, self._sweep)

    @property
    def number_of_clients(self) -> int:
        """The number of commands that are connected."""
        return len(self._clients)

    @property
    def is_in_place(self) -> bool:
        """Whether commands can find the socket. The folder of a long path's socket may be cleaned by the system."""
        files = [fleet_files.path(self._store, fleet_files.ADDRESS), *([self._path] if self._path else [])]
        return self._listener.fileno() >= 0 and all(os.path.exists(file) for file in files)

    def listen_again(self) -> None:
        """Make the socket and its address anew. Those who are connected stay connected."""
        if self._listener.fileno() >= 0:
            self._loop.forget(self._listener.fileno())
            self._listener.close()
        self._listen()

    def stop_listening(self, *, leaves_files: bool = False) -> None:
        """Take no more questions: commands see that no relay runs. Those that were asked can still be answered. It
        LEAVES FILES at the address alone if they are those of another relay."""
        if self._listener.fileno() < 0:
            return
        self._loop.forget(self._listener.fileno())
        self._listener.close()
        if leaves_files:
            return
        disk.remove_if_there(fleet_files.path(self._store, fleet_files.ADDRESS))
        if self._path:
            endpoint.remove_socket(self._path, os.path.join(self._store, fleet_files.FOLDER))

    def close(self) -> None:
        """Close everything."""
        self.stop_listening()
        self._sweeping.cancel()
        for connection in list(self._clients):
            connection.close()

    # -- listening

    def _listen(self) -> None:
        self._listener = self._unix() if sys.platform != "win32" else self._tcp()
        try:
            self._listener.listen(BACKLOG)
            self._listener.setblocking(False)
            self._write_address()
            self._loop.watch(self._listener.fileno(), READ, self._accept)
        except BaseException:
            self._listener.close()
            raise

    def _unix(self) -> socket.socket:
        folder = os.path.join(self._store, fleet_files.FOLDER)
        self._path = endpoint.socket_path(folder, fleet_files.SOCKET, self._env)
        disk.remove_if_there(self._path)  # this process has the lock of the relay, so no other one uses the socket
        return endpoint.bound_socket(self._path)

    def _tcp(self) -> socket.socket:
        self._token = os.urandom(TOKEN_BYTES).hex()
        return loopback.listening(loopback.ANY)

    def _write_address(self) -> None:
        described: dict[str, Any] = {"v": 1, "pid": os.getpid(), "lock": asking.lock_identity(self._store)}
        if self._path:
            described["path"] = self._path
        else:
            host, port = self._listener.getsockname()[:2]
            described |= {"host": host, "port": port, "token": self._token}
        octets = json_text.dumps(described).encode() + b"\n"
        disk.replace(fleet_files.path(self._store, fleet_files.ADDRESS), octets, mode=0o600)

    # -- clients

    def _accept(self, _: int) -> None:
        for _number in range(AT_ONCE):
            try:
                sock, _address = self._listener.accept()
            except OSError:
                return  # nobody is waiting, or no file handles are left: the loop calls again
            sock.setblocking(False)
            is_local = sock.family == LOCAL
            connection = Connection(
                sock, self._loop, self._came, self._clients.discard, is_local=is_local, token=self._token or None
            )
            self._clients.add(connection)
            if is_local and not access.is_own(sock):
                connection.refuse(access.another_user())
            elif len(self._clients) > MOST_CLIENTS:
                _refuse(connection, TooManyQuestions())
            else:
                self._loop.attempt(connection.start)

    def _came(self, connection: Connection, line: bytes) -> None:
        """A question has arrived."""
        try:
            question = json_text.read(line)
        except ValueError:
            question = None
        if type(question) is not dict or type(question.get("ask")) is not str:
            _refuse(connection, BadQuestion())
            return
        connection.expect_leaving()
        self._asked(question, lambda answer: self._loop.call_from_thread(lambda: connection.answer(_line(answer))))

    def _sweep(self) -> None:
        now = time.monotonic()
        for connection in [each for each in self._clients if each.is_overdue(now)]:
            connection.close()
        self._sweeping = self._loop.later(SWEEP, self._sweep)


def _refuse(connection: Connection, error: BbError) -> None:
    connection.answer(_line(relay.refused(error)))


def _line(answer: dict[str, Any]) -> bytes:
    return (json_text.dumps_ascii(answer) + "\n").encode()
