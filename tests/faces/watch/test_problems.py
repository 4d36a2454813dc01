"""`bb problems --watch`: problems as they come and go, and a bell."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.ops.overview import problems
from tests.faces.following import Following
from tests.near import Near, near
from tests.support import NOON
from tests.terminals import Terminal

AMBER, COBALT = "amber-otter", "cobalt-harbor"


@pytest.fixture
def here(tmp_path: Path) -> Near:
    repo = near(tmp_path / "repo")
    for name in (AMBER, COBALT):
        assert repo.bb("agent", "register", "--name", name, "--role", "builder").status == 0
    return repo


def ask(repo: Near, subject: str) -> str:
    words = ["--bead", "bb-1", "--category", "BLOCKED", "--subject", subject, "--body", "ISO or RFC?"]
    return str(repo.json("agent", "send", "--from", AMBER, "--to", "user", *words).data["message_id"])


def settle(repo: Near, message: str) -> None:
    assert repo.bb("agent", "ack", "--agent", "user", "--message", message).status == 0


def test_each_problem_is_said_once_and_so_is_that_it_is_settled(here: Near):
    first = ask(here, "Which format?")
    with Following(here, "problems", "--watch", "--json") as watch:
        found = watch.document()
        second = ask(here, "Which zone?")
        come = watch.document()
        settle(here, first)
        gone = watch.document()

        assert [each["what"] for each in (found, come, gone)] == ["open", "new", "settled"]
        assert [each["problem"]["message_id"] for each in (found, come, gone)] == [first, second, first]
        assert gone["problem"]["id"] == found["problem"]["id"] == f"asked:{first}"
        assert watch.is_silent(0.6)
        assert watch.end() == 130


def test_in_a_pipe_it_reads_like_bb_problems_and_no_bell_rings(here: Near):
    with Following(here, "problems", "--watch") as watch:
        assert watch.line() == "Nothing needs you."
        message = ask(here, "Which format?")
        lines = [watch.line().strip() for _ in range(4)]
        headline, *listed = [line.strip() for line in here.bb("problems").out.splitlines()]
        assert headline == "1 problem needs a person"
        assert lines[1:] == listed[1:]
        assert lines[0].endswith(' amber-otter is blocked and asks user: "Which format?"')
        settle(here, message)
        assert watch.line().endswith('settled: amber-otter is blocked and asks user: "Which format?"')


@pytest.mark.parametrize(("words", "rings"), [([], 1), (["--quiet"], 0)])
def test_at_a_terminal_it_rings_for_what_is_new_and_not_for_what_was_there(here: Near, words: list[str], rings: int):
    ask(here, "Which format?")
    with Terminal(here, "problems", "--watch", *words) as terminal:
        terminal.until(lambda _: "Which format?" in terminal.printed)
        assert "\a" not in terminal.printed
        ask(here, "Which zone?")
        terminal.until(lambda _: "Which zone?" in terminal.printed)
        terminal.rests(0.5)
        assert terminal.printed.count("\a") == rings
        terminal.type("\x03")
        assert terminal.ends() == 130


def test_a_reader_that_goes_away_ends_it(here: Near):
    with Following(here, "problems", "--watch") as watch:
        watch.line()
        watch.stop_reading()
        assert watch.status() == 141
        assert watch.complained() == ""


def test_without_watch_nothing_is_different_and_being_quiet_makes_no_sense(here: Near):
    assert here.json("problems").data == {"problems": []}
    assert here.json("problems", "--quiet").code == "NEEDS_WATCH"
    ask(here, "Which format?")
    assert here.json("problems").code == "PROBLEMS_OPEN"


# -- what makes it the same problem


def test_a_problem_keeps_its_id_for_as_long_as_it_is_the_same(here: Near):
    """Its text, its next step and how alive somebody is may change meanwhile."""
    here.settings["BB_NOW"] = NOON
    message = ask(here, "Which format?")
    words = ["--bead", "bb-1", "--subject", "Parser", "--summary", "Done.", "--next-action", "Test it."]
    here.bb("protocol", "handoff", "--from", AMBER, "--to", COBALT, *words)
    here.bb("agent", "reserve", "--agent", AMBER, "--scope", "src", "--bead", "bb-1")
    here.bb("agent", "reserve", "--agent", COBALT, "--scope", "src/a", "--bead", "bb-2", "--allow-overlap")

    def ids(at: str) -> dict[str, str]:
        found = here.json("problems", BB_NOW=at)
        return {each["id"]: each["kind"] for each in found.envelope["error"]["details"]["problems"]}

    soon, later, late = (ids(f"2026-01-05T{time}:00.000Z") for time in ("12:05", "12:50", "13:05"))

    assert f"asked:{message}" in soon
    assert set(soon.values()) == {"asked", "incursion"}
    assert set(later.values()) == {"asked", "incursion", "not_accepted", "holder_gone"}
    assert later == late
    assert soon.items() <= later.items()
    assert len(later) == 5


def test_what_has_come_and_what_is_settled_is_told_by_the_ids():
    one, two, three = ({"id": name} for name in ("a", "b", "c"))

    assert problems.new_and_settled({"a": one, "b": two}, {"b": {"id": "b", "text": "other"}, "c": three}) == (
        [three],
        [one],
    )
    assert problems.new_and_settled({}, {}) == ([], [])
