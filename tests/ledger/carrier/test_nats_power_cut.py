"""Power cuts: what a NATS server has acknowledged is not lost, if it writes before it acknowledges. If it does not, the
disk forgets lines, and the carrier refuses that server before it can acknowledge any."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nats as library
import pytest

from bb.ledger.carrier import door
from tests import nats_servers, power
from tests.contracts import carriers
from tests.contracts.carriers import ADA, FIRST, INCARNATION, REPO, NatsEngine, begun

MESSAGES = 500


@contextlib.contextmanager
def on_a_disk(sync: str) -> Iterator[tuple[power.Disk, nats_servers.Nats]]:
    folder = Path(tempfile.mkdtemp(prefix="bb-engine-"))
    with power.disk() as disk:
        server = nats_servers.Nats(folder, sync, data=disk.path / "data")
        server.max_file = "200MB"
        try:
            server.start_again()
            yield disk, server
        finally:
            server.kill_hard()
            shutil.rmtree(folder)


def fail_and_return(disk: power.Disk, server: nats_servers.Nats) -> None:
    server.freeze()  # the machine stops at once; this server would acknowledge what it cannot write any more
    disk.cut()
    server.kill_hard()
    disk.restore()
    server.start_again()


@pytest.mark.long
def test_no_acknowledged_line_is_lost_in_power_cuts() -> None:
    with on_a_disk("always") as (disk, server):
        engine = begun(NatsEngine(server))
        os.sync()  # that the log was made is told to a person, who repeats it if the power fails
        carriers.append_through_power_cuts(engine, lambda: fail_and_return(disk, server))


@pytest.mark.long
def test_the_default_loses_what_it_has_acknowledged_and_is_refused() -> None:
    """So the test above can fail, and nobody is exposed to it."""
    with on_a_disk("2m") as (disk, server):
        engine = NatsEngine(server)
        with contextlib.closing(engine.keeper()) as keeper, pytest.raises(door.EngineNotDurable.error):
            keeper.begin(REPO, INCARNATION, FIRST, {})
        server.stop()
        server.sync = "always"
        server.start_again()
        begun(engine)
        os.sync()
        server.stop()
        server.sync = "2m"
        server.start_again()
        with contextlib.closing(engine.carrier()) as carrier, pytest.raises(door.EngineNotDurable.error):
            carrier.append(ADA, 1, [b"x"])
        acknowledged = asyncio.run(_published(server))
        fail_and_return(disk, server)
        assert acknowledged == MESSAGES
        assert asyncio.run(_there(server)) < MESSAGES


async def _published(server: nats_servers.Nats) -> int:
    """How many messages the server acknowledges."""
    connection = await library.connect(f"nats://127.0.0.1:{server.port}")
    try:
        stream = connection.jetstream()
        await stream.add_stream(name="plain", subjects=["plain"])
        os.sync()  # the stream itself stays
        for number in range(MESSAGES):
            await stream.publish("plain", b"%d" % number)
        return MESSAGES
    finally:
        await connection.close()


async def _there(server: nats_servers.Nats) -> int:
    connection = await library.connect(f"nats://127.0.0.1:{server.port}")
    try:
        return int((await connection.jetstream().stream_info("plain")).state.messages)
    finally:
        await connection.close()
