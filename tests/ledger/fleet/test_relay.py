"""The relay of a clone, with an engine in memory on which anything can go wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from bb.coordination.facts import Registered, Reserved
from bb.kernel.errors import Busy
from bb.ledger.carrier.door import AppendUnknown, EngineUnreachable
from bb.ledger.fleet import connection
from bb.ledger.fleet.outbox import SOON
from bb.ledger.fleet.shared import Shared
from bb.ledger.published import pins
from bb.ledger.records.drafts import draft_of
from bb.ledger.records.store import Store
from tests.ledger.fleet.fleet_support import (
    FIRST,
    NOW,
    SECOND,
    Machine,
    Waiting,
    become_equal,
    fleet,
    raising,
    wait_for,
)
from tests.ledger.fleet.memory_carrier import MemoryEngine, nothing
from tests.stories.travel.test_signed import listed, review

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
    lost: list[str] = []

    def lose(name: str) -> None:
        if name == "append":
            lost.append(name)
            raise AppendUnknown()

    def stay_away(name: str) -> None:
        if name == "head" and lost:
            raise EngineUnreachable()

    with fleet(tmp_path, engine) as (here, _):
        here.result("flush")
        engine.after, engine.before = lose, stay_away
        event = here.reserved("src")
        here.begin_to_ask("flush")
        wait_for(lambda: lost)

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
