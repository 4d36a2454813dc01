"""The hub refuses pushes while a fleet ends or begins again: nothing is closed if that can be known before. Otherwise
everybody who is kept from reserving is told how it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.engines import Postgres
from tests.stories.fleet.moving_support import (
    address,
    logs,
    record_reservation,
    refusing_pushes,
    send,
    tip_of,
    two_clones,
)
from tests.stories.travel.travel_support import COBALT, Clone

ORDERS: dict[str, dict[str, Any]] = {
    "fleet.end": {},
    "fleet.begin": {"again": True, "reason": "the backup of Monday"},
}


@pytest.fixture
def engine(postgres: Postgres) -> str:
    return address(postgres)


@pytest.fixture
def fleet(tmp_path: Path, engine: str) -> tuple[Clone, Clone]:
    here, there = two_clones(tmp_path)
    here.ask("fleet.begin", engine=engine)
    there.ask("fleet.join", engine=engine)
    return here, there


@pytest.mark.parametrize("verb", ORDERS)
def test_nothing_is_closed_if_the_hub_refuses_the_rows_that_wait(fleet: tuple[Clone, Clone], engine: str, verb: str):
    here, there = fleet
    terms = tip_of(here).charter.fleet
    assert terms
    record_reservation(there, COBALT, "lib", order=terms.incarnation)
    send(there)

    with refusing_pushes(here):
        refusal = here.refused(verb, **ORDERS[verb])

    assert refusal.code == "HOOK_DECLINED"
    assert "no machine can reserve" not in refusal.message
    (log,) = logs(engine)
    assert not log.head.is_closed
    assert here.ask(verb, **ORDERS[verb])["rows"] == 1


@pytest.mark.parametrize("verb", ORDERS)
def test_if_only_the_charter_is_refused_everybody_is_told_what_to_repeat(
    fleet: tuple[Clone, Clone], engine: str, verb: str
):
    here, there = fleet
    command = "bb fleet end" if verb == "fleet.end" else "bb fleet begin --again"

    with refusing_pushes(here):
        refusal = here.refused(verb, **ORDERS[verb])

    assert refusal.code == "HOOK_DECLINED"
    assert "no machine can reserve" in refusal.message
    assert f"repeat `{command}`" in str(refusal.hint)
    status = there.ask("fleet.status")
    assert (status["state"], status["code"]) == ("stopped", "FLEET_ENDED")
    assert f"`{command}`" in status["hint"]
    (check,) = [each for each in there.refused("doctor").details["checks"] if each["name"] == "fleet"]
    assert (check["state"], f"`{command}`" in check["mend"]) == ("broken", True)

    here.ask(verb, **ORDERS[verb])
    there.sync(pull=True)
    assert there.ask("fleet.status")["code"] != "FLEET_ENDED"
