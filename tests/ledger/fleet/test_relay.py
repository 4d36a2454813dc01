"""The relay of a clone, with an engine in memory on which anything can go wrong."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bb.coordination.facts import Registered, Reserved
from bb.kernel.errors import Busy, Refusal
from bb.ledger.carrier.door import VOID, AppendUnknown, Denied, EngineUnreachable, Row
from bb.ledger.files import disk
from bb.ledger.files.sqlite import sqlite3
from bb.ledger.fleet import archiving, connection, housekeeping, receiving, row_reader
from bb.ledger.fleet.outbox import SOON
from bb.ledger.fleet.results_file import ResultsFile
from bb.ledger.fleet.shared import Shared
from bb.ledger.git import place
from bb.ledger.index.index import Index
from bb.ledger.journal import journal as journals
from bb.ledger.journal.journal import Journal
from bb.ledger.published import pins
from bb.ledger.records.drafts import draft_of
from bb.ledger.records.store import Store
from bb.ledger.travel import row_archive
from bb.ledger.travel.sync import Sync
from bb.ledger.travel.sync_lock import SyncLock
from tests.coordination.soon_forgotten import forgetting_soon
from tests.ledger.fleet.fleet_support import (
    FIRST,
    NOW,
    SECOND,
    Machine,
    Waiting,
    become_equal,
    fleet,
    is_connected_to,
    switch,
    wait_for,
)
from tests.ledger.fleet.memory_carrier import MemoryEngine, MemoryLog, nothing
from tests.stories.travel.test_signed import listed, review
from tests.stories.travel.travel_support import Clone, clone

SLACK = 5.0  # seconds that a busy machine may need more


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
        become_equal(here, there)


def test_flush_sends_everything_and_fresh_brings_it_to_the_other_machine(tmp_path: Path):
    with fleet(tmp_path) as (here, there):
        event = here.reserved("src/lexer", order=None)

        flushed = here.result("flush")
        fresh = there.result("fresh")

        assert fresh["imported"] >= flushed["place"]
        assert event.encode() in there.lines()[here.writer]


def test_a_line_that_nobody_asks_about_is_sent_and_brought_by_itself(tmp_path: Path):
    with fleet(tmp_path) as (here, there):
        event = here.reserved("src/lexer", order=None)

        wait_for(lambda: event.encode() in there.lines().get(here.writer, b""))


def test_news_that_nobody_waits_for_keep_no_thread_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rounds: list[int] = []
    answer_due = Shared.answer_due

    def counted(shared: Shared) -> None:
        rounds.append(1)
        answer_due(shared)

    with fleet(tmp_path) as (here, there):
        here.reserved("src/lexer", order=None)
        here.ask("flush")
        there.ask("fresh")
        monkeypatch.setattr(Shared, "answer_due", counted)
        for _ in range(100):
            there.ask("status")

        assert len(rounds) < 500, "the thread that answers goes round and round"


def test_a_reservation_ends_when_its_holder_releases_it_and_another_one_gets_a_higher_token(tmp_path: Path):
    with fleet(tmp_path) as (here, there):
        won = here.reserve("src")
        here.release(won["id"])
        here.result("flush")
        next_one = there.reserve("src")

        assert next_one["state"] == "admitted"
        assert next_one["token"] > won["token"]


def test_a_take_over_never_wins_against_a_holder_that_renews(tmp_path: Path):
    with fleet(tmp_path) as (here, there):
        won = here.reserve("src")
        seen = there.result("fresh")["imported"]
        here.renew(won["id"])
        here.result("flush")
        lost = there.reserve("src", takes=f"{won['id']}@{seen}")
        seen = there.result("fresh")["imported"]
        taken = there.reserve("src", takes=f"{won['id']}@{seen}")

        assert (lost["state"], lost["by"][0]["reservation_id"]) == ("refused", won["id"])
        assert taken["state"] == "admitted"


def test_a_reservation_for_another_log_is_void(tmp_path: Path):
    with fleet(tmp_path) as (here, _):
        assert here.reserve("src", order=SECOND)["state"] == "void"


def test_a_line_that_was_never_recorded_and_a_malformed_request_are_told(tmp_path: Path):
    with fleet(tmp_path) as (here, _):
        unknown = f"{here.writer}.999999"

        assert here.result("settle", events=[unknown])["events"][unknown]["state"] == "void"
        assert here.code("settle") == "RELAY_REQUEST"
        assert here.code("settle", events=["../x"]) == "RELAY_REQUEST"
        assert here.code("dance") == "RELAY_REQUEST"
        assert here.code("fresh", patience=-1) == "RELAY_REQUEST"


# -- answers that are lost, and engines that are away


def test_a_lost_answer_is_settled_by_sending_the_same_lines_again(tmp_path: Path):
    engine, lost = MemoryEngine(), []

    def lose_once(name: str) -> None:
        if name == "append" and not lost:
            lost.append(name)
            raise AppendUnknown()

    with fleet(tmp_path, engine) as (here, there):
        here.result("flush")
        engine.after = lose_once
        won = here.reserve("src")

        assert lost
        assert won["state"] == "admitted"
        assert [row.place for row in engine.log.rows if won["id"].encode() in row.octets] == [won["token"]]
        become_equal(here, there)


def test_if_no_answer_comes_back_in_time_the_grant_is_pending_and_settles_later(tmp_path: Path):
    engine = MemoryEngine()

    def lose(name: str) -> None:
        if name == "append":
            raise AppendUnknown()

    with fleet(tmp_path, engine) as (here, _):
        here.result("flush")
        engine.after = lose
        engine.before = raising("head", EngineUnreachable)
        event = here.reserved("src")

        assert here.code("settle", patience=0.3, events=[event]) == "GRANT_PENDING"
        engine.after = engine.before = nothing
        assert here.result("settle", events=[event])["events"][event]["state"] == "admitted"


def test_an_ask_is_refused_within_two_seconds_if_the_engine_is_away_and_nothing_was_sent(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, _):
        here.result("flush")
        engine.before = raising("head", EngineUnreachable, "append", "read", "wait", "beat")
        wait_for(lambda: here.result("status")["state"] == "away")
        begun = time.monotonic()
        waiting = here.begin_to_ask("settle", 60.0, events=[here.reserved("src")])

        assert waiting.get()["error"]["code"] == "ENGINE_UNREACHABLE"
        assert waiting.at - begun < 2.0 + SLACK
        assert here.code("fresh") == "ENGINE_UNREACHABLE"
        assert here.code("flush") == "ENGINE_UNREACHABLE"


def test_an_engine_that_says_nothing_is_unreachable_for_lines_that_were_not_sent_and_pending_for_those_that_were(
    tmp_path: Path,
):
    engine, silent, goes_on = MemoryEngine(), threading.Event(), threading.Event()

    def hold(name: str) -> None:
        if name == "append":
            silent.set()
            goes_on.wait(60)

    with fleet(tmp_path, engine) as (here, there):
        here.result("flush")
        engine.before = hold
        first = here.reserved("src")
        sent = here.begin_to_ask("settle", 3.0, events=[first])
        assert silent.wait(60)
        second = here.reserved("docs")
        unsent = here.begin_to_ask("settle", 60.0, events=[second])

        assert unsent.get()["error"]["code"] == "ENGINE_UNREACHABLE"
        assert sent.get()["error"]["code"] == "GRANT_PENDING"
        engine.before = nothing
        goes_on.set()
        verdicts = here.result("settle", events=[first, second])["events"]
        assert {verdict["state"] for verdict in verdicts.values()} == {"admitted"}
        become_equal(here, there)


def test_a_busy_machine_takes_its_own_slowness_for_no_silence_of_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A thread that wants to rest for a moment goes on seconds later. Meanwhile, the engine has said something."""
    engine, holds, answers = MemoryEngine(), threading.Event(), threading.Event()

    def hold(name: str) -> None:
        if name == "append":
            holds.set()
            answers.wait(60)

    with fleet(tmp_path, engine) as (here, _):
        here.result("flush")
        assert here.relay
        news = here.relay._shared.has_news
        rests, rest = iter(range(1_000_000)), news.wait

        def rest_for_long(seconds: float | None = None) -> bool:
            if seconds is not None and holds.is_set() and next(rests) == 1:
                answers.set()  # by now, the thread has judged what it found after its first rest
            return rest(seconds + SOON if seconds is not None and holds.is_set() else seconds)

        monkeypatch.setattr(news, "wait", rest_for_long)
        engine.before = hold
        here.reserved("src")
        answer = here.ask("flush", 60.0)
        answers.set()

        assert answer["ok"], answer


def test_lines_that_cannot_leave_the_machine_are_unreachable_and_not_pending(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, _):
        here.result("flush")
        engine.before = raising("append", EngineUnreachable)

        assert here.code("settle", events=[here.reserved("src")]) == "ENGINE_UNREACHABLE"


def test_an_engine_that_was_quiet_is_asked_before_it_is_sent_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection, "QUIET", 0.0)
    engine, goes_on = MemoryEngine(), threading.Event()

    def swallow(name: str) -> None:
        if name in ("head", "append"):
            goes_on.wait(60)

    with fleet(tmp_path, engine) as (here, _):
        here.result("flush")
        rows = len(engine.log.rows)
        engine.before = swallow
        try:
            assert here.code("settle", events=[here.reserved("src")]) == "ENGINE_UNREACHABLE"
            assert len(engine.log.rows) == rows
        finally:
            engine.before = nothing
            goes_on.set()


def test_all_lines_that_wait_go_in_one_append(tmp_path: Path):
    engine, silent, goes_on = MemoryEngine(), threading.Event(), threading.Event()

    def hold(name: str) -> None:
        if name == "append":
            silent.set()
            goes_on.wait(60)

    with fleet(tmp_path, engine) as (here, _):
        here.result("flush")
        rows = len(engine.log.rows)
        engine.before = hold
        first = here.reserved("src/0")
        here.begin_to_ask("settle", events=[first])
        assert silent.wait(60)
        events = [first, *(here.reserved(f"src/{n}") for n in range(1, 9))]
        engine.before = nothing
        goes_on.set()

        assert here.result("settle", events=events)
        assert len(engine.log.rows) - rows <= 3


# -- what the engine may not do


def test_a_restored_backup_stops_every_verdict_until_the_log_is_right_again(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        old = engine.backup()
        here.reserve("src")
        there.result("fresh")
        new = engine.backup()
        engine.restore(old)
        engine.before = raising("wait", EngineUnreachable)
        wait_for(lambda: here.result("status")["refusal"])
        engine.before = nothing

        wait_for(lambda: here.result("status")["state"] == "stopped")
        assert here.code("settle", events=[here.reserved("docs")]) == "ENGINE_REWOUND"
        wait_for(lambda: there.code("fresh") == "ENGINE_REWOUND" or there.result("status")["state"] == "stopped")
        engine.restore(new)
        wait_for(lambda: here.result("status")["state"] == "connected")
        assert here.reserve("tests")["state"] == "admitted"


def test_another_history_of_the_same_length_is_found_too(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        there.stop()
        old = engine.backup()
        here.reserve("src")
        here.stop()
        engine.restore(old)
        there.start()
        there.reserve("docs")
        there.reserve("docs/more")
        here.start()

        wait_for(lambda: here.result("status")["state"] == "stopped")
        assert here.code("fresh") == "ENGINE_REWOUND"


def test_an_engine_without_the_log_is_another_engine(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, _):
        here.result("flush")
        logs, engine.logs = engine.logs, {}
        wait_for(lambda: here.code("fresh") == "ANOTHER_ENGINE")
        engine.logs = logs

        wait_for(lambda: here.result("status")["state"] == "connected")


def test_an_engine_that_may_lose_what_it_acknowledges_gives_no_verdicts(tmp_path: Path):
    engine = MemoryEngine()
    engine.is_durable = False
    with fleet(tmp_path, engine) as (here, _):
        wait_for(lambda: here.code("fresh") == "ENGINE_NOT_DURABLE")


def test_a_closed_log_takes_nothing_and_says_so(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, _):
        here.result("flush")
        engine.log.is_closed = True

        assert here.code("settle", events=[here.reserved("src")]) == "FLEET_ENDED"


def test_a_machine_without_rights_is_told(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, _):
        here.result("flush")
        engine.before = raising("append", Denied)

        assert here.code("settle", events=[here.reserved("src")]) == "ENGINE_DENIED"


# -- a new incarnation


def test_a_new_incarnation_begins_from_the_archive_and_gets_the_lines_that_it_lacks(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        won = here.reserve("src")
        there.result("fresh")
        engine.logs = {}
        switch(here.clone, engine, SECOND, first=1_000_000)
        wait_for(lambda: is_connected_to(here, SECOND) and is_connected_to(there, SECOND), here)
        here.result("flush")
        again = there.reserve("docs", order=SECOND)

        former = here.result("settle", events=[won["id"]])["events"][won["id"]]["state"]
        inside = there.reserve("src/x", order=SECOND)["state"]

        assert again["token"] >= 1_000_000 > won["token"]
        # It depends on whether the former grant was archived in time. Both machines agree.
        assert (former, inside) in (("admitted", "refused"), ("void", "admitted"))
        become_equal(here, there)


def test_an_engine_that_is_gone_for_good_does_not_hide_the_new_charter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bb.ledger.fleet.housekeeping.LOOK_WHILE_AWAY", 0.0)
    monkeypatch.setattr("bb.ledger.fleet.housekeeping.LOOK_AGAIN", 0.0)
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        here.result("flush")
        engine.before = raising("head", EngineUnreachable, "append", "read", "wait", "beat")
        wait_for(lambda: there.result("status")["state"] == "away")

        switch(here.clone, engine, SECOND, first=1_000_000)

        for one in (here, there):
            wait_for(lambda one=one: (tip := pins.read(one.path).terms) and tip.incarnation == SECOND)
        engine.before = nothing
        wait_for(lambda: there.result("status")["incarnation"] == SECOND)


# -- hostile rows


def hostile_rows(writer: str, first: int) -> list[tuple[str, int, bytes]]:
    """Rows that no relay of ours would send, each by a machine with the right to append."""
    stranger = "aaaaaaaaaaaa"
    return [
        (stranger, 1, b"no json\n"),
        (stranger, 2, b"\n\n\n"),
        ("bbbbbbbbbbbb", 1, b"x" * (2 << 20) + b"\n"),
        ("cccccccccccc", 7, b'{"v":1,"id":"cccccccccccc.7","l":1}\n'),
        ("dddddddddddd", 1, b"without an end"),
        ("eeeeeeeeeeee", 1, b""),
        ("-", 0, b""),
        ("../../etc/x", 1, b"path\n"),
        ("a b\nc", 1, b"path\n"),
        (writer, first, b"our number, other bytes\n"),
    ]


def test_hostile_rows_keep_their_places_and_nothing_of_them_counts_anywhere(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        here.result("flush")
        there.result("flush")
        number = len(there.lines()[there.writer].split(b"\n"))
        with engine.lock:
            begun = engine.log.place
            rows = hostile_rows(there.writer, number + 1)
            for writer, first, octets in rows:
                engine.log.add(writer, first, octets)
        won = here.reserve("src")

        assert won["state"] == "admitted"
        assert won["token"] > begun + len(rows)
        assert not {"aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc", "dddddddddddd"} & here.lines().keys()
        assert here.result("status")["flawed"]
        become_equal(here, there)


def test_a_writer_whose_numbers_somebody_took_goes_on_under_a_new_one(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        here.result("flush")
        there.result("flush")
        former = there.writer
        number = len(there.lines()[former].split(b"\n"))
        with engine.lock:
            engine.log.append(former, number + 1, [b"somebody else wrote this"], 0)
        there.reserved("src", order=None)  # under its number, unless the relay has read that row already
        wait_for(lambda: there.writer != former or there.result("flush"), there)
        wait_for(lambda: there.writer != former, there)
        won = there.reserve("docs")

        assert won["state"] == "admitted"
        assert won["id"].split(".")[0] != former
        become_equal(here, there)


def test_a_copied_clone_goes_on_under_a_new_writer_when_the_engine_has_other_lines_of_it(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        here.result("flush")
        there.stop()
        # A virtual machine that was put back to an earlier state: the same writer, and other lines with its numbers.
        store = Path(there.path)
        kept = tmp_path / "kept"
        shutil.copytree(store, kept, symlinks=True)
        there.reserved("src/one", order=None)
        there.start()
        there.result("flush")
        there.stop()
        put_back(kept, store)
        former = there.writer
        lost = there.reserved("src/two", order=None)
        assert lost.startswith(former)
        there.start()

        wait_for(lambda: there.writer not in (former, "None"), there)
        there.result("flush")
        become_equal(here, there)
        assert b"src/one" in here.lines()[former]
        assert b"src/two" in here.lines()[there.writer]


# -- the saved results


def test_lost_results_are_computed_again_from_the_archive(tmp_path: Path):
    with fleet(tmp_path) as (here, there):
        won = here.reserve("src")
        there.result("fresh")
        grants = there.grants()
        there.stop()
        for file in (Path(there.path) / "fleet").glob("results.sqlite*"):
            file.unlink()
        there.start()
        there.result("fresh")

        assert won["id"] in grants["grants"]
        assert there.grants() == grants
        become_equal(here, there)


def test_results_that_are_removed_while_the_relay_runs_are_made_again(tmp_path: Path):
    with fleet(tmp_path) as (here, there):
        won = here.reserve("src")
        there.result("fresh")
        for file in (Path(there.path) / "fleet").glob("results.sqlite*"):
            file.unlink()
        here.reserve("docs")
        wait_for(lambda: there.ask("fresh")["ok"] and won["id"] in there.grants()["grants"], there)

        become_equal(here, there)


def test_damaged_results_are_made_again(tmp_path: Path):
    with fleet(tmp_path) as (here, there):
        won = here.reserve("src")
        there.result("fresh")
        there.stop()
        for file in (Path(there.path) / "fleet").glob("results.sqlite*"):
            file.write_bytes(b"no database" * 1000)
        there.start()
        there.result("fresh")

        assert won["id"] in there.grants()["grants"]
        become_equal(here, there)


def test_results_that_are_overwritten_while_the_relay_runs_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The relay's own connection may have all pages in memory. Nobody may take the file for an empty one meanwhile."""
    monkeypatch.setattr(housekeeping, "BEAT", 0.05)
    with fleet(tmp_path) as (here, there):
        won = here.reserve("src")
        there.result("fresh")
        file = Path(there.path) / "fleet" / "results.sqlite"
        with contextlib.closing(sqlite3.connect(file)) as connection:
            connection.execute("pragma wal_checkpoint(passive)").fetchall()
            damaged = file.stat().st_ino
            with file.open("r+b") as octets:
                octets.write(b"\xff" * file.stat().st_size)
            wait_for(lambda: file.exists() and file.stat().st_ino != damaged, there)
        wait_for(lambda: there.ask("fresh")["ok"] and won["id"] in there.grants()["grants"], there)

        become_equal(here, there)


def test_results_whose_damage_is_found_late_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """On a page that is not read when the relay begins: what can be read of the file must not be taken again."""
    with fleet(tmp_path) as (here, there):
        there.result("fresh")
        file = Path(there.path) / "fleet" / "results.sqlite"
        damaged = file.stat().st_ino
        (file.parent / "keeps-its-number").hardlink_to(file)
        put = ResultsFile._put

        def put_on_a_damaged_page(results: ResultsFile, *about: Any) -> None:
            if results._path == str(file) and file.stat().st_ino == damaged:
                raise sqlite3.DatabaseError("database disk image is malformed")
            put(results, *about)

        monkeypatch.setattr(ResultsFile, "_put", put_on_a_damaged_page)
        won = here.reserve("src")
        wait_for(lambda: there.ask("fresh")["ok"] and won["id"] in there.grants()["grants"], there)

        become_equal(here, there)


def test_journals_that_lost_their_ends_in_a_power_failure_are_completed_again(tmp_path: Path):
    with fleet(tmp_path) as (here, there):
        there.result("fresh")
        for n in range(5):
            here.reserve(f"src/{n}")
        there.result("fresh")
        there.stop()
        (journal,) = (Path(there.path) / "received" / here.writer).glob("*.jsonl")
        octets = journal.read_bytes()
        journal.write_bytes(octets[: octets.rfind(b"\n", 0, -1000) + 30])
        there.start()

        become_equal(here, there)


# -- the archive


def test_the_relay_that_leads_archives_and_a_newcomer_computes_the_same_from_git_alone(tmp_path: Path):
    with fleet(tmp_path) as (here, there):
        won = here.reserve("src")
        lost = there.reserve("src")
        there.reserve("docs")
        archived = here.result("archive")
        there.result("archive")
        newcomer = clone(tmp_path / "hub.git", "newcomer")
        newcomer.sync(pull=True)
        known = pins.read(str(newcomer.store))

        assert archived["archived"] >= archived["place"] > 0
        assert known.admitted.as_json()["grants"] == here.grants()["grants"]
        assert won["id"] in known.admitted.grants
        assert lost["id"] not in known.admitted.grants


def test_a_newcomer_reads_all_that_the_engine_has_before_it_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Archiving takes as long as reading, and others may lead meanwhile."""
    monkeypatch.setattr(row_reader, "PACE", 0.0)
    monkeypatch.setattr(archiving, "EVERY", 0.0)
    engine = MemoryEngine()
    with fleet(tmp_path, engine, starts=False) as (here, there):
        here.start()
        places = {here.reserve(f"src/{n}")["token"] for n in range(8)}
        here.stop()
        before = len(engine.calls)
        read = MemoryLog.read
        monkeypatch.setattr(MemoryLog, "read", lambda log, since, _: read(log, since, 1))
        there.start()

        assert there.result("archive")["archived"] >= max(places)
        until_it_leads = engine.calls[before : engine.calls.index("lead", before)]
        assert until_it_leads.count("read") >= len(places)


def test_who_waits_for_a_long_log_is_answered_before_the_archive_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(archiving, "EVERY", 0.0)
    engine = MemoryEngine()
    with fleet(tmp_path, engine, starts=False) as (here, there):
        here.start()
        for n in range(8):
            here.reserve(f"src/{n}")
        here.stop()
        answered: list[bool] = []
        engine.before = lambda name: answered.append(bool(waiting.found)) if name == "lead" else None
        with engine.lock:  # until it is asked
            there.start()
            waiting = there.begin_to_ask("fresh")
        there.result("archive")

        assert waiting.get()["ok"]
        assert answered
        assert all(answered)


def test_a_relay_that_archives_imports_lines_while_the_index_is_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """After a long log was read, that takes a minute."""
    begun, may_go_on = threading.Event(), threading.Event()
    catch_up = Index.catch_up

    def held_up(index: Index, *about: Any, **more: Any) -> Any:
        if threading.current_thread().name == "bb-relay-git":
            begun.set()
            assert may_go_on.wait(60)
        return catch_up(index, *about, **more)

    with fleet(tmp_path) as (here, there):
        become_equal(here, there)
        monkeypatch.setattr(Index, "catch_up", held_up)
        there.reserve("src")
        archived = here.begin_to_ask("archive")
        wait_for(begun.is_set)
        won = there.reserve("docs")
        try:
            here.result("fresh", 20)
            assert won["id"].encode() in here.lines()[there.writer]
        finally:
            may_go_on.set()
        assert archived.get()["ok"]


def test_a_row_that_does_not_count_is_archived_without_lines(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        here.result("flush")
        with engine.lock:
            for writer, first, octets in hostile_rows("ffffffffffff", 1):
                engine.log.add(writer, first, octets)
        won = there.reserve("src")
        here.result("archive")
        newcomer = clone(tmp_path / "hub.git", "newcomer")
        newcomer.sync(pull=True)
        known = pins.read(str(newcomer.store))

        assert won["id"] in known.admitted.grants
        assert known.admitted.as_json()["grants"] == here.grants()["grants"]


def archived_falsely(machine: Machine, engine: MemoryEngine, writer: str) -> None:
    """Archive what waits from the clone of MACHINE, and leave the lines of WRITER out."""
    store = Store(machine.place)

    def without(_: object, __: object, rows: Sequence[Row]) -> list[Row]:
        return [row.replace(writer=VOID, first=0, octets=b"") if row.writer == writer else row for row in rows]

    with pytest.MonkeyPatch.context() as patch, SyncLock(store.path, 60), store.git:
        patch.setattr(row_archive, "_counted", without)
        store.git.start()
        sync = Sync(store, "origin", NOW, 60)
        sync.look()
        tip = sync.pin.tip
        assert tip
        rows = machine.open_carrier().read(tip.place)
        assert any(row.writer == writer for row in rows)
        row_archive.archive(sync, rows)
    store.close()


def test_an_archive_that_leaves_out_a_row_that_counts_is_noticed_and_nothing_is_built_on_it(tmp_path: Path):
    """For readers of git, no later row of that writer would count."""
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        here.result("flush")
        there.result("flush")
        here.result("archive")
        there.result("archive")
        won = here.reserve("src")
        there.result("fresh")
        for one in (here, there):
            one.stop()

        archived_falsely(there, engine, here.writer)
        tip = here.clone.tip
        here.start()
        again = here.reserve("docs")
        assert here.code("archive", patience=3.0), "it is refused"

        assert here.clone.tip == tip
        checks = here.clone.refused("doctor").details["checks"]
        (finding,) = [each for each in checks if each["name"] == "fleet archive"]
        assert (finding["state"], "begin --again" in finding["mend"]) == ("broken", True)
        there.start()
        for log in engine.logs.values():
            log.is_closed = True  # as `bb fleet begin --again` does first
        switch(here.clone, engine, SECOND, first=1_000_000)
        for one in (here, there):
            wait_for(lambda one=one: one.result("status")["incarnation"] == SECOND)
        here.result("flush")
        become_equal(here, there)
        here.result("archive")
        newcomer = clone(tmp_path / "hub.git", "newcomer")
        newcomer.sync(pull=True)
        assert {won["id"], again["id"]} <= events_of(newcomer)


def events_of(newcomer: Clone) -> set[str]:
    """The ids of all events in a clone."""
    store = Store(place.find(str(newcomer.path), {}))
    try:
        return {f"{journal.writer}.{n}" for journal in store.journals() for n in range(1, journal.tail().n + 1)}
    finally:
        store.close()


# -- signs of life


def test_agents_of_other_machines_are_heard_by_the_engines_clock(tmp_path: Path):
    engine = MemoryEngine()
    engine.ahead = 60 * 60 * 1000
    with fleet(tmp_path, engine) as (here, there):
        wait_for(lambda: there.agent in here.heard or here.agent in there.heard)
        heard = here.heard | there.heard

        assert all(0 <= age < 60_000 for age in heard.values())
        assert here.result("status")["machines_alive"] >= 1
        assert abs(here.result("status")["skew_ms"] - engine.ahead) < 60_000


def test_an_agent_that_registers_elsewhere_was_alive_when_the_engine_took_its_line(tmp_path: Path):
    engine = MemoryEngine()
    engine.ahead = 60 * 60 * 1000
    with fleet(tmp_path, engine) as (here, there):
        there.result("flush")
        tells = threading.Event()
        told: list[int] = []

        def refuse_once(ages: Mapping[str, int]) -> None:
            if "delta-heron" in ages:
                told.append(ages["delta-heron"])
                if len(told) == 1:
                    raise Busy("the index is busy")
                tells.set()

        assert here.relay
        here.relay._loop.housekeeping._heard = refuse_once
        there.record(Registered("delta-heron", "worker", "Delta"), by="delta-heron")  # no beat of its machine names it

        assert tells.wait(60)
        assert all(0 <= age < 45_000 for age in told), "by the engine's clock"


def test_the_status_tells_what_a_person_must_know(tmp_path: Path):
    with fleet(tmp_path) as (here, _):
        here.reserve("src")
        # The relay signs in the background, and that is a line, too.
        wait_for(lambda: (now := here.result("status"))["unsent"] == now["lag"] == 0, here)
        status = here.result("status")

        assert (status["state"], status["engine"], status["incarnation"]) == ("connected", "postgres", FIRST)
        assert status["health"] == {"durable": True}
        assert status["heard_at"] > 0
        assert status["refusal"] is None


def test_what_waits_is_answered_when_the_relay_ends(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, _):
        here.result("flush")
        engine.before = raising("head", EngineUnreachable, "append", "read", "wait")
        waiting = here.begin_to_ask("flush", 60.0)
        relay = here.relay
        here.stop()
        assert relay

        answer = waiting.get()
        assert answer["ok"] or answer["error"]["code"] in ("RELAY_STOPPED", "ENGINE_UNREACHABLE")
        late = Waiting()
        relay.ask({"ask": "fresh"}, late.answer)
        assert late.get()["error"]["code"] == "RELAY_STOPPED"


def raising(*names: object) -> Callable[[str], None]:
    """Refuses these operations. The second of NAMES is the refusal."""
    first, refusal, *rest = names

    def check(name: str) -> None:
        if name == first or name in rest:
            assert isinstance(refusal, Refusal)
            raise refusal()

    return check


def put_back(kept: Path, store: Path) -> None:
    """Put the files of a store back, so that it is the same store: its locks keep their identity."""
    names = {file.relative_to(kept) for file in kept.rglob("*") if file.is_file()}
    for file in list(store.rglob("*")):
        if file.is_file() and file.relative_to(store) not in names and "fleet" not in file.parts:
            file.unlink()
    for name in names:
        if name.name != "lock" and "fleet" not in name.parts:
            (store / name).write_bytes((kept / name).read_bytes())


# -- signatures and withdrawals


def test_with_signers_each_append_is_signed_and_only_signed_lines_are_admitted(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine, starts=False) as (here, there):
        # `there` is not listed: its lines do not count.
        rows = [f"#bb repo {pins.read(here.path).remote('origin').tip.charter.repo}", "#bb mode require"]  # type: ignore[union-attr]
        review([here.clone, there.clone], *rows, listed(here.clone, here.writer))
        for machine in (here, there):
            machine.clone.sync(pull=True)
            machine.start()
        lost = engine_row(engine, there, "src")
        won = here.reserve("src")
        here.result("fresh")
        there.result("fresh")

        assert won["state"] == "admitted"
        assert here.results().counted is not None
        for machine in (here, there):
            counted = machine.results().in_force
            assert won["id"] in counted.grants
            assert lost not in counted.grants
        row = next(row for row in engine.log.rows if won["id"].encode() in row.octets)
        assert b'"kind":"x.bb.signed"' in row.octets


def test_a_withdrawn_line_is_sent_and_brought_without_its_payload(tmp_path: Path):
    with fleet(tmp_path) as (here, there):
        about = {"to": "user", "category": "INFO", "bead": "b", "subject": "s", "body": "a private word"}
        event = str(here.clone.ask("agent.send", **{"from": here.agent}, **about)["message_id"])
        here.result("flush")
        there.result("fresh")
        assert b"a private word" in there.lines()[here.writer]
        here.clone.ask("ledger.redact", event=event, reason="a slip", agent=here.agent)
        here.result("flush")
        there.result("fresh")

        assert b"a private word" not in there.lines()[here.writer]
        become_equal(here, there)


def engine_row(engine: MemoryEngine, machine: Machine, scope: str) -> str:
    """Record a reservation although its lines do not count, and let the relay send it."""
    store = Store(machine.place)
    try:
        fact = Reserved(machine.agent, scope, "bb-1", 120, False, False, order=FIRST)
        drafts = [draft_of(fact, machine.agent)]
        event = store.append(lambda _: drafts, NOW)[0].id
    finally:
        store.close()
    wait_for(lambda: any(event.encode() in row.octets for row in engine.log.rows), machine)
    return event


# -- disks


def test_a_full_disk_loses_nothing_and_the_relay_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    plain, is_full = disk.write_all, [False]

    def write(fd: int, octets: bytes) -> None:
        name = os.readlink(f"/proc/self/fd/{fd}")
        if is_full[0] and "clone-1" in name and "received" in name:
            plain(fd, octets[: len(octets) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        plain(fd, octets)

    monkeypatch.setattr(disk, "write_all", write)
    with fleet(tmp_path) as (here, there):
        there.result("fresh")
        is_full[0] = True
        won = here.reserve("src")
        refused = there.ask("fresh", 3.0)
        is_full[0] = False

        assert not refused["ok"]
        assert won["state"] == "admitted"
        become_equal(here, there)


def test_a_slow_engine_gets_honest_answers_in_time(tmp_path: Path):
    engine = MemoryEngine()

    def slowly(name: str) -> None:
        if name == "append":
            time.sleep(1.0)  # its disk takes so long

    with fleet(tmp_path, engine) as (here, there):
        here.result("flush")
        engine.before = slowly
        event = here.reserved("src")
        hasty = here.ask("settle", 0.2, events=[event])
        patient = here.result("settle", 60.0, events=[event])

        assert hasty["error"]["code"] == "GRANT_PENDING"
        assert patient["events"][event]["state"] == "admitted"
        engine.before = nothing
        become_equal(here, there)


def test_machines_forget_the_same_grants_and_the_branch_too(tmp_path: Path):
    with forgetting_soon(), fleet(tmp_path) as (here, there):
        first, kept = here.reserve("src"), there.reserve("docs")
        here.release(first["id"])
        for _ in range(6):
            here.release(here.reserve("src")["id"])
            here.result("flush")
        here.result("archive")
        there.result("fresh")

        results = pins.read(here.place.store)
        assert results.fleet is not None
        grants = dict(results.fleet.admitted.grants.items())
        assert first["id"] not in grants
        assert kept["id"] in grants
        assert here.result("settle", events=[first["id"]])["events"][first["id"]]["state"] == "void"
        assert dict(results.admitted.grants) == dict(there.results().admitted.grants.items()) == grants


def test_a_long_journal_of_another_machine_is_received_in_several_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its lines are appended at once, whatever their number: nothing of them is compared with what is here."""
    for module in (journals, receiving):
        monkeypatch.setattr(module, "SEGMENT_SIZE", 700)
    with fleet(tmp_path) as (here, there):
        there.result("fresh")
        monkeypatch.setattr(receiving.Receiving, "_compare", nothing)
        for _ in range(6):
            here.release(here.reserve("src")["id"])
            become_equal(here, there)

        assert len(Journal(there.place.store, here.writer).segments()) > 3
        assert len(there.lines()[here.writer].splitlines()) > 12


def test_rows_that_wait_to_be_written_when_the_connection_is_lost_are_not_read_and_compared_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """To compare them folds all lines into the index, and every machine would do that when the engine is back."""
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        become_equal(here, there)
        monkeypatch.setattr(row_reader, "PACE", 1000.0)
        monkeypatch.setattr(row_reader, "SLOWEST", 1000.0)
        here.reserve("first")
        there.result("fresh")  # it has written something just now
        won = here.reserve("src")
        assert there.reserve("docs")["state"] == "admitted"  # so the row before it is folded, too
        assert won["id"].encode() not in there.lines().get(here.writer, b""), "its line waits in memory"

        monkeypatch.setattr(receiving.Receiving, "write_again", nothing)
        lost: list[str] = []

        def lose_once(name: str) -> None:
            if name == "append" and not lost:
                lost.append(name)
                raise EngineUnreachable()

        engine.before = lose_once
        there.reserved("lib")
        wait_for(lambda: lost)

        wait_for(lambda: won["id"].encode() in there.lines().get(here.writer, b""))


def test_a_clone_that_only_fetches_does_not_keep_the_places_of_all_reservations(tmp_path: Path):
    with forgetting_soon(), fleet(tmp_path) as (here, there):
        kept = there.reserve("docs")
        there.result("flush")
        there.stop()
        sizes = []
        for _ in range(4):
            for _ in range(5):
                here.release(here.reserve("src")["id"])
                here.result("flush")
            here.result("archive")
            there.clone.sync(pull=True)
            known = pins.read(there.place.store).admitted
            sizes.append(len(known.generations))

        assert kept["id"] in known.generations
        assert sizes[-1] <= 8, sizes
        assert there.clone.ask("agent.status", agent=there.agent)["reservations"][0]["state"] == "active"
        there.start()
        assert there.result("fresh")["place"] == here.result("fresh")["place"]
        # Each clone forgets places at another time, so only the grants are compared.
        assert (there.grants()["grants"], there.results().digest) == (here.grants()["grants"], here.results().digest)
