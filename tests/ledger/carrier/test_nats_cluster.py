"""Three NATS servers with three copies of each stream: what is acknowledged outlives each of them."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bb.ledger.carrier import door
from bb.ledger.carrier.nats import NatsCarrier, NatsKeeper
from tests import nats_servers
from tests.contracts.carriers import ADA, FIRST, INCARNATION, REPO, everything, lines_of
from tests.servers import free_port
from tests.waiting import until

AWAY = (door.AppendUnknown.error, door.EngineUnreachable.error)


@pytest.fixture
def servers() -> Iterator[list[nats_servers.Nats]]:
    folder = Path(tempfile.mkdtemp(prefix="bb-engine-"))
    ports = [free_port() for _ in range(3)]
    routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in ports)
    more = [f'cluster: {{name: tests, listen: "127.0.0.1:{port}", routes: [{routes}]}}' for port in ports]
    made = [nats_servers.Nats(folder / f"n{place}", more=text) for place, text in enumerate(more)]
    try:
        for each in made:
            each.begin_to_start()
        for each in made:
            each.wait_until_it_answers()
        yield made
    finally:
        for each in made:
            each.kill_hard()
        shutil.rmtree(folder)


@pytest.mark.long
def test_a_cluster_loses_nothing_when_each_of_its_servers_is_killed(servers: list[nats_servers.Nats]) -> None:
    hosts = ",".join(f"127.0.0.1:{each.port}" for each in servers)
    address = f"nats://{hosts}?replicas=3&monitor={','.join(each.monitor for each in servers)}"
    with contextlib.closing(NatsKeeper(address)) as keeper:
        until(lambda: begins(keeper), "a leader of the cluster")
    with contextlib.closing(NatsCarrier(address, REPO, INCARNATION)) as carrier:
        carrier.append(ADA, 1, [b"1"])
        assert set(carrier.health()["settings"]["sync_interval"].values()) == {"always"}
        assert len(carrier.health()["standbys"]) == 2
        for number, each in enumerate(servers, 2):
            each.kill_hard()
            until(lambda number=number: appends(carrier, number), "another leader")
            each.start_again()
            until(lambda: all(one["current"] for one in carrier.health()["standbys"]), "all servers")
        rows = everything(carrier)

    assert lines_of(rows, ADA) == [b"1", b"2", b"3", b"4"]


@pytest.mark.long
def test_each_server_of_a_cluster_must_show_its_setting(servers: list[nats_servers.Nats]) -> None:
    hosts = ",".join(f"127.0.0.1:{each.port}" for each in servers)
    address = f"nats://{hosts}?replicas=3&monitor={','.join(each.monitor for each in servers)}"
    with contextlib.closing(NatsKeeper(address)) as keeper:
        until(lambda: begins(keeper), "a leader of the cluster")
    less = address.rpartition(",")[0]
    carrier = NatsCarrier(less, REPO, INCARNATION)
    with contextlib.closing(carrier), pytest.raises(door.EngineNotDurable.error) as refusal:
        carrier.head()
    assert "n2" in refusal.value.message


def begins(keeper: NatsKeeper) -> bool:
    try:
        return keeper.begin(REPO, INCARNATION, FIRST, {}).place == FIRST - 1
    except (door.EngineUnreachable.error, door.Denied.error):
        return False


def appends(carrier: NatsCarrier, number: int) -> bool:
    try:
        return carrier.append(ADA, number, [b"%d" % number]) > 0
    except AWAY:
        return False
