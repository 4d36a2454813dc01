"""A repository's log in a stream of NATS JetStream (docs/decisions/0078).

The place of a row is the number of its message in the stream, so nothing is ever deleted from it but the beginning, by
the keeper. Readers compute which rows are void, and the running digests (`nats_rows.py`). Only servers that are
seen to have lines on their disks may acknowledge them (`nats_durability.py`).
"""

from __future__ import annotations

import contextlib
import socket
import time

from bb.ledger.carrier import nats_durability, nats_log
from bb.ledger.carrier.door import MOST_READ, EngineUnreachable
from bb.ledger.carrier.nats_address import NatsAddress
from bb.ledger.carrier.nats_appends import Appends
from bb.ledger.carrier.nats_connection import PATIENCE, SEQUENCE, Connection, Lost
from bb.ledger.carrier.nats_keeper import NatsKeeper
from bb.ledger.carrier.nats_log import LogReader
from bb.ledger.carrier.nats_machines import Machines
from bb.ledger.carrier.nats_names import ANY, WHO_AM_I, Names, machine_of
from bb.ledger.files import readiness

TYPE_CHECKING = False
__all__ = ["NatsCarrier", "NatsKeeper"]  # both sides of the door

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from nats.aio.msg import Msg

    from bb.ledger.carrier.door import Head, Machine, Row

POLL = 2.0  # seconds; what wakes readers may be lost
AGAIN = 60.0  # seconds until the servers' settings are looked at again
NOT_YET = 0.005  # seconds; until a server that follows the leader has the row that woke us


class NatsCarrier:
    """One repository's log. It connects when it is used."""

    kind = "nats"

    def __init__(self, address: str, repo: str, incarnation: str, patience: float = PATIENCE) -> None:
        self._names = Names(repo, incarnation)
        self._connection = Connection(NatsAddress.parse(address), self._heard, patience)
        self._reader = LogReader(self._connection, self._names)
        self._appends = Appends(self._connection, self._names, self._reader)
        self._machines = Machines(self._connection, self._names)
        self._judged = ""  # the id of the server at which the disks were last looked at
        self._judged_at = float("-inf")
        self._seen = 0  # the last place that is known to be there
        self._told = 0  # the last place of which the leader has told since the last connect
        self._woken, self._waker = _wakers()

    def head(self) -> Head:
        with self._at_work():
            info = nats_log.info_of(self._connection, self._names)
            self._told = info["state"]["last_seq"]
            return self._reader.head(info)

    def append(self, writer: str, first: int, lines: Sequence[bytes]) -> int:
        with self._at_work():
            place = self._appends.append(writer, first, lines)
        self._seen = max(self._seen, place)
        return place

    def read(self, since: int, most: int = MOST_READ) -> list[Row]:
        with self._at_work():
            rows = self._reader.read(since, most)
            until = time.monotonic() + 20 * NOT_YET
            while not rows and self._seen > since and time.monotonic() < until:
                time.sleep(NOT_YET)
                rows = self._reader.read(since, most)
            if not rows:
                self._seen = min(self._seen, since)
            if not rows and self._told > since:  # no end of the log: the next connection may be to a better server
                raise EngineUnreachable(f"the server that answers does not have place {since + 1} yet")
        return rows

    def wait(self, since: int, seconds: float, also: Sequence[int] = ()) -> bool:
        until = time.monotonic() + seconds
        with self._at_work():
            while True:
                self._drain()
                if self._seen > since:
                    return True
                left = until - time.monotonic()
                found = readiness.readable([self._woken.fileno(), *also], min(left, POLL))
                if any(fd in found for fd in also):
                    return self._seen > since
                if not self._connection.is_open:
                    raise Lost("the connection was lost")
                if not found and left > 0:
                    info = nats_log.info_of(self._connection, self._names)
                    self._seen = max(self._seen, info["state"]["last_seq"])
                if left <= 0:
                    return self._seen > since

    def beat(self, machine: Machine) -> None:
        with self._at_work():
            self._machines.beat(machine)

    def alive(self) -> list[Machine]:
        with self._at_work():
            return self._machines.alive()

    def lead(self) -> bool:
        with self._at_work():
            return self._machines.lead()

    def yield_lead(self) -> None:
        if self._connection.is_open:
            with self._at_work():
                self._machines.leave()

    def health(self) -> dict[str, Any]:
        with self._at_work(must_be_durable=False):
            info = nats_log.info_of(self._connection, self._names)
            return nats_durability.health(self._connection, info)

    def close(self) -> None:
        if self._connection.is_open:
            with contextlib.suppress(Lost, EngineUnreachable.error):
                self._machines.leave()
        self._reader.disconnected()
        self._connection.close()
        self._woken.close()
        self._waker.close()

    @contextlib.contextmanager
    def _at_work(self, *, must_be_durable: bool = True) -> Iterator[None]:
        """A connection to the log. If it is lost meanwhile, that is EngineUnreachable."""
        try:
            if not self._connection.is_open:
                self._connect()
            if must_be_durable:
                self._judge()
            yield
        except Lost as lost:
            self._connection.drop()
            where = ", ".join(self._connection.address.servers)
            raise EngineUnreachable(f"{where}: {lost}") from None
        except EngineUnreachable.error:
            self._connection.drop()
            raise

    def _connect(self) -> None:
        if self._woken.fileno() < 0:  # it was closed
            self._woken, self._waker = _wakers()
        self._connection.open()
        info = nats_log.info_of(self._connection, self._names)
        who: Any = self._connection.ask_json(WHO_AM_I) or {}
        token = machine_of(((who.get("data") or {}).get("permissions") or {}).get("publish")) or ANY
        self._machines.token = self._appends.token = token
        self._appends.forget()
        self._connection.listen(self._names.wake)
        self._reader.connected(info)
        self._seen = self._told = info["state"]["last_seq"]

    def _judge(self) -> None:
        """Refuse servers that may lose what they acknowledge. It is asked at each connection to another server, and
        from time to time, because a server may come back with other settings."""
        server, now = str(self._connection.server.get("server_id")), time.monotonic()
        if server == self._judged and now - self._judged_at < AGAIN:
            return
        info = nats_log.info_of(self._connection, self._names)
        try:
            nats_durability.look(self._connection.address.monitors, info).must_be_shown()
        except EngineUnreachable.error:
            if server != self._judged:
                raise
        except BaseException:
            self._judged = ""
            raise
        self._judged, self._judged_at = server, now

    def _heard(self, message: Msg | None) -> None:
        """A row was stored, or the connection ended. In the thread of the connection."""
        headers = (message.headers if message else None) or {}
        self._seen = max(self._seen, int(headers.get(SEQUENCE, 0)))
        with contextlib.suppress(OSError):
            self._waker.send(b"!")

    def _drain(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._woken.recv(4096):
                pass


def _wakers() -> tuple[socket.socket, socket.socket]:
    """A pair of sockets: what is sent to the second one wakes who waits for the first."""
    pair = socket.socketpair()
    for each in pair:
        each.setblocking(False)
    return pair
