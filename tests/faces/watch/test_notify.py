"""`bb notify`: a command of one's own for each new problem, and nothing that an agent wrote in its command line."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bb.cli.watch import notify, notify_run
from bb.ledger.files.lock import Lock
from tests.faces.following import Following
from tests.faces.test_hostile_text import HOSTILE, RAW
from tests.near import Near, near
from tests.support import is_running
from tests.waiting import until

AMBER = "amber-otter"
# Notes down what it is told: its words, what stands in its environment, what it reads.
TELL = """#!{python}
import json, os, sys
told = {{name: value for name, value in os.environ.items() if name.startswith(("BB_PROBLEM_", "BB_REPOSITORY"))}}
with open({log!r}, "a", encoding="utf-8") as log:
    log.write(json.dumps({{"words": sys.argv[1:], "env": told, "stdin": json.load(sys.stdin)}}) + "\\n")
"""


class Told:
    """A program that is run for problems, and what it was told."""

    def __init__(self, folder: Path) -> None:
        self.path, self._log = folder / "tell", folder / "told.jsonl"
        self.path.write_text(TELL.format(python=sys.executable, log=str(self._log)))
        self.path.chmod(0o755)

    @property
    def all(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text().splitlines()] if self._log.exists() else []

    @property
    def subjects(self) -> list[str]:
        return [each["stdin"]["problem"]["text"].partition(": ")[2] for each in self.all]

    def until(self, count: int) -> list[dict[str, Any]]:
        until(lambda: len(self.all) >= count, lambda: f"{count} problems, told {len(self.all)}")
        return self.all


@pytest.fixture
def here(tmp_path: Path) -> Near:
    repo = near(tmp_path / "repo")
    assert repo.bb("agent", "register", "--name", AMBER, "--role", "builder").status == 0
    return repo


@pytest.fixture
def tell(tmp_path: Path) -> Told:
    return Told(tmp_path)


def ask(repo: Near, subject: str, body: str = "ISO or RFC?") -> str:
    words = ["--bead", "bb-1", "--category", "BLOCKED", "--subject", subject, "--body", body]
    return str(repo.json("agent", "send", "--from", AMBER, "--to", "user", *words).data["message_id"])


def ready(telling: Following, repo: Near) -> None:
    """Wait until it follows: a problem that was there before is not told."""
    warm = []
    while telling.is_silent(0.3):
        warm.append(ask(repo, f"Warm {len(warm)}?"))
    told_of(telling, warm[-1])


def told_of(telling: Following, message: str) -> dict[str, Any]:
    """What is said of the problem that a message is."""
    while (document := telling.document())["problem"]["message_id"] != message:
        continue
    return document


def test_a_test_runs_the_command_once_with_a_problem_that_is_made_up(here: Near, tell: Told):
    ran = here.json("notify", "--command", f"{tell.path} 'two words' $HOME", "--test")

    (told,) = tell.all
    assert ran.data["words"] == [str(tell.path), "two words", "$HOME"]
    assert told["words"] == ["two words", "$HOME"]
    assert told["stdin"]["problem"]["kind"] == told["env"]["BB_PROBLEM_KIND"] == "test"
    assert here.json("notify", "--command", str(tell.path), "--once").data == {"told": [], "open": 0}


def test_each_new_problem_is_told_once_and_not_what_was_there(here: Near, tell: Told):
    ask(here, "Before")
    with Following(here, "notify", "--command", str(tell.path), "--json") as telling:
        ready(telling, here)
        before = len(tell.all)
        message = ask(here, "Which format?")
        document = telling.document()
        ask(here, "Which zone?")
        tell.until(before + 2)
        assert telling.end() == 130

    assert "Before" not in tell.subjects
    assert tell.subjects[before:] == ["Which format?", "Which zone?"]
    told = tell.all[before]
    assert (document["told"], document["why"], document["problem"]["message_id"]) == (True, None, message)
    assert told["env"] == {
        "BB_PROBLEM_ID": f"asked:{message}",
        "BB_PROBLEM_KIND": "asked",
        "BB_PROBLEM_TEXT": "amber-otter is blocked and asks user: Which format?",
        "BB_PROBLEM_NEXT_STEP": f"bb ack {message} --agent user",
        "BB_PROBLEM_SINCE": document["problem"]["since"],
        "BB_REPOSITORY": "repo",
    }
    assert told["stdin"] == {
        "what": "new",
        "at": told["stdin"]["at"],
        "repository": "repo",
        "problem": document["problem"],
    }
    assert told["words"] == []


def test_existing_ones_are_told_if_that_is_wanted(here: Near, tell: Told):
    ask(here, "Before")
    with Following(here, "notify", "--command", str(tell.path), "--existing") as telling:
        assert telling.line() == 'Reported: amber-otter is blocked and asks user: "Before"'


def test_once_tells_what_is_new_since_it_was_run_last(here: Near, tell: Told):
    def once(*words: str, command: str = str(tell.path)) -> dict[str, Any]:
        found: dict[str, Any] = here.json("notify", "--command", command, "--once", *words).data
        return found

    first = ask(here, "One")
    assert once() == {"told": [f"asked:{first}"], "open": 1}
    assert once() == {"told": [], "open": 1}
    second = ask(here, "Two")
    assert once()["told"] == [f"asked:{second}"]
    assert once("--existing")["told"] == [f"asked:{first}", f"asked:{second}"]
    assert len(once(command=f"{tell.path} --other")["told"]) == 2, "another command tells for itself"

    here.bb("agent", "ack", "--agent", "user", "--message", first)
    assert once() == {"told": [], "open": 1}
    remembered = json.loads((here.store / "notify.json").read_text())
    assert sorted(map(len, remembered.values())) == [1, 2]


def test_once_says_that_it_failed_and_tells_it_the_next_time(here: Near, tell: Told, tmp_path: Path):
    ask(here, "One")
    ask(here, "Two")
    flaky = f"test -e {tmp_path}/well && exec {tell.path}"
    words = ["notify", "--shell", "--command", flaky, "--once"]

    failed = here.json(*words)
    (tmp_path / "well").touch()
    told = here.json(*words)

    assert (failed.code, failed.status) == ("NOTIFY_FAILED", 4)
    details = failed.envelope["error"]["details"]
    assert (details["told"], [each["why"] for each in details["failed"]]) == ([], ["ended with status 1"] * 2)
    assert len(told.data["told"]) == 2
    assert tell.subjects == ["One", "Two"]


@pytest.mark.parametrize("left", [b"", b"{", b"[]", b'{"a": 1}', b'{"a": [1]}'])
def test_notes_that_are_lost_or_damaged_mean_that_it_is_told_again(here: Near, tell: Told, left: bytes):
    ask(here, "One")
    here.bb("notify", "--command", str(tell.path), "--once")
    (here.store / "notify.json").write_bytes(left)

    assert len(here.json("notify", "--command", str(tell.path), "--once").data["told"]) == 1


def test_two_at_once_do_not_tell_twice(here: Near, tell: Told):
    ask(here, "One")
    here.bb("notify", "--command", "true", "--once")
    with Lock(str(here.store / "notify.lock")):
        ran = here.json("notify", "--command", str(tell.path), "--once")

    assert (ran.code, ran.status) == ("ALREADY_NOTIFYING", 6)
    assert tell.all == []


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("false", "ended with status 1"),
        ("no-such-program-here", "cannot be started: No such file or directory: no-such-program-here"),
        ("/", "cannot be started: Permission denied: /"),
        ("sh -c 'kill -9 $$'", "was ended by signal 9"),
    ],
)
def test_a_command_that_fails_is_said_and_is_no_end(here: Near, tell: Told, command: str, why: str):
    here.settings["PATH"] = os.defpath  # else a folder of it that may not be read would be the reason
    with Following(here, "notify", "--command", command, "--json") as telling:
        ready(telling, here)
        for subject in ("One", "Two"):
            said = told_of(telling, ask(here, subject))
            assert (said["told"], said["why"]) == (False, why)
        assert telling.end() == 130
        assert (
            f'Error: [NOTIFY_FAILED] amber-otter is blocked and asks user: "One": the command {why}; '
            "next attempt in 10 s" in (telling.complained())
        )


def test_a_failure_is_tried_again_later_and_later_and_then_no_more(here: Near, monkeypatch: pytest.MonkeyPatch):
    """A minute is a long time in a test, so only the rule is looked at here."""
    monkeypatch.setattr(notify, "run", lambda *_: notify_run.Failure("failed", "mend it"))
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    from bb.ops.desk import desk

    monkeypatch.chdir(here.path)
    what = notify.wanted("true", 30, is_shell=False, is_existing=False, is_once=False, is_test=False)
    due: notify.Due | None = notify.Due({"id": "a", "text": "It is so."}, 0.0, 0)
    moments = []
    while due := notify._tell(desk.desk_here(), what, due, as_json=False):
        moments.append(due.at - 1000)

    assert moments == [10, 60, 300]


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("/nowhere/at-all", notify_run.NOT_STARTED),
        ("sleep 60", notify_run.TOO_LONG),
        ("sh -c 'echo why; exit 3'", notify_run.FAILED),
        ("sh -c 'kill -9 $$'", notify_run.FAILED),
    ],
)
def test_a_test_that_fails_says_what_can_be_done_about_that_failure(here: Near, command: str, hint: str):
    failed = here.json("notify", "--test", "--timeout", "1", "--command", command)

    assert (failed.code, failed.envelope["error"]["hint"]) == ("NOTIFY_FAILED", hint)


def test_a_command_that_takes_too_long_is_ended_with_all_it_has_started(here: Near, tmp_path: Path):
    started = time.monotonic()
    ran = here.json(
        *("notify", "--test", "--timeout", "1", "--shell", "--command"), f"sleep 60 & echo $! > {tmp_path}/pid; wait"
    )

    assert ran.code == "NOTIFY_FAILED"
    assert "took longer than 1 s and was ended" in ran.out
    assert time.monotonic() - started < 10
    until_gone(int((tmp_path / "pid").read_text()))


def test_who_ends_bb_notify_ends_the_command_with_it(here: Near, tmp_path: Path):
    ask(here, "One")
    command = f"echo $$ > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; exec sleep 60"
    with Following(here, "notify", "--existing", "--shell", "--command", command) as telling:
        until((tmp_path / "pid").exists)
        assert telling.end(signal.SIGTERM) == 143

    until_gone(int((tmp_path / "pid").read_text()))


def until_gone(pid: int) -> None:
    """Wait until a process has ended, be it that nobody has asked about it since."""
    until(lambda: not is_running(pid), f"the end of {pid}")


EVIL = "$(touch OWNED) `touch OWNED`; touch OWNED | touch OWNED\n' \" && touch OWNED # --help -rf /"


@pytest.mark.parametrize("text", [EVIL, *HOSTILE.values(), "会議" * 300], ids=["shell", *HOSTILE, "wide"])
def test_what_an_agent_wrote_is_told_as_a_value_and_never_run(here: Near, tell: Told, tmp_path: Path, text: str):
    subject = text.replace("\n", " ") if text is EVIL else "calm"
    ask(here, subject[:190], text)
    shell = f'printf "%s" "$BB_PROBLEM_TEXT" > {tmp_path}/text; exec {tell.path} plain'

    for words in (["--command", f"{tell.path} plain"], ["--shell", "--command", shell]):
        assert here.json("notify", "--once", *words).status == 0

    assert [each["words"] for each in tell.all] == [["plain"]] * 2
    for each in tell.all:
        assert each["stdin"]["problem"]["body"] == text
        assert not any(RAW & set(value) or len(value) > 500 for value in each["env"].values())
    assert (tmp_path / "text").read_text() == tell.all[0]["env"]["BB_PROBLEM_TEXT"]
    assert [path for path in (*here.path.iterdir(), *tmp_path.iterdir()) if path.name == "OWNED"] == []


def test_a_text_is_one_harmless_line_of_bounded_length():
    told = notify_run.variables(
        {"id": "a", "kind": "asked", "text": "\x1b[2J\nx" * 500, "next_step": "bb", "since": "now"}, "a\0b"
    )

    assert len(told["BB_PROBLEM_TEXT"]) == 500
    assert told["BB_PROBLEM_TEXT"].startswith("\\x1b[2J\\x0ax")
    assert told["BB_REPOSITORY"] == "a\\x00b"


def test_the_environment_is_utf_8_whatever_the_locale_says(here: Near, tell: Told):
    ask(here, "会議の記録")
    here.settings |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with Following(here, "notify", "--existing", "--command", str(tell.path)) as telling:
        tell.until(1)
        telling.end()

    env = tell.all[0]["env"]["BB_PROBLEM_TEXT"]
    assert env.encode("ascii", "surrogateescape").decode().endswith("会議の記録")


def test_what_makes_no_sense_is_refused_and_nothing_is_run(here: Near, tell: Told):
    ask(here, "One")

    def code(*words: str) -> str:
        ran = here.json("notify", *words)
        assert ran.status == 2
        return ran.code

    assert code() == "MISSING_OPTION"
    assert code("--command", "") == code("--command", " ") == "INVALID_COMMAND"
    assert code("--command", "it's") == "INVALID_COMMAND"
    assert code("--command", "", "--shell") == "INVALID_COMMAND"
    assert code("--command", str(tell.path), "--test", "--once") == "TEST_OR_ONCE"
    assert code("--command", str(tell.path), "--once", "--timeout", "0") == "INVALID_VALUE"
    assert code("--command", str(tell.path), "--once", "--timeout", "soon") == "INVALID_VALUE"
    assert tell.all == []
    assert not (here.store / "notify.json").exists()


def test_where_there_is_no_shell_to_be_trusted_there_is_none(monkeypatch: pytest.MonkeyPatch):
    """cmd.exe fills in variables before it reads the line, and would obey what agents wrote."""
    monkeypatch.setattr(os, "name", "nt")

    with pytest.raises(notify.NoShell.error):
        notify.wanted("echo", 30, is_shell=True, is_existing=False, is_once=False, is_test=False)
    what = notify.wanted(
        r'C:\tell.exe "two words"', 30, is_shell=False, is_existing=False, is_once=False, is_test=False
    )
    assert what.words == ("C:\\tell.exe", "two words")
