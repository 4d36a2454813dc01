"""`bb attach`: a person's terminal on an actor's, and afterwards as it was. All of it on real terminals."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

if os.name == "nt":
    pytest.skip("POSIX terminals", allow_module_level=True)

import termios

from bb.cli.programs import attach as attaching
from bb.cli.programs.terminal_modes import KNOWN, Switches
from tests.stories.daemon.cli_support import served
from tests.support import Scratch, environment
from tests.waiting import PATIENCE, until

# Says what it is told, how large its terminal is and when that changes; and what it is sent, as octets.
ECHO = """
import os, signal, sys, termios, time, tty
tty.setraw(0)
def say(text): os.write(1, (text + "\\r\\n").encode())
def size(*_): say("size %dx%d" % os.get_terminal_size(0))
signal.signal(signal.SIGWINCH, size)
say("ready")
while True:
    octets = os.read(0, 1000)
    if octets == b"END": break
    if octets == b"ALT": os.write(1, b"\\x1b[?1049h\\x1b[?1000;1006h\\x1b[?25l\\x1b[>1u\\x1b[?2004h\\x1b=")
    if octets == b"ASK": os.write(1, b"\\x1b[c")
    say("got " + repr(octets))
"""


class Terminal:
    """A terminal with a program on it, as a person has one."""

    def __init__(self, repo: Scratch, words: Sequence[str], rows: int = 24, cols: int = 80, **settings: str) -> None:
        self._ours, self._theirs = os.openpty()
        self.resize(rows, cols)
        self.before = self.settings()
        self.shown = b""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bb", *words],
            cwd=repo.path,
            env=environment(**(repo.settings | {"TERM": "xterm-256color"} | settings)),
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            start_new_session=True,
        )

    def settings(self) -> list[Any]:
        return termios.tcgetattr(self._theirs)

    def resize(self, rows: int, cols: int) -> None:
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def type(self, octets: bytes) -> None:
        os.write(self._ours, octets)

    def sees(self, text: str) -> bytes:
        """All that was shown, once TEXT is among it."""

        def more() -> None:
            assert self.read() or self.process.poll() is None, f"{text!r} is not shown: {self.shown[-2000:]!r}"

        until(lambda: text.encode() in self.shown, lambda: f"{text!r} in {self.shown[-2000:]!r}", pause=more)
        return self.shown

    def read(self) -> bytes:
        ready, _, _ = select.select([self._ours], [], [], 0.05)
        try:
            piece = os.read(self._ours, 65536) if ready else b""
        except OSError:
            piece = b""
        self.shown += piece
        return piece

    def attached(self) -> Terminal:
        self.sees("Ctrl-\\")
        self.sees("ready")
        return self

    def ends(self) -> int:
        """Its exit status; what it still says is read, or it could not say it."""
        until(lambda: self.process.poll() is not None, lambda: f"the end of {self.shown[-500:]!r}", pause=self.read)
        while self.read():
            pass
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)
        os.close(self._theirs)


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scratch]:
    """A group with an actor that says what it is told, and one that runs by itself."""
    with served(tmp_path_factory.mktemp("attach")) as made:
        words = ["--runtime", "custom", "--command", sys.executable, "--command", "-c", "--command", ECHO]
        assert made.bb("actor", "add", "echo", *words).status == 0
        assert made.bb("actor", "add", "quiet", "--runner", "headless").status == 0
        yield made


@pytest.fixture
def echo(repo: Scratch) -> Scratch:
    """The same, and the actor has just been started."""
    assert repo.bb("actor", "restart", "echo").status == 0
    until(lambda: "ready" in tail(repo), "the actor")
    return repo


@pytest.fixture
def open_terminal(echo: Scratch) -> Iterator[Any]:
    opened: list[Terminal] = []

    def opens(*words: str, **how: Any) -> Terminal:
        opened.append(Terminal(echo, ["attach", *(words or ["echo"])], **how))
        return opened[-1]

    yield opens
    for terminal in opened:
        terminal.close()


def tail(repo: Scratch) -> str:
    """What the actor's terminal has shown."""
    text: str = repo.json("actor", "tail", "echo").data["text"]
    return text


# -- typing and seeing


def test_what_is_typed_goes_to_the_actor_and_what_it_shows_comes(open_terminal: Any):
    terminal = open_terminal().attached()

    terminal.type(b"hello")
    terminal.sees("got b'hello'")
    for key in (b"\x03", b"\x1a", b"\x04", b"\x1b[A", b"\r", b"\x11\x13", "ñ試".encode()):  # none of them is ours
        terminal.type(key)
        terminal.sees(f"got {key!r}")


def test_how_to_leave_is_said_before_anything_is_shown(open_terminal: Any):
    shown = open_terminal().attached().shown

    assert shown.startswith(b"Attached to echo. Ctrl-\\ detaches.\r\n")
    assert shown.index(b"Ctrl-\\") < shown.index(b"ready")


def test_what_was_shown_before_is_shown_again(open_terminal: Any):
    first = open_terminal().attached()
    first.type(b"early")
    first.sees("got b'early'")

    open_terminal().sees("got b'early'")


@pytest.mark.parametrize(
    "key",
    [b"\x1c", b"\x1b[92;5u", b"\x1b[92;133u", b"\x1b[92::124;5:1u", b"\x1b[27;5;92~"],
    ids=["old", "kitty", "with num lock", "with alternates", "xterm"],
)
def test_whoever_detaches_leaves_the_actor_running(open_terminal: Any, echo: Scratch, key: bytes):
    terminal = open_terminal().attached()

    terminal.type(b"last" + key + b"never")

    assert terminal.ends() == 0
    assert terminal.shown.endswith(b"Detached from echo, which keeps running\r\n")
    assert terminal.settings() == terminal.before
    assert echo.json("actor", "list").data["actors"][0]["running"] is True
    until(lambda: "got b'last'" in tail(echo), "what was typed before")
    assert "never" not in tail(echo)


def test_the_actors_terminal_has_the_size_of_the_persons(open_terminal: Any):
    terminal = open_terminal(rows=31, cols=97).attached()

    terminal.sees("size 97x31")
    terminal.resize(20, 60)
    os.kill(terminal.process.pid, signal.SIGWINCH)
    terminal.sees("size 60x20")


def test_when_the_program_ends_so_does_the_attachment(open_terminal: Any):
    terminal = open_terminal().attached()

    terminal.type(b"END")

    assert terminal.ends() == 0
    assert b"The terminal of echo has closed" in terminal.shown
    assert terminal.settings() == terminal.before


def test_when_the_daemon_ends_so_does_the_attachment(open_terminal: Any, echo: Scratch):
    terminal = open_terminal().attached()

    assert echo.bb("daemon", "stop").status == 0

    try:
        assert terminal.ends() in (0, 6)  # whichever of the terminal and the daemon is seen to close first
        assert terminal.settings() == terminal.before
    finally:
        assert echo.bb("daemon", "start").status == 0


def test_a_daemon_that_is_killed_is_no_end_that_is_well(open_terminal: Any, echo: Scratch):
    terminal = open_terminal().attached()
    os.kill(echo.json("daemon", "status").data["pid"], signal.SIGKILL)

    try:
        assert terminal.ends() == 6
        assert b"DAEMON_GONE" in terminal.shown
        assert terminal.settings() == terminal.before
    finally:
        assert echo.bb("daemon", "start").status == 0


# -- what is left behind


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_whoever_is_ended_from_outside_leaves_the_terminal_as_it_was(open_terminal: Any, number: signal.Signals):
    terminal = open_terminal().attached()
    assert terminal.settings() != terminal.before

    terminal.process.send_signal(number)

    assert terminal.ends() == 128 + number
    assert terminal.settings() == terminal.before


def test_what_a_program_has_switched_on_is_switched_off_for_who_leaves(open_terminal: Any):
    terminal = open_terminal().attached()
    terminal.type(b"ALT")
    terminal.sees("got b'ALT'")

    terminal.type(b"\x1c")

    terminal.ends()
    after = terminal.shown.partition(b"got b'ALT'")[2]
    for switched in (
        b"\x1b[<1u",
        b"\x1b[?1000l",
        b"\x1b[?1006l",
        b"\x1b[?1049l",
        b"\x1b[?25h",
        b"\x1b[?2004l",
        b"\x1b>",
    ):
        assert switched in after, switched
    assert after.index(b"\x1b[<1u") < after.index(b"\x1b[?1049l") < after.index(b"Detached")


def test_what_ones_own_terminal_answers_to_an_old_question_is_not_typed(open_terminal: Any, echo: Scratch):
    first = open_terminal().attached()
    first.type(b"ASK")
    first.sees("got b'ASK'")
    first.type(b"\x1c")
    first.ends()

    again = open_terminal().attached()
    again.type(b"\x1b[?62;22c")
    again.type(b"mine")
    again.sees("got b'mine'")

    assert "62;22c" not in tail(echo)


# -- several


def test_only_the_first_types_and_the_others_know_it(open_terminal: Any, echo: Scratch):
    first = open_terminal(rows=30, cols=90).attached()
    second = open_terminal(rows=10, cols=40).attached()
    assert b"Another user is typing; you watch. When that user leaves, the bell rings and you can type." in second.shown
    assert b"Somebody else" not in first.shown

    second.type(b"unheard")
    first.type(b"heard")

    second.sees("got b'heard'")
    assert b"unheard" not in first.sees("got b'heard'")
    assert "size 40x10" not in tail(echo)  # it is the first one's terminal
    assert b"\a" not in second.shown
    first.type(b"\x1c")
    first.ends()
    until(lambda: second.type(b"now") or (second.read() and b"got b'now" in second.shown), "the second's turn")
    second.sees("\a")
    until(lambda: "size 40x10" in tail(echo), "its terminal has the second's size now")


def test_who_only_reads_is_in_nobodys_way(open_terminal: Any):
    watcher = open_terminal("echo", "--read-only").attached()
    assert watcher.shown.startswith(b"Watching echo. Ctrl-\\, Ctrl-C or q ends it.\r\n")

    writer = open_terminal().attached()
    assert b"Somebody else" not in writer.shown
    watcher.type(b"unheard")
    writer.type(b"heard")

    watcher.sees("got b'heard'")
    assert b"unheard" not in writer.sees("got b'heard'")
    watcher.type(b"q")
    assert watcher.ends() == 0
    assert watcher.settings() == watcher.before


def test_what_is_shown_is_copied_into_a_pipe_as_it_is(open_terminal: Any, echo: Scratch):
    writer = open_terminal().attached()
    copying = subprocess.Popen(
        [sys.executable, "-m", "bb", "attach", "echo", "--read-only"],
        cwd=echo.path,
        env=environment(**echo.settings),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert copying.stdout is not None
    octets = b""
    while b"ready\r\n" not in octets:
        octets += os.read(copying.stdout.fileno(), 1000)

    writer.type(b"ALT")
    writer.sees("got b'ALT'")
    writer.type(b"END")

    rest, err = copying.communicate(timeout=PATIENCE)
    assert (copying.returncode, err) == (0, b"")
    assert b"\x1b[?1049h" in octets + rest
    assert octets.startswith(b"ready\r\n")


# -- refusals


@pytest.mark.parametrize(
    ("words", "code", "status"),
    [
        (["echo"], "NEEDS_TERMINAL", 2),
        ([], "NEEDS_TERMINAL", 2),
        (["nobody", "--read-only"], "ACTOR_NOT_FOUND", 3),
        (["--read-only"], "MISSING_ACTOR_ID", 2),
        (["quiet", "--read-only"], "NOT_PTY_ACTOR", 4),
        (["echo", "--read-only", "--group-id", "g_none"], "GROUP_NOT_FOUND", 3),
        (["echo", "stray"], "UNEXPECTED_ARGUMENT", 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_whoever_cannot_attach_is_told_why(echo: Scratch, words: list[str], code: str, status: int):
    told = echo.bb("attach", *words)

    assert (told.status, told.out) == (status, "")
    assert told.err.startswith(f"Error: [{code}] ")


def test_an_actor_that_does_not_run_has_no_terminal_to_show(echo: Scratch):
    echo.bb("actor", "stop", "echo")

    told = echo.bb("attach", "echo", "--read-only")

    assert told.err.startswith("Error: [ACTOR_NOT_RUNNING] ")


def test_a_terminal_is_no_json(echo: Scratch):
    asked = echo.json("attach", "echo")

    assert (asked.code, asked.status, asked.envelope["command"]) == ("NO_JSON", 2, "attach")


def test_without_a_daemon_there_is_nothing_to_attach_to(repo: Scratch):
    told = repo.bb("attach", "echo", "--read-only", CCCC_HOME=f"{repo.path}-nowhere")

    assert (told.status, told.err[:28]) == (6, "Error: [DAEMON_UNAVAILABLE] ")


# -- the rules behind it


@pytest.mark.parametrize("octets", [b"\x1b[92u", b"\x1b[91;5u", b"\x1b[92;6u", b"\\", b"\x1b[192;5u", b"\x1b[92;5:3u"])
def test_other_keys_let_nobody_go(octets: bytes):
    assert attaching.until(attaching.DETACH, octets) == (octets, False)


@pytest.mark.parametrize(
    "octets",
    [b"\x1b[?1u", b"\x1b[12;40R", b"\x1b[>0;276;0c", b"\x1b]11;rgb:0/0/0\x1b\\", b"\x1bP>|x\x1b\\", b"\x1b[8;24;80t"],
)
def test_answers_of_a_terminal_are_not_taken_for_keys(octets: bytes):
    assert attaching.without_answers(b"a" + octets + b"b") == b"ab"


def test_keys_are_not_taken_for_answers():
    octets = b"\x1b[A\x1bOP\x1b[1;5C\x1b[200~pasted\x1b[201~\x1b[97;5u\x1b"

    assert attaching.without_answers(octets) == octets


@pytest.mark.parametrize("mode", KNOWN)
def test_a_switch_is_off_again_once_the_program_has_switched_it_off(mode: int):
    switches = Switches()

    switches.follow(b"\x1b[?%dh" % mode)
    assert b"\x1b[?%dl" % mode in switches.off()
    switches.follow(b"\x1b[?%dl" % mode)
    assert switches.off() == b"\x1b[0m"


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_switch_is_seen_wherever_what_is_shown_is_cut(cut: int):
    octets = b"text\x1b[?1049;1000h\x1b[>5u\x1b[?25l\x1b[>4;2m\x1b=more"
    switches = Switches()

    switches.follow(octets[:cut])
    switches.follow(octets[cut:])

    assert re.findall(rb"\x1b\S[^\x1b]*", switches.off()) == [
        *(b"\x1b[<1u", b"\x1b[>4m", b"\x1b>", b"\x1b[?1000l", b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[0m")
    ]


def test_a_reset_switches_everything_off():
    switches = Switches()

    switches.follow(b"\x1b[?1049;1000h\x1b[>5u\x1b[?25l\x1bc")

    assert switches.off() == b"\x1b[0m"
