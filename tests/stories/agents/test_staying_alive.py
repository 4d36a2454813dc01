"""Heartbeats and liveness (Operative Protocol §4): who counts as alive, since when, and what is recorded of it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.faces.faces_support import everything_in
from tests.forks import Call
from tests.near import Near, near, run_all
from tests.support import NOON, Ran, Scratch, environment


def moment(minutes: float) -> str:
    """MINUTES after noon, as bb writes it."""
    at = datetime(2026, 1, 5, 12, tzinfo=UTC) + timedelta(minutes=minutes)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03}Z"


SECOND = 1 / 60
MS = SECOND / 1000


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """amber-otter and cobalt-harbor registered at noon."""
    made = near(tmp_path / "repo")
    run_all(made, [registering("amber-otter"), registering("cobalt-harbor")])
    return made


def registering(name: str, minutes: float = 0) -> Call:
    return Call(["agent", "register", "--name", name, "--role", "builder", "--json"], {"BB_NOW": moment(minutes)})


def beat(minutes: float, *more: str, agent: str = "amber-otter", **settings: str) -> Call:
    return Call(["agent", "heartbeat", "--agent", agent, *more, "--json"], {"BB_NOW": moment(minutes)} | settings)


def show(minutes: float, agent: str = "amber-otter", **settings: str) -> Call:
    return Call(["agent", "show", "--agent", agent, "--json"], {"BB_NOW": moment(minutes)} | settings)


def listing(minutes: float, *more: str, **settings: str) -> Call:
    return Call(["agent", "list", *more, "--json"], {"BB_NOW": moment(minutes)} | settings)


def one(repo: Scratch, call: Call) -> Any:
    (ran,) = run_all(repo, [call])
    return ran.data


def liveness(answers: list[Ran]) -> list[str]:
    return [answer.data["liveness"] for answer in answers]


def returns(repo: Scratch) -> list[dict[str, Any]]:
    return repo.json("ledger", "log", "--kind", "x.bb.seen").data


# -- §4.1, §4.3: thresholds

BOUNDARIES = [
    (0, "active"),
    (15 - MS, "active"),
    (15, "stale"),
    (15 + MS, "stale"),
    (30 - MS, "stale"),
    (30, "evicted"),
    (30 + MS, "evicted"),
    (60, "evicted"),
    (60 * 24 * 365 * 100, "evicted"),
]


def test_4_3_the_states_begin_exactly_at_their_thresholds(repo: Scratch):
    answers = run_all(repo, [show(minutes) for minutes, _ in BOUNDARIES])

    assert liveness(answers) == [state for _, state in BOUNDARIES]
    assert {answer.data["last_seen_at"] for answer in answers} == {NOON}


def test_4_3_a_list_judges_as_show_does(repo: Scratch):
    answers = run_all(repo, [listing(minutes) for minutes, _ in BOUNDARIES])

    assert [answer.data[0]["liveness"] for answer in answers] == [state for _, state in BOUNDARIES]


@pytest.mark.parametrize("stale", [1, 14, 40, 10_080])
def test_4_1_eviction_is_at_twice_the_stale_minutes(repo: Scratch, stale: int):
    """Forty minutes also shows that there is no fixed hour after which an agent is something else."""
    settings = {"BB_AGENT_STALE_MINUTES": str(stale)}
    minutes = [stale - MS, stale, 2 * stale - MS, 2 * stale]

    answers = run_all(repo, [show(at, **settings) for at in minutes])

    assert liveness(answers) == ["active", "stale", "stale", "evicted"]


def test_4_1_without_a_setting_or_with_an_empty_one_it_is_fifteen(repo: Scratch):
    answers = run_all(
        repo, [show(at, BB_AGENT_STALE_MINUTES=text) for text in ("", "15", "0015") for at in (15 - MS, 15)]
    )

    assert liveness(answers) == ["active", "stale"] * 3


@pytest.mark.parametrize("minutes", ["0", "-1", "abc", "1.5", "1e1", " 15", "15 ", "+15", "10081", "١٥", "9" * 50])
def test_4_1_minutes_that_are_none_are_refused_by_every_agent_verb(repo: Scratch, minutes: str):
    """Half of a table of liveness must not be by one threshold and half by another."""
    before = everything_in(repo.store / "j"), everything_in(repo.store / "presence")
    settings = {"BB_NOW": moment(1), "BB_AGENT_STALE_MINUTES": minutes}
    words = [
        ["heartbeat", "--agent", "amber-otter"],
        ["list"],
        ["show", "--agent", "amber-otter"],
        ["register", "--name", "dusty-wren", "--role", "builder"],
        ["register", "--name", "amber-otter", "--role", "tester", "--force-update"],
    ]

    answers = run_all(repo, [Call(["agent", *verb, "--json"], settings) for verb in words])

    assert [(answer.code, answer.status) for answer in answers] == [("INVALID_STALE_MINUTES", 2)] * len(words)
    assert (everything_in(repo.store / "j"), everything_in(repo.store / "presence")) == before


# -- §4.2: the heartbeat


def test_4_2_heartbeat_updates_last_seen_in_utc(repo: Scratch):
    beaten = one(repo, beat(7.25))

    assert beaten["last_seen_at"] == "2026-01-05T12:07:15.000Z"
    assert one(repo, show(8)) == beaten
    assert one(repo, listing(8))[0] == beaten


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Los_Angeles", "Asia/Kathmandu", "UTC", "XXX-14", "nonsense"])
def test_4_2_heartbeat_is_in_utc_wherever_the_machine_is(repo: Scratch, zone: str):
    before = datetime.now(UTC)
    beaten = repo.json("agent", "heartbeat", "--agent", "amber-otter", TZ=zone).data
    after = datetime.now(UTC)

    assert beaten["last_seen_at"].endswith("Z")
    seen = datetime.fromisoformat(beaten["last_seen_at"])
    assert before - timedelta(milliseconds=1) <= seen <= after


@pytest.mark.parametrize(
    ("now", "written"),
    [
        ("2026-01-05T14:00:00+02:00", NOON),
        ("2026-01-05T07:30:00-04:30", NOON),
        ("2026-01-05 12:00:00z", NOON),
        ("2026-01-05T12:00:00.123456789Z", "2026-01-05T12:00:00.123Z"),
        ("2026-01-05T11:59:60Z", NOON),
        ("2024-02-29T23:59:59.999Z", "2024-02-29T23:59:59.999Z"),
    ],
)
def test_4_2_heartbeat_writes_any_offset_as_utc_with_milliseconds(repo: Scratch, now: str, written: str):
    (answer,) = run_all(repo, [Call(["agent", "heartbeat", "--agent", "amber-otter", "--json"], {"BB_NOW": now})])

    assert answer.data["last_seen_at"] == written


def test_4_2_heartbeat_is_safe_to_run_repeatedly(repo: Scratch):
    ledger, index = repo.journal().read_bytes(), (repo.store / "index.sqlite").read_bytes()

    answers = run_all(repo, [beat(1)] * 20)

    assert [answer.status for answer in answers] == [0] * 20
    assert {json.dumps(answer.data | {"version": 0}) for answer in answers} == {
        json.dumps(answers[0].data | {"version": 0})
    }
    assert [answer.data["version"] for answer in answers] == list(range(2, 22))
    assert repo.journal().read_bytes() == ledger
    assert (repo.store / "index.sqlite").read_bytes() == index


def test_4_2_heartbeat_changes_one_file_of_the_agents_own(repo: Scratch):
    before = everything_in(repo.path)

    run_all(repo, [beat(5), beat(10)])

    after = everything_in(repo.path)
    assert before.keys() == after.keys()
    assert [name for name in after if after[name] != before[name]] == [".git/bb/presence/amber-otter.json"]


def test_4_2_heartbeat_supports_the_json_envelope(repo: Scratch):
    good, bad = run_all(repo, [beat(1), beat(1, agent="nobody-here")])

    assert (good.envelope["ok"], good.envelope["command"], good.envelope["error"]) == (True, "agent heartbeat", None)
    assert (bad.envelope["ok"], bad.envelope["command"], bad.envelope["data"]) == (False, "agent heartbeat", None)
    assert list(good.data) == [
        "agent_id",
        "display_name",
        "role",
        "status",
        "created_at",
        "last_seen_at",
        "version",
        "liveness",
    ]


def test_4_2_heartbeats_of_many_processes_at_once_all_succeed(repo: Scratch):
    starting = [
        subprocess.Popen(
            [sys.executable, "-m", "bb", *beat(1).words],
            cwd=repo.path,
            env=environment(BB_NOW=moment(1)),
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(12)
    ]
    said = [json.loads(process.communicate()[0]) for process in starting]

    assert all(answer["ok"] and answer["data"]["last_seen_at"] == moment(1) for answer in said)
    assert one(repo, show(2))["last_seen_at"] == moment(1)
    assert list((repo.store / "presence").glob("*.tmp")) == list((repo.store / "presence").glob(".*")) == []


# -- who is asking


def test_the_caller_is_agent_or_bb_agent_and_the_two_must_not_contradict_each_other(repo: Scratch):
    calls = [
        beat(1, agent="amber-otter", BB_AGENT="cobalt-harbor"),
        Call(["agent", "heartbeat", "--json"], {"BB_NOW": moment(2), "BB_AGENT": "cobalt-harbor"}),
        Call(["agent", "show", "--json"], {"BB_NOW": moment(3), "BB_AGENT": "cobalt-harbor"}),
        beat(4, agent="amber-otter", BB_AGENT="../x"),
    ]

    first, second, third, fourth = run_all(repo, calls)

    assert (first.code, first.status) == ("NOT_YOUR_NAME", 5)
    assert (second.data["agent_id"], second.data["last_seen_at"]) == ("cobalt-harbor", moment(2))
    assert third.data == second.data
    assert (fourth.code, fourth.status) == ("NOT_YOUR_NAME", 5)


@pytest.mark.parametrize("settings", [{}, {"BB_AGENT": ""}], ids=["unset", "empty"])
@pytest.mark.parametrize("verb", ["heartbeat", "show"])
def test_without_a_caller_there_is_no_answer(repo: Scratch, verb: str, settings: dict[str, str]):
    (answer,) = run_all(repo, [Call(["agent", verb, "--json"], settings)])

    assert (answer.code, answer.status) == ("NO_AGENT", 2)
    assert "BB_AGENT" in answer.envelope["error"]["hint"]


@pytest.mark.parametrize("caller", ["../x", "-amber", " amber-otter", "con", "Con", "x" * 49, "bö-bö"])
def test_a_caller_that_is_no_id_is_refused_as_one(repo: Scratch, caller: str):
    answers = run_all(repo, [Call(["agent", verb, "--json"], {"BB_AGENT": caller}) for verb in ("heartbeat", "show")])

    assert [answer.code for answer in answers] == ["INVALID_AGENT_ID"] * 2


def test_an_agent_that_nobody_registered_is_not_found_and_leaves_no_trace(repo: Scratch):
    before = everything_in(repo.store / "presence")

    answers = run_all(repo, [beat(1, agent="nobody-here"), show(1, "nobody-here"), beat(99, agent="nobody-here")])

    assert [(answer.code, answer.status) for answer in answers] == [("AGENT_NOT_FOUND", 3)] * 3
    assert all(answer.envelope["error"]["details"] == {"agent_id": "nobody-here"} for answer in answers)
    assert everything_in(repo.store / "presence") == before
    assert returns(repo) == []


def test_without_a_ledger_nobody_is_found_and_none_is_made(tmp_path: Path):
    repo = near(tmp_path / "repo")

    answers = run_all(repo, [beat(0), show(0), listing(0)])

    assert [answer.status for answer in answers] == [3, 3, 0]
    assert answers[2].data == []
    assert not repo.store.exists()


# -- coming back


@pytest.mark.parametrize(("minutes", "was"), [(15, "stale"), (30 - MS, "stale"), (30, "evicted"), (6000, "evicted")])
def test_a_return_is_recorded_once(repo: Scratch, minutes: float, was: str):
    answers = run_all(repo, [beat(minutes), beat(minutes), beat(minutes + 14), show(minutes + 14)])

    assert liveness(answers) == ["active"] * 4
    (event,) = returns(repo)
    assert (event["by"], event["ts"], event["data"]) == (
        "amber-otter",
        moment(minutes),
        {"actor_id": "amber-otter", "after": was},
    )
    assert repo.json("ledger", "verify").data["events"] == 4


def test_every_return_is_news(repo: Scratch):
    run_all(repo, [beat(minutes) for minutes in (14, 29, 44, 60, 61, 121, 122)])

    assert [(event["ts"], event["data"]["after"]) for event in returns(repo)] == [
        (moment(29), "stale"),
        (moment(44), "stale"),
        (moment(60), "stale"),
        (moment(121), "evicted"),
    ]


def test_a_return_is_judged_by_the_callers_own_threshold(repo: Scratch):
    run_all(repo, [beat(39, BB_AGENT_STALE_MINUTES="40"), beat(45, BB_AGENT_STALE_MINUTES="5")])

    assert [(event["ts"], event["data"]["after"]) for event in returns(repo)] == [(moment(45), "stale")]


def test_a_return_of_one_says_nothing_of_the_other(repo: Scratch):
    run_all(repo, [beat(40)])

    assert [(agent["agent_id"], agent["liveness"]) for agent in one(repo, listing(40))] == [
        ("amber-otter", "active"),
        ("cobalt-harbor", "evicted"),
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="holds the lock as POSIX has it")
def test_a_return_that_several_processes_report_at_once_is_one_line(repo: Scratch):
    """A loop and a hook of the same agent wake up together when the lid is opened. Here all wait for one lock."""
    import fcntl

    with (repo.journal().parent / "lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        starting = [
            subprocess.Popen(
                [sys.executable, "-m", "bb", *beat(40).words],
                cwd=repo.path,
                env=environment(BB_NOW=moment(40)),
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(4)
        ]
        time.sleep(0.7)  # well within the patience of those who wait
    said = [json.loads(process.communicate()[0]) for process in starting]

    assert [answer["data"]["liveness"] for answer in said] == ["active"] * 4
    assert len(returns(repo)) == 1


def test_a_lost_presence_file_costs_no_more_than_the_time_of_the_last_beat(repo: Scratch):
    run_all(repo, [beat(5)])
    (repo.store / "presence" / "amber-otter.json").unlink()

    shown, beaten = run_all(repo, [show(6), beat(7)])

    assert (shown.data["last_seen_at"], shown.data["liveness"]) == (NOON, "active")
    assert beaten.data["last_seen_at"] == moment(7)
    assert returns(repo) == []


def test_a_lost_presence_file_of_a_silent_agent_is_a_return(repo: Scratch):
    run_all(repo, [beat(50)])
    (repo.store / "presence" / "amber-otter.json").unlink()

    run_all(repo, [beat(120), beat(121)])

    assert [event["ts"] for event in returns(repo)] == [moment(50), moment(120)]


GARBAGE = {
    "empty": b"",
    "cut short": b'{"seen_at":"2026-01-05T12:0',
    "no json": b"hello",
    "a list": b"[]",
    "no time": b'{"seen_at":"yesterday","beats":1,"record":{}}',
    "somebody else's": b'{"seen_at":"2026-01-05T12:00:00.000Z","beats":1,"record":{"agent_id":"cobalt-harbor"}}',
    "zeros": b"\0" * 300,
    "no utf-8": b'{"seen_at":"\xff"}',
    "nested": b'{"seen_at":' + b"[" * 20_000,
}


@pytest.mark.parametrize("octets", GARBAGE.values(), ids=GARBAGE)
def test_a_presence_file_of_garbage_is_as_good_as_none(repo: Scratch, octets: bytes):
    """In processes of their own, since a fresh interpreter fails at broken JSON in a way of its own."""
    (repo.store / "presence" / "amber-otter.json").write_bytes(octets)
    later = Near(repo.path, {"BB_NOW": moment(5)})

    assert [agent["agent_id"] for agent in later.json("agent", "list").data] == ["amber-otter", "cobalt-harbor"]
    assert later.json("agent", "heartbeat", "--agent", "amber-otter").data["last_seen_at"] == moment(5)
    assert later.json("agent", "show", "--agent", "amber-otter").data["last_seen_at"] == moment(5)


# -- asking is not living


@pytest.mark.parametrize("caller", ["amber-otter", "cobalt-harbor", ""])
def test_nobody_is_kept_alive_by_being_asked_about_or_by_asking(repo: Scratch, caller: str):
    before = everything_in(repo.store / "presence"), repo.journal().read_bytes()
    words = [
        ["agent", "show", "--agent", "amber-otter"],
        ["agent", "list"],
        ["agent", "list", "--liveness", "stale"],
        ["ledger", "log", "--agent", "amber-otter"],
        ["ledger", "status"],
        ["ledger", "verify"],
        ["ledger", "export", "--agent", "amber-otter"],
        ["doctor"],
        ["init", "--dry-run"],
        ["call", "agent.show", "--args", '{"agent":"amber-otter"}'],
    ]

    run_all(repo, [Call(one_, {"BB_AGENT": caller, "BB_NOW": moment(20)}) for one_ in words])

    assert (everything_in(repo.store / "presence"), repo.journal().read_bytes()) == before
    assert {agent["liveness"] for agent in one(repo, listing(20, BB_AGENT=caller))} == {"stale"}


# -- the list


def test_the_list_is_by_id_and_its_filters_must_all_fit(repo: Scratch):
    more = [("zebra-finch", "builder"), ("a-1", "tester"), ("a1-1", "Tester"), ("m-0", "lead builder")]
    run_all(
        repo,
        [
            Call(["agent", "register", "--name", name, "--role", role], {"BB_NOW": moment(minute)})
            for minute, (name, role) in enumerate(more, 10)
        ],
    )

    def listed(*words: str) -> list[str]:
        return [agent["agent_id"] for agent in one(repo, listing(25, *words))]

    assert listed() == ["a-1", "a1-1", "amber-otter", "cobalt-harbor", "m-0", "zebra-finch"]
    assert listed("--role", "builder") == ["amber-otter", "cobalt-harbor", "zebra-finch"]
    assert listed("--role", "tester") == ["a-1"]
    assert listed("--role", "build") == []
    assert listed("--liveness", "stale") == ["amber-otter", "cobalt-harbor", "zebra-finch"]
    assert listed("--liveness", "active") == ["a-1", "a1-1", "m-0"]
    assert listed("--liveness", "evicted") == []
    assert listed("--status", "idle") == listed()
    assert listed("--role", "builder", "--liveness", "active", "--status", "idle") == []
    assert listed("--role", "lead builder", "--liveness", "active") == ["m-0"]


def test_a_person_sees_a_table_whose_columns_stand_below_each_other(repo: Scratch):
    told = repo.bb("agent", "list", BB_NOW=moment(20)).out.splitlines()

    assert told == [
        "amber-otter    stale    seen 20m ago     builder",
        "cobalt-harbor  stale    seen 20m ago     builder",
    ]


def test_where_there_is_nobody_a_person_is_told_how_to_be_somebody(tmp_path: Path):
    told = near(tmp_path / "repo").bb("agent", "list")

    assert (told.status, "bb agent register --name" in told.out) == (0, True)
