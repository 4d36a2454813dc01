"""What happens to a real server, and what the machines of a fleet make of it: a full disk, a failover, no connection
left, another port, a pooler. Each is refused with a reason or harmless, and what was granted stays granted."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from bb.ledger.fleet import asking
from tests.engines import Postgres, postgres
from tests.servers import MEMORY, free_port
from tests.stories.fleet.client_support import COBALT, Fleet, Side, fleet
from tests.support import Ran
from tests.waiting import until

MIB = 1 << 20


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server that the stories of this file may harm. Each of them leaves it sound."""
    with postgres({"max_connections": "24"}) as made:
        yield made


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory, server: Postgres) -> Iterator[Fleet]:
    with fleet(tmp_path_factory.mktemp("fleet"), server) as made:
        yield made


def granted(side: Side, scope: str) -> int:
    """The token of SCOPE, once it is granted."""
    return int(until(lambda: (found := side.reserve(scope)).status == 0 and found).data["token"])


def refusal(side: Side, name: str) -> Ran:
    """The first refusal because of the engine."""
    numbers = iter(range(1000))
    return until(
        lambda: (found := side.reserve(f"{name}/{next(numbers)}")).status and found.code.startswith("ENGINE_") and found
    )


@pytest.mark.long
def test_no_connection_left_is_a_refusal_with_the_reason_and_then_everything_goes_on(two: Fleet):
    before = granted(two.here, "connections/before")
    with contextlib.ExitStack() as others:
        two.proxy.cut()
        with contextlib.suppress(psycopg.OperationalError):
            for _ in range(100):
                others.enter_context(contextlib.closing(psycopg.connect(two.server.conninfo(two.database))))
        two.proxy.mend()
        refused = until(
            lambda: (
                "too many clients" in (found := refusal(two.here, "connections")).envelope["error"]["message"] and found
            )
        )

    assert refused.code == "ENGINE_UNREACHABLE"
    assert granted(two.here, "connections/after") > before
    assert two.there.reserve("connections/before").code == "RESERVATION_CONFLICT"


@pytest.mark.long
def test_a_default_of_reading_only_does_not_stop_a_fleet(two: Fleet):
    two.server.change(default_transaction_read_only="on")
    try:
        two.proxy.drop()
        assert granted(two.here, "read-only")
        assert two.there.reserve("read-only").code == "RESERVATION_CONFLICT"
    finally:
        two.server.change(default_transaction_read_only="off")


@pytest.mark.long
def test_a_server_that_comes_back_on_another_port_is_found_by_its_service(two: Fleet, tmp_path: Path):
    services = tmp_path / "services"

    def say() -> None:
        text = f"[bb]\nhost=localhost\nport={two.server.port}\ndbname={two.database}\nuser=postgres\nsslmode=disable\n"
        services.write_text(text)

    say()
    joined = two.there.text("fleet", "join", "service=bb", BB_AGENT="", PGSERVICEFILE=str(services))
    assert joined.status == 0, joined.err
    two.there.restart_daemon(lambda: None)
    before = granted(two.there, "port/before")
    two.server.stop()
    assert refusal(two.there, "port").code == "ENGINE_UNREACHABLE"

    two.server.port = free_port()
    two.server.start_again()
    say()

    assert granted(two.there, "port/after") > before
    two.proxy.target = str(two.server.folder / f".s.PGSQL.{two.server.port}")
    two.proxy.drop()
    assert granted(two.here, "port/here") > before
    assert two.here.reserve("port/before").code == "RESERVATION_CONFLICT"


@contextlib.contextmanager
def pooler(server: Postgres, folder: Path) -> Iterator[int]:
    """A pgbouncer in transaction mode. Yields its port."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        pytest.skip("pgbouncer is not installed")
    port = free_port()
    server.own(folder)
    about = {"listen_addr": "127.0.0.1", "listen_port": port, "auth_type": "any", "pool_mode": "transaction"}
    about |= {"default_pool_size": 4, "unix_socket_dir": "", "ignore_startup_parameters": "extra_float_digits"}
    settings = "".join(f"{name}={value}\n" for name, value in about.items())
    path = folder / "pgbouncer.ini"
    database = f"* = host={server.folder} port={server.port} user=postgres"
    path.write_text(f"[databases]\n{database}\n[pgbouncer]\n{settings}logfile={folder}/log\n")
    server.own_file(path)
    who = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
    running = subprocess.Popen([program, path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **who)
    try:
        yield port
    finally:
        running.terminate()
        running.wait()


@pytest.mark.long
def test_a_pooler_in_transaction_mode_is_noticed_and_named_and_grants_nothing_twice(two: Fleet, server: Postgres):
    with pooler(server, server.folder / "pooler") as port:
        address = f"host=127.0.0.1 port={port} dbname={two.database} user=postgres sslmode=disable"
        until(lambda: two.there.text("fleet", "join", address, BB_AGENT="").status == 0)
        before = granted(two.there, "pooled/before")
        with psycopg.connect(address, autocommit=True) as other:
            numbers = iter(range(1000))

            def has_noticed() -> bool:
                """Others take connections to the server, so that the relay gets another one for its next request."""
                other.execute("begin")
                two.there.reserve(f"pooled/{next(numbers)}")
                other.execute("commit")
                found = asking.ask(two.there.store, {"ask": "status"}, 10)["refusal"]
                return found is not None and found["code"] == "ENGINE_POOLED"

            until(has_noticed)
        assert granted(two.there, "pooled/after") > before, "a new connection begins from nothing"
        assert two.here.reserve("pooled/before").code == "RESERVATION_CONFLICT"
    direct = two.there.text("fleet", "join", server.conninfo(two.database), BB_AGENT="")
    assert direct.status == 0, direct.err


def test_a_hot_standby_is_refused_and_after_a_failover_its_lost_rows_stop_verdicts(tmp_path: Path):
    with postgres() as first, fleet(tmp_path, first) as two:
        kept = granted(two.here, "kept")
        until(lambda: two.there.reserve("kept").code == "RESERVATION_CONFLICT")
        standby = first.standby(first.folder / "standby")
        try:
            mistaken = two.there.text("fleet", "join", standby.conninfo(two.database), BB_AGENT="")
            assert mistaken.status == 6
            assert "standby" in mistaken.err
            until(
                lambda: (
                    standby.sql("select max(place) from bb.row", two.database)
                    == first.sql("select max(place) from bb.row", two.database)
                )
            )
            standby.stop()  # it falls behind, as an asynchronous one does
            lost = granted(two.here, "lost")
            until(lambda: two.there.reserve("lost").code == "RESERVATION_CONFLICT")
            first.kill_hard()
            standby.start_again()
            standby.promote()
            two.proxy.target = str(standby.folder / f".s.PGSQL.{standby.port}")
            two.proxy.drop()

            assert until(lambda: (found := refusal(two.here, "a")).code == "ENGINE_REWOUND" and found)
            assert two.here.reserve("local", "--fallback", "local").data["fallback"] == "local"
            begun = two.here.text(
                "fleet", "begin", standby.conninfo(two.database), "--again", "--reason", "a failover", BB_AGENT=""
            )
            assert begun.status == 0, begun.err
            joined = until(
                lambda: (
                    (found := two.there.text("fleet", "join", standby.conninfo(two.database), BB_AGENT="")).status == 0
                    and found
                )
            )
            assert joined
            assert granted(two.there, "after") > max(kept, lost)
            assert two.there.reserve("kept").code == "RESERVATION_CONFLICT", "what the standby had stays granted"
            assert granted(two.there, "lost") > lost, "what it lacked is void"
        finally:
            standby.kill_hard()


@contextlib.contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """A file system of SIZE bytes."""
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "bb-test", str(folder)]
    if os.geteuid() != 0 or subprocess.run(words, check=False, capture_output=True).returncode != 0:
        folder.rmdir()
        pytest.skip("a small file system cannot be mounted here")
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=False)
        folder.rmdir()


def test_a_full_disk_of_the_server_loses_nothing(tmp_path: Path):
    with (
        small_disk(
            Path(MEMORY if os.access(MEMORY, os.W_OK) else tmp_path) / f"bb-full-{os.getpid()}",
            160 * MIB,
        ) as disk,
        postgres({"max_wal_size": "48MB", "min_wal_size": "32MB"}, under=disk) as server,
        fleet(tmp_path, server) as two,
    ):
        before = granted(two.here, "full/before")
        filler = disk / "filler"
        with open(filler, "wb") as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(MIB))
                file.flush()
        sent = []
        text = "x" * 60_000

        def fails() -> Ran | None:
            """Lines go to the server until its disk takes no more."""
            sent.append(two.here.json("send", COBALT, text).data["message_id"])
            found = two.here.reserve(f"full/{len(sent)}")
            return found if found.status else None

        refused = until(fails)
        assert refused.code in ("ENGINE_UNREACHABLE", "GRANT_PENDING"), refused.out
        filler.unlink()
        if not server.is_running():  # it gives up if its own log cannot be written
            server.start_again()

        assert granted(two.here, "full/after") > before
        until(lambda: two.here.json("sync").status == 0)
        until(lambda: two.there.json("sync").status == 0)
        inbox = until(
            lambda: len(rows := two.there.json("agent", "inbox", "--limit", "500").data) >= len(sent) and rows
        )
        assert set(sent) <= {row["message_id"] for row in inbox}
        assert two.there.reserve("full/before").code == "RESERVATION_CONFLICT"
