"""Power cuts: nothing that PostgreSQL has acknowledged is lost, on a disk that forgets what was not written to it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import engines, power
from tests.contracts import carriers
from tests.contracts.carriers import PostgresEngine, begun


@contextlib.contextmanager
def on_a_disk(settings: dict[str, str] | None = None) -> Iterator[tuple[power.Disk, engines.Postgres]]:
    engines.need_postgres()
    folder = Path(tempfile.mkdtemp(prefix="bb-engine-"))
    with power.disk() as disk:
        server = engines.Postgres(folder, {"max_wal_size": "128MB", **(settings or {})}, data=disk.path / "data")
        server.own(disk.path / "data")
        try:
            server.make_anew()
            os.sync()
            server.start_again()
            yield disk, server
        finally:
            server.kill_hard()
            shutil.rmtree(folder)


def fail_and_return(disk: power.Disk, server: engines.Postgres) -> None:
    disk.cut()
    server.kill_hard()
    disk.restore()
    server.start_again()


@pytest.mark.long
def test_no_acknowledged_line_is_lost_in_power_cuts() -> None:
    with on_a_disk() as (disk, server):
        engine = begun(PostgresEngine(server))
        carriers.append_through_power_cuts(engine, lambda: fail_and_return(disk, server))


@pytest.mark.long
def test_the_disk_forgets_what_a_server_without_fsync_has_acknowledged() -> None:
    """So the test above can fail."""
    with on_a_disk({"fsync": "off"}) as (disk, server):
        server.sql("create table acknowledged (x int)")
        server.sql("checkpoint")
        os.sync()
        for number in range(20):
            server.sql(f"insert into acknowledged values ({number})")
        fail_and_return(disk, server)
        assert int(server.sql("select count(*) from acknowledged")) < 20
