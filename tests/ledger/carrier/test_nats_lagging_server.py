"""In a cluster, any server may answer a reader, and one that follows the leader may have the last rows a bit later.
That is no lost history. And what a reader remembers of a log does not grow for ever."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from bb.ledger.carrier import door, nats_log
from bb.ledger.carrier.nats import NatsCarrier
from bb.ledger.carrier.nats_connection import Connection
from bb.ledger.carrier.nats_names import Names
from tests import nats_servers
from tests.contracts.carriers import ADA, FIRST, INCARNATION, REPO, NatsEngine, begun, everything

LOG = f"$JS.API.DIRECT.GET.{Names(REPO, INCARNATION).log}"
LINES = 5
LAST = FIRST + LINES - 1


@pytest.fixture
def engine() -> Iterator[NatsEngine]:
    with nats_servers.nats() as server:
        made = NatsEngine(server)
        begun(made)
        with contextlib.closing(made.carrier()) as carrier:
            for line in range(1, LINES + 1):
                carrier.append(ADA, line, [b"%d" % line])
        nats_log._remembered.clear()
        yield made


@pytest.fixture
def carrier(engine: NatsEngine) -> Iterator[NatsCarrier]:
    with contextlib.closing(engine.carrier()) as made:
        assert isinstance(made, NatsCarrier)
        yield made


class Follower:
    """A server that answers every reader, and has the rows up to a place, until it was ASKED often enough."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, place: int, asked: int = 1_000_000) -> None:
        self._ask_many, self._place, self._left = Connection.ask_many, place, asked
        monkeypatch.setattr(nats_log, "LAG", 0.05)

        def ask_many(connection: Connection, subject: str, request: Any) -> list[Any]:
            return self._answer(connection, subject, request)

        monkeypatch.setattr(Connection, "ask_many", ask_many)

    def catch_up(self) -> None:
        self._left = 0

    def _answer(self, connection: Connection, subject: str, request: Any) -> list[Any]:
        found = self._ask_many(connection, subject, request)
        self._left -= 1
        if subject != LOG or self._left < 0:
            return found
        return [message for message in found if int(message.headers["Nats-Sequence"]) <= self._place]


def test_a_head_has_its_digest_as_soon_as_the_server_has_the_rows(
    engine: NatsEngine, carrier: NatsCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    with contextlib.closing(engine.carrier()) as before:
        digest = everything(before)[-1].digest
    nats_log._remembered.clear()
    Follower(monkeypatch, LAST - 1, asked=4)
    monkeypatch.setattr(nats_log, "LAG", 30.0)

    assert (carrier.head().place, carrier.head().digest) == (LAST, digest)


def test_rows_that_a_server_does_not_have_yet_are_not_lost(
    carrier: NatsCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower = Follower(monkeypatch, LAST - 1)

    with pytest.raises(door.EngineUnreachable.error, match="its leader does"):
        carrier.head()
    with pytest.raises(door.EngineUnreachable.error, match="does not have place"):
        carrier.read(LAST - 1, 1)
    assert [row.place for row in carrier.read(FIRST - 1)] == [*range(FIRST, LAST)]

    follower.catch_up()
    assert carrier.head().place == LAST
    assert [row.place for row in carrier.read(LAST - 1, 1)] == [LAST]


def test_a_keeper_waits_for_the_end_of_the_log(engine: NatsEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    follower = Follower(monkeypatch, LAST - 1)
    with contextlib.closing(engine.keeper()) as keeper:
        with pytest.raises(door.EngineUnreachable.error):
            keeper.last_lines(REPO, INCARNATION)
        follower.catch_up()
        assert keeper.last_lines(REPO, INCARNATION) == {ADA: LINES}


def test_lines_are_not_sent_twice_because_a_server_does_not_have_them_yet(
    carrier: NatsCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    carrier.head()
    follower = Follower(monkeypatch, LAST - 1)

    with pytest.raises(door.EngineUnreachable.error):
        carrier.append(ADA, LINES, [b"%d" % LINES])

    follower.catch_up()
    assert carrier.append(ADA, LINES, [b"%d" % LINES]) == LAST
    assert [row.writer for row in everything(carrier)] == [ADA] * LINES


def test_what_was_pruned_is_forgotten(engine: NatsEngine, carrier: NatsCarrier) -> None:
    before = everything(carrier)
    with contextlib.closing(engine.keeper()) as keeper:
        keeper.prune(REPO, INCARNATION, FIRST + 1)

    assert carrier.head().oldest == FIRST + 2
    assert carrier.read(FIRST + 1) == before[2:]
    assert len(carrier._reader._memory._digests) == 3 * nats_log.DIGEST_BYTES
    with pytest.raises(door.Pruned.error):
        carrier.read(FIRST)


def test_of_one_repository_only_the_log_that_was_read_last_is_remembered(engine: NatsEngine) -> None:
    for number in range(3):
        incarnation = f"{number:016}"
        with contextlib.closing(engine.keeper()) as keeper:
            keeper.begin(REPO, incarnation, FIRST, {})
        with contextlib.closing(engine.carrier(incarnation=incarnation)) as carrier:
            carrier.head()

    assert [names.incarnation for names in nats_log._remembered if names.repo == REPO] == [incarnation]
