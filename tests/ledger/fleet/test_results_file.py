"""The file of a relay's results: what is read from it is what was saved, whether it is read whole or entry by entry."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from bb.coordination.facts import Released, Reserved
from bb.coordination.holdings import admission
from bb.coordination.holdings.admission import Admitted
from bb.coordination.holdings.ordered_admission import OrderedAdmission
from bb.coordination.holdings.scopes import Scope
from bb.ledger.files.sqlite import sqlite3
from bb.ledger.fleet.results_file import ResultsFile
from bb.ledger.fleet.row_fold import Base, RowFold
from bb.ledger.journal.line import START
from bb.ledger.published import fleet_results
from bb.ledger.published.fleet_results import ALL, admitted_in
from tests.coordination.holdings.test_ordered_properties import HERE, Row, changed, folded, rows
from tests.coordination.soon_forgotten import forgetting_soon

NOTHING = "0" * 64
ADA, BO = "ada", "bo1"
ONE, TWO, THREE = (f"{letter * 12}.1" for letter in "abc")


def made(store: Path, known: Admitted) -> ResultsFile:
    file = ResultsFile(str(store))
    file.make(Base(HERE, 4, NOTHING, known), {"imported": 4, "repo": "r", "law": ""}, [], {})
    return file


def whole(state: Admitted) -> Admitted:
    grants, generations = dict(state.grants.items()), dict(state.generations.items())
    return Admitted(grants, generations, dict(state.names.items()), state.floor)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some=rows(), more=rows())
def test_a_fold_that_looks_its_older_state_up_in_the_file_knows_what_one_in_memory_knows(
    tmp_path: Path, some: list[Row], more: list[Row]
):
    before = folded(some).admitted
    file = made(tmp_path, before)
    fold = OrderedAdmission(admitted_in(file, ALL), HERE)
    for row in more:
        fold.row(row.place + 20, row.facts, row.by)

    in_memory = folded([Row(row.place + 20, row.facts, row.by) for row in more], before).admitted
    assert fold.admitted == in_memory
    assert changed(whole(admitted_in(file, ALL)), fold.changes) == in_memory
    file.close()


def reserved(agent: str, scope: str) -> Reserved:
    return Reserved(agent, scope, "bb-1", 120, order=HERE)


@pytest.fixture
def known() -> Admitted:
    """Bo has docs, and Ada had src before that."""
    fold = OrderedAdmission(Admitted(), HERE)
    fold.row(5, [(ONE, reserved(ADA, "src"))], [ADA])
    fold.row(6, [(TWO, reserved(BO, "src/a")), (THREE, Released(ADA, ONE))], [ADA, BO])
    return fold.admitted


def test_the_open_grants_and_those_from_a_token_on_are_found_without_reading_the_others(
    tmp_path: Path, known: Admitted
):
    file = made(tmp_path, known)
    read = fleet_results.read(str(tmp_path))
    assert read is not None

    grants = read.admitted.grants
    assert dict(admission.still_open(grants)) == {TWO: known.grants[TWO]}
    assert dict(grants.items()) == known.grants
    for path in ("src/a", "src/b", "docs"):
        for agent, token in ((ADA, 5), (BO, 6), (BO, 5)):
            scope = Scope(path)
            assert admission.fenced(read.admitted, agent, token, scope) == admission.fenced(known, agent, token, scope)
    file.close()


def test_what_was_saved_is_where_the_next_process_goes_on(tmp_path: Path, known: Admitted):
    file = made(tmp_path, known)
    saved = file.load()
    assert saved is not None
    fold = RowFold(saved, lambda _: START)
    file.save(fold, 4, 7)
    assert fold.grant(ONE) == known.grants[ONE], "it has ended, and is looked up"
    assert fold.results() == (known, None)
    file.close()

    again = ResultsFile(str(tmp_path)).load()
    assert again is not None
    assert whole(again.admitted) == known


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some=rows(), more=rows())
def test_what_is_forgotten_is_no_longer_in_the_file(tmp_path: Path, some: list[Row], more: list[Row]):
    with forgetting_soon():
        before = folded(some).admitted
        file = made(tmp_path, before)
        saved = file.load()
        assert saved is not None
        fold = RowFold(saved, lambda _: START)
        for row in more:
            fold.changed.add(fold._every.row(row.place + 20, row.facts, row.by))
            file.save(fold, 4, 7)

        in_memory = folded([Row(row.place + 20, row.facts, row.by) for row in more], before).admitted
        read = fleet_results.read(str(tmp_path))
        assert read is not None
        assert whole(read.admitted) == fold.results()[0] == in_memory
        assert admission.floor_of(read.admitted) == in_memory.floor
        file.close()


def test_the_places_of_old_reservations_go_unless_they_are_live(tmp_path: Path):
    file = made(tmp_path, Admitted({}, {ONE: 5, TWO: 6, THREE: 9}))

    file.forget_places(9, {TWO})

    assert dict(admitted_in(file, ALL).generations.items()) == {TWO: 6, THREE: 9}
    file.close()


def test_a_thread_that_asks_while_another_one_opens_the_file_gets_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made(tmp_path, Admitted(generations={ONE: 2})).close()
    connect, opens, may_go_on = sqlite3.connect, threading.Event(), threading.Event()

    def slow(*words: Any, **how: Any) -> sqlite3.Connection:
        if threading.current_thread() is first:
            opens.set()
            assert may_go_on.wait(30)
        return connect(*words, **how)

    found: list[fleet_results.FleetResults | None] = []
    first = threading.Thread(target=lambda: found.append(fleet_results.read(str(tmp_path))))
    monkeypatch.setattr(sqlite3, "connect", slow)
    first.start()
    assert opens.wait(30)
    found.append(fleet_results.read(str(tmp_path)))
    may_go_on.set()
    first.join()

    assert [dict(each.admitted.generations.items()) for each in found if each] == [{ONE: 2}] * 2


def test_results_on_a_damaged_page_are_refused_and_not_taken_for_none(tmp_path: Path):
    several = {f"{'a' * 12}.{n}": n for n in range(1, 2000)}
    made(tmp_path, Admitted(generations=several)).close()
    path = Path(fleet_results.path_of(str(tmp_path)))
    octets = bytearray(path.read_bytes())
    page = 4096
    for start in range(4 * page, len(octets), page):  # the first pages have the names and numbers
        octets[start : start + page] = b"\xff" * page
    path.write_bytes(octets)

    results = fleet_results.read(str(tmp_path))
    assert results
    with pytest.raises(fleet_results.ResultsDamaged.error):
        dict(results.admitted.generations.items())
