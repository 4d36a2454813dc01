"""What people see: on a terminal in colour and within its width, in a pipe plain and whole; and never too much."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.support import NOON, Scratch, environment, scratch

AMBER, COBALT = "amber-otter", "cobalt-harbor"
TOKEN = 4  # characters, about


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    """Two agents with much to say and much to hold."""
    repo = scratch(tmp_path_factory.mktemp("busy") / "repo")
    repo.settings["BB_NOW"] = NOON
    for name in (AMBER, COBALT):
        repo.bb("agent", "register", "--name", name, "--role", "builder")
    scopes = [word for n in range(40) for word in ("--scope", f"src/a-rather-long-directory-name/part-{n}")]
    assert repo.bb("agent", "reserve", "--agent", COBALT, "--bead", "bb-1", *scopes).status == 0
    (repo.path / "src" / "a-rather-long-directory-name").mkdir(parents=True)
    for n in range(40):
        (repo.path / "src" / "a-rather-long-directory-name" / f"part-{n}").write_text("x")
    for n in range(12):
        words = ["--bead", f"bb-{n}", "--subject", f"Part {n} " + "x" * 300, "--summary", "y" * 3000]
        repo.bb("protocol", "handoff", "--from", AMBER, "--to", COBALT, *words, "--next-action", "z" * 3000)
    return repo


def on_terminal(repo: Scratch, *words: str, columns: int, **settings: str) -> str:
    """What `bb WORDS` shows on a terminal of so many columns."""
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = environment(**(repo.settings | {"TERM": "xterm"} | settings))
    child = subprocess.Popen([sys.executable, "-m", "bb", *words], cwd=repo.path, env=env, stdout=there, stderr=there)
    os.close(there)
    shown = b""
    while True:
        try:
            piece = os.read(here, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    child.wait(timeout=30)
    os.close(here)
    return shown.decode()


@pytest.mark.parametrize("words", [["status"], ["timeline"], ["sessions", "list"], ["sessions", "show", "bb-1"]])
def test_a_terminal_gets_colours_and_lines_that_fit(busy: Scratch, words: list[str]):
    shown = on_terminal(busy, *words, columns=100)

    assert "\x1b[1m" in shown
    plain = re.sub(r"\x1b\[[0-9]*m", "", shown)
    assert max(map(len, plain.splitlines())) <= 160  # subjects of 300 characters are cut


def test_who_wants_no_colours_gets_none(busy: Scratch):
    assert "\x1b" not in on_terminal(busy, "status", columns=100, NO_COLOR="1")
    assert "\x1b" not in on_terminal(busy, "status", columns=100, TERM="dumb")
    assert "\x1b" not in busy.bb("status").out


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_resume_takes_at_most_400_tokens_and_says_what_it_leaves_out(busy: Scratch, form: list[str]):
    told = busy.bb("resume", "--agent", COBALT, *form).out

    assert len(told) <= 400 * TOKEN
    shown = busy.json("resume", "--agent", COBALT).data
    assert shown["agent_id"] == COBALT
    assert shown["left_out"]["holds"] + len(shown["holds"]) == 40
    assert shown["left_out"]["dirty"] + len(shown["dirty"]) == 40
    assert shown["unread"] == 12
    assert shown["last_handoff"]["next_action"].startswith("z")


def test_terminal_escapes_in_texts_are_shown_harmless_on_every_screen(tmp_path: Path):
    repo = scratch(tmp_path / "repo")
    for name in (AMBER, COBALT):
        repo.bb("agent", "register", "--name", name, "--role", "builder")
    words = ["--bead", "bb-1", "--category", "BLOCKED", "--subject", "calm", "--body", "\x1b[2J\x07 and \u202egone"]
    assert repo.bb("agent", "send", "--from", AMBER, "--to", "user", *words).status == 0

    for screen in (["status"], ["problems"], ["timeline"], ["sessions", "show", "bb-1"], ["protocol", "list"]):
        ran = repo.bb(*screen)
        assert not {"\x1b", "\x07", "\u202e"} & {*ran.out, *ran.err}, screen
