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
        typed = [*words, "--json"]
        as_shown = [each for each in SHOWN if verb(each) == verb(typed) and options(typed) <= options(each)]
        assert as_shown, f"the skill does not show {' '.join(typed)}"
        settings = {"BB_AGENT": self.name} if self.name else {}
        return self.repo.bb(*typed, BB_NOW=str(self.clock), **settings)

    def does(self, *words: str) -> Any:
        return self.tries(*words).data

    def starts(self) -> None:
        """§1: a free name, and whatever the answer recommends if somebody has been quicker."""
        self.name = self.does("agent", "name")["agent_id"]
        self.registers()

    def registers(self) -> None:
        begun = self.tries("init", "--non-interactive", "--register", self.name, "--role", "builder")
        if begun.status:
            assert begun.code == "DUPLICATE_AGENT_ID"
            advised = begun.envelope["error"]["details"]["recommendation"]["command"].split()
            self.name = self.does(*advised[1:])["agent_id"]

    def unread(self) -> list[dict[str, Any]]:
        return list(self.does("agent", "inbox", "--state", "unread"))


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
    second.name = first.name  # two sessions come to the same idea
    second.registers()
    assert second.name != first.name
    return first, second


def test_two_collide_and_neither_touches_what_the_other_holds(two: tuple[Newcomer, Newcomer]):
    first, second = two
    first.does("agent", "reserve", "--scope", "src/parser", "--bead", BEAD)

    refused = second.tries("agent", "reserve", "--scope", "src", "--bead", "demo-a1.2")

    assert (refused.status, refused.code) == (7, "RESERVATION_CONFLICT")
    (conflict,) = refused.envelope["error"]["details"]["conflicts"]
    assert (conflict["agent_id"], conflict["scope"]) == (first.name, "src/parser")
    assert second.tries("check", "src/parser/dates.py").code == "PATH_HELD"
    assert second.does("agent", "reserve", "--scope", "src/lexer", "--bead", "demo-a1.2")["scope"] == "src/lexer"
    about = ["--bead", "demo-a1.2", "--category", "INFO", "--subject", "Tokens", "--body", "Dates need a new token."]
    second.does("agent", "send", "--to", first.name, *about)

    (message,) = first.unread()
    assert (message["from_agent"], message["subject"]) == (second.name, "Tokens")
    assert first.does("agent", "read", "--message", message["message_id"])["state"] == "read"
    assert first.does("check", "src/parser/dates.py")["paths"][0]["verdict"] == "yours"


def test_work_is_handed_over_accepted_and_held_by_who_goes_on(two: tuple[Newcomer, Newcomer]):
    first, second = two
    first.does("agent", "reserve", "--scope", "src/parser", "--bead", BEAD)
    next_step = ["--subject", "Parser", "--summary", "All but dates.", "--next-action", "Read dates."]
    first.does("protocol", "handoff", "--to", second.name, "--bead", BEAD, *next_step)
    first.does("agent", "release", "--all")
    assert first.does("agent", "retire")["released"] == 0

    (message,) = second.unread()
    assert (message["category"], message["requires_ack"]) == ("HANDOFF", True)
    assert message["payload"]["next_action"] == "Read dates."
    assert second.does("agent", "ack", "--message", message["message_id"])["state"] == "acked"
    second.does("agent", "reserve", "--scope", "src/parser", "--bead", BEAD)

    state = second.does("status")
    assert [(each["agent_id"], each["scope"]) for each in state["reservations"]] == [(second.name, "src/parser")]
    assert state["unacked"] == []
    assert first.tries("agent", "reserve", "--scope", "src/lexer", "--bead", BEAD).code == "AGENT_RETIRED"


def test_after_a_crash_the_work_is_gone_on_with_under_its_name(two: tuple[Newcomer, Newcomer], clock: Clock):
    lost, other = two
    lost.does("agent", "reserve", "--scope", "src/parser", "--bead", BEAD)
    (lost.repo.path / "src" / "parser" / "dates.py").write_text("x = 2\n")
    name = lost.name
    clock.pass_by(20)  # and the session is no more

    other.does("agent", "heartbeat")
    wanted = other.tries("agent", "reserve", "--scope", "src/parser/dates.py", "--bead", "demo-a1.2")
    assert wanted.code == "RESERVATION_STALE_FOUND"
    again = Newcomer(other.repo, clock)
    adopted = again.does("init", "--non-interactive", "--adopt", name, "--scope", "src/parser")
    again.name = adopted["agent_id"]

    assert (adopted["mode"], adopted["reason"]) == ("adopt", "uncommitted_scope")
    assert adopted["agent_id"] == name
    stands = again.does("resume")
    assert ([each["scope"] for each in stands["holds"]], stands["dirty"]) == (["src/parser"], ["src/parser/dates.py"])
    wanted = other.tries("agent", "reserve", "--scope", "src/parser", "--bead", "demo-a1.2", "--takeover-stale")
    assert wanted.code == "RESERVATION_CONFLICT"
    assert f"continues as {name}" in str(again.does("timeline", "--since", "1h"))


def test_without_evidence_nobody_becomes_somebody_else(two: tuple[Newcomer, Newcomer], clock: Clock):
    first, _ = two
    clock.pass_by(45)
    stranger = Newcomer(first.repo, clock)

    refused = stranger.tries("init", "--non-interactive", "--adopt", first.name, "--scope", "src")

    assert refused.code == "ADOPTION_REJECTED"
    advised = refused.envelope["error"]["details"]["recommendation"]["command"].split()
    assert stranger.does(*advised[1:])["agent_id"] not in ("", first.name)


def test_what_the_silent_leave_behind_is_taken_over_and_they_are_told(two: tuple[Newcomer, Newcomer], clock: Clock):
    silent, other = two
    silent.does("agent", "reserve", "--scope", "src/parser", "--bead", BEAD)
    clock.pass_by(31)
    other.does("agent", "heartbeat")

    claim = ["agent", "reserve", "--scope", "src/parser", "--bead", "demo-a1.2"]
    assert other.tries(*claim).code == "RESERVATION_STALE_FOUND"
    (taken,) = other.does(*claim, "--takeover-stale")["taken_over"]
    assert (taken["agent_id"], taken["state"]) == (silent.name, "expired")

    silent.does("agent", "heartbeat")  # it was only slow
    assert silent.does("resume")["holds"] == []
    assert [message["category"] for message in silent.unread()] == ["INFO"]
    assert silent.tries("check", "src/parser/dates.py").code == "PATH_HELD"


def test_who_is_blocked_says_so_and_the_work_ends_with_evidence_and_nothing_held(two: tuple[Newcomer, Newcomer]):
    first, second = two
    first.does("agent", "reserve", "--scope", "src/parser", "--bead", BEAD)
    asks = ["--subject", "Dates", "--blocker", "Two formats.", "--requested-action", "Choose.", "--urgency", "high"]
    first.does("protocol", "blocked", "--to", second.name, "--bead", BEAD, *asks)
    (question,) = second.unread()
    second.does("agent", "ack", "--message", question["message_id"])
    about = ["--bead", BEAD, "--category", "INFO", "--subject", "Dates", "--body", "RFC 3339."]
    second.does("agent", "send", "--to", first.name, *about)
    (answer,) = first.does("agent", "wait", "--timeout", "1")["messages"]
    assert answer["body"] == "RFC 3339."

    evidence = ["--subject", "Parser done", "--body", "pytest tests/parser: 42 passed."]
    first.does("agent", "send", "--to", "broadcast", "--bead", BEAD, "--category", "INFO", *evidence)
    first.does("agent", "release", "--all")
    first.does("agent", "retire")

    state = second.does("status")
    assert (state["reservations"], state["unacked"], state["incursions"]) == ([], [], [])
    assert [agent["agent_id"] for agent in state["agents"]] == [second.name]
