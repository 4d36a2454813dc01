"""`bb watch` in a pipe: what happens, line by line."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from bb.coordination.facts import Reserved
from bb.kernel import clock
from bb.ledger.journal import kinds
from tests.faces.faces_support import Forger
from tests.faces.following import Following
from tests.faces.test_hostile_text import HOSTILE, RAW
from tests.near import Near, near
from tests.support import Scratch

AMBER, COBALT = "amber-otter", "cobalt-harbor"
MEMBERS = ["kind", "at", "by", "text", "bead_id", "about", "event_id"]


@pytest.fixture
def here(tmp_path: Path) -> Near:
    repo = near(tmp_path / "repo")
    for name in (AMBER, COBALT):
        assert repo.bb("agent", "register", "--name", name, "--role", "builder").status == 0
    return repo


def reserve(repo: Scratch, agent: str, scope: str, bead: str = "bb-1") -> None:
    assert repo.bb("agent", "reserve", "--agent", agent, "--scope", scope, "--bead", bead).status == 0


def ready(following: Following, repo: Scratch) -> None:
    """Wait until it follows: what is recorded before that is not said. Then nothing is left that it has yet to say."""
    while following.is_silent(0.3):
        reserve(repo, AMBER, f"warm/{time.monotonic_ns()}")
    reserve(repo, AMBER, "warm/last")
    while "warm/last" not in following.line():
        continue


def test_what_happens_from_now_on_is_said_as_it_happens(here: Near):
    with Following(here, "watch") as watch:
        ready(watch, here)
        took = []
        for _ in range(5):
            reserve(here, COBALT, "docs")
            recorded = time.monotonic()
            line = watch.line()
            took.append(time.monotonic() - recorded)
            assert here.bb("agent", "release", "--agent", COBALT, "--scope", "docs").status == 0
            assert "released docs" in watch.line()

        assert re.fullmatch(
            r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  cobalt-harbor  reserved docs for 120 minutes \[bb-1\]", line
        )
        assert min(took) < 1  # how busy the machine is says nothing about bb
        assert watch.end() == 130


def test_what_happened_before_is_said_once_if_it_is_asked_for(here: Near):
    reserve(here, COBALT, "docs")
    with Following(here, "watch", "--since", "1h") as watch:
        said = [watch.line().partition("  ")[2] for _ in range(3)]
        reserve(here, COBALT, "web")

        assert said == [
            "amber-otter  started as builder",
            "cobalt-harbor  started as builder",
            "cobalt-harbor  reserved docs for 120 minutes [bb-1]",
        ]
        assert watch.line().endswith("reserved web for 120 minutes [bb-1]")


def test_with_json_each_thing_is_one_document_of_the_same_form(here: Near):
    with Following(here, "watch", "--since", "1h", "--json") as watch:
        first, second = watch.document(), watch.document()
        reserve(here, COBALT, "docs")
        third = watch.document()

    assert [list(each) for each in (first, second, third)] == [MEMBERS] * 3
    assert (third["kind"], third["by"], third["bead_id"], third["about"]) == ("recorded", COBALT, "bb-1", [COBALT])
    assert here.json("ledger", "show", third["event_id"]).data["kind"] == "x.bb.reserved"


def test_who_falls_silent_and_whose_time_is_over_is_said_although_nothing_is_recorded(tmp_path: Path):
    for left in (3, 6, 12, 24, 48):  # seconds until then: more, if the machine was too busy to see it happen
        said = _seen_to_fall_silent(tmp_path / str(left), left)
        if len(said) == 2:
            break

    assert [(each["kind"], each["by"], each["text"], each["bead_id"]) for each in said] == [
        ("lapsed", COBALT, "no longer holds docs: the reservation expired", "bb-1"),
        ("liveness", AMBER, "is stale now", None),
    ]
    assert [(list(each), each["event_id"]) for each in said] == [(MEMBERS, None)] * 2


def _seen_to_fall_silent(path: Path, left: int) -> list[dict[str, Any]]:
    """What is said of two agents, of which one falls silent and one holds no longer what it held, so many seconds from
    now; unless that is over before anybody looks."""
    repo = near(path, BB_AGENT_STALE_MINUTES="1")
    now = time.time_ns() // 1_000_000
    almost, long_ago = (clock.text(now - seconds * clock.SECOND) for seconds in (60 - left, 300 - left))
    assert repo.bb("agent", "register", "--name", COBALT, "--role", "builder", BB_NOW=long_ago).status == 0
    words = ["--agent", COBALT, "--scope", "docs", "--bead", "bb-1", "--ttl", "5"]
    assert repo.bb("agent", "reserve", *words, BB_NOW=long_ago).status == 0
    assert repo.bb("agent", "register", "--name", AMBER, "--role", "builder", BB_NOW=almost).status == 0

    said: list[dict[str, Any]] = []
    with Following(repo, "watch", "--json") as watch:
        while len(said) < 2 and not watch.is_silent(left + 10):
            said.append(watch.document())
    return sorted(said, key=lambda each: str(each["kind"]))


def test_only_what_is_about_an_agent_a_bead_or_some_words(here: Near):
    for agent, scope, bead in ((AMBER, "src/a", "bb-1"), (COBALT, "src/b", "bb-2"), (COBALT, "docs", "bb-1")):
        reserve(here, agent, scope, bead)

    def said(*words: str) -> list[str]:
        with Following(here, "watch", "--since", "1h", "--json", *words) as watch:
            reserve(here, COBALT, "src/end", "bb-1")
            found = []
            while not found or found[-1] != "reserved src/end for 120 minutes":
                found.append(watch.document()["text"])
        here.bb("agent", "release", "--agent", COBALT, "--scope", "src/end")
        return [text.split()[1] for text in found[:-1] if text.startswith("reserved")]

    assert said("--agent", COBALT) == ["src/b", "docs"]
    assert said("--bead", "bb-1")[:2] == ["src/a", "docs"]
    assert said("--filter", "SRC")[:2] == ["src/a", "src/b"]


def test_it_ends_quietly_when_its_reader_goes_away_although_nothing_happens(here: Near):
    with Following(here, "watch") as watch:
        ready(watch, here)
        watch.stop_reading()
        assert watch.status() == 141
        assert watch.complained() == ""


def test_being_ended_says_nothing(here: Near):
    with Following(here, "watch") as watch:
        ready(watch, here)
        assert watch.end(signal.SIGTERM) == -signal.SIGTERM
        assert watch.complained() == ""


def test_an_index_that_is_thrown_away_meanwhile_loses_nothing(here: Near):
    with Following(here, "watch") as watch:
        ready(watch, here)
        for path in here.store.glob("index.sqlite*"):
            path.unlink()
        reserve(here, COBALT, "docs")
        assert watch.line().endswith("reserved docs for 120 minutes [bb-1]")
        reserve(here, COBALT, "web")
        assert watch.line().endswith("reserved web for 120 minutes [bb-1]")


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_what_somebody_wrote_is_one_harmless_line(here: Near, text: str):
    kind, data = kinds.kind_and_data(Reserved("evil", f"src/{text}", text, 120))
    with Following(here, "watch", "--since", "1h") as watch:
        watch.line(), watch.line()
        Forger(here).add(kind, "evil", data)
        line = watch.line()

    assert not RAW & set(line)
    assert line.endswith('is not valid"')


# Windows has none of these modules. (It has no fcntl either, but locks of another kind, which are not here.)
ELSEWHERE = """
import sys
sys.modules.update(dict.fromkeys(["termios", "tty", "pty"]))
from bb.cli.main import main
main()
"""


@pytest.mark.parametrize("words", [["watch", "--since", "1h"], ["problems", "--watch"]], ids=["watch", "problems"])
def test_lines_need_no_terminal_as_linux_and_macos_have_them(here: Near, words: list[str]):
    ask = ["--bead", "bb-1", "--category", "BLOCKED", "--subject", "Which format?", "--body", "ISO?"]
    assert here.bb("agent", "send", "--from", AMBER, "--to", "user", *ask).status == 0
    with Following(here, *words, program=("-c", ELSEWHERE)) as watch:
        while "Which format?" not in watch.line():
            continue


def test_where_there_is_no_ledger_it_is_refused(repo: Scratch):
    assert repo.json("watch").code == "NOT_INITIALIZED"
    assert json.loads(repo.json("problems", "--watch").out)["error"]["code"] == "NOT_INITIALIZED"
    assert os.listdir(repo.path / ".git").count("bb") == 0
