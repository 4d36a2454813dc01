"""A relay goes on answering when something that an answer needs cannot be read."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import Any

import pytest

from bb.ledger.files.sqlite import sqlite3
from bb.ledger.fleet import housekeeping, status
from bb.ledger.fleet.results_file import ResultsFile
from bb.ledger.published import fleet_results
from tests.ledger.fleet.fleet_support import Machine, fleet, wait_for


def ended_in_an_earlier_process(machine: Machine) -> str:
    """A reservation whose verdict is looked up in the file of results."""
    won = machine.reserve("src")
    machine.release(won["id"])
    machine.result("flush")
    machine.stop()
    machine.start()
    machine.result("fresh")
    return str(won["id"])


def test_one_read_error_of_the_results_costs_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    read, failed = ResultsFile.ask, threading.Event()

    def fail_once(file: ResultsFile, query: str, *values: object) -> list[Any]:
        if not failed.is_set() and threading.current_thread().name == "bb-relay-answers":
            failed.set()
            raise sqlite3.OperationalError("disk I/O error")
        return read(file, query, *values)

    with fleet(tmp_path) as (here, _):
        event = ended_in_an_earlier_process(here)
        monkeypatch.setattr(ResultsFile, "ask", fail_once)
        answers = [here.result("settle", events=[event])]
        while not failed.is_set():  # whichever thread answers first
            answers.append(here.result("settle", events=[event]))

        assert {answer["events"][event]["state"] for answer in answers} == {"void"}
        assert here.result("status")["waiting"] == 0


def test_results_that_the_answering_thread_finds_damaged_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(housekeeping, "BEAT", 0.05)
    with fleet(tmp_path) as (here, _):
        event = ended_in_an_earlier_process(here)
        with contextlib.closing(sqlite3.connect(fleet_results.path_of(here.path))) as connection:
            connection.execute("drop table every_reservation")

        assert here.result("settle", events=[event])["events"][event]["state"] == "void"
        assert any("computed again" in line for line in here.log)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # the loop ends with it, too
def test_a_bug_in_one_answer_leaves_the_others_and_ends_with_none_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object) -> dict[str, Any]:
        raise RuntimeError("a bug")

    with fleet(tmp_path) as (here, _):
        here.result("fresh")
        with monkeypatch.context() as broken:
            broken.setattr(status, "of", fail)
            assert "a bug" in here.ask("status")["error"]["message"]
        assert here.result("status")["state"] == "connected"
        assert here.relay
        monkeypatch.setattr(here.relay._shared, "answer_due", fail)
        waiting = here.begin_to_ask("archive")
        wait_for(lambda: any("a bug" in line for line in here.log), here)
        here.stop()

        assert waiting.get()["error"]["code"] == "RELAY_STOPPED"
