"""A session takes its name (Operative Protocol §3): who may, what is refused in which order, what stays as it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bb.kernel import ids
from tests.faces.faces_support import everything_in
from tests.forks import Call
from tests.near import Near, near, run_all
from tests.support import NOON, Ran, Scratch, environment

AT = "2026-01-05T12:{:02}:00.000Z".format
TOKEN = "gh" + "p_" + "aB3d" * 9


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    made = near(tmp_path / "repo")
    made.settings["BB_NOW"] = NOON
    return made


def registering(name: str, role: str = "builder", *more: str, **settings: str) -> Call:
    return Call(["agent", "register", "--name", name, "--role", role, *more, "--json"], settings)


def register(repo: Scratch, name: str, role: str = "builder", *more: str, **settings: str) -> Ran:
    later = Near(repo.path, repo.settings | settings)
    return later.json("agent", "register", "--name", name, "--role", role, *more)


def seen(repo: Scratch, minute: int, verb: str = "show") -> dict[str, Any]:
    """amber-otter, asked about or beating at a minute past noon."""
    return Near(repo.path, {"BB_NOW": AT(minute)}).json("agent", verb, "--agent", "amber-otter").data


def recorded(repo: Scratch) -> tuple[object, ...]:
    return repo.journal().read_bytes(), everything_in(repo.store / "presence")


def kinds(repo: Scratch) -> list[str]:
    return [event["kind"] for event in repo.json("ledger", "log").data]


def test_3_1_an_agent_id_names_the_session_in_every_record(repo: Scratch):
    """In this version the session's and the persona's identity are one field."""
    answer = register(repo, "amber-otter").data
    event = repo.json("ledger", "log").data[-1]

    assert answer["agent_id"] == event["by"] == event["data"]["actor_id"] == "amber-otter"
    assert not {"session_agent_id", "logical_agent_id"} & set(answer)


GOOD = ["abc", "a1b", "123", "amber-otter", "a-b", "a-1-b-2-c", "x" * 48, "a" * 23 + "-" + "b" * 24, "com10", "con-man"]


def test_3_3_a_name_is_words_of_small_letters_and_digits_joined_by_single_hyphens(repo: Scratch):
    answers = run_all(repo, [registering(name) for name in GOOD])

    assert [answer.data["agent_id"] for answer in answers] == GOOD
    assert [agent["agent_id"] for agent in repo.json("agent", "list").data] == sorted(GOOD)


BAD = [
    *(
        "",
        "a",
        "ab",
        "x" * 49,
        "a--b",
        "-ab",
        "ab-",
        "---",
        "Amber",
        "AMBER-OTTER",
        "amber_otter",
        "amber.otter",
        "a b c",
    ),
    *(
        " abc",
        "abc ",
        "abc\n",
        "a\tb",
        "../x",
        "..",
        "../../etc/passwd",
        "a/b",
        "a\\b",
        "/etc",
        "c:x",
        "~root",
        "$HOME",
    ),
    *(
        "ämber",
        "会議室",
        "аmber",
        "a\u200bbc",
        "ab\u0301c",
        "①②③",
        "١٢٣",
        "abc\x1b[2J",
        "-x-",
        "--x",
        "x;y",
        "a*b",
        "a,b",
    ),
    *("CON", "con", "prn", "aux", "nul", "com1", "lpt9", "user", "all", "system", "foreman", "peers", "admin", "root"),
    *("cccc", "broadcast", "amber-otter.json", "%00a", "a%2fb"),
]


def test_3_3_anything_else_is_no_name_and_nothing_is_made(repo: Scratch):
    answers = run_all(repo, [registering(name) for name in BAD])

    assert {name: (answer.code, answer.status) for name, answer in zip(BAD, answers, strict=True)} == dict.fromkeys(
        BAD, ("INVALID_AGENT_ID", 2)
    )
    assert not repo.store.exists()


@pytest.mark.parametrize("verb", ["show", "heartbeat"])
def test_what_is_no_name_is_refused_before_anything_is_looked_for(repo: Scratch, verb: str):
    answers = run_all(repo, [Call(["agent", verb, "--json", f"--agent={name}"]) for name in BAD])

    may_be = {name for name, answer in zip(BAD, answers, strict=True) if answer.code != "INVALID_AGENT_ID"}
    assert may_be == {name for name in BAD if ids.is_actor_id(name)} != set(), "an actor may be called that"
    assert {answer.code for answer in answers} == {"INVALID_AGENT_ID", "AGENT_NOT_FOUND"}
    assert not repo.store.exists()


@pytest.mark.parametrize("role", ["", " ", "\t", "\u3000", "x" * 65, "a\nb", "\x1b[2J"], ids=repr)
def test_a_role_is_one_line_of_up_to_64_characters(repo: Scratch, role: str):
    assert register(repo, "amber-otter", role).code == "INVALID_ROLE"
    assert not repo.store.exists()


def test_a_role_and_a_display_name_lose_the_blanks_around_them(repo: Scratch):
    answer = register(repo, "amber-otter", "  lead builder ", "--display", "\tAmber \n").data

    assert (answer["role"], answer["display_name"]) == ("lead builder", "Amber")
    assert [agent["agent_id"] for agent in repo.json("agent", "list", "--role", " lead builder").data] == [
        "amber-otter"
    ]


def test_the_first_thing_wrong_is_named(repo: Scratch):
    """Options there, then id, role and display name, then the settings, then the repository, then what it holds."""
    register(repo, "amber-otter")
    outside = Near(repo.path.parent, {"GIT_CEILING_DIRECTORIES": str(repo.path.parent.parent)})
    wrong = {"BB_NOW": "tomorrow", "BB_AGENT_STALE_MINUTES": "0"}

    here = run_all(
        repo,
        [
            Call(["agent", "register", "--role", " ", "--json"], wrong),
            registering("../x", " ", "--display", " ", **wrong),
            registering("amber-otter", " ", "--display", " ", **wrong),
            registering("amber-otter", "builder", "--display", " ", **wrong),
            registering("amber-otter", "builder", **wrong),
            registering("amber-otter", "builder", BB_AGENT_STALE_MINUTES="0"),
            registering("amber-otter", "builder", "--display", TOKEN),
            registering("dusty-wren", "builder", "--display", TOKEN),
        ],
    )
    elsewhere = run_all(outside, [registering("../x"), registering("amber-otter", " "), registering("amber-otter")])

    assert [answer.code for answer in here] == [
        "MISSING_OPTION",
        "INVALID_AGENT_ID",
        "INVALID_ROLE",
        "INVALID_DISPLAY_NAME",
        "INVALID_TIME",
        "INVALID_STALE_MINUTES",
        "DUPLICATE_AGENT_ID",
        "SECRET_FOUND",
    ]
    assert [answer.code for answer in elsewhere] == ["INVALID_AGENT_ID", "INVALID_ROLE", "NOT_A_REPOSITORY"]


def test_3_3_a_name_that_is_taken_is_refused_and_its_owner_is_not_touched(repo: Scratch):
    """Else whoever tries the name would keep a dead agent alive."""
    register(repo, "amber-otter", "builder", "--display", "Amber")
    before = recorded(repo)

    refused = register(repo, "amber-otter", "thief", BB_NOW=AT(20))

    assert (refused.code, refused.status) == ("DUPLICATE_AGENT_ID", 7)
    assert refused.envelope["error"]["details"] == {"agent_id": "amber-otter"}
    assert recorded(repo) == before
    shown = seen(repo, 20)
    assert (shown["role"], shown["liveness"]) == ("builder", "stale")


@pytest.mark.parametrize("minute", [5, 20, 45])
def test_3_3_a_name_is_taken_however_long_its_owner_has_been_silent(repo: Scratch, minute: int):
    register(repo, "amber-otter")

    assert register(repo, "amber-otter", BB_NOW=AT(minute)).code == "DUPLICATE_AGENT_ID"


def test_3_3_of_many_who_take_one_name_at_once_one_gets_it(repo: Scratch):
    starting = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "bb",
                "agent",
                "register",
                "--name",
                "amber-otter",
                "--role",
                f"role {number}",
                "--json",
            ],
            cwd=repo.path,
            env=environment(BB_NOW=NOON),
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(6)
    ]
    for process in starting:
        process.communicate()

    assert sorted(process.returncode for process in starting) == [0, 7, 7, 7, 7, 7]
    (winner,) = [number for number, process in enumerate(starting) if process.returncode == 0]
    assert repo.json("agent", "show", "--agent", "amber-otter").data["role"] == f"role {winner}"
    assert kinds(repo) == ["group.create", "actor.add"]


def test_a_changed_identity_keeps_when_it_joined_and_grows_a_version(repo: Scratch):
    register(repo, "amber-otter", "builder", "--display", "Amber")
    seen(repo, 1, "heartbeat")

    changed = register(repo, "amber-otter", "tester", "--force-update", BB_NOW=AT(2)).data
    renamed = register(repo, "amber-otter", "tester", "--force-update", "--display", "Amber O.", BB_NOW=AT(3)).data

    assert changed == {
        "agent_id": "amber-otter",
        "display_name": "Amber",
        "role": "tester",
        "status": "idle",
        "created_at": NOON,
        "last_seen_at": AT(2),
        "version": 3,
        "liveness": "active",
    }
    assert renamed == changed | {"display_name": "Amber O.", "last_seen_at": AT(3), "version": 4}
    assert kinds(repo) == ["group.create", "actor.add", "actor.update", "actor.update"]


def test_force_takes_a_free_name_too(repo: Scratch):
    assert register(repo, "amber-otter", "builder", "--force-update").data["version"] == 1
    assert kinds(repo) == ["group.create", "actor.add"]


def test_a_changed_identity_is_seen_by_heartbeats_that_do_not_open_the_ledger(repo: Scratch):
    register(repo, "amber-otter")
    register(repo, "amber-otter", "tester", "--force-update", "--display", "Amber")

    beat = repo.json("agent", "heartbeat", "--agent", "amber-otter").data

    assert (beat["role"], beat["display_name"]) == ("tester", "Amber")


@pytest.mark.parametrize("minute", [15, 45])
def test_3_3_2_a_silent_identity_is_not_taken_up_again_by_changing_it(repo: Scratch, minute: int):
    register(repo, "amber-otter")

    refused = register(repo, "amber-otter", "tester", "--force-update", BB_NOW=AT(minute))

    assert (refused.code, refused.status) == ("ADOPTION_NEEDED", 4)
    assert seen(repo, minute)["liveness"] != "active"
    assert seen(repo, minute, "heartbeat")["liveness"] == "active"
    assert register(repo, "amber-otter", "tester", "--force-update", BB_NOW=AT(minute)).data["role"] == "tester"


# -- the ledger is made when it is needed


def test_the_first_to_register_makes_the_ledger(repo: Scratch):
    assert not repo.store.exists()

    assert register(repo, "amber-otter").status == 0

    events = repo.json("ledger", "log").data
    assert [event["kind"] for event in events] == ["group.create", "actor.add"]
    assert repo.json("init").data["created"] is False


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("../x", "builder"), "INVALID_AGENT_ID"),
        (("amber-otter", " "), "INVALID_ROLE"),
        (("amber-otter", "builder", "--display", TOKEN), "SECRET_FOUND"),
        (("amber-otter", f"as {TOKEN}"), "SECRET_FOUND"),
    ],
)
def test_who_is_refused_makes_no_ledger(repo: Scratch, words: tuple[str, ...], code: str):
    assert register(repo, *words).code == code
    assert not repo.store.exists()


# -- repeating oneself


def test_a_repetition_under_one_key_records_once_and_answers_as_the_first_time(repo: Scratch):
    answers = run_all(repo, [registering("amber-otter", "builder", "--key", "session 1")] * 3)

    assert [answer.status for answer in answers] == [0, 0, 0]
    assert answers[0].data == answers[1].data == answers[2].data
    assert kinds(repo) == ["group.create", "actor.add"]


def test_a_key_is_each_agents_own(repo: Scratch):
    answers = run_all(repo, [registering(name, "builder", "--key", "1") for name in ("amber-otter", "cobalt-harbor")])

    assert [answer.data["agent_id"] for answer in answers] == ["amber-otter", "cobalt-harbor"]


def test_a_key_that_was_used_for_something_else_is_refused(repo: Scratch):
    register(repo, "amber-otter", "builder", "--key", "1")

    reused = register(repo, "amber-otter", "tester", "--key", "1", "--force-update")

    assert (reused.code, reused.status) == ("KEY_REUSED", 7)
    assert repo.json("agent", "show", "--agent", "amber-otter").data["role"] == "builder"


def test_a_change_may_be_repeated_under_its_key(repo: Scratch):
    register(repo, "amber-otter")
    answers = run_all(repo, [registering("amber-otter", "tester", "--force-update", "--key", "k")] * 2)

    assert answers[0].data == answers[1].data
    assert kinds(repo) == ["group.create", "actor.add", "actor.update"]


def test_of_many_who_repeat_themselves_at_once_all_are_told_the_same(repo: Scratch):
    starting = [
        subprocess.Popen(
            [sys.executable, "-m", "bb", *registering("amber-otter", "builder", "--key", "k").words],
            cwd=repo.path,
            env=environment(BB_NOW=NOON),
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    said = {process.communicate()[0] for process in starting}

    assert [process.returncode for process in starting] == [0] * 4
    assert len(said) == 1
    assert kinds(repo) == ["group.create", "actor.add"]


# -- secrets

SECRETS = {
    "a token": TOKEN,
    "a key id": "AK" + "IA" + "ABCD1234" * 2,
    "a password": "https://ada:" + "hunter22" + "@example.invalid",
    "in the middle": f"use {TOKEN} please",
}


@pytest.mark.parametrize("text", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("option", ["--display", "--role"])
def test_a_secret_is_refused_before_it_is_written_anywhere(repo: Scratch, option: str, text: str):
    register(repo, "cobalt-harbor")
    before = recorded(repo)
    words = ["agent", "register", "--name", "amber-otter", *({"--role": "builder"} | {option: text}).popitem()]
    words += ["--role", "builder"] if option == "--display" else []

    asked, told = run_all(repo, [Call([*words, "--json"]), Call(words)])

    assert (asked.code, asked.status, told.status) == ("SECRET_FOUND", 4, 4)
    assert text not in asked.out + told.err
    assert "--allow-secret" in told.err
    assert recorded(repo) == before


def test_a_secret_that_is_none_may_be_vouched_for_and_the_reason_is_recorded(repo: Scratch):
    answer = register(
        repo, "amber-otter", "builder", "--display", TOKEN, "--allow-secret", "  an example from the docs "
    )

    assert answer.data["display_name"] == TOKEN
    assert repo.json("ledger", "log").data[-1]["data"] == {
        "actor_id": "amber-otter",
        "role": "builder",
        "title": TOKEN,
        "secret_allowed": "an example from the docs",
    }


@pytest.mark.parametrize("reason", ["", " ", "x" * 501, f"because of {TOKEN}"], ids=lambda reason: repr(reason[:12]))
def test_a_reason_is_a_reason_and_no_secret_itself(repo: Scratch, reason: str):
    refused = register(repo, "amber-otter", "builder", "--display", TOKEN, "--allow-secret", reason)

    assert refused.status in (2, 4), refused.out
    assert not repo.store.exists()


def test_an_idempotency_key_is_not_the_place_for_a_secret_either(repo: Scratch):
    """It stands in the line, and a ledger cannot forget."""
    assert register(repo, "amber-otter", "builder", "--key", TOKEN).code == "SECRET_FOUND"
