"""The relay of a clone, with an engine in memory on which anything can go wrong."""

from __future__ import annotations

from pathlib import Path

from tests.ledger.fleet.fleet_support import are_equal, fleet


def test_a_reservation_is_admitted_and_a_second_one_of_another_machine_is_refused_by_name(tmp_path: Path):
    with fleet(tmp_path) as (here, there):
        won = here.reserve("src/parser")
        lost = there.reserve("src")

        assert won["state"] == "admitted"
        assert won["token"] == won["place"]
        assert lost["state"] == "refused"
        assert lost["by"] == [
            {"reservation_id": won["id"], "agent_id": here.agent, "scope": "src/parser", "token": won["token"]}
        ]
        assert are_equal(here, there)
