"""The rest of bb where agents talk in CBCL: every overview, the mail, the chat and the ledger's own verbs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bb.messaging.facts import Sent
from tests.near import Near
from tests.stories.agents.agents_support import is_harmless
from tests.stories.cbcl.cbcl_support import (
    AMBER,
    COBALT,
    WORK,
    at_noon,
    beliefs,
    forge,
    hear,
    install,
    log,
    pending,
    say,
)
from tests.support import environment
from tests.waiting import PATIENCE

OVERVIEWS = [
    *(["status"], ["problems"], ["timeline"], ["sessions", "list"], ["doctor"], ["ledger", "verify"]),
    *(["ledger", "log"], ["ledger", "status"], ["ledger", "export"], ["agent", "list"], ["protocol", "list"]),
    *(["chat", "list", "--agent", COBALT], ["chat", "pending", "--agent", COBALT], ["agent", "status"]),
    *(["agent", "inbox", "--agent", COBALT], ["resume", "--agent", COBALT], ["cbcl", "dialect", "list"]),
    *(["cbcl", verb, "--agent", COBALT] for verb in ("pending", "beliefs", "conversations")),
]
LOUD = '"\u009b2J\u202e red \\n\\t end"'


@pytest.fixture
def repo(tmp_path: Path) -> Near:
    """In which something of everything was said: heard, unheard, refused, in a dialect, about a bead."""
    made = at_noon(tmp_path / "repo", AMBER, COBALT)
    assert install(made, WORK).status == 0
    say(made, AMBER, f"(hello @{COBALT})")
    say(made, AMBER, f"(tell @{COBALT} {LOUD} :thread {LOUD})")
    say(made, AMBER, "(lang chess (move))", "--to", COBALT)
    hear(made, COBALT)
    say(made, AMBER, f'(ask @{COBALT} "Which format?" :thread format :bead bb-7)')
    say(made, AMBER, '(lang work (task "x"))')
    return made


@pytest.mark.parametrize("words", OVERVIEWS, ids=" ".join)
def test_every_overview_goes_on_and_shows_nothing_that_a_terminal_obeys(repo: Near, words: list[str]):
    told, asked = repo.bb(*words), repo.json(*words)
    assert (told.status, told.err, asked.status) == (0, "", 0)
    assert is_harmless(told.out)
    json.loads(asked.out.splitlines()[0])


def test_the_timeline_tells_what_was_said_and_which_dialects_came(repo: Near):
    told = repo.bb("timeline").out
    for sentence in (
        "installed the dialect work of @lab, from text",
        f'said to {COBALT}: "hello"',
        f'said to {COBALT}: "ask: Which format?" [bb-7]',
        f'said to {COBALT}: "work: task',
    ):
        assert sentence in told
    assert [each["text"] for each in repo.json("timeline", "--bead", "bb-7").data] == [
        f"said to {COBALT}: ask: Which format?"
    ]


def test_what_the_person_is_asked_is_a_problem_until_it_is_answered(repo: Near):
    event = say(repo, AMBER, '(ask @user "May I?" :id may)')["event_id"]
    (asked,) = repo.json("problems").envelope["error"]["details"]["problems"]
    assert asked["answer"] == f'bb cbcl send --agent user \'(reply @{AMBER} "…" :in-reply-to "{event}")\''

    say(repo, "user", f'(reply @{AMBER} "Yes" :in-reply-to "{event}")')

    assert repo.bb("problems").status == 0
    hear(repo, AMBER)
    assert "may" not in pending(repo, AMBER)[0]


def test_a_question_about_no_bead_that_nobody_answers_leaves_the_bead_to_be_named(repo: Near):
    say(repo, AMBER, f'(ask @{COBALT} "Which zone?" :thread zone)')

    late = repo.json("problems", BB_NOW="2026-01-05T14:00:00Z").envelope["error"]["details"]["problems"]
    steps = {each["text"]: each["next_step"] for each in late if each["kind"] == "not_accepted"}

    assert any(step.endswith("--to AGENT --bead bb-7 …") for step in steps.values())
    assert any(step.endswith("--to AGENT --bead BEAD …") for text, step in steps.items() if "zone" in text)
    assert not [step for step in steps.values() if "--bead ''" in step]


def test_what_is_owed_is_in_the_status_until_it_is_answered(repo: Near):
    assert any("Which format?" in str(each) for each in repo.json("agent", "status").data["unacked_required_messages"])
    say(repo, COBALT, f'(reply @{AMBER} "JSON" :thread format)')
    assert "Which format?" not in str(repo.json("agent", "status").data["unacked_required_messages"])


def test_a_message_is_one_line_of_the_ledger_that_other_clients_can_read(repo: Near):
    event = say(repo, AMBER, f'(tell @{COBALT} "Done.")')["event_id"]
    (line,) = [each for each in log(repo, "chat.message") if each["id"] == event]
    assert line["data"]["text"] == f'(tell @{COBALT} "Done.")'
    assert (line["data"]["content_type"], line["data"]["to"]) == ("application/cbcl", [COBALT])


def test_the_chat_shows_explains_and_hands_over_a_message(repo: Near):
    event = say(repo, AMBER, f'(ask @{COBALT} "Where?")')["event_id"]
    shown = repo.json("chat", "show", event, "--agent", COBALT).data
    assert (shown["policy"], shown["directedness"]) == ("must_respond", "to_me")
    told = repo.bb("chat", "explain", event, "--agent", COBALT)
    assert told.status == 0
    assert is_harmless(told.out)
    given = repo.json("chat", "inject", "--agent", COBALT)
    assert given.status == 0
    assert "Where?" in given.out


def test_an_ordinary_ack_does_not_answer_what_was_asked(repo: Near):
    event = say(repo, AMBER, f'(ask @{COBALT} "Where?" :id where)')["event_id"]
    assert repo.bb("agent", "ack", "--agent", COBALT, "--message", event).status == 0
    hear(repo, COBALT)
    assert "where" in pending(repo, COBALT)[1]
    say(repo, COBALT, f'(reply @{AMBER} "Here" :in-reply-to where)')
    assert "where" not in pending(repo, COBALT)[1]


def test_who_waits_for_mail_is_told_of_a_message(repo: Near):
    hear(repo, COBALT)
    for each in repo.json("agent", "inbox", "--agent", COBALT, "--state", "unread").data:
        repo.json("agent", "read", "--agent", COBALT, "--message", each["message_id"])
    waiting = subprocess.Popen(
        [sys.executable, "-m", "bb", "agent", "wait", "--agent", AMBER, "--timeout", "30", "--json"],
        cwd=repo.path,
        env=environment(**repo.settings),
        stdout=subprocess.PIPE,
        text=True,
    )
    say(repo, COBALT, f'(tell @{AMBER} "Wake up.")')
    out, _ = waiting.communicate(timeout=PATIENCE)
    assert waiting.returncode == 0
    assert "ok" in out


# -- what was taken back


def test_what_was_taken_back_before_it_was_heard_is_not_heard(repo: Near):
    event = say(repo, AMBER, f'(tell @{COBALT} "xyzzy")')["event_id"]
    assert repo.bb("ledger", "redact", event, "--reason", "a slip", "--agent", AMBER).status == 0

    assert event not in [each["event_id"] for each in hear(repo, COBALT)]
    assert hear(repo, COBALT) == []


def test_what_was_taken_back_after_it_was_heard_is_shown_nowhere_and_stays_settled(repo: Near):
    event = say(repo, AMBER, f'(ask @{COBALT} "xyzzy?" :id q :thread t)')["event_id"]
    hear(repo, COBALT)
    assert repo.bb("ledger", "redact", event, "--reason", "a slip", "--agent", AMBER).status == 0

    for words in OVERVIEWS:
        answer = repo.bb(*words)
        assert (answer.status, "xyzzy" in answer.out) == (0, False), words
    for verb in ("pending", "beliefs", "conversations"):
        for agent in (AMBER, COBALT):
            assert repo.bb("cbcl", verb, "--agent", agent).status == 0
    assert "q" in pending(repo, COBALT)[1]
    say(repo, COBALT, f"(reply @{AMBER} (z) :in-reply-to q)")
    assert "q" not in pending(repo, COBALT)[1]


def test_of_a_message_that_was_taken_back_nothing_is_left_to_believe(repo: Near):
    event = say(repo, AMBER, f'(tell @{COBALT} "xyzzy")')["event_id"]
    hear(repo, COBALT)
    known = len(beliefs(repo, COBALT))

    redacted = repo.json("ledger", "redact", event, "--reason", "a slip", "--agent", AMBER).data

    assert redacted["repeated_in"] == []
    assert len(beliefs(repo, COBALT)) == known - 1


def test_where_a_dialect_made_something_of_a_message_taking_it_back_names_the_lines_that_repeat_it(repo: Near):
    install(repo, WORK)
    event = say(repo, AMBER, '(lang work (task "xyzzy" :thread t))')["event_id"]
    hear(repo, COBALT)

    (repeated,) = repo.json("ledger", "redact", event, "--reason", "a slip", "--agent", AMBER).data["repeated_in"]

    assert log(repo, "x.bb.cbcl.heard")[-1]["id"] == repeated
    assert repo.bb("ledger", "redact", repeated, "--reason", "a slip", "--agent", "user").status == 0
    assert not any(b"xyzzy" in each.read_bytes() for each in repo.store.rglob("*.jsonl"))
    assert "xyzzy" not in repo.bb("cbcl", "conversations", "t", "--agent", COBALT).out
    assert hear(repo, COBALT) == []


def test_a_hearing_that_was_taken_back_lets_the_message_be_heard_again(repo: Near):
    hear(repo, COBALT)
    (line,) = log(repo, "x.bb.cbcl.heard")[-1:]
    assert repo.bb("ledger", "redact", line["id"], "--reason", "a slip", "--agent", COBALT).status == 0
    assert [each["event_id"] for each in hear(repo, COBALT)] == [line["data"]["event_id"]]


def test_the_index_can_be_made_again_from_the_lines(repo: Near):
    before = [beliefs(repo, COBALT), pending(repo, COBALT), pending(repo, AMBER), repo.json("ledger", "digest").data]
    assert repo.bb("ledger", "rebuild").status == 0
    assert before == [
        beliefs(repo, COBALT),
        pending(repo, COBALT),
        pending(repo, AMBER),
        repo.json("ledger", "digest").data,
    ]


# -- messages that somebody has forged


@pytest.mark.parametrize(
    "text", ["", "x", "\x1b[2J", "(" * 100_000, "(tell @nobody)", f'(tell @{COBALT} "\x00")', "(error", "()" * 10_000]
)
def test_a_forged_message_is_refused_when_it_is_heard_and_stops_no_other(repo: Near, text: str):
    hear(repo, COBALT)
    said = {"id": "q", "performative": "tell", "effects": [["met", "x"]]}
    forge(repo, Sent(AMBER, (COBALT,), "INFO", "x", text, "", "t", False, cbcl=said), by=AMBER)
    say(repo, AMBER, f"(tell @{COBALT} (after))")

    told = repo.bb("cbcl", "hear", "--agent", COBALT)

    assert told.status == 0
    assert is_harmless(told.out)
    assert hear(repo, COBALT) == []
    assert beliefs(repo, COBALT)[0] == (AMBER, "(after)")
    assert repo.bb("agent", "inbox", "--agent", COBALT).status == 0
