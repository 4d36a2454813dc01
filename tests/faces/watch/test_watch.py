"""`bb watch` at a terminal, as somebody sees it who sits there."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from bb.coordination.facts import Reserved
from bb.kernel import clock
from bb.ledger.journal import kinds
from bb.messaging.facts import Sent
from tests.faces.faces_support import Forger
from tests.faces.test_hostile_text import HOSTILE
from tests.near import Near, near
from tests.support import ROOT, Scratch
from tests.terminals import Terminal

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a terminal as Linux and macOS have them")
AMBER, COBALT = "amber-otter", "cobalt-harbor"
FOOT = "q quit"
SOON = 1.0  # seconds in which a change is to be seen


@pytest.fixture
def here(tmp_path: Path) -> Near:
    repo = near(tmp_path / "repo")
    for name in (AMBER, COBALT):
        assert repo.bb("agent", "register", "--name", name, "--role", "builder").status == 0
    reserve(repo, AMBER, "src/parser")
    return repo


def reserve(repo: Scratch, agent: str, scope: str) -> None:
    assert repo.bb("agent", "reserve", "--agent", agent, "--scope", scope, "--bead", "bb-1").status == 0


def ask(repo: Scratch, subject: str) -> None:
    words = ["--bead", "bb-1", "--category", "BLOCKED", "--subject", subject, "--body", "ISO or RFC?"]
    assert repo.bb("agent", "send", "--from", AMBER, "--to", "user", *words).status == 0


def watching(repo: Scratch, *words: str, **more: object) -> Terminal:
    terminal = Terminal(repo, "watch", *words, **more)  # type: ignore[arg-type]
    terminal.shows(FOOT)
    return terminal


def left_well(terminal: Terminal, status: int = 0) -> bool:
    """Whether it has ended so, and left the terminal as it was, having written nothing strange to it."""
    assert terminal.ends() == status
    assert terminal.strange == []
    assert terminal.ever == {"7", "25", "1049", "2026"}
    return terminal.is_as_before


def test_it_shows_who_is_here_and_what_they_hold_and_goes_without_a_trace(here: Near):
    with watching(here) as terminal:
        assert any(line.split()[:2] == [AMBER, "active"] and "src/parser" in line for line in terminal.screen)
        assert "nothing needs you" in terminal.text
        assert not terminal.is_as_before

        terminal.type("q")

        assert left_well(terminal)
        assert terminal.printed == ""


def test_a_change_is_seen_within_a_second(here: Near):
    """The quickest of some: how busy the machine is says nothing about bb."""
    took, asked = [], []
    with watching(here) as terminal:
        for number in range(3):
            reserve(here, COBALT, f"docs/guide-{number}")
            took.append(terminal.shows(f"docs/guide-{number}"))
            ask(here, f"Which format {number}?")
            asked.append(terminal.shows(f'amber-otter is blocked and asks user: "Which format {number}?"'))

    assert max(min(took), min(asked)) < SOON


def test_nothing_is_written_while_nothing_changes_but_ages(here: Near):
    with watching(here, BB_NOW="2026-01-05T12:00:00.000Z") as terminal:
        assert terminal.rests(1.5) == ""


def test_somebody_who_falls_silent_is_seen_to_be_stale_although_nothing_is_written(tmp_path: Path):
    def is_seen(left: int) -> bool:
        """Whether it is, so many seconds after it was last active; the machine may have been too busy until then."""
        repo = near(tmp_path / str(left), BB_AGENT_STALE_MINUTES="1")
        almost = clock.text(time.time_ns() // 1_000_000 - (60 - left) * clock.SECOND)
        assert repo.bb("agent", "register", "--name", AMBER, "--role", "builder", BB_NOW=almost).status == 0
        with watching(repo) as terminal:
            was_active = f"{AMBER} active" in terminal.text
            terminal.shows(f"{AMBER} stale")
            assert "1 stale" in terminal.text
        return was_active

    assert any(map(is_seen, (3, 6, 12, 24, 48)))


def test_it_follows_the_size_of_the_terminal(here: Near):
    with watching(here) as terminal:
        for columns, lines in ((120, 40), (40, 10), (20, 5), (200, 20), (80, 24)):
            terminal.resize(columns, lines)
            terminal.until(lambda _: terminal.screen[-1].startswith(FOOT[:18]) and "repo" in terminal.screen[0])
            terminal.strange.clear()  # what was on its way for another size when this one came
            terminal.type("r")
            terminal.rests(0.3)
            assert terminal.strange == []
        assert AMBER in terminal.text


def test_while_it_is_paused_nothing_moves_and_then_it_catches_up(here: Near):
    with watching(here) as terminal:
        terminal.type(" ")
        terminal.shows("PAUSED since")
        reserve(here, COBALT, "docs/guide")
        assert terminal.rests(1.3) == ""
        terminal.type("4")
        terminal.shows("Held")
        assert "docs/guide" not in terminal.text

        terminal.type("p")

        terminal.shows("docs/guide")
        assert "PAUSED" not in terminal.text


def test_a_filter_is_typed_and_cleared(here: Near):
    with watching(here) as terminal:
        terminal.type("/cobalt")
        terminal.shows("/cobalt_")
        terminal.type("\r")
        terminal.shows("only: cobalt")
        terminal.shows_no(f"{AMBER} ")
        terminal.type("\x1b")
        terminal.shows(f"{AMBER}   active")
        assert "only:" not in terminal.text


def test_views_are_cycled_and_scrolled_and_help_explains_them(here: Near):
    with watching(here, "--view", "timeline", lines=8) as terminal:
        assert "Timeline" in terminal.text
        for n in range(6):
            reserve(here, COBALT, f"docs/{n}")
        terminal.shows("docs/5")
        terminal.type("G")
        terminal.shows("started as builder")
        terminal.type("g\t")
        terminal.shows("Problems") if "Agents" in terminal.text else terminal.shows("nothing needs you")
        terminal.type("?")
        terminal.shows("pause the screen; press again")
        terminal.type("?q")
        assert left_well(terminal)


def test_only_one_agent_and_some_words_from_the_start(here: Near):
    reserve(here, COBALT, "docs/guide")
    with watching(here, "--agent", COBALT, "--filter", "guide", "--since", "1h") as terminal:
        assert "only: guide" in terminal.text
        assert "filtered" in terminal.text
        assert AMBER not in terminal.text
        assert "reserved docs/guide" in terminal.text


@pytest.mark.parametrize("key", ["q", "\x03", "\x04"], ids=["q", "Ctrl-C", "Ctrl-D"])
def test_keys_that_quit_leave_the_terminal_as_it_was(here: Near, key: str):
    with watching(here) as terminal:
        terminal.type(key)
        assert left_well(terminal)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_signals_that_end_it_leave_the_terminal_as_it_was(here: Near, number: int, status: int):
    with watching(here) as terminal:
        terminal.child.send_signal(number)
        assert left_well(terminal, status)


def test_a_bug_is_reported_once_the_terminal_is_as_it_was(here: Near):
    broken = (
        "import sys; from bb.cli import main; from bb.cli.watch import layout\n"
        "layout._foot = lambda *_: 1 / 0 if len(calls) > 2 else calls.append(1) or ''\n"
        "calls = []; sys.argv = ['bb', 'watch']; main.main()"
    )
    with Terminal(here, command=[sys.executable, "-c", broken]) as terminal:
        assert left_well(terminal, 1)
        assert "Error: [INTERNAL_ERROR] bb ran into a bug: ZeroDivisionError" in terminal.printed


# Takes the part of a shell: runs a job in the foreground, says when it has stopped, and lets it go on.
SHELL = """
import os, signal, sys, termios, time
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.executable, [sys.executable, "-m", "bb", "watch"])
for _ in range(2):
    _, status = os.waitpid(job, os.WUNTRACED)
    if os.WIFEXITED(status):
        sys.exit(os.WEXITSTATUS(status))
    os.tcsetpgrp(0, os.getpid())
    print("STOPPED", bool(termios.tcgetattr(0)[3] & termios.ICANON), flush=True)
    time.sleep(0.3)
    os.tcsetpgrp(0, job)
    os.kill(-job, signal.SIGCONT)
"""


@pytest.mark.parametrize("how", ["key", "signal"])
def test_suspending_gives_the_terminal_back_and_going_on_draws_it_anew(here: Near, how: str):
    with Terminal(here, command=[sys.executable, "-c", SHELL]) as terminal:
        terminal.shows(FOOT)
        if how == "key":
            terminal.type("\x1a")
        else:
            (job,) = Path(f"/proc/{terminal.child.pid}/task/{terminal.child.pid}/children").read_text().split()
            os.kill(int(job), signal.SIGTSTP)
        terminal.until(lambda _: "STOPPED True" in terminal.printed)
        terminal.shows(AMBER)
        assert terminal.modes["1049"]
        terminal.type("q")
        assert left_well(terminal)


def test_without_a_keyboard_it_still_shows_and_a_signal_ends_it(here: Near):
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        with watching(here, stdin=nothing) as terminal:
            reserve(here, COBALT, "docs/guide")
            terminal.shows("docs/guide")
            terminal.child.send_signal(signal.SIGTERM)
            assert left_well(terminal, 143)
    finally:
        os.close(nothing)


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_cannot_show_a_screen_gets_lines_and_is_told_so(here: Near, term: str):
    with Terminal(here, "watch", "--since", "1h", TERM=term) as terminal:
        terminal.until(lambda _: "reserved src/parser" in terminal.printed)
        assert "Note: [NO_SCREEN] this terminal cannot show a screen" in terminal.printed
        assert terminal.ever == set()
        terminal.type("\x03")
        assert terminal.ends() == 130


def test_a_ledger_that_cannot_be_read_for_a_while_is_said_and_the_last_picture_stays(here: Near):
    with watching(here) as terminal:
        journal = here.journal()
        sound = journal.read_bytes()
        journal.rename(journal.with_suffix(".away"))
        (here.store / "index.sqlite").unlink()
        journal.mkdir()
        terminal.until(lambda _: "[" in terminal.screen[-1])
        assert AMBER in terminal.text
        journal.rmdir()
        journal.write_bytes(sound)
        terminal.shows(FOOT)


def test_nothing_that_somebody_wrote_reaches_the_terminal_raw(here: Near):
    """All of it came with a ledger that somebody else wrote."""
    forger = Forger(here)
    for number, text in enumerate([*HOSTILE.values(), "<script>alert(1)</script>", "会議" * 40]):
        name = f"evil-{number}"
        forger.add("actor.add", text, {"actor_id": name, "role": text, "title": text})
        for fact in (
            Reserved(name, f"src/{number}/{text}", text, 120),
            Sent(name, ("user",), "BLOCKED", text, text, text, "bead:x", True),
            Sent(name, (COBALT,), "HANDOFF", text, text, text, "bead:x", True),
        ):
            kind, data = kinds.kind_and_data(fact)
            forger.add(kind, name, data, ts=clock.text(time.time_ns() // 1_000_000))
    kind, data = kinds.kind_and_data(Reserved(COBALT, "src/abc\u202edef", "bb-1", 120))  # which a file may be called
    forger.add(kind, COBALT, data, ts=clock.text(time.time_ns() // 1_000_000))
    with watching(here, columns=100, lines=50) as terminal:
        for key in "12345":
            terminal.type(key)
            terminal.rests(0.3)
            assert terminal.strange == []
        terminal.type("q")
        assert left_well(terminal)
    assert "abc\\u202edef" in terminal.written


def test_where_there_is_no_ledger_it_is_refused_before_the_screen_changes(repo: Scratch):
    with Terminal(repo, "watch") as terminal:
        assert terminal.ends() == 3
        assert "Error: [NOT_INITIALIZED]" in terminal.printed
        assert terminal.ever == set()


def test_what_makes_no_sense_is_refused(here: Near):
    assert here.json("watch", "--view", "nonsense").code == "INVALID_VALUE"
    assert here.json("watch", "--view", "all").code == "NO_SCREEN"
    assert here.json("watch", "--agent", "nobody-here").code == "AGENT_NOT_FOUND"
    assert here.json("watch", "--since", "yesterday").code == "INVALID_TIME"
    assert here.json("watch", "--filter", "x" * 201).code == "INVALID_VALUE"
    assert str(ROOT) not in here.bb("watch", "--view", "all").err
