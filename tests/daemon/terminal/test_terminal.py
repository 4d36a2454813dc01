"""Programs on real terminals, driven by a loop like the daemon's."""

from __future__ import annotations

import os
import selectors
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bb.daemon.actors.delivery import Queue, keystrokes
from bb.daemon.terminal import terminal
from bb.daemon.terminal.processes import ActorStartFailed, Ended, NoTerminal
from bb.daemon.terminal.terminal import MOST_PENDING, MOST_UNSENT, Terminal
from bb.kernel.errors import BbError, Busy, Refused
from bb.ops.groups.terminals import InvalidSize, refuse_size
from tests.waiting import until

ENV = {"PATH": "/usr/bin:/bin", "HOME": "/", "TERM": "xterm", "PS1": "$ "}
needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")


class Loop:
    """A small loop around a selector, as the daemon's is, that goes on until something is so."""

    def __init__(self) -> None:
        self.terminals: list[Terminal] = []

    def start(self, *command: str, cwd: str = "/", env: dict[str, str] | None = None, **options: Any) -> Terminal:
        self.terminals.append(Terminal.start(command, cwd, ENV if env is None else env, **options))
        return self.terminals[-1]

    def until(self, is_so: Callable[[], object]) -> None:
        until(is_so, lambda: [each.transcript.since(0)[-500:] for each in self.terminals], pause=self.turn)

    def turn(self) -> None:
        with selectors.DefaultSelector() as selector:
            for each in self.terminals:
                if not each.has_hung_up:
                    wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if each.wants_write else 0)
                    selector.register(each.fd, wanted, each)
            for key, events in selector.select(0.01):
                if events & selectors.EVENT_READ:
                    key.data.read()
                if events & selectors.EVENT_WRITE:
                    key.data.flush()

    def ended(self, each: Terminal) -> Ended:
        self.until(each.poll)
        each.close()
        return each.poll() or pytest.fail("it has ended")

    def said(self, each: Terminal, text: str) -> None:
        self.until(lambda: text in each.transcript.tail(10_000))


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    for each in made.terminals:
        each.kill()
        made.until(each.poll)
        each.close()


def shell(script: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", script)


def text(each: Terminal) -> str:
    return each.transcript.tail(100_000)


# -- how it starts


def test_what_a_program_says_is_kept_and_so_is_how_it_ended(loop: Loop):
    one = loop.start(*shell("echo hello; exit 3"))
    assert loop.ended(one) == Ended(3)
    assert text(one) == "hello"


def test_a_program_is_on_a_terminal_of_the_size_that_was_asked_for(loop: Loop):
    one = loop.start(*shell("tty; stty size; test -t 0 && test -t 1 && test -t 2 && echo all three"), cols=97, rows=31)
    assert loop.ended(one) == Ended(0)
    name, size, three = text(one).splitlines()
    assert name.startswith("/dev/")
    assert (size, three) == ("31 97", "all three")


def test_the_terminal_is_the_one_that_controls_it(loop: Loop):
    one = loop.start(*shell("exec 0</dev/null; echo yes >/dev/tty"))
    assert loop.ended(one) == Ended(0)
    assert text(one) == "yes"


def test_a_shell_can_control_its_jobs(loop: Loop):
    one = loop.start("/bin/sh", "-i")
    one.write(b"sleep 60 &\nkill -9 %1; wait %1; echo job $?\n")
    loop.said(one, "job 137")
    one.write(b"sh -c 'echo run\"\"ning; exec sleep 60'\n")
    loop.said(one, "running")
    one.write(b"\x03")
    one.write(b"echo still $((40 + 2)); exit 7\n")
    loop.said(one, "still 42")
    assert "job control turned off" not in text(one)
    assert loop.ended(one) == Ended(7)


def test_it_starts_in_its_folder_with_its_words_and_its_environment(loop: Loop, tmp_path: Path):
    folder = tmp_path / "-a folder; $HOME"
    folder.mkdir()
    script = 'pwd; for each; do echo "<$each>"; done; echo "$COLOUR" "$TERM" "$COLUMNS"'
    words = ["-n", "two words", "$(date)", "", "é"]
    env = ENV | {"COLOUR": "grün", "TERM": "dumb", "COLUMNS": "10"}
    one = loop.start(*shell(script), "sh", *words, cwd=str(folder), env=env, cols=200)
    assert loop.ended(one) == Ended(0)
    assert text(one).splitlines() == [str(folder), *(f"<{word}>" for word in words), "grün xterm-256color"]


def test_a_program_is_looked_for_as_the_child_would(loop: Loop, tmp_path: Path):
    for place in (tmp_path / "bin", tmp_path):
        place.mkdir(exist_ok=True)
        (place / "actor").write_text(f"#!/bin/sh\necho {place.name}\n")
        (place / "actor").chmod(0o755)
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "actor").write_text("not to be run")
    env = ENV | {"PATH": f"{tmp_path}/none:{tmp_path}/first:bin"}
    for command, where in (("actor", "bin"), ("./actor", tmp_path.name), (f"{tmp_path}/bin/actor", "bin")):
        one = loop.start(command, cwd=str(tmp_path), env=env)
        assert loop.ended(one) == Ended(0)
        assert text(one) == where


@needs_proc
def test_a_child_inherits_nothing_but_its_terminal(loop: Loop, tmp_path: Path):
    loop.start("/bin/cat")
    with open(tmp_path / "file", "w") as file:
        os.set_inheritable(file.fileno(), True)  # as the daemon may have been given one itself
        check_what_is_inherited(loop)


def check_what_is_inherited(loop: Loop):
    one = loop.start(*shell("ls /proc/$$/fd; exec grep -E '^Sig(Blk|Ign)' /proc/self/status"))
    assert loop.ended(one) == Ended(0)
    *numbers, blocked, ignored = text(one).splitlines()
    assert " ".join(numbers).split() == ["0", "1", "2"]
    # Signals 32 and 33 are the C library's own; it ignores them in whatever it starts.
    assert [int(each.split()[1], 16) & 0x7FFFFFFF for each in (blocked, ignored)] == [0, 0]


@pytest.mark.parametrize(
    ("command", "cwd", "env", "reason"),
    [
        (["no-such-program"], "/", ENV, "no_program"),
        (["./no-such-program"], "/", ENV, "no_program"),
        (["/proc/version"], "/", ENV, "no_program"),
        (["/etc"], "/", ENV, "no_program"),
        ([""], "/", ENV, "no_program"),
        ([], "/", ENV, "no_program"),
        (["sh"], "/", ENV | {"PATH": ""}, "no_program"),
        (["sh"], "/no/such/folder", ENV, "no_folder"),
        (["sh"], "/etc/hosts", ENV, "no_folder"),
        (["sh", "nul\0"], "/", ENV, "invalid_words"),
        (["sh"], "/", ENV | {"A=B": "1"}, "invalid_words"),
        (["sh", "\ud800"], "/", ENV, "invalid_words"),
        (["sh", "x" * (4 << 20)], "/", ENV, "system"),
    ],
)
def test_what_cannot_be_started_is_refused_and_leaves_nothing(
    command: list[str], cwd: str, env: dict[str, str], reason: str
):
    before = open_files(), children()
    with pytest.raises(ActorStartFailed.error) as refusal:
        Terminal.start(command, cwd, env)
    assert (refusal.value.code, refusal.value.details["reason"]) == ("ACTOR_START_FAILED", reason)
    assert refusal.value.hint
    assert (open_files(), children()) == before


def test_where_there_are_no_terminals_that_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(os, "openpty")
    with pytest.raises(NoTerminal.error) as refusal:
        Terminal.start(["sh"], "/", ENV)
    assert (refusal.value.code, isinstance(refusal.value, Refused)) == ("NO_TERMINAL", True)


@pytest.mark.parametrize(("number", "family"), [(28, NoTerminal.error), (24, Busy)])  # no space for one; too many files
def test_a_system_that_has_no_terminal_left_says_why(
    monkeypatch: pytest.MonkeyPatch, number: int, family: type[BbError]
):
    def full() -> tuple[int, int]:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "openpty", full)
    with pytest.raises(family):
        Terminal.start(["sh"], "/", ENV)


# -- what it is told


def test_what_is_written_is_what_it_reads(loop: Loop):
    one = loop.start(*shell("stty raw -echo; echo ready; exec cat"))
    loop.said(one, "ready")
    assert one.write("grüße\n".encode())
    loop.said(one, "grüße")


def test_what_it_does_not_read_yet_waits_and_arrives_whole(loop: Loop, tmp_path: Path):
    go, got = tmp_path / "go", tmp_path / "got"
    os.mkfifo(go)
    script = f"stty raw -echo; echo ready; read x <{go}; head -c 300000 >{got}; echo done"
    one = loop.start(*shell(script))
    loop.said(one, "ready")
    sent = b"".join(b"%07d\n" % number for number in range(37_500))
    assert one.write(sent)
    assert one.wants_write, "a terminal holds a few kilobytes"
    go.write_text("\n")
    loop.said(one, "done")
    assert not one.wants_write
    assert got.read_bytes() == sent


def test_there_is_an_end_to_what_may_wait_and_it_is_all_or_nothing(loop: Loop):
    one = loop.start(*shell("stty raw -echo; echo ready; exec sleep 60"))
    loop.said(one, "ready")
    assert one.write(b"x" * MOST_PENDING)
    assert not one.write(b"y" * MOST_PENDING)
    assert one.write(b"z")
    loop.turn()
    assert one.wants_write


def test_who_has_ended_is_told_nothing(loop: Loop):
    one = loop.start("/bin/echo", "over")
    loop.until(lambda: one.has_hung_up)
    assert not one.write(b"x")
    assert not one.wants_write
    loop.ended(one)
    assert not one.write(b"x")
    one.flush()
    one.resize(80, 24)
    assert one.read() == b""


def test_ipc_8_10_a_new_size_is_told_to_the_program(loop: Loop):
    one = loop.start(*shell("trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.05; done"))
    loop.said(one, "ready")
    one.resize(100, 20)
    loop.said(one, "20 100")
    assert loop.ended(one) == Ended(0)


@pytest.mark.parametrize(
    ("cols", "rows", "path"),
    [
        (0, 24, "$.cols"),
        (80, 0, "$.rows"),
        (-1, 24, "$.cols"),
        (1001, 24, "$.cols"),
        (80, 501, "$.rows"),
        ("80", 24, "$.cols"),
        (80, None, "$.rows"),
        (80.0, 24, "$.cols"),
        (True, 24, "$.cols"),
    ],
)
def test_what_is_no_size_is_refused_with_its_path(cols: Any, rows: Any, path: str):
    with pytest.raises(InvalidSize.error) as refusal:
        refuse_size(cols=cols, rows=rows)
    assert refusal.value.details == {"path": path}


@pytest.mark.parametrize(
    ("shown", "wants"),
    [
        ([b"\x1b[?2004h"], True),
        ([b"\x1b[?2004h", b"\x1b[?2004l"], False),
        ([b"\x1b[?2004l\x1b[?2004h$ "], True),
        ([b"\x1b[?20", b"04h"], True),
        ([b"words \x1b", b"[?2004h words"], True),
        ([bytes([each]) for each in b"a\x1b[?1049;2004hb"], True),
        ([b"\x1b[?2004h", b"\x1bc"], False),
        ([b"\x1b[2004h", b"?2004h", b"\x1b[?12004h", b"\x1b[?2004x"], False),
        ([b"\x1b[?" + b"1" * 100, b";2004h"], False),
        ([b"\x1b[?2004h\x1b[?25l", b"\x1b[0m"], True),
    ],
)
def test_whether_pasting_is_understood_is_learnt_from_what_is_shown(
    loop: Loop, tmp_path: Path, shown: list[bytes], wants: bool
):
    one = Terminal(0, -1, terminal.Transcript())
    for piece in shown:
        one._follow_paste_mode(piece)
    assert one.wants_paste is wants
    (tmp_path / "shown").write_bytes(b"".join(shown))
    real = loop.start("cat", str(tmp_path / "shown"))
    loop.ended(real)
    assert real.wants_paste is wants


# -- who watches


class Watching:
    """Somebody who watches, and how far behind."""

    def __init__(self, unsent: int = 0) -> None:
        self.unsent = unsent
        self.seen = b""
        self.has_ended = False

    def send(self, octets: bytes) -> int:
        self.seen += octets
        return self.unsent

    def end(self) -> None:
        self.has_ended = True


def test_ipc_4_4_who_attaches_sees_what_was_and_what_comes(loop: Loop):
    one = loop.start(*shell("stty raw -echo; printf '\\033[1mready\\r\\n'; exec cat"))
    early, late = Watching(), Watching()
    one.attach(early)
    loop.said(one, "ready")
    one.attach(late)
    assert early.seen == late.seen == b"\x1b[1mready\r\n"
    one.write(b"more")
    loop.until(lambda: b"more" in late.seen)
    assert early.seen == late.seen == b"\x1b[1mready\r\nmore"


def test_ipc_4_4_one_may_type_and_the_next_does_when_it_leaves(loop: Loop):
    one = loop.start(*shell("stty raw -echo; echo ready; exec cat"))
    loop.said(one, "ready")
    first, second, third = (Watching() for _ in range(3))
    assert [one.attach(each) for each in (first, second, third)] == [True, False, False]
    assert not one.may_type(second)
    assert one.may_type(first)
    one.detach(second)
    assert one.may_type(first)
    assert third.seen == b"ready\n"
    one.detach(first)
    one.detach(first)
    assert one.may_type(third)
    assert not one.may_type(first)
    assert third.seen == b"ready\n\a", "who may type now hears the bell"
    assert b"\a" not in first.seen + second.seen


def test_nobody_hears_the_bell_of_a_terminal_that_closes(loop: Loop):
    one = loop.start(*shell("stty raw -echo; echo ready; exec cat"))
    loop.said(one, "ready")
    first, second = Watching(), Watching()
    one.attach(first)
    one.attach(second)
    one.close()
    one.detach(first)
    one.detach(second)
    assert second.has_ended
    assert b"\a" not in second.seen


def test_the_terminal_is_as_large_as_that_of_whoever_types(loop: Loop):
    one = loop.start(*shell("stty raw -echo; trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done"))
    loop.said(one, "ready")
    first, watcher, second, third = (Watching() for _ in range(4))
    one.attach(first, size=(90, 30))
    loop.said(one, "30 90")
    one.attach(watcher, only_watches=True, size=(20, 5))
    one.attach(second, size=(40, 10))
    one.attach(third)
    one.detach(watcher)
    one.detach(first)
    loop.said(one, "10 40")
    one.detach(second)
    assert one.may_type(third)
    assert b"5 20" not in third.seen


def test_who_is_too_far_behind_is_let_go_and_the_next_may_type(loop: Loop):
    one = loop.start("/bin/cat")
    slow, quick = Watching(MOST_UNSENT), Watching()
    one.attach(slow)
    one.attach(quick)
    one.write(b"one\n")
    loop.said(one, "one")
    assert one.may_type(slow), "as far behind as it may be"
    slow.unsent += 1
    one.write(b"two\n")
    loop.said(one, "two")
    assert slow.has_ended
    assert one.may_type(quick)
    assert not quick.has_ended


def test_who_watches_sees_the_last_words_and_is_told_of_the_end(loop: Loop):
    one = loop.start(*shell("echo last words"))
    watcher = Watching()
    one.attach(watcher)
    loop.ended(one)
    assert watcher.seen == b"last words\r\n"
    assert watcher.has_ended


def test_who_comes_after_the_end_sees_what_was_and_that_it_has_ended(loop: Loop):
    one = loop.start(*shell("echo last words"))
    loop.ended(one)
    watcher = Watching()
    assert not one.attach(watcher)
    assert watcher.seen == b"last words\r\n"
    assert watcher.has_ended


def test_who_attaches_to_a_long_transcript_is_not_behind_from_the_first():
    one = Terminal(0, -1, terminal.Transcript(10 << 20))
    one.transcript.append(b"a line of text\r\n" * (10 << 16))
    watcher = Watching()
    one.attach(watcher)
    assert MOST_UNSENT / 4 < len(watcher.seen) < MOST_UNSENT
    assert watcher.seen.startswith(b"a line")


# -- messages


def test_a_message_is_pasted_into_a_program_that_asked_for_that(loop: Loop, tmp_path: Path):
    queue = Queue(0)
    queue.add("e1", "[bb] message e1 from ada to bo1\nTests pass.\x1b[201~")
    pasted = b"\x1b[200~[bb] message e1 from ada to bo1\nTests pass.\\x1b[201~\x1b[201~"
    script = "stty raw -echo; printf '\\033[?2004h> '; head -c {} >{}; echo taken"
    one = loop.start(*shell(script.format(len(pasted) + 1, tmp_path / "got")))
    loop.said(one, ">")
    queue.heard(100)
    given = queue.take(queue.next_at(100) or 0, one.shown)
    assert given
    for _, octets in keystrokes(given.text, "enter", one.wants_paste):
        assert one.write(octets)
    loop.said(one, "taken")
    assert (tmp_path / "got").read_bytes() == pasted + b"\r"


def test_nothing_is_typed_into_a_dialog_on_the_screen(loop: Loop):
    queue = Queue(0)
    queue.add("e1", "[bb] message")
    dialog = "Do you trust this folder?\\r\\n\\r\\n\\033[36m❯ 1. Yes\\033[0m\\r\\n  2. No\\r\\n"
    one = loop.start(*shell(f"stty -echo; printf '{dialog}'; read x; printf '\\033[2J\\033[H> '; exec cat"))
    loop.said(one, "2. No")
    queue.heard(100)
    assert queue.take(10_000, one.shown) is None
    assert queue.is_held
    one.write(b"1\n")
    loop.said(one, ">")
    queue.heard(20_000)
    assert queue.take(30_000, one.shown)


# -- how it ends


def test_stop_asks_and_the_program_may_tidy_up(loop: Loop):
    one = loop.start(*shell("trap 'echo tidied; exit 5' TERM; echo ready; while :; do sleep 0.05; done"))
    loop.said(one, "ready")
    assert one.poll() is None
    one.stop()
    assert loop.ended(one) == Ended(5)
    assert "tidied" in text(one)


def test_stop_ends_what_does_not_mind(loop: Loop):
    one = loop.start("/bin/cat")
    one.stop()
    assert loop.ended(one) == Ended(None, "SIGTERM")


def test_who_does_not_listen_is_killed(loop: Loop):
    one = loop.start(*shell("trap '' TERM HUP; echo ready; while :; do sleep 0.05; done"))
    loop.said(one, "ready")
    one.stop()
    loop.turn()
    assert one.poll() is None
    one.kill()
    assert loop.ended(one) == Ended(None, "SIGKILL")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell what is ignored")
def test_a_shell_that_ignores_being_asked_ends_as_if_its_terminal_had_gone(loop: Loop):
    one = loop.start("bash", "--norc", "--noprofile", "-i")
    loop.said(one, "$")
    loop.until(one._is_idle_shell)  # which it is a moment before or after its prompt is seen
    one.stop()
    assert loop.ended(one).signal in ("SIGHUP", "SIGTERM")


def test_who_is_suspended_is_stopped_all_the_same(loop: Loop):
    one = loop.start(*shell("echo ready; kill -STOP $$; sleep 60"))
    loop.said(one, "ready")
    one.stop()
    assert loop.ended(one) == Ended(None, "SIGTERM")


def test_a_wrapper_has_not_ended_before_what_it_wraps(loop: Loop):
    wrapped = "(trap '' HUP; trap 'sleep 0.2; echo saved; exit' TERM; echo ready; while :; do sleep 0.02; done)"
    one = loop.start(*shell(f"{wrapped} & wait"))
    loop.said(one, "ready")
    one.stop()
    assert loop.ended(one) == Ended(None, "SIGTERM")
    assert "saved" in text(one)


def test_what_a_shell_has_in_the_foreground_is_stopped_too(loop: Loop, tmp_path: Path):
    told = tmp_path / "told"
    job = f'sh -c \'trap "echo yes >{told}; exit" TERM; echo rea""dy; while :; do sleep 0.05; done\''
    one = loop.start("/bin/sh", "-i")
    one.write(f"{job}\n".encode())
    loop.said(one, "ready")
    one.stop()
    loop.until(lambda: told.exists() and told.read_text())
    one.kill()  # a shell at its prompt takes no notice of what it is asked
    assert loop.ended(one).signal in ("SIGKILL", "SIGTERM", "SIGHUP")  # it was at its prompt already, perhaps


def test_a_program_has_ended_though_what_it_left_behind_still_talks(loop: Loop):
    one = loop.start(*shell("trap '' HUP; sleep 60 & echo $!; exit 4"))
    loop.until(one.poll)
    assert one.poll() == Ended(4)
    assert not one.has_hung_up
    one.close()
    left = int(text(one))
    os.kill(left, signal.SIGKILL)


def test_closing_before_the_end_hangs_up(loop: Loop):
    one = loop.start("/bin/cat")
    one.close()
    one.close()
    loop.until(one.poll)
    assert one.poll() == Ended(None, "SIGHUP")


def test_a_program_somebody_else_waited_for_has_ended_somehow(loop: Loop):
    one = loop.start("/bin/echo")
    os.waitpid(one.pid, 0)
    assert one.poll() == Ended(None, None)
    one.kill()
    one.stop()


@pytest.mark.skipif(not hasattr(signal, "SIGRTMIN"), reason="there are no real-time signals")
def test_a_signal_without_a_name_is_told_by_its_number(loop: Loop):
    one = loop.start(*shell(f"kill -{signal.SIGRTMIN + 1} $$"))
    assert loop.ended(one) == Ended(None, f"SIG{signal.SIGRTMIN + 1}")


def open_files() -> list[str]:
    return sorted(os.listdir("/proc/self/fd")) if sys.platform == "linux" else []


def children() -> list[str]:
    """Processes that this one has started and not waited for."""
    if sys.platform != "linux":
        return []
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


@needs_proc
def test_after_many_rounds_no_file_is_open_and_no_process_left(loop: Loop):
    before = open_files(), children()
    for number in range(20):
        one = loop.start(*(shell("exit 1") if number % 2 else ["/bin/cat"]))
        one.attach(Watching())
        one.write(b"hello\n")
        if number % 4 == 0:
            one.stop()
        elif number % 4 == 2:
            one.kill()
        loop.ended(one)
        loop.terminals.clear()
    assert (open_files(), children()) == before
