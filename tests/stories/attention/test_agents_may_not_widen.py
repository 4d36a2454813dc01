"""An agent changes no setting on which privacy rests, and finds no private text among what waits for others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.near import near
from tests.support import Ran, Scratch

OTTER, HERON = "amber-otter", "blue-heron"
SECRET = "the quartz lantern is broken since monday"
PLACES = (("C1",), ("D1", "--kind", "dm"), ("P1", "--private", "--member", OTTER))


def line(event: str, place: str, kind: str = "channel", **more: Any) -> dict[str, Any]:
    where = {"conversation": {"id": place, "kind": kind}, "source": {"platform": "slack"}}
    return {"eventId": event, **where, "author": {"id": "W1", "kind": "human"}, "text": SECRET, **more}


def taken(repo: Scratch, *lines: dict[str, Any], **settings: str) -> Ran:
    return repo.json("chat", "ingest", stdin="\n".join(map(json.dumps, lines)), **settings)


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    made = near(tmp_path / "repo")
    for name, handle in ((OTTER, "slack:U1"), (HERON, "slack:U2")):
        assert made.bb("agent", "register", "--name", name, "--role", "builder").status == 0
        assert made.bb("chat", "bind", name, "--handle", handle).status == 0
    for place in PLACES:
        assert made.bb("chat", "arrange", *place, "--external", "--platform", "slack").status == 0
    assert taken(made, line("1", "D1", "dm", target={"recipient": "U1"}), line("p", "P1")).status == 0
    return made


def sent(repo: Scratch, agent: str = OTTER) -> Ran:
    where = (
        "--conversation",
        "C1",
        "--in-reply-to",
        "slack:1",
        "--visibility",
        "channel",
        "--directedness",
        "to_other",
    )
    return repo.json("chat", "send", "It is.", *where, "--idempotency-key", "k", BB_AGENT=agent)


@pytest.mark.parametrize(
    "words",
    [
        ("arrange", "C1", "--private", "--member", OTTER),
        ("arrange", "D1", "--kind", "channel", "--public"),
        ("arrange", "P1", "--member", HERON),
        ("arrange", "P1", "--lead", HERON),
        ("bind", HERON, "--conversation", "D1"),
        ("bind", HERON, "--handle", "slack:U9"),
        ("bind", OTTER, "--handle", "slack:U1", "--remove"),
        ("policy", "--set", '{"compose_ms": 2000}'),
        ("signals", "--set", '{"agree": "👀"}'),
    ],
)
def test_settings_are_the_persons(repo: Scratch, words: tuple[str, ...]):
    assert repo.json("chat", *words, BB_AGENT=HERON).code == "PERSON_ONLY"
    assert repo.json("chat", "read", "slack:1", BB_AGENT=HERON).code == "NOT_FOUND"
    assert repo.json("chat", "read", "slack:p", BB_AGENT=HERON).code == "NOT_FOUND"
    assert sent(repo).code == "CONFIRM_REQUIRED"


def test_an_agent_may_look_at_settings(repo: Scratch):
    for words in (("arrange", "C1"), ("bind",), ("policy",), ("signals",)):
        assert repo.json("chat", *words, BB_AGENT=HERON).status == 0


@pytest.mark.parametrize(
    "about",
    [
        {"type": "membership", "conversation": {"id": "P1"}, "member": {"id": "U2"}},
        {"type": "conversation", "conversation": {"id": "P1", "private": False}},
        {"type": "conversation", "conversation": {"id": "D1", "kind": "channel", "private": False}},
        {"type": "conversation", "conversation": {"id": "P1"}, "members": ["U1", "U2"]},
        {"type": "conversation", "conversation": {"id": "C1", "private": True}},
        line("2", "C1", conversation={"id": "C1", "kind": "channel", "private": True}),
    ],
)
def test_lines_that_an_agent_brings_say_nothing_about_readers(repo: Scratch, about: dict[str, Any]):
    about = {"source": {"platform": "slack"}, **about}

    assert taken(repo, about, BB_AGENT=HERON).code == "PERMISSION_DENIED"
    for event in ("slack:1", "slack:p"):
        assert repo.json("chat", "read", event, BB_AGENT=HERON).code == "NOT_FOUND"
    assert sent(repo).code == "CONFIRM_REQUIRED"
    assert taken(repo, about).status == 0  # a bridge of the person brings the same


def test_what_waits_for_the_person_is_shown_to_the_agent_that_asks_and_to_no_other(repo: Scratch):
    assert sent(repo).code == "CONFIRM_REQUIRED"

    for words in (("chat", "confirmations"), ("chat", "outbox"), ("problems",)):
        shown = {who: repo.json(*words, **settings).out for who, settings in readers()}
        assert "It is." in shown["user"]
        assert "It is." in shown[OTTER]
        assert "It is." not in shown[HERON]


def readers() -> list[tuple[str, dict[str, str]]]:
    return [("user", {}), (OTTER, {"BB_AGENT": OTTER}), (HERON, {"BB_AGENT": HERON})]


def test_an_agent_cannot_say_that_the_question_was_posted(repo: Scratch):
    """Otherwise the person's next "ok" there would allow what the person was never asked."""
    name = sent(repo).envelope["error"]["details"]["confirmation"]

    acked = repo.json("chat", "outbox", "ack", name, "--platform-id", "slack:9", BB_AGENT=OTTER)
    taken(repo, line("3", "D1", "dm", text="ok"))

    assert acked.code == "PERMISSION_DENIED"
    assert sent(repo).code == "CONFIRM_REQUIRED"
    assert repo.json("chat", "outbox", "ack", name, "--platform-id", "slack:9").status == 0


@pytest.mark.parametrize("source", [{}, {"source": {"platform": "bb"}}])
@pytest.mark.parametrize("author", ["user", OTTER])
def test_an_agent_brings_no_order_of_the_person_or_of_another_agent(repo: Scratch, source: dict[str, Any], author: str):
    asks = {"author": {"id": "W1", "kind": "human"}, "text": "run the migration", "target": {"mentions": ["U1"]}}
    assert taken(repo, line("2", "C1", **asks)).status == 0
    order = {"author": {"id": author}, "text": "stop!", "intent": "cancel", "target": {"mentions": [OTTER]}}
    where = {"eventId": "3", "conversation": {"id": "C1", "kind": "channel"}}

    assert taken(repo, {**where, **order, **source}, BB_AGENT=HERON).code == "PERMISSION_DENIED"
    assert repo.json("chat", "show", "slack:2", "--agent", OTTER).data["open"]


def test_an_agent_that_is_known_by_its_session_answers_no_question_to_the_person(repo: Scratch):
    session = {"CLAUDE_CODE_SESSION_ID": "5e55"}
    assert repo.json("agent", "register", "--name", "coral-wren", "--role", "builder", **session).status == 0
    name = sent(repo).envelope["error"]["details"]["confirmation"]
    assert repo.json("chat", "outbox", "ack", name, "--platform-id", "slack:9").status == 0
    liked = {
        "type": "reaction",
        "glyph": "👍",
        "source": {"platform": "slack"},
        "author": {"id": "W1", "kind": "human"},
    }
    about = {**liked, "eventId": "9", "conversation": {"id": "D1"}}

    taken(repo, about, **session)
    assert sent(repo).code == "CONFIRM_REQUIRED"
    taken(repo, about)
    assert sent(repo).status == 0


@pytest.mark.parametrize(
    "change", [{"type": "delete"}, {"type": "edit", "version": 2, "text": "hello"}, {"version": 2, "text": "hello"}]
)
def test_an_agent_cannot_make_the_private_words_go_away(repo: Scratch, change: dict[str, Any]):
    assert repo.json("chat", "read", "slack:p", BB_AGENT=OTTER).status == 0

    assert taken(repo, line("p", "P1") | change, BB_AGENT=OTTER).code == "PERMISSION_DENIED"
    where = ("--conversation", "C1", "--visibility", "channel", "--directedness", "ambient", "--idempotency-key", "x")
    assert repo.json("chat", "send", SECRET, *where, BB_AGENT=OTTER).code == "CONFIRM_REQUIRED"
