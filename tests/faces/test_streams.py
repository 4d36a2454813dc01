"""Standard streams that are closed, full, broken, or in another encoding: nothing is lost, forged or blamed on bb."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import pytest

from tests.faces.faces_support import Forger, everything_in
from tests.grids import grid
from tests.support import NOON, Scratch, scratch
from tests.support import environment as inherited
from tests.waiting import PATIENCE

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX streams")

BB = (sys.executable, "-m", "bb")
BEAT = ["agent", "heartbeat", "--agent", "amber-otter"]  # the short way
LIST = ["agent", "list"]  # Typer's
UNKNOWN = ["agent", "show", "--agent", "nobody-here"]


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    made = scratch(tmp_path_factory.mktemp("streams") / "repo")
    made.settings["BB_NOW"] = NOON
    words = ("agent", "register", "--name", "amber-otter", "--role", "Bäcker 試", "--display", "小鳥")
    assert made.bb(*words).status == 0
    return made


def environment(**settings: str) -> dict[str, str]:
    """An environment in which Python gathers what is printed, as it does unless somebody forbids it."""
    return {name: value for name, value in inherited(**settings).items() if name != "PYTHONUNBUFFERED"}


def shell(repo: Scratch, redirections: str, words: Sequence[str], **settings: str) -> subprocess.CompletedProcess[str]:
    """`bb WORDS` with its streams redirected as a shell would."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirections}', "sh", *BB, *words],
        cwd=repo.path,
        env=environment(**repo.settings, **settings),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


# -- closed

CLOSED = ["<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"]


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("words", [BEAT, [*LIST, "--json"], ["ledger", "log", "--json"]], ids=" ".join)
def test_a_command_does_its_work_without_streams(repo: Scratch, closed: str, words: list[str]):
    expected = shell(repo, "", words)

    done = shell(repo, closed, words)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("" if " >&-" in f" {closed}" else expected.stdout)


@pytest.mark.parametrize("closed", CLOSED)
def test_what_is_said_to_a_closed_stream_gets_into_no_file(tmp_path: Path, closed: str):
    """A closed stream's number goes to the next file opened; what was printed must not end up in it."""
    repo = scratch(tmp_path / "repo")
    for words in (
        ["agent", "register", "--name", "amber-otter", "--role", "builder"],
        [*BEAT, "--json"],
        UNKNOWN,
        [*UNKNOWN, "--json"],
        ["ledger", "export", "--output", "events.jsonl"],
        ["ledger", "rebuild", "--json"],
        ["init", "--json"],
    ):
        assert shell(repo, closed, words).returncode == (3 if words[:4] == UNKNOWN else 0)

    files = everything_in(repo.path)
    said = (b'"ok":', b"Error: [", b"is registered as", b"is active, seen")
    assert [name for name, octets in files.items() if octets and any(text in octets for text in said)] == []
    assert repo.json("ledger", "verify").data["events"] == 2
    assert {check["state"] for check in repo.json("doctor").data["checks"] if "journal" in check["name"]} == {"good"}


def test_an_error_does_not_move_to_stdout_when_stderr_is_closed(repo: Scratch):
    """Whoever reads stdout takes it for the answer."""
    done = shell(repo, "2>&-", UNKNOWN)

    assert (done.returncode, done.stdout) == (3, "")


def test_an_error_that_nobody_can_read_keeps_its_exit_status(repo: Scratch):
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")

    assert shell(repo, "2>/dev/full", UNKNOWN).returncode == 3


def test_help_without_a_stdout_is_no_bug(repo: Scratch):
    for words in (["--help"], ["agent", "-h"], ["--version"], ["agent"], []):
        done = shell(repo, ">&-", words)
        assert (done.returncode, done.stderr) == (0, ""), words


# -- full


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize(
    "words",
    [
        BEAT,
        [*BEAT, "--json"],
        LIST,
        [*LIST, "--json"],
        [*UNKNOWN, "--json"],
        ["ledger", "log"],
        ["ledger", "log", "--follow"],
        ["ledger", "log", "--follow", "--json"],
        ["ledger", "export"],
        ["ledger", "export", "--raw"],
        ["doctor"],
        ["call", "--list"],
        ["--version"],
        ["--help"],
        ["agent"],
        ["agent", "list", "--help"],
        ["--help", "--json"],
    ],
    ids=" ".join,
)
def test_an_answer_that_does_not_fit_on_the_disk_is_status_1_and_said_so(repo: Scratch, words: list[str]):
    done = shell(repo, ">/dev/full", words)

    assert done.returncode == 1
    assert done.stderr == "Error: [OUTPUT_FAILED] the answer could not be written: No space left on device\n"


def test_a_completion_script_that_does_not_fit_on_the_disk_is_status_1_and_said_so(repo: Scratch):
    """Which script is shown depends on the shell that stands above; so one that has a script stays there."""
    done = subprocess.run(
        ["bash", "-c", '"$@" >/dev/full; exit $?', "bash", *BB, "--show-completion"],
        cwd=repo.path,
        env=environment(),
        capture_output=True,
        text=True,
    )

    assert done.returncode == 1
    assert done.stderr == "Error: [OUTPUT_FAILED] the answer could not be written: No space left on device\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_what_was_recorded_stays_recorded_when_the_answer_cannot_be_written(tmp_path: Path):
    repo = scratch(tmp_path / "repo")

    done = shell(repo, ">/dev/full", ["agent", "register", "--name", "amber-otter", "--role", "builder", "--json"])

    assert done.returncode == 1
    assert repo.json("agent", "show", "--agent", "amber-otter").data["role"] == "builder"


# -- a reader that goes away


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    """A ledger whose log is far longer than what a pipe holds."""
    made = scratch(tmp_path_factory.mktemp("long") / "repo")
    made.bb("init")
    forger = Forger(made)
    for number in range(1200):
        forger.add("x.test.filler", "user", {"number": number, "text": "x" * 200})
    return made


def reader_leaves(repo: Scratch, words: Sequence[str], read: int) -> tuple[int, str]:
    """`bb WORDS | head`, where the reader takes READ lines and goes: exit status and stderr."""
    running = subprocess.Popen(
        [*BB, *words], cwd=repo.path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert running.stdout is not None
    assert running.stderr is not None
    for _ in range(read):
        running.stdout.readline()
    running.stdout.close()
    with running.stderr as stderr:
        said = stderr.read().decode()
    return running.wait(timeout=PATIENCE), said


@pytest.mark.parametrize(
    "words",
    [
        ["ledger", "export"],
        ["ledger", "export", "--raw"],
        ["ledger", "log", "--limit", "1000"],
        ["ledger", "log", "--limit", "1000", "--json"],
    ],
    ids=" ".join,
)
def test_head_gets_its_line_and_bb_ends_with_141_in_silence(long: Scratch, words: list[str]):
    assert reader_leaves(long, words, 0 if "--json" in words else 1) == (141, "")


@pytest.mark.parametrize("words", [[*BEAT, "--json"], LIST, ["--help"], ["agent", "-h"], UNKNOWN[:1]], ids=" ".join)
def test_a_reader_that_was_never_there(repo: Scratch, words: list[str]):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*BB, *words], cwd=repo.path, env=environment(**repo.settings), stdout=writing, stderr=subprocess.PIPE
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, b"")


def test_errors_that_nobody_reads_end_without_a_trace(repo: Scratch):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*BB, *UNKNOWN], cwd=repo.path, env=environment(**repo.settings), stderr=writing, stdout=subprocess.PIPE
    )
    os.close(writing)

    assert (done.returncode, done.stdout) == (3, b"")


def test_what_was_recorded_stays_recorded_when_the_reader_is_gone(tmp_path: Path):
    repo = scratch(tmp_path / "repo")

    status, said = reader_leaves(repo, ["agent", "register", "--name", "amber-otter", "--role", "x", "--json"], 0)

    assert (status, said) == (141, "")
    assert repo.json("agent", "list").data[0]["agent_id"] == "amber-otter"


# -- following


@pytest.fixture
def follower(repo: Scratch) -> Iterator[subprocess.Popen[bytes]]:
    running = subprocess.Popen(
        [*BB, "ledger", "log", "--follow", "--limit", "1"],
        cwd=repo.path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield running
    finally:
        if running.poll() is None:
            running.kill()
        for stream in (running.stdout, running.stderr):
            if stream and not stream.closed:
                stream.close()
        running.wait()


def stream_of(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def test_a_followers_reader_may_go_away(repo: Scratch, follower: subprocess.Popen[bytes]):
    stream_of(follower.stdout).readline()
    stream_of(follower.stdout).close()

    repo.bb("agent", "register", "--name", "amber-otter", "--role", "tester", "--force-update")

    assert follower.wait(timeout=PATIENCE) == 141
    assert stream_of(follower.stderr).read() == b""


@pytest.mark.parametrize("times", [1, 3])
def test_an_interrupt_ends_a_follower_with_130_in_silence(follower: subprocess.Popen[bytes], times: int):
    stream_of(follower.stdout).readline()

    for _ in range(times):
        follower.send_signal(signal.SIGINT)
        if times > 1:
            time.sleep(0.001)

    assert follower.wait(timeout=PATIENCE) == 130
    assert stream_of(follower.stderr).read() == b""


def test_a_terminated_follower_leaves_the_ledger_alone(repo: Scratch, follower: subprocess.Popen[bytes]):
    before = everything_in(repo.store / "j")
    stream_of(follower.stdout).readline()

    follower.terminate()

    assert follower.wait(timeout=PATIENCE) == -signal.SIGTERM
    assert everything_in(repo.store / "j") == before


# -- other encodings

ENCODINGS = {
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "latin-1": {"PYTHONIOENCODING": "latin-1"},
    "utf-16": {"PYTHONIOENCODING": "utf-16-le"},
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "C in UTF-8 mode": {"LC_ALL": "C", "PYTHONUTF8": "1"},
}


def encoded(repo: Scratch, encoding: str, *words: str) -> tuple[int, bytes, bytes]:
    done = subprocess.run(
        [*BB, *words], cwd=repo.path, env=environment(**repo.settings) | ENCODINGS[encoding], capture_output=True
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "C", "C in UTF-8 mode"])
def test_json_is_the_same_bytes_in_every_locale(repo: Scratch, encoding: str):
    assert encoded(repo, encoding, "agent", "list", "--json") == (0, repo.json("agent", "list").out.encode(), b"")


SHOWN = [
    "agent list",
    "agent show --agent amber-otter",
    "ledger log",
    "doctor",
    "--help",
    "agent show --agent bö-bö",
    "agent show --agent 会-議",
    "nonsense-会",
]


@pytest.mark.parametrize(("words", "encoding"), grid(SHOWN, [*ENCODINGS], 2, 2))
def test_text_is_shown_in_every_locale_as_far_as_it_goes(repo: Scratch, words: str, encoding: str):
    status, out, err = encoded(repo, encoding, *words.split())

    assert status == repo.bb(*words.split()).status
    assert b"Traceback" not in err
    assert b"I\0N\0T\0E\0R\0N\0A\0L" not in err
    assert b"INTERNAL_ERROR" not in err
    assert out + err != b""


def test_a_letter_that_the_encoding_has_is_shown_as_itself(repo: Scratch):
    _, latin, _ = encoded(repo, "latin-1", "ledger", "log")
    _, ascii_, _ = encoded(repo, "ascii", "ledger", "log")

    assert b"B\xe4cker \\u8a66" in latin
    assert b"B\\xe4cker \\u8a66" in ascii_


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "C"])
def test_a_raw_export_is_the_same_bytes_in_every_locale(repo: Scratch, encoding: str):
    """It is there so that the chains can be checked elsewhere, and they are chains of bytes."""
    assert encoded(repo, encoding, "ledger", "export", "--raw") == (0, repo.journal().read_bytes(), b"")


@pytest.mark.parametrize("settings", [{}, {"PYTHONIOENCODING": "utf-8"}, {"LC_ALL": "C.UTF-8"}])
def test_a_request_on_stdin_that_is_no_utf_8_is_refused(repo: Scratch, settings: dict[str, str]):
    done = subprocess.run(
        [*BB, "call", "agent.show", "--args", "-", "--json"],
        cwd=repo.path,
        env=environment(**repo.settings) | settings,
        input=b'{"agent":"b\xe4cker"}',
        capture_output=True,
    )
    answer = json.loads(done.stdout)

    assert done.returncode == 2, answer["error"]["message"]
    assert answer["error"]["code"] in ("INVALID_TEXT", "INVALID_JSON")


def test_nothing_is_asked_of_a_terminal_that_nobody_sits_at(repo: Scratch):
    """An agent loop may run under a terminal of its own making; a question would hang it for ever."""
    import pty

    ours, theirs = pty.openpty()
    try:
        for words in (["init"], ["init", "--undo"], ["agent", "register", "--name", "amber-otter", "--role", "x"]):
            done = subprocess.run(
                [*BB, *words, "--json"],
                cwd=repo.path,
                env=environment(**repo.settings),
                stdin=theirs,
                stderr=theirs,
                stdout=subprocess.PIPE,
                timeout=20,
            )
            assert json.loads(done.stdout)["command"] == " ".join(words[:2] if words[0] == "agent" else words[:1])
    finally:
        os.close(ours)
        os.close(theirs)
