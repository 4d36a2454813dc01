"""A machine says in its beat how far it has read, and may say anything: no claim keeps a fleet from beginning again.
The machine that holds pruning back is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.cli.screens import fleet
from bb.kernel.foreign import Foreign
from bb.ledger.carrier.beats import LARGEST_PLACE
from bb.ledger.carrier.door import Machine
from bb.ledger.fleet import incarnations
from tests.engines import Postgres
from tests.stories.fleet.moving_support import address, archive, carrier_of, record_reservation, send, two_clones
from tests.stories.travel.travel_support import AMBER, Clone

WRITER = "mmmmmmmmmmmm"


@pytest.fixture
def here(tmp_path: Path, postgres: Postgres) -> Clone:
    here, _ = two_clones(tmp_path)
    here.ask("fleet.begin", engine=address(postgres))
    return here


def claim(at: Clone, place: int) -> None:
    """Let a machine say that it has read up to PLACE."""
    with carrier_of(at) as carrier:
        carrier.beat(Machine("mallory", WRITER, place))


@pytest.mark.parametrize("place", [1 << 31, 1 << 59, LARGEST_PLACE], ids=["near", "far", "farthest"])
def test_a_place_that_nobody_can_have_read_is_not_believed(here: Clone, place: int):
    claim(here, place)

    begun = here.ask("fleet.begin", again=True, reason="the backup of Monday")

    assert begun["first"] < 2 * incarnations.LEAP


def test_a_place_that_the_engine_has_lost_is_believed(here: Clone):
    claim(here, 50_000_000)

    assert here.ask("fleet.begin", again=True, reason="the backup of Monday")["first"] == 50_000_000 + incarnations.LEAP


def test_the_machine_that_holds_pruning_back_is_named(here: Clone):
    for scope in ("src", "lib"):
        record_reservation(here, AMBER, scope)
        send(here)
    archive(here)
    assert here.ask("fleet.prune", dry_run=True)["rows"]
    claim(here, 0)

    pruned = here.ask("fleet.prune")

    with carrier_of(here) as carrier:
        (machine,) = carrier.alive()
    assert (pruned["rows"], pruned["slowest"]) == (0, machine.name)
    assert f"bb fleet enroll {machine.name} --revoke --do" in "\n".join(fleet.pruned(Foreign(pruned)))
