"""What people see: on a terminal in colour and within its width, in a pipe plain and whole; and never too much."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from bb.cli.screens import styling, text
from tests.faces.faces_support import screen_of
from tests.forks import Call
from tests.near import near, run_all
from tests.support import NOON, Scratch, environment, scratch
from tests.waiting import PATIENCE

AMBER, COBALT = "amber-otter", "cobalt-harbor"
LONGEST = "a-name-as-long-as-any-name-may-ever-be-in-here-x"
WIDE = "会議の記録を読むための新しい構文解析器の設計について話し合いたいと思います、日付は難しい 🦦🦦"
LONG = "The parser reads everything but dates, since zones are written in four ways and two mean the same. " * 3
ACCENTED = "a\u0301e\u0301i\u0301 " * 40


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    """Two agents with much to say and much to hold."""
    repo = near(tmp_path_factory.mktemp("busy") / "repo")
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


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    """Sixty agents, alive and not, with sixty reservations, and texts of every width."""
    repo = near(tmp_path_factory.mktemp("crowd") / "repo")
    repo.settings["BB_NOW"] = NOON
    names = [AMBER, COBALT, LONGEST, *(f"agent-{n:02}" for n in range(57))]
    seen = [{"BB_NOW": f"2026-01-05T{at}:00.000Z"} for at in ("11:55", "11:40", "11:00")]
    roles = ["builder", WIDE[:30], LONG[:60]]
    scopes = ["src/part-{}", "packages/a-rather-long-folder/with spaces in it/part {}/**/*.py", "docs/会議の記録/{}"]
    calls = [
        Call(["agent", "register", "--name", name, "--role", roles[n % 3]], seen[n % 3 if n > 2 else 0])
        for n, name in enumerate(names)
    ]
    for n, name in enumerate(names):
        words = ["--scope", scopes[n // 3 % 3].format(n), "--bead", f"bb-{n}"]
        calls.append(Call(["agent", "reserve", "--agent", name, *words], seen[n % 3 if n > 2 else 0]))
    for n, subject in enumerate([LONG[:190], WIDE, ACCENTED[:190], "x" * 190, "Parser"] * 2):
        to = [COBALT, LONGEST][n % 2]
        words = ["--from", AMBER, "--to", to, "--bead", "bb-1", "--subject", subject]
        calls.append(Call(["protocol", "handoff", *words, "--summary", f"{WIDE}\n\n- {LONG}", "--next-action", LONG]))
        words = ["--from", AMBER, "--to", "user", "--bead", "bb-1", "--subject", subject]
        calls.append(Call(["agent", "send", *words, "--category", "BLOCKED", "--body", LONG]))
    words = ["--scope", "src/part-1/inner", "--bead", "bb-2", "--allow-overlap"]
    calls.append(Call(["agent", "reserve", "--agent", AMBER, *words]))
    assert [ran.err for ran in run_all(repo, calls) if ran.status] == []
    return repo


def on_terminal(repo: Scratch, *words: str, columns: int, **settings: str) -> str:
    """What `bb WORDS` shows on a terminal of so many columns."""
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = environment(**(repo.settings | {"TERM": "xterm", "COLUMNS": "", "LINES": ""} | settings))
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
    child.wait(timeout=PATIENCE)
    os.close(here)
    return shown.decode()


SCREENS = {
    **{words: words for words in ("status", "problems", "timeline", "sessions list", "agent list", "agent status")},
    "sessions show": "sessions show bb-1",
    "protocol list": "protocol list",
    "agent inbox": f"agent inbox --agent {COBALT}",
    "resume": f"resume --agent {COBALT}",
}
WIDTHS = [40, 60, 80, 120]
FREE = {"subject", "body", "text", "title", "role", "summary", "next_action", "latest_snippet", "next_step"}
FREE |= {"resolution_hint", "evidence", "answer"}


def told(repo: Scratch, command: str) -> Any:
    """What `bb COMMAND --json` answers, or what its refusal carries."""
    answer = json.loads(repo.bb(*SCREENS[command].split(), "--json").out)
    return answer["data"] if answer["ok"] else answer["error"]["details"]


def shown(
    command: str, data: Any, monkeypatch: pytest.MonkeyPatch, columns: int | None, lines: int | None
) -> list[str]:
    """The lines of a screen, on a terminal of that size or in a pipe."""
    monkeypatch.setattr(styling, "width", lambda: columns)
    monkeypatch.setattr(styling, "height", lambda: lines)
    return list(text.format_answer(command, data, screen_of(command)))


def names_in(data: Any) -> set[str]:
    """Everything in DATA that somebody may want to copy: ids, scopes, commands; but nothing that somebody wrote."""
    if isinstance(data, list):
        return {name for item in data for name in names_in(item)}
    if isinstance(data, dict):
        steps = {step[step.index("bb ") :] for step in [data.get("next_step", "")] if "bb " in step}
        return steps.union(*(names_in(value) for name, value in data.items() if name not in FREE))
    return {data} if isinstance(data, str) and len(data) > 3 else set()


def columns_of(line: str) -> int:
    """How many columns of a terminal LINE takes."""
    marks = ("Mn", "Me", "Cf")
    return sum(
        0 if unicodedata.category(letter) in marks else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in line
    )


def is_alone(line: str, names: set[str]) -> bool:
    """Whether LINE is nothing but one of NAMES, with the punctuation around it."""
    return line.strip(" ") in names or line.strip(" ()[],.:").strip('"') in names


def in_one(lines: list[str]) -> str:
    """All that LINES say, without the marks of lines that go on with somebody's words, and without spaces."""
    return re.sub(r"\s", "", "".join(re.sub(r"^ *\| ", "", line) for line in lines))


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("command", SCREENS)
def test_lines_fit_and_what_is_copied_stays_whole(
    crowd: Scratch, monkeypatch: pytest.MonkeyPatch, command: str, columns: int
):
    data = told(crowd, command)
    names = names_in(data)
    piped = shown(command, data, monkeypatch, None, None)

    lines = shown(command, data, monkeypatch, columns, None)

    assert [line for line in lines if columns_of(line) > columns and not is_alone(line, names)] == []
    assert [
        line for line in lines if columns_of(line) > columns and columns_of(line.strip(" ()[],.:")) <= columns
    ] == []
    in_pipe, on_screen = "\n".join(piped), "\n".join(lines)
    assert {name for name in names if name in in_pipe and name not in on_screen} == set()
    assert not {"\x00", "\x01", "\x02", "\x03", "\x04"} & {*on_screen, *in_pipe}
    assert [line for line in lines if not line.strip()] == [line for line in piped if not line.strip()]


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("command", ["problems", "sessions show", "agent inbox", "resume"])
def test_what_is_said_nowhere_else_is_wrapped_and_not_cut(
    crowd: Scratch, monkeypatch: pytest.MonkeyPatch, command: str, columns: int
):
    data = told(crowd, command)
    piped = shown(command, data, monkeypatch, None, None)

    lines = shown(command, data, monkeypatch, columns, None)

    assert in_one(lines) == in_one(piped)


@pytest.mark.parametrize("command", SCREENS)
def test_colours_take_no_columns(crowd: Scratch, monkeypatch: pytest.MonkeyPatch, command: str):
    data = told(crowd, command)
    plain = shown(command, data, monkeypatch, 60, 24)
    monkeypatch.setattr(styling, "is_coloured", lambda: True)

    coloured = shown(command, data, monkeypatch, 60, 24)

    assert [re.sub(r"\x1b\[[0-9]*m", "", line) for line in coloured] == plain
    assert all(line.count("\x1b[0m") * 2 == line.count("\x1b") for line in coloured if "…" in line)


def each(things: list[dict[str, Any]], member: str) -> list[str]:
    return [str(thing[member]) for thing in things]


# What each line of a screen says in a pipe, and how many lines it has beside those: titles, and how many agents,
# reservations or beads the answer left out.
SAID = {
    "status": (
        lambda data: [
            *each(data["agents"], "role"),
            *each(data["reservations"], "scope"),
            *each(data["unacked"], "subject"),
            *each(data["incursions"], "held"),
        ],
        11,
    ),
    "problems": (
        lambda data: [
            *each(data["problems"], "text"),
            *each(data["problems"], "next_step"),
            *(problem[member] for problem in data["problems"] for member in ("body", "answer") if member in problem),
        ],
        0,
    ),
    "timeline": (lambda data: each(data, "text"), 1),
    "sessions list": (lambda data: each(data["feed"][0]["tasks"], "id"), 3),
    "agent list": (lambda data: each(data, "role"), 0),
    "agent inbox": (lambda data: each(data, "subject"), 0),
    "agent status": (
        lambda data: [*each(data["reservations"], "scope"), *each(data["unacked_required_messages"], "subject")],
        2,
    ),
    "protocol list": (lambda data: each(data, "id"), 0),
}


@pytest.mark.parametrize("command", SAID)
def test_a_pipe_gets_the_whole_answer_one_line_each(crowd: Scratch, command: str):
    texts_of, others = SAID[command]
    texts = texts_of(told(crowd, command))

    lines = crowd.bb(*SCREENS[command].split(), COLUMNS="40", LINES="10").out.splitlines()
    if command == "problems":
        assert lines.pop(0) == f"{len(told(crowd, command)['problems'])} problems need a person"

    assert len(lines) == len(texts) + others
    unquoted = [line.replace('"', "") for line in lines]
    assert [said for said in texts if not any(said.strip() in line for line in unquoted)] == []


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("lines", [16, 24, 50])
def test_status_is_one_screen_and_says_what_it_leaves_out(
    crowd: Scratch, monkeypatch: pytest.MonkeyPatch, columns: int, lines: int
):
    data = told(crowd, "status")

    screen = shown("status", data, monkeypatch, columns, lines)

    assert sum(-(-columns_of(line) // columns) or 1 for line in screen) < lines  # the prompt takes one, too
    _, agents, held, others = re.split("\n+Agents\n|\n+Held\n|\n+To be accepted\n", "\n".join(screen))
    listed = len({agent["agent_id"] for agent in data["agents"]} & {*agents.split()})
    assert f"  … {60 - listed} more: bb agent list --all" in screen
    assert f"  … {61 - held.count('[bb-')} more: bb agent status --all" in screen
    assert "more: bb status | less" in others


def test_status_shows_the_liveliest_and_the_most_urgent_first(crowd: Scratch, monkeypatch: pytest.MonkeyPatch):
    screen = "\n".join(shown("status", told(crowd, "status"), monkeypatch, 120, 24))

    _, agents, held, _ = re.split(r"\n\n", screen, maxsplit=3)
    assert "active" in agents
    assert "evicted" not in agents
    assert "(evicted)" in held
    assert "(active)" not in held


def test_status_with_little_to_show_is_not_shortened(busy: Scratch, monkeypatch: pytest.MonkeyPatch):
    data = told(busy, "status") | {"reservations": [], "unacked": []}

    assert "more:" not in "".join(shown("status", data, monkeypatch, 80, 24))


@pytest.mark.parametrize("command", ["status", "problems", "sessions show"])
def test_a_terminal_gets_colours_and_lines_that_fit(crowd: Scratch, command: str):
    said = on_terminal(crowd, *SCREENS[command].split(), columns=80)

    assert "\x1b[1m" in said
    lines = re.sub(r"\x1b\[[0-9]*m", "", said).splitlines()
    assert max(map(columns_of, lines)) <= 80
    assert len(lines) < 24 or command != "status"


def test_who_sets_columns_and_lines_is_heeded(crowd: Scratch):
    said = on_terminal(crowd, "status", columns=80, COLUMNS="120", LINES="40", NO_COLOR="1").splitlines()

    assert 80 < max(map(columns_of, said)) <= 120
    assert 24 < len(said) < 40


def test_who_wants_no_colours_gets_none(busy: Scratch):
    assert "\x1b" not in on_terminal(busy, "status", columns=100, NO_COLOR="1")
    assert "\x1b" not in on_terminal(busy, "status", columns=100, TERM="dumb")
    assert "\x1b" not in busy.bb("status").out


def tokens_of(text: str) -> float:
    """About how many tokens a model makes of TEXT: measured on answers full of ids, and of Japanese."""
    escapes = text.count("\\u")
    return (len(text) - 6 * escapes) / 2.75 + 4 * escapes


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_resume_takes_at_most_400_tokens_and_says_what_it_leaves_out(busy: Scratch, form: list[str]):
    told = busy.bb("resume", "--agent", COBALT, *form).out

    assert tokens_of(told) <= 400
    shown = busy.json("resume", "--agent", COBALT).data
    assert shown["agent_id"] == COBALT
    assert shown["left_out"]["holds"] + len(shown["holds"]) == 40
    assert shown["left_out"]["dirty"] + len(shown["dirty"]) == 40
    assert shown["unread"] == 12
    assert shown["last_handoff"]["next_action"].startswith("z")


def test_resume_cuts_what_somebody_wrote_and_never_a_name(repo: Scratch):
    """What is cut can be neither released nor accepted."""
    name, scope = (
        "crimson-lighthouse-keeper-of-the-north",
        "packages/frontend/src/components/sessions/conversation/{}/x.ts",
    )
    for agent in (name, AMBER):
        repo.json("agent", "register", "--name", agent, "--role", "builder").data  # noqa: B018  (must succeed)
    wanted = [word for number in range(9) for word in ("--scope", scope.format(number))]
    repo.json("agent", "reserve", "--agent", name, *wanted, "--bead", "bb-u6f.6.3").data  # noqa: B018
    texts = {"subject": "会議の準備" * 20, "summary": "資料を集める。" * 60, "next-action": "Do it. " * 60}
    said = [word for option, text in texts.items() for word in (f"--{option}", text)]
    for _ in range(4):
        repo.json("protocol", "handoff", "--from", AMBER, "--to", "role:builder", "--bead", "bb-1", *said).data  # noqa: B018

    told = repo.json("resume", "--agent", name)

    assert tokens_of(told.out) <= 400
    shown = told.data
    assert {each["scope"] for each in shown["holds"]} <= {scope.format(number) for number in range(9)}
    assert shown["holds"]
    for each in [*shown["to_accept"], shown["last_handoff"]]:
        assert repo.json("agent", "ack", "--agent", name, "--message", each["id"]).data["state"] == "acked"


def test_terminal_escapes_in_texts_are_shown_harmless_on_every_screen(tmp_path: Path):
    repo = scratch(tmp_path / "repo")
    for name in (AMBER, COBALT):
        repo.bb("agent", "register", "--name", name, "--role", "builder")
    words = ["--bead", "bb-1", "--category", "BLOCKED", "--subject", "calm", "--body", "\x1b[2J\x07 and \u202egone"]
    assert repo.bb("agent", "send", "--from", AMBER, "--to", "user", *words).status == 0

    for screen in (["status"], ["problems"], ["timeline"], ["sessions", "show", "bb-1"], ["protocol", "list"]):
        ran = repo.bb(*screen)
        assert not {"\x1b", "\x07", "\u202e"} & {*ran.out, *ran.err}, screen
