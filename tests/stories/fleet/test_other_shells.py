"""The daemon connects to the engine as the clone has joined it, whatever shell starts the daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import engines
from tests.stories.fleet.client_support import Fleet, fleet


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet(tmp_path_factory.mktemp("fleet"), engines.shared_postgres()) as made:
        yield made


def test_a_service_file_that_only_a_variable_named_is_found_from_every_shell(two: Fleet, tmp_path: Path):
    side, usual = two.there, two.server.conninfo(two.database)
    services = tmp_path / "services"
    services.write_text("[bb]\n" + usual.replace(" ", "\n"))
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
