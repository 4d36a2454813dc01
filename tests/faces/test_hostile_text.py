"""Text from the command line that would harm a terminal is refused; from a ledger that somebody else wrote, defused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faces.faces_support import Forger
from tests.forks import Call
from tests.hostile import BIDI, C1, HOSTILE, LINES, RAW, SEVEN_BIT
from tests.near import near, run_all
from tests.support import NOON, Scratch, environment


@pytest.fixture
def here(repo: Scratch) -> Scratch:
    repo.settings["BB_NOW"] = NOON
    assert repo.bb("agent", "register", "--name", "amber-otter", "--role", "builder").status == 0
    return repo


# -- from the command line


CONTROLS = [*"\x01\x07\x08\x09\x0a\x0d\x1b\x1f\x7f\x80\x85\x9b\x9f", *"\u200e\u202e\u2028\u2066\ufeff\ue000"]


@pytest.mark.parametrize("text", CONTROLS, ids=lambda text: f"U+{ord(text):04X}")
def test_a_role_or_display_name_that_a_terminal_would_obey_is_refused(here: Scratch, text: str):
    before = here.journal().read_bytes()
    calls = [
        Call(["agent", "register", "--name", "dusty-wren", "--role", f"a{text}b"]),
        Call(["agent", "register", "--name", "dusty-wren", "--role", "builder", "--display", f"a{text}b"]),
        Call(["agent", "register", "--name", "dusty-wren", "--role", "builder", "--key", f"a{text}b"]),
        Call(["agent", "list", "--role", f"a{text}b"]),
    ]

    answers = run_all(here, [Call([*call.words, "--json"]) for call in calls])
    told = run_all(here, calls)

    codes = ["INVALID_ROLE", "INVALID_DISPLAY_NAME", "INVALID_VALUE", "INVALID_ROLE"]
    assert [answer.code for answer in answers] == codes
    assert [answer.status for answer in [*answers, *told]] == [2] * 8
    assert all(text == "\n" or text not in answer.out + answer.err for answer in [*answers, *told])
    assert here.journal().read_bytes() == before


@pytest.mark.parametrize("role", ["Bäcker", "試験者", "проверка", "מפתח", "🦦", "a" * 64, "C++ / Rust & more", "-"])
def test_a_name_in_any_script_is_fine(here: Scratch, role: str):
    done = here.json("agent", "register", "--name", "dusty-wren", "--role", role, "--display", role)

    assert (done.data["role"], done.data["display_name"]) == (role, role)
    assert role in here.bb("agent", "list", PYTHONIOENCODING="utf-8").out


@pytest.mark.parametrize(
    "words",
    [
        ["agent", "show", "--agent", SEVEN_BIT],
        ["agent", "list", "--liveness", SEVEN_BIT],
        ["agent", "list", SEVEN_BIT],
        ["agent", SEVEN_BIT],
        [SEVEN_BIT],
        [f"--{SEVEN_BIT}"],
        ["ledger", "show", LINES],
        ["ledger", "log", "--since", BIDI],
        ["ledger", "log", "--limit", C1],
        ["ledger", "log", "--agent", LINES],
        ["call", LINES],
        ["call", "agent.list", "--args", json.dumps({SEVEN_BIT + C1: 1})],
        ["call", "agent.list", "--args", LINES],
    ],
)
def test_a_refusal_repeats_bad_words_harmlessly_on_one_line(here: Scratch, words: list[str]):
    (told,) = run_all(here, [Call(words)])

    assert told.status in (2, 3)
    assert told.err.startswith("Error: [")
    assert "[FORGED]" not in [line[7:15] for line in told.err.splitlines()]
    assert len(told.err.splitlines()) <= 2
    assert not RAW & set(told.err)


@pytest.mark.parametrize("name", ["BB_AGENT", "BB_NOW", "BB_AGENT_STALE_MINUTES", "BB_HOME", "GIT_DIR", "PATH"])
def test_a_setting_is_repeated_harmlessly_too(here: Scratch, name: str):
    value = SEVEN_BIT + BIDI + LINES + (":/usr/bin:/bin" if name == "PATH" else "")
    calls = [Call([*words], {name: value}) for words in (["doctor"], ["agent", "heartbeat"], ["ledger", "status"])]

    for told in run_all(here, calls):
        assert not RAW & set(told.out + told.err)
        assert not [line for line in told.err.splitlines() if line.startswith("Error: [FORGED]")]


def test_a_directory_with_a_hostile_name_is_shown_harmless(tmp_path: Path):
    repo = near(tmp_path / f"re\x1b[2Jpo\u202e\n{C1}")

    told = [repo.bb(*words) for words in (["init"], ["ledger", "status"], ["doctor"], ["ledger", "log"], ["init"])]

    assert [ran.status for ran in told] == [0] * 5
    assert all(not RAW & set(ran.out + ran.err) for ran in told)
    assert repo.json("ledger", "log").data[0]["data"]["title"] == repo.path.name


# -- from the ledger


@pytest.fixture(scope="module")
def haunted(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    """A ledger in which every member of some lines is hostile, and of others what may be; the lines chain as they
    should."""
    repo = near(tmp_path_factory.mktemp("haunted") / "repo")
    repo.settings["BB_NOW"] = NOON
    repo.bb("agent", "register", "--name", "amber-otter", "--role", "builder")
    forger = Forger(repo)
    for number, text in enumerate(HOSTILE.values()):
        forger.add("actor.add", text, {"actor_id": f"evil-{number}", "role": text, "title": text})
        forger.add(text, text, {text: text, "list": [text, {text: [text]}]}, ts=text, group_id=text, scope_key=text)
        forger.add("actor.add", "user", {"actor_id": f"evil-{number}", "role": "builder", "title": "Evil"})
        forger.add("chat.message", "user", {"text": text, "deep": {"deeper": {"deepest": text}}})
    return repo


TOLD = [
    ["agent", "list"],
    ["agent", "show", "--agent", "evil-0"],
    ["agent", "show", "--agent", "evil-3"],
    ["ledger", "log"],
    ["ledger", "status"],
    ["ledger", "verify"],
    ["ledger", "export"],
    ["doctor"],
    ["agent", "heartbeat", "--agent", "evil-2"],
    ["agent", "register", "--name", "evil-1", "--role", "builder"],
]


@pytest.mark.parametrize("words", TOLD, ids=" ".join)
def test_a_hostile_ledger_is_shown_harmless(haunted: Scratch, words: list[str]):
    told = haunted.bb(*words, PYTHONIOENCODING="utf-8")

    assert told.status == (7 if "register" in words else 0), told.err
    said = told.out + told.err
    assert not RAW & set(said)
    assert all(line.isprintable() for line in said.splitlines())
    assert not [line for line in said.splitlines() if line.startswith("Error: [FORGED]")]


def test_every_event_takes_one_line_of_the_log_and_shows_what_it_hides(haunted: Scratch):
    told = haunted.bb("ledger", "log", "--limit", "100", PYTHONIOENCODING="utf-8").out
    asked = haunted.json("ledger", "log", "--limit", "100").data

    assert len(told.splitlines()) == len(asked) >= 2 + 4 * len(HOSTILE)
    assert told.count("  unreadable: its `by` is not valid  ") == len(HOSTILE)
    assert told.count("  unreadable: its `ts` is not valid  ") == len(HOSTILE)
    assert "\\x1b[2J" in told
    assert "abc\\u202edef" in told
    assert "one\\x0atwo\\x0d\\x0aError: [FORGED]" in told


def test_each_hostile_event_can_be_shown_by_its_id(haunted: Scratch):
    events = haunted.json("ledger", "log", "--limit", "100").data
    told = run_all(haunted, [Call(["ledger", "show", event["id"]]) for event in events])

    for event, one in zip(events, told, strict=True):
        assert not RAW & set(one.out + one.err)
        if event.get("unreadable"):
            assert one.err.startswith(f"Error: [EVENT_UNREADABLE] {event['id']} cannot be read: its `")
        else:
            assert len(one.out.splitlines()) == len(event) + 1


@pytest.mark.parametrize("words", [["ledger", "log"], ["ledger", "export"]], ids=" ".join)
def test_json_carries_hostile_text_unchanged_and_in_ascii(haunted: Scratch, words: list[str]):
    asked = haunted.json(*words)

    assert asked.out.isascii()
    assert not RAW & set(asked.out)
    texts = [item["data"].get("text") for item in asked.data]
    assert set(HOSTILE.values()) <= set(texts)


def test_what_is_exported_line_by_line_stays_one_json_object_a_line(haunted: Scratch):
    told = haunted.bb("ledger", "export").out

    assert told.isascii()
    assert [json.loads(line) for line in told.splitlines()] == haunted.json("ledger", "export").data


def test_a_follower_shows_hostile_events_harmless_as_they_come(tmp_path: Path):
    repo = near(tmp_path / "repo")
    repo.bb("init")
    forger = Forger(repo)
    follower = subprocess.Popen(
        [sys.executable, "-m", "bb", "ledger", "log", "--follow"],
        cwd=repo.path,
        env=environment(PYTHONIOENCODING="utf-8"),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert follower.stdout is not None
    try:
        follower.stdout.readline()
        for text in HOSTILE.values():
            forger.add(text, text, {text: text})
        said = [follower.stdout.readline() for _ in HOSTILE]
    finally:
        follower.terminate()
        follower.stdout.close()
        follower.wait()

    assert all(line[:-1].isprintable() and line.endswith("]\n") for line in said)


# -- lines that are in their place and say nothing


@pytest.fixture
def muddled(here: Scratch) -> Scratch:
    """A ledger with sound lines whose data are no JSON, no UTF-8, or nested beyond reason, and a good line behind."""
    forger = Forger(here)
    forger.add_octets(b'{"_":"saltsalt","text":"b\xe4cker"}')
    forger.add_octets(b'{"_":"saltsalt","text":"\\ud800"}')
    forger.add_octets(b'{"_":"saltsalt","text":' + b"[" * 5000 + b"]" * 5000 + b"}")
    forger.add_octets(b"null  ")
    forger.add_octets(b"[1,2]")
    forger.add_octets(b'{"_":"saltsalt","n":NaN}')
    forger.add_octets(b"not json at all")
    forger.add("x.after", "amber-otter", {"text": "still here"})
    return here


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize(
    "words",
    [
        ["ledger", "log"],
        ["ledger", "log", "--kind", "x.after"],
        ["ledger", "export"],
        ["ledger", "export", "--raw"],
        ["ledger", "export", "--raw", "--output", "copy.jsonl"],
        ["ledger", "export", "--output", "events.jsonl"],
        ["ledger", "verify"],
        ["ledger", "status"],
        ["ledger", "rebuild"],
        ["agent", "list"],
        ["doctor"],
    ],
    ids=" ".join,
)
def test_a_line_that_says_nothing_is_passed_over(muddled: Scratch, words: list[str], form: list[str]):
    if form and words[2:] == ["--raw"]:
        pytest.skip("octets that are no text have no place in a JSON document")
    done = muddled.bb(*words, *form)

    assert done.status == 0, done.out + done.err
    assert done.err == ""


def test_the_line_behind_one_that_says_nothing_is_still_read(muddled: Scratch):
    assert muddled.json("ledger", "log").data[-1]["data"] == {"text": "still here"}
    assert muddled.json("ledger", "verify").data["events"] == 10


def test_a_raw_copy_holds_every_octet_of_every_line(muddled: Scratch):
    done = subprocess.run(
        [sys.executable, "-m", "bb", "ledger", "export", "--raw"],
        cwd=muddled.path,
        env=environment(),
        capture_output=True,
    )

    assert done.stdout == muddled.journal().read_bytes()


def test_a_line_that_says_nothing_can_be_asked_for_and_is_refused(muddled: Scratch):
    writer = muddled.journal().parent.name
    answers = run_all(muddled, [Call(["ledger", "show", f"{writer}.{n}", "--json"]) for n in (3, 4, 5, 7, 8, 9)])

    assert [answer.code for answer in answers] == ["EVENT_UNREADABLE"] * 6
    assert all(answer.status == 4 and "upgrade bb" in answer.envelope["error"]["hint"] for answer in answers)
