"""What every command has in common: help, the envelope, exit statuses, and what happens to bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bb.kernel.event import Event
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from bb.ops import catalogue
from tests.faces.good_calls import ONCE, commands, good_words, prepare, status_of
from tests.near import Near, near
from tests.support import NOON, Scratch, copied, environment, scratch
from tests.waiting import PATIENCE

OPS = {op.name: op for op in catalogue.all_ops()}


@pytest.fixture
def here(repo: Scratch) -> Scratch:
    """A repository where amber-otter works."""
    assert repo.bb("agent", "register", "--name", "amber-otter", "--role", "builder").status == 0
    return repo


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository in which every op has something to be about."""
    made = near(tmp_path_factory.mktemp("example") / "repo")
    prepare(made)
    return made.path


@pytest.mark.parametrize("op", OPS.values(), ids=OPS)
def test_every_op_answers_with_one_envelope_wherever_json_stands(example: Path, tmp_path: Path, op: catalogue.Op):
    repo = Near(copied(example, tmp_path / "repo"))
    words = good_words(op, repo)

    behind = repo.bb(*words, "--json")
    before = repo.bb("--json", *words) if op.name not in ONCE else behind

    assert behind.status == before.status == status_of(op), behind.out
    assert behind.envelope["command"] == before.envelope["command"] == op.words
    assert behind.status == 0 or behind.code in ("DAEMON_UNAVAILABLE", "NEEDS_STREAM")
    assert repo.bb(*words).status == ONCE.get(op.name, status_of(op))


@pytest.mark.parametrize("op", commands().values(), ids=commands())
def test_every_op_explains_itself_in_every_way_one_asks(tmp_path: Path, op: catalogue.Op):
    repo = Near(tmp_path)
    words = op.words.split()
    asked = [repo.bb(*words, "--help"), repo.bb(*words, "-h"), repo.bb("help", *words)]

    assert [ran.status for ran in asked] == [0, 0, 0]
    assert asked[0].out == asked[1].out == asked[2].out
    assert op.summary.split(".")[0][:40] in asked[0].out
    assert all(parameter.option in asked[0].out for parameter in op.parameters if not parameter.is_argument)
    assert op.examples[0][:50] in asked[0].out
    assert repo.json(*words, "--help").data["help"] == asked[0].out


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"], ["agent"], ["help", "agent"], ["ledger", "-h"]])
def test_help_at_every_level(repo: Scratch, words: list[str]):
    ran = repo.bb(*words)

    assert ran.status == 0
    assert ran.out.startswith("Usage: bb")
    assert ran.err == ""


@pytest.mark.parametrize(
    ("words", "code", "status"),
    [
        (["agent"], "MISSING_COMMAND", 2),
        (["agnet", "list"], "UNKNOWN_COMMAND", 2),
        (["agent", "lst"], "UNKNOWN_COMMAND", 2),
        (["agent", "list", "--nonsense"], "UNKNOWN_OPTION", 2),
        (["agent", "list", "stray"], "UNEXPECTED_ARGUMENT", 2),
        (["agent", "show", "--agent"], "MISSING_VALUE", 2),
        (["agent", "register", "--name", "--role", "builder"], "MISSING_VALUE", 2),
        (["agent", "register", "--name", "dusty-wren"], "MISSING_OPTION", 2),
        (["agent", "register", "--name", "../x", "--role", "builder"], "INVALID_AGENT_ID", 2),
        (["agent", "register", "--name", "dusty-wren", "--role", " "], "INVALID_ROLE", 2),
        (["agent", "register", "--name", "dusty-wren", "--role", "a\x1b[2Jb"], "INVALID_ROLE", 2),
        (["agent", "register", "--name", "dusty-wren", "--role", "x", "--display", "a\nb"], "INVALID_DISPLAY_NAME", 2),
        (["agent", "list", "--liveness", "sleepy"], "INVALID_VALUE", 2),
        (["ledger", "log", "--limit", "0"], "INVALID_VALUE", 2),
        (["ledger", "log", "--limit", "1.5"], "INVALID_VALUE", 2),
        (["ledger", "log", "--since", "tomorrow"], "INVALID_TIME", 2),
        (["ledger", "show", "../../x.1"], "INVALID_EVENT_ID", 2),
        (["ledger", "show"], "MISSING_OPTION", 2),
        (["agent", "show"], "NO_AGENT", 2),
        (["agent", "show", "--agent", "nobody-here"], "AGENT_NOT_FOUND", 3),
        (["ledger", "show", "aaaabbbbcccc.1"], "EVENT_NOT_FOUND", 3),
        (["call", "agent.sing"], "UNKNOWN_OP", 3),
        (["call"], "MISSING_OPTION", 2),
        (["call", "agent.show", "--args", "{"], "INVALID_JSON", 2),
        (["call", "agent.show", "--args", "[]"], "INVALID_JSON", 2),
        (["call", "agent.show", "--args", '{"agnet": "x"}'], "UNKNOWN_FIELD", 2),
        (["call", "agent.show", "--args", '{"agent": 7}'], "INVALID_VALUE", 2),
        (["init", "--undo"], "HISTORY_PRESENT", 4),
        (["agent", "register", "--name", "amber-otter", "--role", "x"], "DUPLICATE_AGENT_ID", 7),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_a_refusal_has_a_stable_code_and_its_familys_status(here: Scratch, words: list[str], code: str, status: int):
    asked = here.json(*words)
    told = here.bb(*words) if words != ["agent"] else None

    assert (asked.code, asked.status) == (code, status)
    assert asked.err == ""
    if told:
        assert (told.out, told.status) == ("", status)
        assert told.err.startswith(f"Error: [{code}] ")
        assert "\x1b" not in told.err


def test_a_misspelt_command_gets_a_suggestion(repo: Scratch):
    assert "'heartbeat'" in repo.bb("agent", "hartbeat").err


def test_text_that_is_no_utf_8_is_refused_and_nothing_is_written(here: Scratch):
    before = here.journal().read_bytes()

    ran = here.json("agent", "register", "--name", "dusty-wren", "--role", b"caf\xe9")

    assert (ran.code, ran.status) == ("INVALID_TEXT", 2)
    assert here.journal().read_bytes() == before


def test_outside_a_repository_agents_are_refused_and_the_ledger_is_the_one_at_home(tmp_path: Path):
    outside = Scratch(tmp_path, {"BB_HOME": str(tmp_path / "home"), "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)})

    assert [
        outside.json(*words).code
        for words in (["agent", "list"], ["agent", "heartbeat", "--agent", "amber-otter"], ["init"])
    ] == ["NOT_A_REPOSITORY"] * 3
    assert outside.json("ledger", "log").code == "NOT_INITIALIZED"
    assert outside.json("ledger", "status").data["exists"] is False
    assert outside.json("init", "--home").data["created"] is True
    assert [event["kind"] for event in outside.json("ledger", "log").data] == ["group.create"]
    assert outside.json("init", "--home", "--undo").data["left"] == []


def test_a_directory_that_is_gone_is_no_repository(repo: Scratch):
    gone = repo.path / "gone"
    gone.mkdir()
    code = "import os, sys; os.rmdir(os.getcwd()); sys.argv = ['bb', 'agent', 'list', '--json']; "
    code += "from bb.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), cwd=gone, capture_output=True, text=True)

    assert json.loads(done.stdout)["error"]["code"] == "NOT_A_REPOSITORY"


@pytest.mark.parametrize("minutes", ["0", "-1", "abc", "7.5"])
@pytest.mark.parametrize("op", ["agent.register", "agent.heartbeat", "agent.list", "agent.show"])
def test_stale_minutes_that_are_none_are_refused_by_every_agent_verb(here: Scratch, op: str, minutes: str):
    ran = here.json(*good_words(OPS[op], here), BB_AGENT_STALE_MINUTES=minutes)

    assert (ran.code, ran.status) == ("INVALID_STALE_MINUTES", 2)


@pytest.mark.parametrize("op", ["agent.register", "agent.heartbeat", "agent.list", "init", "ledger.log"])
def test_a_now_that_is_no_time_is_refused(here: Scratch, op: str):
    ran = here.json(*good_words(OPS[op], here), BB_NOW="yesterday")

    assert (ran.code, ran.status) == ("INVALID_TIME", 2)
    assert "BB_NOW" in ran.envelope["error"]["message"]


# -- streams


def shell(command: str, repo: Scratch, **settings: str) -> subprocess.CompletedProcess[str]:
    program = f"{sys.executable} -m bb"
    return subprocess.run(
        ["sh", "-c", command.replace("bb", program, 1)],
        cwd=repo.path,
        env=environment(**settings),
        capture_output=True,
        text=True,
    )


def test_closed_streams_harm_nobody(here: Scratch):
    assert shell("bb agent list --json <&-", here).returncode == 0
    assert shell("bb agent heartbeat --agent amber-otter --json >&-", here).returncode == 0
    assert shell("bb agent register --name dusty-wren --role x --json >&- 2>&- <&-", here).returncode == 0
    assert shell("bb agent show --agent nobody-here 2>&-", here).returncode == 3

    found = [file for file in here.store.rglob("*") if file.is_file() and b'"ok":' in file.read_bytes()]
    assert found == [], "an answer went into a file of the ledger"
    assert here.json("ledger", "verify").status == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_an_answer_that_cannot_be_written_is_no_success(here: Scratch):
    done = shell("bb agent list --json >/dev/full", here)

    assert done.returncode == 1
    assert "OUTPUT_FAILED" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away_leaves_no_trace(here: Scratch):
    done = shell("{ bb ledger export; echo $? >status; } | true; sleep 0.5", here)

    assert done.stderr == ""


@pytest.mark.parametrize(
    "settings",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_names_beyond_the_terminals_encoding_are_shown_all_the_same(here: Scratch, settings: dict[str, str]):
    here.bb("agent", "register", "--name", "dusty-wren", "--role", "Prüfer 試", "--display", "小鳥")

    told = here.bb("agent", "list", **settings)
    asked = here.json("agent", "show", "--agent", "dusty-wren", **settings)

    assert told.status == 0, told.err
    assert "dusty-wren" in told.out
    assert asked.data["display_name"] == "小鳥"


def test_an_interrupted_follower_ends_quietly(here: Scratch):
    follower = subprocess.Popen(
        [sys.executable, "-m", "bb", "ledger", "log", "--follow"],
        cwd=here.path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert follower.stdout is not None
    assert "group.create" in follower.stdout.readline()

    follower.send_signal(signal.SIGINT)
    _, err = follower.communicate(timeout=PATIENCE)

    assert (follower.returncode, err) == (130, "")


def test_a_follower_shows_what_another_process_appends(here: Scratch):
    follower = subprocess.Popen(
        [sys.executable, "-m", "bb", "ledger", "log", "--follow", "--limit", "1", "--json"],
        cwd=here.path,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert follower.stdout is not None
    try:
        assert json.loads(follower.stdout.readline())["kind"] == "actor.add"
        here.bb("agent", "register", "--name", "dusty-wren", "--role", "builder")
        assert json.loads(follower.stdout.readline())["by"] == "dusty-wren"
    finally:
        follower.terminate()
        follower.communicate()


# -- hostile ledgers, secrets, bugs


def test_what_others_wrote_is_shown_harmless(here: Scratch):
    evil = "x\x1b]8;;http://evil\x07y\u202ez\r\nError: [FORGED]"
    (folder,) = (here.store / "j").iterdir()
    journal = Journal(str(here.store), folder.name)
    link = journal.tail()
    for kind, data in (("actor.add", {"actor_id": "evil-robin", "role": evil, "title": evil}), (evil, {evil: evil})):
        event = Event(f"{folder.name}.{link.n + 1}", link.lamport + 1, NOON, kind, evil, data, "g_x")
        raw, link = lines.write(event, link, "saltsalt")
        with here.journal().open("ab") as file:
            file.write(raw)

    for words in (
        ["agent", "list"],
        ["agent", "show", "--agent", "evil-robin"],
        ["ledger", "log"],
        ["ledger", "verify"],
    ):
        told = here.bb(*words)
        assert told.status == (3 if "show" in words else 0), told.err  # no bb could have registered it
        assert not set("\x1b\x07\r\u202e") & set(told.out + told.err)
        assert not any(line.startswith("Error") for line in told.out.splitlines())
    written = [each for each in here.json("ledger", "log").data if "unreadable" in each]
    assert [(each["kind"], each["by"]) for each in written] == [("", ""), ("", "")]
    assert here.bb("ledger", "export", "--raw").out.count("FORGED") > 2, "nothing is lost"


def test_a_secret_is_refused_unless_somebody_says_why(here: Scratch):
    token = "gh" + "p_" + "aB3d" * 9
    words = ("agent", "register", "--name", "dusty-wren", "--role", "builder", "--display", token)
    before = here.journal().read_bytes()

    assert here.json(*words).code == "SECRET_FOUND"
    assert here.json(*words, "--allow-secret", " ").code == "INVALID_VALUE"
    assert here.journal().read_bytes() == before
    assert here.json(*words, "--allow-secret", "an example").status == 0
    assert json.loads(here.journal().read_text().splitlines()[-1])["data"]["secret_allowed"] == "an example"


BUGGY = """
import sys
from bb.ops import catalogue
op = catalogue.find("agent.list")
def broken(desk, **given): raise RuntimeError("token " + "gh" + "p_" + "aB3d" * 9 + " in " + {home!r})
catalogue._declared["agent.list"] = op.replace(call=broken)
sys.argv = ["bb", "agent", "list", *sys.argv[1:]]
from bb.__main__ import main
main()
"""


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_bug_becomes_a_report_without_secrets(here: Scratch, words: list[str]):
    code = BUGGY.replace("{home!r}", repr(os.path.expanduser("~") + "/x"))
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=here.path, env=environment(), capture_output=True, text=True
    )
    said = done.stdout + done.stderr

    assert done.returncode == 1
    assert "aB3d" * 3 not in said
    assert "[GitHub token]" in said
    assert "~/x" in said
    if words:
        error = json.loads(done.stdout)["error"]
        assert error["code"] == "INTERNAL_ERROR"
        assert "Traceback" in error["details"]["report"]
        assert done.stderr == ""
    else:
        assert done.stderr.startswith("Error: [INTERNAL_ERROR]")
        assert "Traceback" in done.stderr


# -- completion, versions, the demo


def completed(repo: Scratch, typed: str, count: int) -> list[str]:
    ran = repo.bb(_BB_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=str(count))
    return ran.out.split()


def test_groups_verbs_options_and_agents_are_completed(here: Scratch):
    assert completed(here, "bb ag", 1) == ["agent"]
    assert completed(here, "bb agent he", 2) == ["heartbeat"]
    assert "--force-update" in completed(here, "bb agent register --", 3)
    assert completed(here, "bb agent show --agent am", 4) == ["amber-otter"]


def test_the_version_in_every_form(repo: Scratch):
    assert repo.bb("--version").out == "bb 0.1.0\n"
    assert repo.json("--version").data == {"version": "0.1.0"}


def test_doctor_notices_another_program_called_bb(here: Scratch, tmp_path: Path):
    other = tmp_path / "bin" / "bb"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\necho babashka\n")
    other.chmod(0o755)

    (finding,) = [
        check
        for check in here.json("doctor", PATH=f"{other.parent}{os.pathsep}{os.environ['PATH']}").data["checks"]
        if check["name"] == "command"
    ]

    assert (finding["state"], finding["mend"]) == ("odd", "call it as beadboard")
    assert str(other) in finding["text"]


def test_call_reads_its_arguments_from_stdin_too(here: Scratch):
    assert here.json("call", "agent.show", "--args", "-", stdin='{"agent": "amber-otter"}').data["role"] == "builder"


def test_call_names_every_op(repo: Scratch):
    assert [row["op"] for row in repo.json("call", "--list").data] == list(OPS)


def test_the_tests_use_a_repository_of_their_own(tmp_path: Path):
    assert scratch(tmp_path / "x").store == tmp_path / "x" / ".git" / "bb"
