"""Reserving in a fleet: two machines, a real engine, and what happens when a part of it is away."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from bb.ledger.fleet import settings
from bb.ledger.published import fleet_results
from bb.wire import client
from tests import engines
from tests.stories.daemon.cli_support import ended
from tests.stories.fleet.client_support import AMBER, COBALT, Fleet, Side, fleet
from tests.support import Scratch
from tests.waiting import until

LATE = "late-heron"
LONGEST = 30.0  # seconds for a refusal that must not wait for anything, on a busy machine


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """One fleet for all stories of this file. Each uses scopes of its own, and leaves everything running."""
    with fleet(tmp_path_factory.mktemp("fleet"), engines.shared_postgres()) as made:
        yield made


def test_a_plain_reservation_holds_on_every_machine(two: Fleet):
    got = two.here.reserve("one/a.py").data

    assert got["global"] is True
    assert type(got["token"]) is int
    assert got["fleet"]["place"] >= got["token"]
    refused = two.there.reserve("one")
    assert refused.code == "RESERVATION_CONFLICT"
    assert refused.status == 7
    assert AMBER in refused.envelope["error"]["message"]
    assert "--queue" not in refused.envelope["error"]["hint"]
    assert two.there.json("check", "one/a.py").code == "PATH_HELD"


def test_what_one_machine_releases_another_can_have_with_a_higher_token(two: Fleet):
    first = two.here.reserve("two").data["token"]

    assert two.here.json("agent", "release", "--scope", "two").status == 0
    second = until(
        lambda: (found := two.there.reserve("two")).status == 0 and found
    )  # a release is sent without a wait
    assert second.data["token"] > first


def test_of_several_scopes_all_are_reserved_or_none(two: Fleet):
    two.here.reserve("three/held")

    assert two.there.json("reserve", "three/free", "three/held").code == "RESERVATION_CONFLICT"
    assert two.there.token("three/free") is None
    until(lambda: two.here.reserve("three/free").status == 0)  # what it has given up is released without a wait


def test_repeating_a_reservation_renews_it(two: Fleet):
    first = two.here.reserve("four").data["token"]

    again = two.here.reserve("four", "--ttl", "30").data

    assert again["token"] > first
    assert again["ttl_minutes"] == 30
    rows = two.here.json("agent", "status", "--agent", AMBER).data["reservations"]
    assert [row["scope"] for row in rows].count("four") == 1


def test_shared_reservations_share_and_open_ones_stay_in_their_clone(two: Fleet):
    assert two.here.reserve("five", "--shared").data["token"]
    assert two.there.reserve("five", "--shared").data["token"]

    opened = two.here.reserve("five-open.py", "--open").data
    assert "token" not in opened


@pytest.mark.parametrize("option", [("--queue",), ("--allow-overlap",), ("--key", "k")])
def test_options_that_need_one_clone_are_refused_with_another_way(two: Fleet, option: tuple[str, ...]):
    refused = two.here.reserve("six", *option)

    assert refused.code == "INVALID_ARGS"
    assert refused.envelope["error"]["hint"]


def test_a_process_that_waits_gets_what_another_machine_releases(two: Fleet):
    two.there.reserve("seven")
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(two.here.waits("seven", "100")), daemon=True)
    waiting.start()
    until(lambda: (two.here.at.store / "queue").is_dir() and any((two.here.at.store / "queue").glob("*.json")))

    assert two.there.json("agent", "release", "--scope", "seven").status == 0
    waiting.join(100)

    assert answers[0].data["global"] is True
    assert answers[0].data["waited_seconds"] >= 0


def test_mail_arrives_without_a_sync(two: Fleet):
    sent = two.here.json("send", COBALT, "the parser is yours").data["message_id"]

    until(lambda: sent in [row["message_id"] for row in two.there.json("agent", "inbox").data])


def test_a_sync_waits_until_everything_is_sent_and_read(two: Fleet):
    two.here.json("send", COBALT, "for the sync")
    here = two.here.json("sync").data
    there = two.there.json("sync").data

    assert here["engine"] == "postgres"
    assert there["imported"] >= here["place"]
    archived = two.here.json("sync", "--publish").data["archived"]
    assert archived >= here["place"]


@pytest.mark.parametrize("way", [(), ("--pull",), ("--push",), ("--publish",)])
def test_the_answer_of_each_way_to_sync_can_be_read(two: Fleet, way: tuple[str, ...]):
    said = two.here.text("sync", *way)

    assert (said.status, said.err) == (0, "")
    read = "This clone has read the engine's log up to its last place" in said.out
    sent = "Everything that was recorded here is on the engine" in said.out
    assert (read, sent) == {(): (True, True), ("--pull",): (True, False), ("--push",): (False, True)}.get(
        way, (read, True)
    )


def test_who_waits_while_the_engine_is_away_records_next_to_nothing(two: Fleet):
    """Each attempt would otherwise record a request and its end."""
    two.proxy.cut()
    try:
        until(lambda: two.here.json("sync").code == "ENGINE_UNREACHABLE")
        before = two.here.lines()
        refused = two.here.reserve("waited-for", "--wait", "5")
        assert refused.code == "ENGINE_UNREACHABLE"
        assert two.here.lines() - before <= 4
    finally:
        two.proxy.mend()
    until(lambda: two.here.json("sync").status == 0)


def test_doctor_names_a_damaged_file_of_results_and_the_next_relay_makes_it_anew(two: Fleet):
    assert two.there.reserve("before-the-damage").data["token"]
    until(lambda: two.here.text("check", "before-the-damage").out.startswith("held"))
    path = Path(fleet_results.path_of(two.here.store))

    def damage() -> None:
        for rest in ("-wal", "-shm"):
            path.with_name(path.name + rest).unlink(missing_ok=True)
        path.write_bytes(b"\xff" * path.stat().st_size)
        found = two.here.text("doctor", BB_DAEMON="off")
        assert found.status != 0
        assert f"{path}, is damaged" in found.out
        assert two.here.text("check", "before-the-damage", BB_DAEMON="off").status != 0, "it is not taken for free"

    two.here.restart_daemon(damage)
    until(lambda: two.here.json("sync").status == 0)
    assert two.here.text("check", "before-the-damage").out.startswith("held")


def test_a_daemon_that_was_killed_is_started_by_the_next_command(two: Fleet):
    before = two.here.daemon()
    two.here.kill_daemon()

    assert two.here.reserve("eight").data["token"]
    assert two.here.daemon() != before


def test_without_a_relay_that_may_start_the_refusal_says_what_to_do(two: Fleet):
    two.here.kill_daemon()

    refused = two.here.reserve("nine", BB_DAEMON="off")
    waited = two.here.reserve("nine", "--wait", "1", BB_DAEMON="off")
    local = two.here.reserve("nine", "--fallback", "local", BB_DAEMON="off").data

    for answer in (refused, waited):
        assert answer.code == "RELAY_GONE"
        assert answer.status == 6
        assert "bb daemon start" in answer.envelope["error"]["hint"]
    assert (local["fallback"], "token" in local) == ("local", False)
    assert two.here.text("daemon", "start").status == 0
    assert two.here.reserve("nine-again").data["token"]


def test_an_engine_that_is_away_refuses_at_once_and_everything_else_goes_on(two: Fleet):
    two.here.reserve("ten-before")
    two.proxy.cut()
    try:
        until(lambda: two.here.json("sync").code == "ENGINE_UNREACHABLE")
        begun = time.monotonic()
        refused = two.here.reserve("ten")
        assert time.monotonic() - begun < LONGEST
        assert refused.code == "ENGINE_UNREACHABLE"
        assert refused.status == 6
        assert "--fallback local" in refused.envelope["error"]["hint"]
        assert two.here.state("ten") is None
        assert two.here.reserve("ten", "--fallback", "local").data["fallback"] == "local"
        sent = two.here.json("send", COBALT, "written while the engine was away").data["message_id"]
        assert two.here.json("agent", "release", "--scope", "ten-before").status == 0
        assert two.here.json("sync", "--pull").data["without_engine"]
        assert two.there.reserve("ten-there").data["token"]
    finally:
        two.proxy.mend()
    until(lambda: sent in [row["message_id"] for row in two.there.json("agent", "inbox").data])
    until(lambda: two.there.reserve("ten-before").status == 0)


def pending(two: Fleet, name: str) -> str:
    """A scope whose reservation is pending, because what the engine said was lost from the moment when it was recorded.
    The relay may have been waiting for another answer at that moment; then nothing was sent, and another scope is
    tried."""
    journals = list((two.here.at.store / "j").rglob("*.jsonl"))
    for scope in (f"{name}/{number}" for number in range(100)):
        until(lambda: two.here.json("sync").status == 0)
        recorded = f'"scope":"{scope}"'.encode()
        two.proxy.change = partial(lost_after, recorded, journals)
        try:
            refused = two.here.reserve(scope)
            (path,) = two.here.json("check", scope).data["paths"]
            assert path["verdict"] == "free", "what is pending excuses nothing"
        finally:
            two.proxy.mend()
        assert refused.status == 6
        if refused.code == "GRANT_PENDING":
            assert len(refused.envelope["error"]["details"]["reservation_ids"]) == 1
            return scope
        assert refused.code == "ENGINE_UNREACHABLE"
    raise AssertionError("no answer to an append was lost")


def lost_after(recorded: bytes, journals: list[Path], said: bytes) -> bytes:
    """What SAID becomes: nothing, once one of the JOURNALS has what is to be RECORDED."""
    return b"" if any(recorded in path.read_bytes() for path in journals) else said


def test_a_lost_answer_is_pending_not_held_and_settled_later(two: Fleet):
    scope = pending(two, "eleven")

    until(lambda: two.here.token(scope))
    assert two.there.reserve(scope).code == "RESERVATION_CONFLICT"


def test_a_request_that_is_pending_can_be_repeated(two: Fleet):
    scope = pending(two, "twelve")

    again = until(lambda: (found := two.here.reserve(scope)).status == 0 and found).data

    rows = two.here.json("agent", "status", "--agent", AMBER).data["reservations"]
    assert [row["reservation_id"] for row in rows if row["scope"] == scope] == [again["reservation_id"]]


def test_a_request_that_is_pending_can_be_withdrawn(two: Fleet):
    scope = pending(two, "withdrawn")

    assert two.here.json("agent", "release", "--scope", scope).status == 0
    until(lambda: two.there.reserve(scope).status == 0)


def test_a_silent_holder_can_be_taken_over_and_is_told(two: Fleet):
    two.there.reserve("thirteen")
    two.there.json("turn")
    for side in (two.there, two.here):  # no line of the holder arrives later, as a sign of life
        assert side.text("sync").status == 0
    two.there.restart_daemon(lambda: two.there.has_been_silent(20))  # it beats as soon as it runs
    until(lambda: silence_in_beat(two, COBALT) >= 20 * 60, "a beat that tells of the silence")
    two.here.restart_daemon(lambda: two.here.has_heard(COBALT, since=30))

    assert two.here.reserve("thirteen").code == "RESERVATION_STALE_FOUND"
    taken = two.here.reserve("thirteen", "--takeover-stale").data

    assert taken["token"]
    assert [row["agent_id"] for row in taken["taken_over"]] == [COBALT]
    until(lambda: "thirteen" in two.there.text("turn").out)
    assert two.there.json("check", "thirteen").code == "PATH_HELD"


def silence_in_beat(two: Fleet, agent: str) -> int:
    """For how many seconds AGENT has been silent, by the beat that names it."""
    beats = two.server.sql("select agents from bb.beat", two.database).splitlines()
    return max(json.loads(beat).get(agent, 0) for beat in beats)


def test_answers_say_how_old_the_order_is(two: Fleet):
    for words in (("check", "fourteen"), ("status",), ("agent", "status")):
        found = two.here.json(*words).data["fleet"]
        assert found["place"] > 0
        assert found["age_seconds"] >= 0


def test_a_client_of_the_daemon_reserves_in_every_clone_too(two: Fleet):
    asked = {"cwd": str(two.here.at.path), "agent": AMBER, "scope": ["by-socket"]}

    got = client.ask(two.here.at.settings["CCCC_HOME"], "agent.reserve", asked)

    assert got["global"] is True
    assert two.there.reserve("by-socket").code == "RESERVATION_CONFLICT"


def test_a_clone_that_has_not_joined_says_that_its_reservations_hold_there_only(two: Fleet, tmp_path: Path):
    two.here.at.git("clone", "--quiet", str(two.here.at.path.parent / "hub"), str(tmp_path / "late"))
    at = Scratch(tmp_path / "late", {"CCCC_HOME": str(tmp_path / "home"), "BB_DAEMON": "off"})
    assert at.bb("sync", "--pull").status == 0
    assert at.bb("agent", "register", "--name", LATE, "--role", "builder").status == 0
    late = Side(at, LATE)

    got = late.reserve("alone")

    assert got.data["fallback"] == "local"
    assert "bb fleet join" in got.data["why"]
    assert "In this clone only" in late.text("reserve", "alone/too").out
    assert "fallback" not in late.reserve("alone.py", "--open").data
    two.there.reserve("known-to-the-late-one")
    assert two.there.json("sync", "--publish").status == 0
    assert at.bb("sync", "--pull").status == 0
    refused = late.reserve("known-to-the-late-one").envelope["error"]
    assert "--queue" not in refused["hint"]
    assert "bb fleet join" in refused["hint"]


def test_who_holds_nothing_any_more_when_its_clone_joins_is_told_at_once(two: Fleet, tmp_path: Path):
    two.here.at.git("clone", "--quiet", str(two.here.at.path.parent / "hub"), str(tmp_path / "joins"))
    at = Scratch(tmp_path / "joins", {"CCCC_HOME": str(tmp_path / "home"), "BB_DAEMON": ""})
    assert at.bb("sync", "--pull").status == 0
    assert at.bb("agent", "register", "--name", "jade-lynx", "--role", "builder").status == 0
    joins = Side(at, "jade-lynx")
    assert joins.reserve("contested").data["fallback"] == "local"
    assert two.there.reserve("contested").data["token"]
    engine = settings.read(two.there.store)
    assert engine

    with ended(at):
        joined = joins.text("fleet", "join", engine.address, BB_AGENT="")

        assert "Contested: jade-lynx does not hold contested; cobalt-harbor holds contested" in joined.out, joined.err
        assert "Contested" in joins.text("turn").out
