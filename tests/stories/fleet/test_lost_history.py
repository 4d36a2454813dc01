"""The engine loses the last grants. Verdicts stop until a new log begins, and then the holder is told."""

from __future__ import annotations

import socket
import urllib.request
from pathlib import Path

from bb.ledger.fleet import settings
from tests import engines, servers
from tests.stories.daemon import cli_support
from tests.stories.fleet.client_support import COBALT, Fleet, fleet
from tests.waiting import until


def lose(two: Fleet) -> str:
    """Drop the database, and make an empty one of the same name. Returns its address."""
    found = settings.read(two.there.store)
    assert found
    name = dict(part.split("=") for part in found.address.split())["dbname"]
    two.server.sql(f"drop database {name} with (force)")
    two.server.sql(f"create database {name}")
    return two.server.conninfo(name)


def test_a_holder_whose_grant_was_lost_is_told_and_can_reserve_again(tmp_path: Path):
    with fleet(tmp_path, engines.shared_postgres()) as two:
        two.here.reserve("archived")
        two.here.json("sync", "--publish")
        kept = two.here.token("archived")
        hub, away = tmp_path / "hub", tmp_path / "hub-away"
        hub.rename(away)  # what is not archived can be lost
        first = two.there.reserve("lost").data["token"]
        engine = lose(two)
        away.rename(hub)

        until(lambda: two.there.reserve("other").code == "ENGINE_UNPREPARED")  # one sent as the engine went is pending
        assert two.there.reserve("local", "--fallback", "local").data["fallback"] == "local"

        again = two.here.text(
            "fleet", "begin", engine, "--again", "--reason", "the disk was lost", "--agent", "user", BB_AGENT=""
        )
        assert again.status == 0, again.err
        until(lambda: "lost" in two.there.json("agent", "heartbeat").data.get("contested", ()))
        assert "lost" in two.there.text("turn").out
        (row,) = two.there.json("check", "lost").data["paths"]
        assert row["verdict"] == "free"
        assert until(lambda: (found := two.there.reserve("lost")).status == 0 and found).data["token"] > first
        assert two.here.token("archived") == kept, "what git has is not lost"
        assert two.there.json("inbox", "--agent", COBALT).data


def test_metrics_are_served_if_asked_for(tmp_path: Path):
    at = cli_support.station(tmp_path)
    port = servers.free_port()
    with cli_support.ended(at):
        assert at.bb("daemon", "start", "--metrics", str(port)).status == 0
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            assert b"bb_relays 0\n" in answer.read()
        refused = at.json("daemon", "start", "--metrics", str(port + 1))
        assert refused.code == "ALREADY_RUNNING"
        assert str(port) in refused.envelope["error"]["message"]
        assert at.bb("daemon", "start").status == 0


def test_a_port_of_metrics_that_is_none_or_taken_is_refused(tmp_path: Path):
    at = cli_support.station(tmp_path)
    with cli_support.ended(at):
        assert "BB_DAEMON_METRICS" in at.bb("daemon", "start", BB_DAEMON_METRICS="many").err
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            assert "not available" in at.bb("daemon", "start", "--metrics", str(port)).err
