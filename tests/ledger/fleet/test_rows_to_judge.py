"""A fleet with signers: rows that could not be judged by the law yet are judged before they are called read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from bb.coordination.holdings.ordered_admission import OrderedAdmission
from bb.ledger.files.sqlite import sqlite3
from bb.ledger.fleet import clone_state
from bb.ledger.fleet.clone_state import CloneState
from bb.ledger.journal import received
from bb.ledger.published import pins
from tests.ledger.fleet.fleet_support import Machine, fleet, wait_for
from tests.stories.travel.test_signed import listed, review


@contextlib.contextmanager
def fleet_with_signers(tmp_path: Path) -> Iterator[tuple[Machine, Machine]]:
    """Two machines whose lines count because they are signed."""
    with fleet(tmp_path, starts=False) as (here, there):
        tip = pins.read(here.path).remote("origin").tip
        assert tip
        rows = [f"#bb repo {tip.charter.repo}", "#bb mode require"]
        review([here.clone, there.clone], *rows, listed(here.clone, here.writer), listed(there.clone, there.writer))
        for machine in (here, there):
            machine.clone.sync(pull=True)
            machine.start()
            machine.result("fresh")
        yield here, there


def test_rows_that_no_sync_let_in_to_be_judged_are_judged_by_the_next_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(clone_state, "LONG", 0.0)
    monkeypatch.setattr(clone_state, "SHORT", 0.0)
    with fleet_with_signers(tmp_path) as (here, there):
        before = here.result("status")["connects"]
        with received.Turn(here.path):  # a sync imports lines
            won = there.reserve("src")
            wait_for(
                lambda: here.results().place >= won["token"] or here.result("status")["connects"] > before + 1, here
            )
            saved = here.results().place
            here.stop()
        here.start()
        lost = here.reserve("src/x")

        assert won["state"] == "admitted"
        assert saved < won["token"], "what was not judged is not called read"
        assert lost["state"] == "refused"
        assert [each["reservation_id"] for each in lost["by"]] == [won["id"]]


def test_a_row_whose_judgement_fails_once_is_judged_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with fleet_with_signers(tmp_path) as (here, there):
        failed: list[str] = []
        has_place = OrderedAdmission._has_place
        fold = state_of(here).must_fold()

        def fail_once(of: OrderedAdmission, event: str) -> bool:
            if of is fold._counted and not failed:
                failed.append(event)
                raise sqlite3.OperationalError("disk I/O error")
            return has_place(of, event)

        monkeypatch.setattr(OrderedAdmission, "_has_place", fail_once)
        won = there.reserve("src")
        wait_for(lambda: failed, here)
        lost = here.reserve("src/x")

        assert won["state"] == "admitted"
        assert lost["state"] == "refused"
        assert won["id"] in here.results().in_force.grants


def state_of(machine: Machine) -> CloneState:
    assert machine.relay
    return machine.relay._loop.state
