"""`bb daemon`: there is one for each home, it is a process of its own, and whoever asks learns whether it runs."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bb.cli.programs import daemon
from bb.ledger.local import descriptor
from bb.ops import catalogue
from tests.near import Near
from tests.stories.daemon.cli_support import SHELL, ended, home, pid_of, served, spawned, station, stopped
from tests.support import Scratch, environment, is_running
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX processes")


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Scratch]:
    """A repository that is a group; no daemon runs."""
    made = station(tmp_path)
    with ended(made):
        yield made


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scratch]:
    """The same with a daemon, for tests that leave it as it is."""
    with served(tmp_path_factory.mktemp("running")) as made:
        assert made.bb("actor", "add", "peer-1", *SHELL).status == 0
        yield made


# -- starting


def test_a_daemon_that_is_started_answers_by_then(repo: Scratch):
    found = repo.json("daemon", "start").data

    assert (found["started"], found["running"]) == (True, True)
    assert repo.json("call", "ping").data["pid"] == found["pid"]
    assert found["endpoint"].startswith("unix:/")
    assert found["home"] == str(home(repo))


def test_a_second_start_changes_nothing_and_says_so(repo: Scratch):
    first = repo.json("daemon", "start").data

    again, told = repo.json("daemon", "start").data, repo.bb("daemon", "start")

    assert again == first | {"started": False}
    assert told.status == 0
    assert told.out.startswith(f"Already running. The daemon is running: process {first['pid']}, ")


def test_of_several_that_are_started_at_once_one_runs(repo: Scratch):
    with ThreadPoolExecutor(4) as pool:
        found = [ran.data for ran in pool.map(lambda _: repo.started("daemon", "start", "--json"), range(4))]

    assert sum(each["started"] for each in found) == 1
    assert {each["pid"] for each in found} == {pid_of(repo)}


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_a_daemon_has_a_session_of_its_own_and_nothing_of_who_started_it(repo: Scratch):
    strange = {"BB_AGENT": "amber-otter", "GIT_DIR": str(repo.path / ".git"), "CCCC_ACTOR_ID": "x"}

    pid = repo.json("daemon", "start", **strange).data["pid"]

    process = Path(f"/proc/{pid}")
    assert os.getsid(pid) == pid
    assert os.readlink(process / "fd" / "0") == os.devnull
    assert os.readlink(process / "cwd") == str(home(repo))
    names = {each.partition(b"=")[0].decode() for each in (process / "environ").read_bytes().split(b"\0")}
    assert not names & set(strange)
    assert not [
        link
        for link in (process / "fd").iterdir()
        if link.is_symlink() and str(repo.path) in os.readlink(link) and ".git" not in os.readlink(link)
    ]


def test_nobody_else_can_read_what_a_daemon_keeps(repo: Scratch):
    repo.bb("daemon", "start")

    assert (home(repo) / "daemon").stat().st_mode & 0o077 == 0
    assert (home(repo) / "daemon" / "ccccd.log").stat().st_mode & 0o077 == 0


def test_a_home_that_is_named_from_here_is_the_same_for_the_daemon(repo: Scratch):
    nearby = {"CCCC_HOME": "../home"}
    try:
        assert repo.json("daemon", "start", **nearby).data["home"] == str(home(repo))
        assert repo.json("daemon", "status").data["responding"] is True
    finally:
        repo.bb("daemon", "stop", **nearby)


def test_why_a_daemon_ended_at_once_is_said(repo: Scratch):
    asked = repo.json("daemon", "start", CCCC_DAEMON_TRANSPORT="pigeon")
    told = repo.bb("daemon", "start", CCCC_DAEMON_TRANSPORT="pigeon")

    error = asked.envelope["error"]
    assert (asked.status, told.status, error["code"]) == (4, 4, "DAEMON_NOT_STARTED")
    assert "[INVALID_ENDPOINT] 'pigeon' is not a transport" in error["message"]
    assert any("INVALID_ENDPOINT" in line for line in error["details"]["log"])
    assert repo.json("daemon", "status").data["running"] is False


def test_a_daemon_can_be_met_over_tcp(repo: Scratch):
    found = repo.json("daemon", "start", CCCC_DAEMON_TRANSPORT="tcp").data

    assert found["endpoint"].startswith("tcp://127.0.0.1:")
    assert repo.json("call", "ping").data["pid"] == found["pid"]
    assert repo.json("daemon", "stop").data["stopped"] is True


def test_a_daemon_that_nobody_needs_ends_by_itself_if_that_was_wanted(repo: Scratch):
    pid = repo.json("daemon", "start", "--exit-when-idle", "1").data["pid"]

    until(lambda: not is_running(pid), "its end")

    assert repo.json("daemon", "status").data["running"] is False


@pytest.mark.parametrize("verb", ["start", "run"])
@pytest.mark.parametrize("text", ["x", "-1", "1.5", "86401", "", "\x1b[2J"])
def test_seconds_are_a_whole_number(repo: Scratch, verb: str, text: str):
    assert repo.json("daemon", verb, f"--exit-when-idle={text}").code == "INVALID_VALUE"
    assert repo.json("daemon", "status").data["running"] is False


# -- stopping


def test_who_stops_a_daemon_learns_what_has_ended(repo: Scratch):
    pid = repo.json("daemon", "start").data["pid"]
    repo.bb("actor", "add", "peer-1", "--runtime", "custom", "--command", "sleep", "--command", "1000")
    assert repo.json("actor", "start", "peer-1").data["actor"]["running"] is True

    found = repo.json("daemon", "stop").data

    assert (found["stopped"], found["pid"]) == (True, pid)
    assert [each["actor_id"] for each in found["actors"]] == ["peer-1"]
    assert not descriptor.is_running(str(home(repo)))
    until(lambda: not is_running(pid), "its end")
    assert repo.json("daemon", "start").data["started"] is True  # at once
    assert [each["actor_id"] for each in repo.json("daemon", "status").data["actors"]] == ["peer-1"]
    assert repo.bb("daemon", "stop").out.endswith(", with its actors peer-1\n")


def test_where_no_daemon_runs_stopping_it_is_no_failure(repo: Scratch):
    asked, told = repo.json("daemon", "stop"), repo.bb("daemon", "stop")

    assert asked.data["stopped"] is False
    assert (told.status, told.out) == (0, f"No daemon was running for {home(repo)}.\n")


SILENT = """
import fcntl, json, os, signal, sys, time
folder, pid = sys.argv[1], int(sys.argv[2]) or os.getpid()
if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.makedirs(folder, exist_ok=True)
print("begins", flush=True)
lock = os.open(os.path.join(folder, "ccccd.lock"), os.O_RDWR | os.O_CREAT)
fcntl.flock(lock, fcntl.LOCK_EX)
where = {"v": 1, "transport": "unix", "path": os.path.join(folder, "nobody"), "pid": pid, "version": "0"}
open(os.path.join(folder, "ccccd.addr.json"), "w").write(json.dumps(where))
print("there", flush=True)
time.sleep(1000)
"""


def silent(repo: Scratch, pid: int = 0, *how: str) -> subprocess.Popen[str]:
    """A daemon that answers nobody; its descriptor names it, or another process."""
    child = next_silent(repo, pid, *how)
    assert child.stdout is not None
    assert child.stdout.readline() == "there\n"
    return child


def next_silent(repo: Scratch, pid: int = 0, *how: str) -> subprocess.Popen[str]:
    """The same, which begins as soon as the lock of the home directory is free."""
    words = [sys.executable, "-c", SILENT, str(home(repo) / "daemon"), str(pid), *how]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "begins\n"
    return child


def ended_hard(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.communicate()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_a_daemon_that_answers_nobody_is_ended_by_its_process(repo: Scratch):
    child = silent(repo)
    try:
        seen = repo.json("daemon", "status").data
        assert (seen["running"], seen["responding"], seen["pid"]) == (True, False, child.pid)
        assert "does not answer" in repo.bb("daemon", "status").out

        found = repo.json("daemon", "stop").data

        assert (found["stopped"], found["pid"]) == (True, child.pid)
        assert child.wait(10) == -signal.SIGTERM
    finally:
        ended_hard(child)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_a_daemon_that_is_stopped_by_a_signal_goes_on_to_its_end(repo: Scratch):
    """SIGSTOP, or Ctrl-Z on `bb daemon run`. SIGTERM waits for such a process to go on."""
    child = spawned(repo, ["daemon", "run"])
    until(lambda: repo.json("daemon", "status").data["responding"], "the daemon")
    child.send_signal(signal.SIGSTOP)
    try:
        found = repo.json("daemon", "stop").data

        assert (found["stopped"], found["pid"]) == (True, child.pid)
        assert child.wait(PATIENCE) == 0, "it has ended as if it had been asked"
    finally:
        ended_hard(child)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_a_daemon_that_does_not_end_in_time_is_killed(repo: Scratch, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(daemon, "TO_STOP", 0.1)
    child = silent(repo, 0, "deaf")
    try:
        assert Near(repo.path, repo.settings).json("daemon", "stop").data["stopped"] is True
        assert child.wait(PATIENCE) == -signal.SIGKILL
    finally:
        ended_hard(child)


def test_a_process_that_is_not_the_daemon_is_left_alone(repo: Scratch, monkeypatch: pytest.MonkeyPatch):
    """A number that was the daemon's is given to anybody once the daemon has gone."""
    monkeypatch.setattr(daemon, "TO_STOP", 0.1)
    bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True)
    child = silent(repo, bystander.pid)
    try:
        refused = Near(repo.path, repo.settings).json("daemon", "stop")

        assert (refused.code, refused.status) == ("DAEMON_NOT_STOPPED", 6)
        assert bystander.poll() is None
        assert child.poll() is None
    finally:
        ended_hard(child)
        ended_hard(bystander)


def test_a_daemon_that_another_command_stops_is_waited_for(repo: Scratch, monkeypatch: pytest.MonkeyPatch):
    """A daemon that ends has removed its descriptor, and keeps its lock until its process has ended."""
    looks = []

    def ends_after_two_looks(env: Mapping[str, str]) -> dict[str, Any]:
        looks.append(status(env))
        if len(looks) == 2:
            os.close(lock)
        return looks[-1]

    status = daemon.status
    monkeypatch.setattr(daemon, "status", ends_after_two_looks)
    (home(repo) / "daemon").mkdir(parents=True)
    lock = os.open(home(repo) / "daemon" / descriptor.LOCK, os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)

    stopped_too = Near(repo.path, repo.settings).json("daemon", "stop")

    assert (stopped_too.status, stopped_too.data["stopped"]) == (0, False)
    assert [look["pid"] for look in looks] == [None, None]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_a_daemon_has_ended_when_the_next_one_runs(repo: Scratch):
    """A command in a fleet may start it in the same moment."""
    child = silent(repo)
    following = next_silent(repo)
    try:
        assert repo.json("daemon", "stop").data["pid"] == child.pid
        assert following.poll() is None
    finally:
        ended_hard(child)
        ended_hard(following)


def test_what_a_dead_daemon_left_behind_is_in_nobodys_way(repo: Scratch):
    pid = repo.json("daemon", "start").data["pid"]
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_running(pid), "its end")

    assert repo.json("daemon", "status").data["running"] is False
    assert repo.json("call", "ping").code == "DAEMON_UNAVAILABLE"
    assert repo.json("daemon", "stop").data["stopped"] is False
    assert repo.json("daemon", "start").data["started"] is True


def test_whoever_looks_whether_a_daemon_runs_keeps_none_from_starting(repo: Scratch):
    folder = home(repo) / "daemon"
    folder.mkdir(parents=True)
    lock = os.open(folder / "ccccd.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    child = spawned(repo, ["daemon", "start", "--json"])
    os.close(lock)

    assert json.loads(child.communicate(timeout=PATIENCE)[0])["data"]["started"] is True


# -- looking


def test_without_a_daemon_the_status_is_that_there_is_none_and_no_failure(repo: Scratch):
    asked, told = repo.json("daemon", "status"), repo.bb("daemon", "status")

    assert asked.status == told.status == 0
    assert asked.data["running"] is asked.data["responding"] is False
    assert asked.data["pid"] is asked.data["endpoint"] is asked.data["version"] is None
    assert told.out == f"No daemon is running for {home(repo)}. `bb daemon start` starts one.\n"


def test_the_status_says_which_daemon_it_is_and_what_runs_in_it(running: Scratch):
    running.bb("actor", "start", "peer-1")
    try:
        asked, told = running.json("daemon", "status").data, running.bb("daemon", "status").out

        assert asked["version"] == running.json("--version").data["version"]
        assert [(each["title"], each["running"]) for each in asked["groups"]] == [("repo", True)]
        assert [(each["actor_id"], each["runner"]) for each in asked["actors"]] == [("peer-1", "pty")]
        assert f"process {asked['pid']}" in told
        assert asked["endpoint"] in told
        assert "peer-1  pty, in " in told
    finally:
        running.bb("actor", "stop", "peer-1")


# -- its log


def test_the_log_is_shown_from_its_end(repo: Scratch):
    log = home(repo) / "daemon" / "ccccd.log"
    log.parent.mkdir(parents=True)
    log.write_text("".join(f"line {n}\n" for n in range(200)))

    assert repo.json("daemon", "logs").data == {"log": str(log), "lines": [f"line {n}" for n in range(150, 200)]}
    assert repo.bb("daemon", "logs", "--lines", "2").out == "line 198\nline 199\n"
    assert repo.json("daemon", "logs", "--lines", "0").code == "INVALID_VALUE"


def test_a_log_that_is_not_there_yet_is_empty(repo: Scratch):
    assert repo.json("daemon", "logs").data["lines"] == []
    assert repo.bb("daemon", "logs").out.startswith("The log is empty: ")


def test_what_stands_in_the_log_is_shown_harmless(repo: Scratch):
    log = home(repo) / "daemon" / "ccccd.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(b"a\x1b[2Jb\xff\xe2\x80\xaec\n")

    assert repo.bb("daemon", "logs").out == "a\\x1b[2Jb\\xff\\u202ec\n"


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_the_log_is_followed_into_a_new_file(repo: Scratch, form: list[str]):
    log = home(repo) / "daemon" / "ccccd.log"
    log.parent.mkdir(parents=True)
    log.write_text("before\n")
    child = spawned(repo, ["daemon", "logs", "--follow", "--lines", "1", *form])
    assert child.stdout is not None

    def heard() -> str:
        line = child.stdout.readline()
        return json.loads(line)["line"] if form else line.rstrip("\n")

    try:
        assert heard() == "before"
        with log.open("a") as file:
            file.write("more\nha")
        assert heard() == "more"
        with log.open("a") as file:
            file.write("lf\n")
        assert heard() == "half"
        log.rename(log.with_suffix(".log.1"))
        log.write_text("anew\n")
        assert heard() == "anew"
    finally:
        assert stopped(child)[1] == ""
    assert child.returncode == 130


# -- in the foreground


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_a_daemon_in_the_foreground_is_that_process_until_it_is_told_to_end(repo: Scratch, form: list[str]):
    child = spawned(repo, ["daemon", "run", *form])

    until(lambda: repo.json("daemon", "status").data["responding"], "the daemon")

    assert pid_of(repo) == child.pid
    out, err = stopped(child)
    assert (child.returncode, err) == (0, "")
    assert [json.loads(line)["data"] for line in out.splitlines()] == (
        [{"pid": child.pid, "home": str(home(repo))}] if form else []
    )


def test_a_second_one_in_the_foreground_is_refused(running: Scratch):
    asked, told = running.json("daemon", "run"), running.bb("daemon", "run")

    assert (asked.code, asked.status, told.status) == ("ALREADY_RUNNING", 6, 6)
    assert told.err.startswith("Error: [ALREADY_RUNNING] ")


# -- what only a daemon can do

LIVE = [op for op in catalogue.all_ops() if op.is_live and op.name not in ("events_stream", "term_attach")]


@pytest.mark.parametrize("op", LIVE, ids=lambda op: op.name)
def test_what_needs_a_daemon_is_refused_without_one(tmp_path_factory: pytest.TempPathFactory, op: catalogue.Op):
    repo = station(tmp_path_factory.mktemp("none"))

    asked, told = repo.json("call", op.name), repo.bb("call", op.name)

    assert (asked.code, asked.status, told.status) == ("DAEMON_UNAVAILABLE", 6, 6)
    assert told.err == "Error: [DAEMON_UNAVAILABLE] No daemon is running here\nHint: `bb daemon start` starts one\n"


def test_what_needs_none_is_done_without_one(repo: Scratch):
    assert repo.bb("actor", "add", "peer-1", *SHELL).status == 0
    assert repo.bb("chat", "send", "Hello").status == 0
    assert repo.bb("actor", "list").status == repo.bb("group", "list").status == 0


def test_what_is_done_by_the_daemon_is_answered_as_if_it_were_done_here(running: Scratch):
    started = running.json("actor", "start", "peer-1")
    try:
        assert started.envelope["command"] == "actor start"
        assert started.data["actor"]["running"] is True
        assert started.data["event"]["kind"] == "actor.start"
        assert running.bb("actor", "start", "peer-1").out.startswith("peer-1  foreman  runs")
    finally:
        stop = running.json("actor", "stop", "peer-1")
    assert stop.data["actor"]["running"] is False


def test_who_is_known_not_to_be_whom_it_names_is_refused_before_the_daemon_is_asked(running: Scratch):
    """A daemon believes whoever asks; what it starts and ends is told in that name."""
    session = "CLAUDE_CODE_SESSION_ID"
    assert running.json("agent", "register", "--name", "shy-lynx", "--role", "builder", **{session: "one"}).status == 0

    for words in (["actor", "start"], ["actor", "stop"], ["actor", "restart"], ["call", "actor_start", "--args"]):
        about = '{"actor_id": "peer-1"}' if words[0] == "call" else "peer-1"
        ran = running.json(*words, about, BB_AGENT="shy-lynx", **{session: "two"})
        assert (ran.code, ran.status) == ("NOT_YOUR_NAME", 5), words
    assert running.json("agent", "retire", "--agent", "shy-lynx", **{session: "one"}).status == 0


@pytest.mark.parametrize(
    ("words", "code", "status"),
    [
        (["actor", "start", "nobody"], "ACTOR_NOT_FOUND", 3),
        (["actor", "start"], "MISSING_ACTOR_ID", 2),
        (["actor", "start", "peer-1", "--by", "nobody"], "PERMISSION_DENIED", 5),
        (["actor", "start", "peer-1", "--group-id", "g_none"], "GROUP_NOT_FOUND", 3),
        (["actor", "tail", "peer-1"], "ACTOR_NOT_RUNNING", 4),
        (["actor", "resize", "peer-1", "--cols", "0", "--rows", "1"], "INVALID_SIZE", 2),
        (["call", "observability_update", "--args", '{"by": "peer-1"}'], "PERMISSION_DENIED", 5),
        (["call", "headless_status", "--args", '{"actor_id": "peer-1"}'], "SESSION_NOT_FOUND", 3),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_a_refusal_of_the_daemon_is_one_here(running: Scratch, words: list[str], code: str, status: int):
    asked, told = running.json(*words), running.bb(*words)

    assert (asked.code, asked.status, told.status) == (code, status, status)
    assert told.err.startswith(f"Error: [{code}] ")
    assert "exit_status" not in asked.envelope["error"]["details"]
    assert "hint" not in asked.envelope["error"]["details"]


def test_whoever_acts_by_bb_agent_does_so_before_the_daemon_too(running: Scratch):
    assert running.bb("actor", "update", "peer-1", "--patch", '{"enabled": true}').status == 0
    assert running.bb("actor", "add", "peer-2", *SHELL).status == 0

    allowed = running.json("actor", "start", "peer-1", BB_AGENT="peer-1")
    refused = running.json("actor", "start", "peer-1", BB_AGENT="peer-2")

    try:
        assert allowed.data["event"]["by"] == "peer-1"  # the foreman
        assert refused.code == "PERMISSION_DENIED"
    finally:
        running.bb("actor", "stop", "peer-1")
        running.bb("actor", "remove", "peer-2")


def test_who_runs_is_known_wherever_it_is_asked(running: Scratch):
    running.bb("actor", "start", "peer-1")
    try:
        (group,) = running.json("group", "list").data["groups"]
        (actor,) = running.json("actor", "list").data["actors"]
        shown = running.json("group", "show").data["group"]
        assert group["running"] is actor["running"] is shown["running"] is shown["actors"][0]["running"] is True
    finally:
        running.bb("actor", "stop", "peer-1")


def test_who_is_taken_out_or_disabled_stops(running: Scratch):
    for name in ("peer-3", "peer-4"):
        assert running.bb("actor", "add", name, *SHELL).status == 0
        assert running.bb("actor", "start", name).status == 0

    running.bb("actor", "remove", "peer-3")
    running.bb("actor", "update", "peer-4", "--patch", '{"enabled": false}')

    assert running.json("daemon", "status").data["actors"] == []
    assert running.bb("actor", "remove", "peer-4").status == 0


def test_what_cannot_be_undone_is_confirmed_before_a_daemon_too(repo: Scratch):
    repo.bb("daemon", "start")
    (group,) = repo.json("group", "list").data["groups"]

    assert repo.json("group", "delete").code == "CONFIRMATION_REQUIRED"
    assert repo.json("group", "delete", "--confirm", "g_other").code == "CONFIRMATION_REQUIRED"
    assert len(repo.json("group", "list").data["groups"]) == 1
    assert repo.bb("group", "delete", "--confirm", group["group_id"]).status == 0
    assert repo.json("group", "list").data["groups"] == []


def test_a_group_that_the_daemon_does_not_know_is_asked_about_here(repo: Scratch):
    repo.bb("daemon", "start")
    (group,) = repo.json("group", "list").data["groups"]
    repo.bb("group", "delete", "--confirm", group["group_id"])

    assert repo.bb("actor", "add", "peer-1", *SHELL).status == 0
    assert [each["id"] for each in repo.json("actor", "list").data["actors"]] == ["peer-1"]
    assert repo.json("group", "show").data["group"]["actors"][0]["running"] is False
    assert repo.json("actor", "start", "peer-1").code == "GROUP_NOT_FOUND"


def test_elsewhere_the_group_must_be_named(running: Scratch, tmp_path: Path):
    (group,) = running.json("group", "list").data["groups"]
    nowhere = Scratch(tmp_path, running.settings | {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)})

    assert nowhere.json("group", "stop").code == "NOT_A_REPOSITORY"
    assert nowhere.json("group", "stop", "--group-id", group["group_id"]).data["stopped"] == ["peer-1"]
    running.bb("actor", "update", "peer-1", "--patch", '{"enabled": true}')


def test_an_op_that_goes_on_is_not_called_by_name(running: Scratch):
    for op in ("events_stream", "term_attach"):
        asked = running.json("call", op)
        assert (asked.code, asked.status) == ("NEEDS_STREAM", 2)


# -- as a group of commands


def test_the_commands_are_where_all_commands_are(running: Scratch):
    assert "\n  daemon " in running.bb("--help").out
    verbs = ["start", "stop", "status", "run", "logs"]
    listed = [line.split()[0] for line in running.bb("daemon").out.partition("Commands:\n")[2].splitlines()]
    assert [verb for verb in listed if verb in verbs] == verbs
    for verb in verbs:
        told = running.bb("daemon", verb, "--help")
        assert told.out == running.bb("help", "daemon", verb).out == running.bb("daemon", "help", verb).out
        assert running.json("daemon", verb, "--help").data == {"help": told.out}
        assert f"bb daemon {verb}" in told.out
        completed = running.bb(_BB_COMPLETE="complete_bash", COMP_WORDS=f"bb daemon {verb}", COMP_CWORD="2")
        assert completed.out.split()[0] == verb


@pytest.mark.parametrize("words", [["strat"], ["start", "--nonsense"], ["start", "stray"], ["logs", "--lines"], []])
def test_mistakes_are_answered_as_everywhere(running: Scratch, words: list[str]):
    asked = running.json("daemon", *words)

    assert asked.status == 2
    assert asked.envelope["command"] == " ".join(["daemon", *words[:1]])
    assert asked.code in (
        "UNKNOWN_COMMAND",
        "UNKNOWN_OPTION",
        "UNEXPECTED_ARGUMENT",
        "MISSING_VALUE",
        "MISSING_COMMAND",
    )


def test_every_python_that_finds_bb_here_finds_it_there(repo: Scratch, tmp_path: Path):
    """A daemon starts in its home, so what was found because of where one stood must be found from there."""
    done = subprocess.run(
        [sys.executable, "-m", "bb", "daemon", "start", "--json"],
        cwd=Path(__file__).parents[3],
        env={name: value for name, value in environment(**repo.settings).items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
    )

    assert json.loads(done.stdout)["data"]["started"] is True, done.stdout
