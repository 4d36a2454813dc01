"""A machine chooses the headers of its rows and beats. None of them may stop those who read them."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest

from bb.ledger.carrier import door
from bb.ledger.carrier.nats_names import FIRST as NUMBER
from bb.ledger.carrier.nats_names import Names
from tests import nats_servers
from tests.contracts.carriers import ADA, BOB, FIRST, INCARNATION, NO_MACHINES, REPO, NatsEngine, begun, everything

NAMES = Names(REPO, INCARNATION)
STATUSES = [
    *[b"NATS/1.0\r\nStatus: %s\r\n%s: 1\r\n\r\n" % (status, NUMBER.encode()) for status in (b"204", b"404", b"503")],
    b"NATS/1.0 204 EOB\r\n\r\n",
    b"NATS/1.0 503\r\nA: b\r\n\r\n",
]


@pytest.fixture
def engine() -> Iterator[NatsEngine]:
    with nats_servers.nats(more=NO_MACHINES) as server:
        made = NatsEngine(server)
        begun(made)
        yield made


def publish(engine: NatsEngine, headers: bytes, payload: bytes, *subjects: str) -> None:
    """Publish exactly these octets, which a library would not."""
    with socket.create_connection(("127.0.0.1", engine.server.port), timeout=30) as connection:
        connection.sendall(b'CONNECT {"verbose": false, "headers": true}\r\n')
        for subject in subjects:
            sizes = f"{len(headers)} {len(headers) + len(payload)}"
            connection.sendall(f"HPUB {subject} {sizes}\r\n".encode() + headers + payload + b"\r\n")
        connection.sendall(b"PING\r\n")
        heard = b""
        while b"PONG" not in heard:
            heard += connection.recv(4096)
        assert b"-ERR" not in heard


@pytest.mark.parametrize("payload", [b"", b"1\n"])
@pytest.mark.parametrize("headers", STATUSES)
def test_a_row_with_a_status_is_a_row_for_every_reader(engine: NatsEngine, headers: bytes, payload: bytes) -> None:
    with contextlib.closing(engine.carrier()) as carrier, contextlib.closing(engine.carrier()) as other:
        carrier.append(ADA, 1, [b"1"])
        publish(engine, headers, payload, NAMES.row("any", BOB))
        carrier.append(ADA, 2, [b"2"])

        rows = everything(carrier)

        assert [row.place for row in rows] == [FIRST, FIRST + 1, FIRST + 2]
        assert everything(other) == rows
        assert other.head().digest == rows[-1].digest
        with contextlib.closing(engine.keeper()) as keeper:
            assert keeper.last_lines(REPO, INCARNATION)[ADA] == 2


@pytest.mark.parametrize("headers", STATUSES)
def test_a_beat_with_a_status_hides_no_other_beat(engine: NatsEngine, headers: bytes) -> None:
    with contextlib.closing(engine.carrier()) as carrier:
        publish(engine, headers, b"", NAMES.beat("any", BOB))
        publish(engine, headers, b"", NAMES.leader)
        carrier.beat(door.Machine("", ADA, FIRST))

        assert [machine.writer for machine in carrier.alive()] == [ADA]
        assert carrier.lead(), "an empty message of a leader leaves the lead free"


def test_large_beats_with_a_status_do_not_make_the_engine_unreachable(engine: NatsEngine) -> None:
    headers = b"NATS/1.0\r\nStatus: 503\r\nX: " + b"x" * 60_000 + b"\r\n\r\n"
    with contextlib.closing(engine.carrier()) as carrier:
        publish(engine, headers, b"", *[NAMES.beat("any", f"bbbbbbbbbb{n:02}") for n in range(50)])
        carrier.beat(door.Machine("", ADA, FIRST))

        for _ in range(4):  # the server gives them in another order each time
            assert [machine.writer for machine in carrier.alive()] == [ADA]
