"""The daemon connects to the engine as the clone has joined it, whatever shell starts the daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import engines
from tests.stories.daemon.cli_support import spawned, stopped
from tests.stories.fleet.client_support import Fleet, fleet
from tests.waiting import until


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet(tmp_path_factory.mktemp("fleet"), engines.shared_postgres()) as made:
        yield made


def service_file(folder: Path, address: str) -> Path:
    """A file of services, whose service `bb` is at ADDRESS."""
    file = folder / "services"
    file.write_text("[bb]\n" + address.replace(" ", "\n"))
    return file


@pytest.mark.parametrize("verb", ["start", "run"])
def test_variables_of_the_shell_that_starts_the_daemon_lead_nowhere_else(two: Fleet, verb: str):
    side = two.there
    strange = {"PGHOSTADDR": "127.0.0.9", "PGSERVICE": "nowhere", "PGOPTIONS": "-c search_path=nowhere -c nonsense=1"}
    assert side.text("daemon", "stop").status == 0
    run = spawned(side.at, ["daemon", "run"], settings=strange) if verb == "run" else None
    try:
        if run:
            until(lambda: side.text("daemon", "status", "--json").data["responding"], "the daemon")
        assert side.reserve(f"one-{verb}", **strange).data["token"]
        assert side.reserve(f"two-{verb}").data["token"]
        assert run is None or side.daemon() == run.pid
    finally:
        if run:
            stopped(run)


def test_a_service_file_that_only_a_variable_named_is_found_from_every_shell(two: Fleet, tmp_path: Path):
    side, usual = two.there, two.server.conninfo(two.database)
    services = service_file(tmp_path, usual)
    try:
        assert side.text("fleet", "join", "service=bb", PGSERVICEFILE=str(services), BB_AGENT="").status == 0
        side.restart_daemon(meanwhile=lambda: None)
        assert side.reserve("found").data["token"]
        assert str(services) in side.text("fleet", "status").out

        side.restart_daemon(meanwhile=services.unlink)
        refused = side.reserve("gone")
        assert refused.code == "ENGINE_UNREACHABLE"
        assert f"{services} does not define the service bb" in refused.envelope["error"]["message"]
    finally:
        assert side.text("fleet", "join", usual, BB_AGENT="").status == 0


def test_a_fleet_begins_again_although_the_service_file_of_its_clone_is_gone(two: Fleet, tmp_path: Path):
    side, usual = two.there, two.server.conninfo(two.database)
    services = service_file(tmp_path, usual)
    assert side.text("fleet", "join", "service=bb", PGSERVICEFILE=str(services), BB_AGENT="").status == 0
    services.unlink()

    begun = side.text("fleet", "begin", usual, "--again", "--reason", "a new file", BB_AGENT="")

    assert begun.status == 0, begun.err
    assert side.reserve("again").data["token"]
