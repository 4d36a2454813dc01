"""A relay that was cut off: what it may say before it has heard and read what happened meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from bb.kernel.errors import Busy
from bb.ledger.carrier.door import EngineUnreachable
from bb.ledger.fleet import housekeeping
from bb.ledger.fleet.housekeeping import Housekeeping
from bb.ledger.fleet.outbox import Outbox
from tests.ledger.fleet.fleet_support import Machine, fleet, raising, wait_for
from tests.ledger.fleet.memory_carrier import MemoryEngine, nothing


def test_a_relay_says_that_it_is_connected_when_it_has_recorded_who_was_alive(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        there.result("flush")
        here.stop()
        here.heard.clear()
        engine.before = raising("alive", EngineUnreachable)
        here.start()
        wait_for(lambda: here.result("status")["refusal"])

        assert here.result("status")["state"] == "away"
        assert here.code("fresh") == "ENGINE_UNREACHABLE"
        engine.before = nothing
        wait_for(lambda: here.result("status")["state"] == "connected")
        assert here.result("status")["hears_since"] > 0
        assert here.results().hearing.since == here.result("status")["hears_since"]


def test_signs_of_life_that_cannot_be_recorded_are_not_heard(tmp_path: Path):
    with fleet(tmp_path, starts=False) as (here, there):
        told: list[Mapping[str, int]] = []

        def refuse(ages: Mapping[str, int]) -> None:
            told.append(ages)
            raise Busy("the index is busy")

        here.hears = refuse
        there.start()
        there.result("fresh", signs=True)
        here.start()
        wait_for(lambda: here.result("status")["state"] == "connected")

        assert told
        assert here.result("status")["hears_since"] == 0
        assert here.code("fresh", patience=0.5, signs=True) == "FLEET_BEHIND"
        assert here.code("fresh") == ""


def test_a_look_before_a_take_over_records_every_sign_of_life_that_the_engine_has(tmp_path: Path):
    with fleet(tmp_path, starts=False) as (here, there):
        for each in (here, there):
            each.start()
            each.result("fresh", signs=True)
        here.heard.clear()
        here.result("fresh")
        assert not here.heard, "without a take-over, what was told just now is not told again"

        here.result("fresh", signs=True)

        assert there.agent in here.heard


def test_what_a_holder_recorded_is_a_sign_of_life_although_no_beat_told_of_it(tmp_path: Path):
    """The clock of the holder's machine may be an hour wrong, so the times on its lines tell nothing."""
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        there.reserve("src")
        there.stop()
        engine.beats.clear()
        here.heard.clear()
        here.result("fresh", signs=True)

        assert 0 <= here.heard[there.agent] < 60_000


def test_a_beat_is_no_answer_to_a_look_before_a_take_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A beat records what is new in the beats of others, and not what agents have recorded."""
    engine, beaten = MemoryEngine(), threading.Semaphore(0)
    hear = Housekeeping.hear

    def counted(of: Housekeeping, *, everything: bool = True) -> None:
        hear(of, everything=everything)
        beaten.release()

    with fleet(tmp_path, engine) as (here, there):
        there.reserve("src")
        there.stop()
        here.result("fresh")
        engine.beats.clear()
        here.heard.clear()
        with monkeypatch.context() as only_beats:
            only_beats.setattr(housekeeping, "BEAT", 0.0)
            only_beats.setattr(Housekeeping, "must_hear", False)
            waiting = here.begin_to_ask("fresh", signs=True)
            outbox = outbox_of(here)
            wait_for(lambda: outbox.waits_for_signs, here)
            only_beats.setattr(Housekeeping, "hear", counted)
            assert all(beaten.acquire(timeout=60) for _ in range(2))
            assert outbox.waits_for_signs
        waiting.get()

        assert there.agent in here.heard


def outbox_of(machine: Machine) -> Outbox:
    assert machine.relay
    return machine.relay._shared.outbox


def test_hearing_goes_on_in_a_relay_that_is_started_again_and_begins_anew_with_a_new_log(tmp_path: Path):
    with fleet(tmp_path) as (here, _):
        here.result("fresh", signs=True)
        before = here.results().hearing
        here.stop()
        here.start()
        here.result("fresh", signs=True)

        assert here.results().hearing.since == before.since
        assert here.results().hearing.last >= before.last


def test_a_grant_of_before_is_pending_until_the_engine_was_read_and_void_if_it_was_taken_over_meanwhile(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        won, kept = here.reserve("src"), here.reserve("docs")
        here.stop()
        place = there.result("fresh")["imported"]
        assert there.reserve("src", takes=f"{won['id']}@{place}")["state"] == "admitted"
        engine.before = only_for(there, raising("head", EngineUnreachable))
        here.start()
        wait_for(lambda: here.result("status")["refusal"])

        for event in (won["id"], kept["id"]):
            assert here.code("settle", patience=0.2, events=[event]) == "GRANT_PENDING"
        engine.before = nothing
        verdicts = here.result("settle", events=[won["id"], kept["id"]])["events"]
        assert verdicts[won["id"]]["state"] == "void"
        assert verdicts[kept["id"]]["state"] == "admitted"


def test_what_was_refused_is_told_without_the_engine(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        there.reserve("src")
        lost = here.reserve("src")
        here.stop()
        engine.before = raising("head", EngineUnreachable)
        here.start()
        wait_for(lambda: here.result("status")["refusal"])

        assert here.result("settle", events=[lost["id"]])["events"][lost["id"]]["state"] == "refused"


def test_the_age_of_the_results_counts_from_when_they_were_everything_not_from_the_connection(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        here.result("fresh")
        before = here.results().current_at
        here.stop()
        there.reserved("src", order=None)
        there.result("flush")
        heard, may_read = threading.Event(), threading.Event()

        def hold_rows(name: str) -> None:
            if threading.current_thread() is here.thread:
                heard.set() if name == "alive" else None
                if name == "read" and heard.is_set():
                    may_read.wait(60)

        engine.before = hold_rows
        here.start()
        wait_for(lambda: here.result("status")["state"] == "connected")

        assert here.result("status")["heard_at"] > before
        assert here.results().current_at == before
        may_read.set()
        wait_for(lambda: here.results().current_at > before)


def only_for(other: Machine, fails: Callable[[str], None]) -> Callable[[str], None]:
    """What FAILS, except for the relay of the OTHER machine."""
    return lambda name: None if threading.current_thread() is other.thread else fails(name)
