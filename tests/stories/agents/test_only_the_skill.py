"""Newcomers who have read the skill and nothing else: they meet, collide, hand over, crash and go on.

What they type is what `skills/beadboard-driver/SKILL.md` shows, with values of their own: a command, or an option
of it, that is not shown there they do not know.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.faces import documents
from tests.near import Near, near
from tests.support import ROOT, Ran

SHOWN = [step.words[1:] for step in documents.steps((ROOT / "skills" / "beadboard-driver" / "SKILL.md").read_text())]
BEAD = "demo-a1.1"


def verb(words: list[str]) -> list[str]:
    """The words before the first option or value."""
    known = ("agent", "protocol")
    return words[: 2 if words[0] in known else 1]


def options(words: list[str]) -> set[str]:
    return {word for word in words if word.startswith("--")}


class Clock:
    def __init__(self) -> None:
        self.minute = 0

    def pass_by(self, minutes: int) -> None:
        self.minute += minutes

    def __str__(self) -> str:
        return f"2026-01-05T{12 + self.minute // 60:02}:{self.minute % 60:02}:00Z"


class Newcomer:
    """An agent's session, which knows what the skill shows."""

    def __init__(self, repo: Near, clock: Clock) -> None:
        self.repo = repo
        self.clock = clock
        self.name = ""

    def tries(self, *words: str) -> Ran:
        typed = list(words)
        as_shown = [each for each in SHOWN if verb(each) == verb(typed) and options(typed) <= options(each)]
        assert as_shown, f"the skill does not show {' '.join(typed)}"
        settings = {"BB_AGENT": self.name} if self.name else {}
        return self.repo.bb(*typed, "--json", BB_NOW=str(self.clock), **settings)

    def does(self, *words: str) -> Any:
        return self.tries(*words).data

    def starts(self, name: str = "amber-otter") -> None:
        """§1: the name that comes to mind, or a free one if another agent has been quicker."""
        begun = self.tries("start", name, "--role", "builder")
        if begun.status:
            assert begun.code == "DUPLICATE_AGENT_ID"
            begun = self.tries("start")
        self.name = begun.data["agent_id"]

    def unread(self) -> list[dict[str, Any]]:
        return list(self.does("inbox", "--state", "unread"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def repo(tmp_path: Path) -> Near:
    made = near(tmp_path / "repo")
    for name in ("src/parser/dates.py", "src/lexer/tokens.py", "README.md"):
        (made.path / name).parent.mkdir(parents=True, exist_ok=True)
        (made.path / name).write_text("x = 1\n")
    made.git("add", ".")
    made.git("commit", "--quiet", "-m", "Files")
    return made


@pytest.fixture
def two(repo: Near, clock: Clock) -> tuple[Newcomer, Newcomer]:
    first, second = Newcomer(repo, clock), Newcomer(repo, clock)
    first.starts()
    second.starts()  # two sessions come to the same idea
    assert second.name != first.name
    return first, second


def test_two_collide_and_neither_touches_what_the_other_holds(two: tuple[Newcomer, Newcomer]):
    first, second = two
    first.does("reserve", "src/parser")

    refused = second.tries("reserve", "src")

    assert (refused.status, refused.code) == (7, "RESERVATION_CONFLICT")
    (conflict,) = refused.envelope["error"]["details"]["conflicts"]
    assert (conflict["agent_id"], conflict["scope"]) == (first.name, "src/parser")
    assert second.tries("check", "src/parser/dates.py").code == "PATH_HELD"
    assert second.does("reserve", "src/lexer")["scope"] == "src/lexer"
    second.does("send", first.name, "Dates need a new token.")

    (message,) = first.unread()
    assert (message["from_agent"], message["subject"]) == (second.name, "Dates need a new token.")
    assert first.does("read", message["message_id"])["state"] == "read"
    assert first.does("check", "src/parser/dates.py")["paths"][0]["verdict"] == "yours"


def test_work_is_handed_over_accepted_and_held_by_who_goes_on(two: tuple[Newcomer, Newcomer]):
    first, second = two
    first.does("reserve", "src/parser")
    first.does("handoff", second.name, "All but dates.", "--bead", BEAD, "--next-action", "Read dates.")
    first.does("release", "--all")
    assert first.does("agent", "retire")["released"] == 0

    (message,) = second.unread()
    assert (message["category"], message["requires_ack"]) == ("HANDOFF", True)
    assert message["payload"]["next_action"] == "Read dates."
    assert second.does("ack", message["message_id"])["state"] == "acked"
    second.does("reserve", "src/parser")

    state = second.does("status")
    assert [(each["agent_id"], each["scope"]) for each in state["reservations"]] == [(second.name, "src/parser")]
    assert state["unacked"] == []
    assert first.tries("reserve", "src/lexer").code == "AGENT_RETIRED"


def test_after_a_crash_the_work_is_gone_on_with_under_its_name(two: tuple[Newcomer, Newcomer], clock: Clock):
    lost, other = two
    lost.does("reserve", "src/parser")
    (lost.repo.path / "src" / "parser" / "dates.py").write_text("x = 2\n")
    name = lost.name
    clock.pass_by(20)  # and the session is no more

    other.does("turn")
    wanted = other.tries("reserve", "src/parser/dates.py")
    assert wanted.code == "RESERVATION_STALE_FOUND"
    again = Newcomer(other.repo, clock)
    adopted = again.does("init", "--non-interactive", "--adopt", name, "--scope", "src/parser")
    again.name = adopted["agent_id"]

    assert (adopted["mode"], adopted["reason"]) == ("adopt", "uncommitted_scope")
    assert adopted["agent_id"] == name
    stands = again.does("resume")
    assert ([each["scope"] for each in stands["holds"]], stands["dirty"]) == (["src/parser"], ["src/parser/dates.py"])
    wanted = other.tries("reserve", "src/parser", "--takeover-stale")
    assert wanted.code == "RESERVATION_CONFLICT"
    assert f"continues as {name}" in str(again.does("timeline", "--since", "1h"))


def test_without_evidence_nobody_becomes_somebody_else(two: tuple[Newcomer, Newcomer], clock: Clock):
    first, _ = two
    clock.pass_by(45)
    stranger = Newcomer(first.repo, clock)

    refused = stranger.tries("init", "--non-interactive", "--adopt", first.name, "--scope", "src")

    assert refused.code == "ADOPTION_REJECTED"
    assert stranger.does("start")["agent_id"] not in ("", first.name)


def test_what_the_silent_leave_behind_is_taken_over_and_they_are_told(two: tuple[Newcomer, Newcomer], clock: Clock):
    silent, other = two
    silent.does("reserve", "src/parser")
    clock.pass_by(31)
    other.does("turn")

    claim = ["reserve", "src/parser"]
    assert other.tries(*claim).code == "RESERVATION_STALE_FOUND"
    (taken,) = other.does(*claim, "--takeover-stale")["taken_over"]
    assert (taken["agent_id"], taken["state"]) == (silent.name, "expired")

    silent.does("turn")  # it was only slow
    assert silent.does("resume")["holds"] == []
    assert [message["category"] for message in silent.unread()] == ["INFO"]
    assert silent.tries("check", "src/parser/dates.py").code == "PATH_HELD"


def test_who_is_blocked_says_so_and_the_work_ends_with_evidence_and_nothing_held(two: tuple[Newcomer, Newcomer]):
    first, second = two
    first.does("reserve", "src/parser")
    asks = ["--requested-action", "Choose.", "--urgency", "high"]
    first.does("blocked", second.name, "Two formats.", "--bead", BEAD, *asks)
    (question,) = second.unread()
    second.does("ack", question["message_id"])
    second.does("reply", question["message_id"], "RFC 3339.")
    (answer,) = first.does("wait", "--timeout", "1")["messages"]
    assert answer["body"] == "RFC 3339."

    first.does("send", "broadcast", "Parser done. pytest tests/parser: 42 passed.", "--bead", BEAD)
    first.does("release", "--all")
    first.does("agent", "retire")

    state = second.does("status")
    assert (state["reservations"], state["unacked"], state["incursions"]) == ([], [], [])
    assert [agent["agent_id"] for agent in state["agents"]] == [second.name]
